"""Methods of Tensors that Python and NumPy look for: `round(x)`, `pickle`, `np.sin(x)`, `array * x`.

NumPy's own functions on Tensors: `np.sin(x)`, `array * x`, `np.sum(x, axis=0)`, `np.linalg.inv(x)`.

NumPy asks an operand that is not an array of its own what to do: in `__array_ufunc__` for ufuncs, which operators of
arrays call as well, and in `__array_function__` for all other functions. Here the call is passed to agrad's
function, so that a plain NumPy function is differentiable unchanged: `numpy_functions` has the table. What agrad cannot
do raises an AgradError that names the function, since a result that had lost its graph would be a wrong derivative.

NumPy does not ask everywhere. For a list of Tensors (`np.array([x, y])` without `like=x`, `np.sum([x, y])`), in the
methods of arrays (`a.dot(x)`), in `a[:] = x`, `np.full(3, x)`, `np.vectorize` and `np.random` it wants an array, in
`__array__`; for one entry, `a[0] = x`, only a number. Both are refused for a Tensor that requires grad: use `x.numpy()`
or `float(x)` there.

What cannot be refused is the number that a call asks for: `a.fill(x)`, `np.fromiter([x, y], float)`, `np.float64(x)`
and `a.itemset(0, x)`, with a Tensor of one entry, cannot be told from `float(x)`, and lose the graph as it does. An
array of booleans takes the truth value of a Tensor, which has no derivative.
"""

from __future__ import annotations

import inspect
import sys
from functools import cache
from importlib import import_module
from opcode import opmap
from typing import Any

from agrad.engine import autodiff, interop
from agrad.engine.core.graph import Gradient
from agrad.engine.core.op import FUNCTIONS, OPS, Entry, Function
from agrad.engine.core.tensor import Tensor, tensor
from agrad.engine.errors import AgradError, Hint
from agrad.engine.values import format_shape, format_uncertain_as, is_mask, np

# NumPy's arguments that change how a result is computed or stored, not what it is.
_HINTS = {"kind", "stable", "optimize", "overwrite_input", "subok"}

# What to write instead; np.full and np.full_like come down to np.copyto.
_INSTEAD = {
    "np.copyto": "np.ones(shape) * x",
    "np.add.reduce": "np.sum(x)",
    "np.multiply.outer": "np.outer(x, y)",
    "np.add.at": "x[places] += y, where no place is named twice,",
}

_OPERATORS = {"and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor"}
_BETWEEN = frozenset({"agrad", "copy", "numpy"})
_METHODS = ("astype", "ravel", "swapaxes", "take")


# The entries alone


def _array(self: Tensor, dtype: Any = None, copy: bool | None = None) -> Any:
    """The entries for NumPy, read only unless they are copied; of a Tensor that requires grad, for pictures alone."""
    if self.requires_grad and not _is_drawn():
        message = f"{self.node.spell()} requires grad: NumPy would make a plain array of it, without the graph"
        together = Hint("np.array([[x, 1], [1, y]], like=x) to put several together, np.mean(np.stack([x, y]))")
        method = Hint("np.dot(a, x) for a.dot(x), np.concatenate for np.r_, np.column_stack for np.c_")
        alone = Hint("x.numpy() or x.detach() for the value alone")
        raise AgradError("type", message, fixes=[alone, together, method])
    view = self.numpy()
    return view.astype(dtype) if dtype is not None and dtype != view.dtype else view.copy() if copy else view


def _is_drawn() -> bool:
    """Whether matplotlib itself asks, perhaps by NumPy: it needs the value alone."""
    frame: Any = sys._getframe(2)
    while frame is not None and (asks := frame.f_globals.get("__name__", "").partition(".")[0]) in _BETWEEN:
        frame = frame.f_back
    return frame is not None and asks == "matplotlib"


def _kind_in_pandas(self: Tensor) -> str:
    """What pandas knows an index of its own by: of anything else, it takes truths for the numbers of rows."""
    if self.ndim != 1 or not is_mask(self.value):
        raise AttributeError("_typ")
    return "index"


def _in_arrow(self: Tensor) -> Function:
    """What polars, DuckDB and others read arrays by, if pyarrow is there."""
    try:
        pyarrow = import_module("pyarrow")
    except ImportError:
        raise AttributeError("__arrow_c_array__") from None
    return lambda requested_schema=None: pyarrow.array(_array(self)).__arrow_c_array__(requested_schema)


