"""Values made from numbers, shapes and random numbers: Tensors without a graph."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from agrad.engine import autodiff, units
from agrad.engine.core.arguments import number_of, sizes_of, truth_of
from agrad.engine.core.context import current, remember_random
from agrad.engine.core.dispatch import in_family, shape_of_any, words
from agrad.engine.core.graph import Uncertainty
from agrad.engine.core.op import FUNCTIONS, Function
from agrad.engine.core.tensor import Tensor, tensor
from agrad.engine.errors import AgradError, Hint
from agrad.engine.ops.scalar.arithmetic import mul
from agrad.engine.values import LOADING, Shape, format_number, np, whole

_, composed = in_family("creation")
NONE = "none: the result is a leaf"


def maker(name: str, signature: str, **facts: Any) -> Callable[[Function], Function]:
    """Decorator: an entry whose result is a new leaf.

    It takes `requires_grad`, and a `dtype` and a `device`, which are ignored, but for `dtype=bool`: that is a mask.
    """
    text = f"{signature}{', ' if ';' in signature else '; '}requires_grad=False, dtype=None, device=None"

    def register(function: Function) -> Function:
        @composed(name, text, derivative=NONE, **words(function) | facts)
        def make(*operands: Any, requires_grad: Any, dtype: Any, device: Any, **attrs: Any) -> Tensor:
            made: Tensor = function(*operands, **attrs)
            made = made if dtype is None else of_type(made, dtype)
            return made.requires_grad_() if truth_of(name, "requires_grad", requires_grad) else made

        return make

    return register


def type_name(dtype: Any) -> str:
    """`bool` of `torch.bool`, `np.bool_` and the function `bool`; a text that names no type, of anything else."""
    return str(getattr(dtype, "__name__", dtype)).rpartition(".")[2].rstrip("_")


def of_type(x: Tensor, dtype: Any) -> Tensor:
    """x as a type has it: of `bool` a mask of what is not 0, of whole numbers no mask, so that they are places.

    Raises AgradError of kind `type` where a type of whole numbers would cut fractions off.
    """
    name = type_name(dtype)
    if name.startswith(_WHOLE):
        _require_whole(x)
    is_mask = type(x.value).__name__ == "Mask"
    is_mixed = getattr(x.value, "mixed", False)
    if not x.shape or (is_mask and not name.startswith(("int", "long", "bool"))) or not (is_mask or name == "bool"):
        return x
    if name == "bool" and is_mask and not is_mixed:
        return x
    made: Tensor = FUNCTIONS["not_equal"].call(x, 0.0) if name == "bool" else mul(x, 1.0)
    return made


_WHOLE = ("int", "long", "short", "uint")


def _require_whole(x: Tensor) -> None:
    entries = np.asarray(x.value)
    fractions = entries[entries != np.floor(entries)]
    if fractions.size:
        why = "every number is a float64, and keeps its fraction"
        fixes = [Hint("trunc(x)   cuts fractions off, as a type of whole numbers does")]
        raise AgradError("type", f"{format_number(float(fractions[0]))} is not whole: {why}", fixes=fixes)


def _sizes(name: str, shape: Any) -> Shape:
    sizes = sizes_of(name, shape)
    if min(sizes, default=0) < 0:
        raise AgradError("shape", f"{name}: a length cannot be negative")
    return sizes


def _filled(name: str, shape: Any, value: float) -> Tensor:
    sizes = _sizes(name, shape)
    return tensor(np.full(sizes, value)) if sizes else tensor(value)


@composed("tensor", derivative=NONE)
def make_tensor(data: Any, /, requires_grad: Any = False, dtype: Any = None, device: Any = None) -> Tensor:
    """A leaf from a number, nested lists or an array. Every number is a float64; an array of truths is a mask.

    example: tensor([1, 2]) == [1, 2]
    """
    is_leaf = truth_of("tensor", "requires_grad", requires_grad)
    made = autodiff.uncertainty.as_leaf(data) if is_leaf and Uncertainty.exists else tensor(data, is_leaf)
    if isinstance(data, Tensor) and made is not data:
        units.keep(data.node, made.node)
    return made if dtype is None else of_type(made, dtype)


@composed("Variable", derivative=NONE)
def variable(data: Any, /, requires_grad: Any = False) -> Tensor:
    """An older name of tensor.

    example: Variable(2) == 2
    """
    made: Tensor = make_tensor(data, requires_grad, None, None)
    return made


def _of_shape(name: str, value: float) -> None:
    doc, example = f"An array of {name}.", f"{name}(2) == [{value:g}, {value:g}]"

    @maker(name, "; *shape=()", total=True, doc=doc, example=example)
    def of_shape(shape: Any) -> Tensor:
        return _filled(name, shape, value)


_of_shape("zeros", 0.0)
_of_shape("ones", 1.0)


@maker("full", "; shape, value", total=True)
def full(shape: Any, value: Any) -> Tensor:
    """An array of a shape, with one value everywhere.

    example: full((2,), 7) == [7, 7]
    """
    if isinstance(value, Tensor) and value.requires_grad and not value.shape:
        result: Tensor = FUNCTIONS["expand"].call(value, _sizes("full", shape))
        return result
    made = _filled("full", shape, number_of("full", "the value", value))
    return of_type(made, "bool") if type(value) is bool else made


def _like(name: str, value: float) -> None:
    doc, example = f"{name.capitalize()} in the shape of x.", f"{name}_like([1, 2]) == [{value:g}, {value:g}]"

    @maker(f"{name}_like", "x", total=True, doc=doc, example=example)
    def like(x: Any) -> Tensor:
        made = _filled(f"{name}_like", shape_of_any(x), value)
        return of_type(made, "bool") if type(getattr(x, "value", x)).__name__ == "Mask" else made  # like a mask


_like("zeros", 0.0)
_like("ones", 1.0)


@maker("eye", "; n, m=None", total=True)
def eye(n: Any, m: Any) -> Tensor:
    """The unit matrix of n rows (and m columns).

    example: eye(2) == [[1, 0], [0, 1]]
    """
    rows, columns = _sizes("eye", (n, n if m is None else m))
    return tensor(np.eye(rows, columns))


@maker("arange", "; start, stop=None, step=1", total=True)
def arange(start: Any, stop: Any, step: Any) -> Tensor:
    """The numbers from start (0 if only one is given) up to but not including stop, in steps.

    example: arange(3) == [0, 1, 2]
    """
    first, last = (0.0, start) if stop is None else (start, stop)
    ends = [number_of("arange", what, x) for what, x in (("start", first), ("stop", last), ("step", step))]
    if ends[2] == 0.0 or not np.isfinite(ends).all():
        raise AgradError("domain", "arange: start, stop and step must be finite, and the step not 0")
    count = max((ends[1] - ends[0]) / ends[2], 0.0)
    _sizes("arange", math.ceil(count) if math.isfinite(count) else 2**62)
    return tensor(np.arange(*ends) if count else np.zeros(0))


@maker("linspace", "; start, stop, num=50", total=True)
def linspace(start: Any, stop: Any, num: Any) -> Tensor:
    """num evenly spaced numbers from start to stop, both included.

    example: linspace(0, 1, 3) == [0, 0.5, 1]
    """
    (count,) = _sizes("linspace", (num,))
    first, last = number_of("linspace", "start", start, True), number_of("linspace", "stop", stop, True)
    made = tensor(np.linspace(first, last, count))
    units.put(made, units.common([start, stop], "linspace takes values of one unit, not {} and {}"))
    return made


# Random numbers


def _seeded(seed: Any) -> Any:
    """A generator of random numbers. numpy loads that part of itself when it is first used."""
    with LOADING:
        made = np.random.default_rng
    return made(seed)


def generator() -> Any:
    """The generator of random numbers of the current session; a statement that fails restores its state."""
    numbers = current().random
    if numbers.generator is None:
        remember_random(numbers)
        numbers.generator = _seeded(numbers.seeds())
    remember_random(numbers)
    return numbers.generator


def _drawn(name: str, method: str, doc: str, example: str) -> None:
    """A function that makes random numbers of one distribution."""

    @maker(name, "; *shape=()", doc=doc, example=example)
    def draw(shape: Any) -> Tensor:
        sizes = _sizes(name, shape)
        return tensor(getattr(generator(), method)(sizes or None))


_drawn("rand", "random", "Random numbers, uniformly distributed from 0 to 1.", "rand(3) < 1")
_drawn("randn", "standard_normal", "Random numbers from the standard normal distribution.", "all(isfinite(randn(3)))")


@composed()
def manual_seed(seed: Any) -> None:
    """Set the seed of rand, randn, dropout and the initial values of modules, so that the same numbers follow each
    time. They have the distributions of PyTorch's, but are not the same numbers.

    derivative: none: it returns nothing
    example: manual_seed(1) is None
    """
    number = whole(seed, "manual_seed: the seed")
    if number < 0:
        raise AgradError("domain", "manual_seed: the seed must not be negative")
    numbers = current().random
    remember_random(numbers)
    numbers.generator = _seeded(number)
