"""The names of the package `uncertainties` over agrad's values, as a plugin of pytest: its own tests run with these.

Numbers, derivatives, covariances and texts are agrad's. The shim gives its objects other names, and its texts the other
spelling: `(2.00+/-0.10)e-11` for `2.00e-11 ± 0.10e-11`, `.2uf` for `.2u`, the rule of the Particle Data Group for none.
"""

import copy
import math
import operator
import re
import sys
from types import ModuleType
from weakref import WeakKeyDictionary

import numpy as np

import agrad.engine as ag
from agrad.engine import values
from agrad.engine.autodiff.uncertainty import sources
from agrad.grammar.session.session import Session

VARIABLES = WeakKeyDictionary()  # by the nodes of their leaves


def raw(x):
    return x.value if isinstance(x, UFloat) else x


def wrapped(value):
    return UFloat(value) if isinstance(value, ag.Tensor) else value


class UFloat:
    """A number of agrad; a `Variable` is a leaf."""

    def __init__(self, value):
        self.value = value

    @property
    def nominal_value(self):
        return float(self.value)

    @property
    def std_dev(self):
        return ag.uncertainty(self.value) or 0.0

    @property
    def derivatives(self):
        known = {leaf.node: leaf for leaf in sources(self.value)}
        if self.value.node in known:
            return {VARIABLES.get(self.value.node, self): 1.0}
        slopes = ag.grad(self.value, list(known.values()), create_graph=True)
        return {
            VARIABLES.get(node, leaf): float(slope) for (node, leaf), slope in zip(known.items(), slopes, strict=True)
        }

    n, s = nominal_value, std_dev

    def __hash__(self):
        return id(self)

    def __bool__(self):
        return bool(self.value)

    def __float__(self):
        return float(self.value)

    def __copy__(self):
        return remade(copy.copy(self.value))

    def __deepcopy__(self, memo):
        return remade(copy.deepcopy(self.value, memo))

    def format(self, spec):
        return format(self, spec)

    def __repr__(self):
        text = "+/-".join(values.format_number(x, None) for x in (self.nominal_value, self.std_dev))
        return text if getattr(self, "tag", None) is None else f"< {self.tag} = {text} >"

    def __str__(self):
        return format(self, "")

    def __format__(self, spec):
        values.ROUNDING.append(lambda: "pdg")
        try:
            text = values.format_uncertain_as(re.sub(r"(\.\du)f", r"\1", spec), self.nominal_value, self.std_dev)
        finally:
            values.ROUNDING.pop()
        if "L" in spec:
            return text.replace("(", r"\left(").replace(")", r"\right)") if text.startswith("(") else text
        text = re.sub(r"e([-+]?)(\d+)", lambda m: f"e{m[1] or '+'}{int(m[2]):02}", text)
        text = re.sub(r"^(\S+)(e\S+) ± (\S+)\2$", r"(\1 ± \3)\2", text)
        return text.replace(" ± ", "±" if "P" in spec else "+/-")


class Variable(UFloat):
    def __init__(self, value, u, tag=None):
        super().__init__(ag.uncertain(float(value), float(u)))
        self.tag = tag
        VARIABLES[self.value.node] = self


def remade(value):
    """A number of agrad that may be a leaf."""
    if sources(value)[:1] and sources(value)[0].node is value.node:
        made = Variable.__new__(Variable)
        made.value, made.tag = value, None
        VARIABLES[value.node] = made
        return made
    return UFloat(value)


def operated(operate, is_reflected=False):
    def method(a, *others):
        if any(not isinstance(b, UFloat | float | int | np.number) for b in others):
            return NotImplemented
        found = operate(*map(raw, (*others, a) if is_reflected else (a, *others)))
        return bool(found) if operate.__name__ in COMPARISONS else wrapped(found)

    return method


COMPARISONS = "lt le gt ge eq ne".split()
for name in ["neg", "pos", "abs", *COMPARISONS]:
    setattr(UFloat, f"__{name}__", operated(getattr(operator, name)))
for name in "add sub mul truediv pow mod floordiv".split():
    setattr(UFloat, f"__{name}__", operated(getattr(operator, name)))
    setattr(UFloat, f"__r{name}__", operated(getattr(operator, name), True))


OTHER_NAMES = {
    "fabs": ag.abs,
    "degrees": lambda x: x * (180.0 / math.pi),
    "radians": lambda x: x * (math.pi / 180.0),
    "fsum": lambda xs: sum(map(raw, xs)),
    "log": lambda x, base=math.e: ag.log(x) if base is math.e else ag.log(x) / ag.log(base),
}


def function(name):
    """A function of `math`, by agrad where an argument is uncertain."""

    def call(*args):
        if not any(isinstance(x, UFloat | list) for x in args):
            return getattr(math, name)(*args)
        return wrapped((OTHER_NAMES.get(name) or getattr(ag, name))(*map(raw, args)))

    return call