def _number(convert: Function) -> Function:
    """`float(x)` or `int(x)`, but not for `array[0] = x`.

    There NumPy asks for a number, and nothing else: only the instruction of the caller distinguishes the two.
    NumPy may turn the refusal into a ValueError, with the refusal as its cause.
    """

    def method(self: Tensor) -> Any:
        if self.requires_grad:
            caller = sys._getframe(1)
            if caller.f_code.co_code[caller.f_lasti] == opmap["STORE_SUBSCR"]:
                message = f"{self.node.spell()} requires grad: an entry of an array cannot hold its graph"
                fixes = [
                    Hint("array[…] = x.item() for the value alone"),
                    Hint("array = ag.zeros(…) for entries that can"),
                ]
                raise AgradError("type", message, fixes=fixes)
        return convert(self)

    return method


def _ratio(self: Tensor) -> tuple[int, int]:
    """The number as a fraction; refused where `statistics` would make a Tensor of one."""
    caller: Any = sys._getframe(2)
    while caller is not None and caller.f_globals.get("__name__") == "statistics":
        name, caller = caller.f_code.co_name, caller.f_back
        if name in ("mean", "harmonic_mean", "variance", "pvariance"):
            told = Hint(f"statistics.{name}(x.tolist())" + (", or ag.mean(x)" if name == "mean" else ""))
            raise AgradError("type", f"statistics.{name} makes no Tensor of a number", fixes=[told])
    return self.item().as_integer_ratio()


# Entry by entry


def _array_ufunc(self: Tensor, ufunc: Any, method: str, *inputs: Any, **keywords: Any) -> Any:
    for kind in map(type, inputs):
        if not issubclass(kind, Tensor | np.ndarray) and hasattr(kind, "__array_ufunc__"):
            return NotImplemented
    name = _name_of(ufunc)
    if keywords.pop("out", None) is not None:
        raise _writing(name)
    function = _for_ufunc(ufunc)
    if function is None or method != "__call__":
        raise _refusal(name if method == "__call__" else f"{name}.{method}")
    for key, value in keywords.items():
        if not _idle(key, value):
            raise _without(name, key)
    _check_real(name, inputs)
    return function(*inputs)


@cache
def _for_ufunc(ufunc: Any) -> Function | None:
    """agrad's function for one of NumPy's ufuncs, or of SciPy's, looked up when it is first called."""
    numpy_functions = interop.numpy_functions
    target, name = numpy_functions.counterpart(ufunc), str(ufunc.__name__)
    if target is None and getattr(sys.modules.get("scipy.special"), name, None) is ufunc:
        target = FUNCTIONS.get(numpy_functions.TABLES["scipy"].get(name, name))
    return target.call if isinstance(target, Entry) else target


# Other functions


def _array_function(self: Tensor, function: Any, types: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    if not all(issubclass(kind, Tensor | np.ndarray) for kind in types):
        return NotImplemented
    decides = interop.numpy_functions.describing().get(function)
    if decides is not None:
        entries = {name: _plain(x, decides) for name, x in keywords.items()}
        return function(*(_plain(x, decides) for x in args), **entries)
    counterpart = _counterpart(function)
    if counterpart is None:
        raise _refusal(_name_of(function))
    return counterpart(args, keywords)


@cache
def _counterpart(function: Function) -> _Counterpart | None:
    target = interop.numpy_functions.counterpart(function)
    return None if target is None else _Counterpart(function, target)


class _Counterpart:
    """A function of agrad that is called with NumPy's arguments: in NumPy's order, by NumPy's names."""

    def __init__(self, function: Function, target: Entry | Function) -> None:
        self.name = _name_of(function)
        if isinstance(target, Entry):  # its operands are in NumPy's order, the rest goes by name
            self.call, self.operands = target.call, len(target.signature.operands)
            known = set(target.signature.attributes)
        else:
            self.call, self.operands = target, 0
            known = set(inspect.signature(target).parameters)
        try:
            self.signature = inspect.signature(function)
        except ValueError:  # before NumPy 2.4, functions written in C have no signature
            self.signature = inspect.signature(self.call)
        ours_of = interop.numpy_functions.TABLES["arguments"]
        names = {name: ours_of.get(name, name) for name in self.signature.parameters}
        self.takes = {name: name if name in known else ours for name, ours in names.items() if {name, ours} & known}
        if any(one.kind is one.VAR_KEYWORD for one in self.signature.parameters.values()):
            self.takes |= {name: name for name in known}

    def __call__(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        given = self._given(args, keywords)
        operands = [given.pop(name) for name in list(given)[: self.operands]]
        if given.get("out") is not None:
            raise _writing(self.name)
        for name in given:
            if name not in self.takes:
                raise _without(self.name, name)
        _check_real(self.name, (*operands, *given.values()))
        return self.call(*operands, **{self.takes[name]: value for name, value in given.items()})

    def _given(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> dict[str, Any]:
        """The arguments that have an effect, in order: those at their default, and hints, are left out."""
        try:
            bound = self.signature.bind(*args, **keywords).arguments
        except TypeError as error:
            raise _refusal(self.name, f"of a Tensor: {error}") from None
        given: dict[str, Any] = {}
        for name, value in bound.items():
            parameter = self.signature.parameters[name]
            if parameter.kind is parameter.VAR_KEYWORD:
                given.update({key: one for key, one in value.items() if not _idle(key, one)})
            elif parameter.default is parameter.empty or not _idle(name, value, parameter.default):
                given[name] = value
        return given


def _idle(name: str, value: Any, default: Any = None) -> bool:
    """Whether an argument does not change the result."""
    if value is default or name in _HINTS:
        return True
    if name == "dtype":
        return bool(np.dtype(value) == np.float64)
    if name == "where":
        return value is True
    if name == "order" and value in ("C", "A", "K"):  # there are no views, and entries are stored row by row
        return True
    return isinstance(value, bool | int | float | str) and type(value) is type(default) and bool(value == default)


def _plain(x: Any, decides: bool) -> Any:
    """An argument with its Tensors replaced by their entries."""
    if isinstance(x, Tensor):
        return x.numpy() if decides else np.asarray(x.read_only())
    return type(x)(_plain(one, decides) for one in x) if type(x) in (list, tuple) else x


# Refusals


def _name_of(function: Any) -> str:
    """Its name in a program: np.sum, np.linalg.inv."""
    name = str(function.__name__)
    if isinstance(function, np.ufunc):
        return f"np.{name}" if getattr(np, name, None) is function else name
    return f"{function.__module__}.{name}".replace("numpy", "np", 1)


# What has complex results, or takes complex numbers.
_COMPLEX = {
    "np.linalg.eig": "np.linalg.eigh, of a symmetric matrix",
    "np.linalg.eigvals": "np.linalg.eigvalsh",
    "np.roots": "agrad.engine.roots, which gives real and imaginary parts",
}


def _refusal(name: str, why: str = "has no counterpart in agrad") -> AgradError:
    fixes = [Hint(f"{_INSTEAD[name]} instead")] if name in _INSTEAD else []
    notes = []
    if name.startswith("np.fft.") or name in _COMPLEX:
        notes = ["agrad computes with real numbers alone"]
        fixes = [Hint(_COMPLEX[name])] if name in _COMPLEX else []
    plain = "x.detach().numpy() for the plain array, without the graph"
    return AgradError("type", f"{name} {why}", notes=notes, fixes=[*fixes, plain])


def _without(name: str, argument: str) -> AgradError:
    detail = "with another dtype: all values are float64" if argument == "dtype" else f"with {argument}="
    return _refusal(name, f"has no counterpart in agrad {detail}")


def _writing(name: str) -> AgradError:
    return AgradError(
        "type",
        f"{name} cannot write a Tensor into an array (out=, or array += x): it would lose its graph",
        fixes=[
            Hint("array = array + x, for a Tensor with its graph"),
            Hint("array += x.detach().numpy(), for the plain entries"),
        ],
    )


def _check_real(name: str, arguments: Any) -> None:
    """An array of complex numbers would lose its imaginary parts, one of objects the graphs of its Tensors."""
    for x in arguments:
        if type(x) in (list, tuple):
            _check_real(name, x)
        elif isinstance(x, np.ndarray) and x.dtype.kind not in "biuf":
            fixes = [Hint("np.stack, for an array of Tensors")] if x.dtype.kind == "O" else []
            raise AgradError("type", f"{name}: an array of {x.dtype} does not contain real numbers", fixes=fixes)


# Python


def install() -> None:
    """Give Tensors the methods that NumPy looks for, others of arrays (`&`, `|`, `^`, `~`, `x.ravel()`), and those of
    Python's numbers: `x == None`, `divmod(x, 2)`, `f"{x:.4f}"`, `pickle`, `copy`.

    `round` and `divmod` are operations: `round(x)` is a Tensor, not an int as for a float. A Tensor is not registered
    as a `numbers.Real`, since it may be an array, which is not a number.
    """
    methods: dict[str, Any] = {
        "__array__": _array,
        "__array_ufunc__": _array_ufunc,
        "__array_function__": _array_function,
        "copy": lambda x: FUNCTIONS["clone"].call(x),
        "__invert__": lambda x: np.invert(x),
        "__float__": _number(Tensor.__float__),
        "__int__": _number(Tensor.__int__),
        "__eq__": _comparing("equal"),
        "__ne__": _comparing("not_equal"),
        "__round__": lambda x, digits=0: FUNCTIONS["round"].call(x, digits or 0),
        "__trunc__": _number(Tensor.__int__),
        "__divmod__": _divided,
        "__rdivmod__": lambda x, other: _divided(other, x),
        "__format__": _formatted,
        "__reduce__": _reduced,
        "__copy__": lambda x: _copied(x),
        "__deepcopy__": lambda x, memo: _copied(x, memo),
        "dtype": property(lambda x: np.dtype(bool if is_mask(x.value) else np.float64)),
        # What pandas asks of an operand: a mask is to it as one of its own columns of booleans.
        "_typ": property(_kind_in_pandas),
        "_values": property(_array),
        "__arrow_c_array__": property(_in_arrow),
        "real": property(lambda x: x),
        "imag": property(lambda x: tensor(np.zeros(x.shape) if x.shape else 0.0)),
        "conjugate": lambda x: x,
        "is_integer": lambda x: x.item().is_integer(),
        "as_integer_ratio": lambda x: _ratio(x),
        "hex": lambda x: x.item().hex(),
        "__contains__": _contains,
    }
    for name, ufunc in _OPERATORS.items():
        methods[f"__{name}__"] = lambda self, other, ufunc=ufunc: getattr(np, ufunc)(self, other)
        methods[f"__r{name}__"] = lambda self, other, ufunc=ufunc: getattr(np, ufunc)(other, self)
    for name in _METHODS:
        methods[name] = _method(name)
    for name, method in methods.items():
        setattr(Tensor, name, method)


def _method(name: str) -> Function:
    def method(self: Tensor, *args: Any, **keywords: Any) -> Any:
        return interop.numpy_functions.MADE[name](self, *args, **keywords)

    method.__name__ = name
    return method


def _comparing(name: str) -> Function:
    """`x == y`; if y is not a number, Python calls the other operand, and then compares identity."""

    def method(self: Tensor, other: Any) -> Any:
        compare = OPS[name].call  # here, since its file is loaded when it is asked for
        if type(other) is Tensor or type(other) is float or type(other) is int:
            return compare(self, other)
        try:
            return compare(self, other)
        except AgradError as error:
            if error.kind == "type":
                return NotImplemented
            raise

    return method


def _divided(x: Any, y: Any) -> Any:
    whole = x // y if type(x) is not Tensor else x.__floordiv__(y)
    return whole if whole is NotImplemented else (whole, FUNCTIONS["remainder"].call(x, y))


def _formatted(self: Tensor, spec: str) -> str:
    """For people, and so without a guard: see `guards`."""
    if not spec:
        return str(self)
    if self.shape:
        message = f"an array of shape {format_shape(self.shape)} has no format {spec!r}, which is for one number"
        raise AgradError("type", message, fixes=[Hint("np.array2string(x, precision=4)")])
    u: Any = autodiff.uncertainty.uncertainty(self)
    return format(self._number(), spec) if u is None else format_uncertain_as(spec, self._number(), float(u))


def _contains(self: Tensor, value: Any) -> bool:
    """`2 in x`: whether an entry, of however many axes, is equal, as in NumPy."""
    len(self)  # a scalar has no entries
    found = self == value
    return found if type(found) is bool else bool(FUNCTIONS["any"].call(found))


# Copies


def _data_of_leaf(self: Tensor, what: str) -> Any:
    if self.node.op is not None:
        message = f"{self.node.spell()} was computed: {what} has no graph, and its gradient would be lost"
        raise AgradError(
            "leaf", message, fixes=[Hint("x.detach() for the value alone"), Hint("x.clone() for a copy in the graph")]
        )
    return self.tolist() if not self.shape else self.numpy()


def _reduced(self: Tensor) -> tuple[Any, ...]:
    """As in PyTorch: a leaf with its value, and whether it requires grad; without its gradient. A copy of a measured
    value is measured likewise, with the correlations of its entries, and independent of it: where it is correlated
    with others, AgradError of kind `leaf` is raised.
    """
    known, measured, own = self.node.uncertainty, None, None
    if known is not None:
        own = known.linked.get(self.node)
        if {*known.linked} - {self.node}:
            message = f"{self.node.spell()} is correlated with other values, and a copy of this kind would not be"
            raise AgradError("leaf", message, fixes=[Hint("x.clone() for a copy in the graph")])
        measured = known.u, known.dof, known.distribution
    return _restored, (_data_of_leaf(self, "a pickle"), self.requires_grad, self.name, measured, own)


def _restored(data: Any, requires_grad: bool, name: str | None, measured: Any = None, own: Any = None) -> Tensor:
    made = tensor(data, requires_grad) if measured is None else autodiff.uncertainty.uncertain(data, *measured)
    made.name = name
    if own is not None:
        autodiff.uncertainty.link([made.node], np.array(own))
    return made


def _copied(self: Tensor, memo: Any = None) -> Tensor:
    """A new leaf, with a copy of the gradient."""
    if self.requires_grad and not self.is_leaf and _is_drawn():
        return self.detach()
    _data_of_leaf(self, "a copy of this kind")
    made = _restored(*_reduced(self)[1])
    made.node.is_parameter = self.node.is_parameter
    if self.grad is not None:
        made.node.grad = Gradient(tensor(self.grad.detach()))
    return made