def ufloat(value, u, tag=None):
    return Variable(value, u, tag)


def ufloat_fromstr(text, tag=None):
    made = remade(Session().evaluate(text.strip()))
    made.tag = tag
    return made


def correlated_values(numbers, covariance, tags=None):
    found = ag.correlated([float(x) for x in numbers], np.asarray(covariance, float))
    return [UFloat(found[place]) for place in range(len(numbers))]


def correlated_values_norm(pairs, correlation, tags=None):
    numbers, u = np.transpose(pairs)
    return correlated_values(numbers, np.asarray(correlation) * np.outer(u, u))


def partial_derivative(f, place):
    """By differences of the values; the tests compare with these."""

    def slope(*args):
        step = 1e-6 * max(abs(args[place]), 1e-3)
        ends = [f(*args[:place], args[place] + side * step, *args[place + 1 :]) for side in (-1, 1)]
        return (float(ends[1]) - float(ends[0])) / (2 * step)

    return slope


def power_slope(x, y, place):
    args = [ag.tensor(float(z), requires_grad=True) for z in (x, y)]
    return float(ag.grad(args[0] ** args[1], args[place]))


def to_affine_scalar(x):
    return x if isinstance(x, UFloat) else ufloat(x, 0.0)


def std_dev(x):
    return x.std_dev if isinstance(x, UFloat) else 0.0


def nominal_value(x):
    return x.nominal_value if isinstance(x, UFloat) else x


# Arrays: of objects, as the package has them; matrices are inverted as agrad's.


def each_of(f):
    return np.vectorize(f, otypes=[object])


def floats_of(f):
    def call(array):
        found = np.vectorize(f, otypes=[float])(array)
        return found.view(np.matrix) if isinstance(array, np.matrix) else found

    return call


def by_agrad(f):
    """A function of a matrix of agrad, for one of objects."""

    def call(matrix, *args):
        made = np.asarray(matrix)
        if made.dtype != object:
            return getattr(np.linalg, f.__name__)(matrix, *args)
        rows = ag.stack([ag.stack([ag.tensor(0.0) + raw(x) for x in row]) for row in made])
        found = f(rows)
        entries = [[UFloat(found[i, j]) for j in range(found.shape[1])] for i in range(found.shape[0])]
        return Matrix(entries)

    return call


class Matrix(np.matrix):
    def __new__(cls, data):
        return np.array(data, dtype=object, ndmin=2).view(cls)

    @property
    def I(self):  # noqa: E743  # its name in numpy
        return by_agrad(ag.inv if self.shape[0] == self.shape[1] else ag.pinv)(self)

    @property
    def nominal_values(self):
        return floats_of(nominal_value)(self).view(np.matrix)


def module(name, **names):
    made = ModuleType(f"uncertainties{name}")
    vars(made).update(names)
    sys.modules[made.__name__] = made
    parent, _, last = made.__name__.rpartition(".")
    if parent:
        setattr(sys.modules[parent], last, made)


FUNCTIONS = {name: function(name) for name in dir(math) if callable(getattr(math, name))}
CORE = {
    "AffineScalarFunc": UFloat,
    "NegativeStdDev": ag.AgradError,
    "correlation_matrix": lambda xs: np.asarray(ag.correlation(*map(raw, xs)).data),
    "covariance_matrix": lambda xs: ag.covariance(*map(raw, xs)).data.tolist(),
    "deprecated_methods": [],
}
for thing in (
    UFloat,
    Variable,
    correlated_values,
    correlated_values_norm,
    nominal_value,
    std_dev,
    to_affine_scalar,
    ufloat,
    ufloat_fromstr,
):
    CORE[thing.__name__] = thing
ULINALG = {"inv": by_agrad(ag.inv), "pinv": by_agrad(ag.pinv)}
ARRAYS = {
    "matrix": Matrix,
    "nominal_values": floats_of(nominal_value),
    "std_devs": floats_of(std_dev),
    "uarray": each_of(ufloat),
    "umatrix": lambda numbers, us: Matrix(each_of(ufloat)(numbers, us)),
    "cos": each_of(FUNCTIONS["cos"]),
    "arccos": each_of(FUNCTIONS["acos"]),
    "__all__": ["cos", "arccos"],
}
module("", **CORE)
module(".core", **CORE)
module(".formatting")
module(
    ".ops",
    partial_derivative=partial_derivative,
    pow_deriv_0=lambda x, y: power_slope(x, y, 0),
    pow_deriv_1=lambda x, y: power_slope(x, y, 1),
)
for name in (".umath", ".umath_core"):
    module(name, **FUNCTIONS, deprecated_functions=[], locally_cst_funcs=[])
module(".unumpy", **ARRAYS)
module(".unumpy.core", **ULINALG)
module(".unumpy.ulinalg", **ULINALG)
