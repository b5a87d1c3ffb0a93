"""New tensors: from data, of a shape, and of random numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from agrad.engine import units
from agrad.engine.core import tensor as core
from agrad.engine.core.context import RandomNumbers, afford, current, remember_random
from agrad.engine.core.devices import need_processor
from agrad.engine.nn.objects import Object
from agrad.engine.nn.utils.data import drawn_places
from agrad.engine.ops.creation import generator as engine_generator
from agrad.engine.values import np
from agrad.torch.generator import Mersenne
from agrad.torch.registry import TORCH, checked, public, sizes
from agrad.torch.tensor import Tensor, give, write_over
from agrad.torch.types import as_dtype, bool_, dtype_of, float64, int64


def _finished(value: Any, dtype: Any, requires_grad: bool, default: Any = float64) -> Tensor:
    """A new tensor of a value, which is not used elsewhere."""
    kind = default if dtype is None else as_dtype(dtype)
    array = np.asarray(value, dtype=np.float64)
    if kind is int64:
        array = np.trunc(array)
    elif kind is bool_:
        array = (array != 0.0).astype(np.float64)
    if requires_grad and kind is not float64:
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    return Tensor.of(np.ascontiguousarray(array) if array.shape else float(array), kind, bool(requires_grad))


def _maker(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: a function whose value becomes a tensor, with `dtype`, `device` and `requires_grad`."""

    def call(*args: Any, **keywords: Any) -> Tensor:
        dtype, requires_grad = keywords.pop("dtype", None), keywords.pop("requires_grad", False)
        if function.__name__ == "arange" and dtype is not None and as_dtype(dtype) is bool_:
            raise NotImplementedError("\"arange_cpu\" not implemented for 'Bool'")
        need_processor(keywords.pop("device", None))
        for name in ("layout", "pin_memory", "memory_format"):
            keywords.pop(name, None)
        if "size" in keywords and function.__name__ != "randint":
            args = (keywords.pop("size"), *args)
        try:
            found = function(*args, **keywords)
        except ValueError as error:
            raise RuntimeError(str(error)) from None
        value, default = found if isinstance(found, tuple) else (found, float64)
        return _finished(value, dtype, requires_grad, default)

    name = function.__name__.rstrip("_")
    TORCH[name] = made = checked(name, call)
    made.__doc__ = function.__doc__
    return made


def _entries(data: Any) -> Any:
    """Nested lists, in which tensors may be, as an array."""
    if isinstance(data, core.Tensor):
        units.plain_number(data)
        return np.array(data.read_only(), dtype=np.float64)
    if data is None:
        raise RuntimeError("Could not infer dtype of NoneType")
    if isinstance(data, list | tuple):
        parts = [_entries(x) for x in data]
        if len({x.shape for x in parts}) > 1:
            lengths = sorted({len(x) if x.shape else 0 for x in parts})
            raise ValueError(f"expected sequences of one length, but some have lengths {lengths}")
        return np.stack(parts) if parts else np.zeros(0)
    try:
        return np.array(data, dtype=np.float64)
    except (TypeError, ValueError):
        kind = ValueError if isinstance(data, str) else TypeError
        raise kind(f"new(): data must be numbers, not {type(data).__name__}") from None


def tensor(
    data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False
) -> Tensor:
    """A new tensor of numbers, nested lists or an array, which are copied."""
    need_processor(device)
    if isinstance(data, str):
        raise TypeError("new(): invalid data type 'str'")
    kind = dtype_of(data) if dtype is None else as_dtype(dtype)
    for x in data if isinstance(data, list | tuple) else ():
        if type(x) is Tensor and kind is not float64 and (x.kind is float64 or x.numel() != 1):
            raise TypeError("only integer tensors of a single element can be converted to an index")
        if type(x) is Tensor and x.numel() != 1:
            raise ValueError("only one element tensors can be converted to Python scalars\n  fix: torch.stack")
    return _finished(_entries(data), kind, requires_grad)


def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Any:
    """The tensor itself, or a new one of other data."""
    need_processor(device)
    if type(data) is Tensor:
        return data if dtype is None else data.to(as_dtype(dtype))
    return tensor(data, dtype=dtype)


TORCH["tensor"], TORCH["as_tensor"], TORCH["asarray"] = tensor, as_tensor, as_tensor
TORCH["from_numpy"] = as_tensor
for _name, _kind in {"Float": float64, "Double": float64, "Long": int64, "Int": int64, "Bool": bool_}.items():
    TORCH[f"{_name}Tensor"] = lambda *data, _kind=_kind: (
        _finished(np.zeros(data), _kind, False)
        if data and all(type(x) is int for x in data)
        else tensor(data[0] if data else [], dtype=_kind)
    )


@_maker
def zeros(*size: Any) -> Any:
    """Zeros."""
    return np.zeros(sizes(size))


@_maker
def ones(*size: Any) -> Any:
    """Ones."""
    return np.ones(sizes(size))


@_maker
def empty(*size: Any) -> Any:
    """Zeros: nothing is left as it was in memory."""
    return np.zeros(sizes(size))


@_maker
def full(size: Any, fill_value: Any) -> Any:
    """One number everywhere."""
    shape = (size,) if isinstance(size, int) else tuple(size)
    return np.full(shape, float(fill_value)), dtype_of(fill_value)


@_maker
def eye(n: int, m: int | None = None) -> Any:
    """Ones on the diagonal."""
    return np.eye(n, n if m is None else m)


@_maker
def arange(start: Any = None, end: Any = None, step: Any = 1) -> Any:
    """Numbers from start to below end."""
    start, end = (0, start) if end is None else (0 if start is None else start, end)
    given = [x.item() if isinstance(x, core.Tensor) else x for x in (start, end, step)]
    if not given[2]:
        raise RuntimeError("step must be nonzero")
    if (given[1] - given[0]) / given[2] < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    whole = all(isinstance(x, int) for x in given)
    count = math.ceil((given[1] - given[0]) / given[2])
    return given[0] + np.arange(count) * given[2], int64 if whole else float64


@_maker
def linspace(start: Any, end: Any, steps: int) -> Any:
    """So many numbers from start to end, which is included."""
    start, end = float(start), float(end)
    step = (end - start) / (steps - 1) if steps > 1 else 0.0
    places = np.arange(_bounded("linspace needs a number of steps that is not negative", steps, 0))
    half = steps // 2
    found = np.where(places < half, start + step * places, end - step * (steps - 1 - places))
    return found if steps > 1 else [start] * steps


@_maker
def logspace(start: Any, end: Any, steps: int, base: float = 10.0) -> Any:
    """Powers of a base."""
    return base ** np.linspace(float(start), float(end), steps)


@_maker
def tril_indices(row: int, col: int, offset: int = 0) -> Any:
    """The places of the lower triangle."""
    return np.array(np.tril_indices(row, offset, col)), int64


@_maker
def triu_indices(row: int, col: int, offset: int = 0) -> Any:
    """The places of the upper triangle."""
    return np.array(np.triu_indices(row, offset, col)), int64


def _like(name: str) -> Callable[..., Any]:
    def call(input: Any, *args: Any, **given: Any) -> Any:
        shape = tuple(input.shape)
        if name == "randint":
            return TORCH[name](*args, shape, **{"dtype": input.kind, **given})
        return TORCH[name](shape, *args, **{"dtype": input.kind, **given})

    call.__doc__ = f"{name} in the shape and type of another tensor."
    return call


def _new(name: str) -> Callable[..., Any]:
    return lambda self, *args, **given: TORCH[name](*args, **{"dtype": self.kind, **given})


# Random numbers.


class Generator(Object):
    """Random numbers of their own."""

    _seed = property(lambda self: getattr(self._numbers, "first", 0))  # of the calculator's numbers it is not known

    def __init__(self, device: Any = "cpu") -> None:
        need_processor(device)
        self._random = RandomNumbers()
        self.manual_seed(67280421310721)

    @property
    def _numbers(self) -> Any:
        remember_random(self._random)
        return self._random.generator

    def manual_seed(self, seed: int) -> Generator:
        """Begin anew."""
        remember_random(self._random)
        self._random.generator = Mersenne(seed)
        return self

    def seed(self) -> int:
        """Begin anew with a seed of the system, which is returned."""
        return self.manual_seed(int(np.random.default_rng().integers(2**31))).initial_seed()

    def initial_seed(self) -> int:
        """The seed."""
        return int(self._seed)

    def __repr__(self) -> str:
        return f"<torch.Generator, seed {self._seed}>"

    def get_state(self) -> Any:
        """Where it is."""
        return self._numbers.bit_generator.state

    def set_state(self, state: Any) -> Generator:
        """Go back to where it was."""
        self._numbers.bit_generator.state = state
        return self


class _Default(Generator):
    """The generator of the engine's session."""

    _numbers = property(lambda self: engine_generator())

    def __init__(self) -> None:
        pass

    def manual_seed(self, seed: int) -> Generator:
        """Begin anew."""
        numbers = current().random
        remember_random(numbers)
        numbers.generator = Mersenne(int(seed))
        return self

    def get_state(self) -> Any:
        """Where it is, from now on as a generator of torch."""
        if not isinstance(self._numbers, Mersenne):
            self.manual_seed(int(self._numbers.integers(2**63)))
        return super().get_state()

    def set_state(self, state: Any) -> Generator:
        """Go back to where it was."""
        if not isinstance(self._numbers, Mersenne):
            self.manual_seed(0)
        return super().set_state(state)


default_generator = _Default()
TORCH.update({name: getattr(default_generator, name) for name in ("manual_seed", "seed", "initial_seed")})
TORCH["get_rng_state"] = default_generator.get_state
TORCH["set_rng_state"] = lambda new_state: default_generator.set_state(new_state) and None


class fork_rng:  # noqa: N801 - PyTorch's name
    """A block behind which random numbers go on as if nothing had been drawn in it."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def __enter__(self) -> None:
        self._state = default_generator.get_state()

    def __exit__(self, *_: object) -> None:
        default_generator.set_state(self._state)


TORCH["fork_rng"] = fork_rng


def _draws(generator: Generator | None) -> Any:
    return (generator or default_generator)._numbers


@_maker
def rand(*size: Any, generator: Any = None) -> Any:
    """Random numbers from 0 to below 1."""
    return _draws(generator).random(sizes(size))


@_maker
def randn(*size: Any, generator: Any = None) -> Any:
    """Random numbers of the normal distribution."""
    return _draws(generator).standard_normal(sizes(size))


@_maker
def randint(*ends: Any, size: Any = None, generator: Any = None, **given: Any) -> Any:
    """Random whole numbers from low to below high."""
    if size is None:
        *ends, size = ends  # type: ignore[assignment]
    low, high = (
        (given.get("low", 0), given["high"]) if "high" in given and not ends else (0, *ends) if len(ends) == 1 else ends
    )
    return _draws(generator).integers(low, high, tuple(size)), int64


@_maker
def randperm(n: int, generator: Any = None) -> Any:
    """The numbers from 0 to below n in random order."""
    _bounded("n must be non-negative", n, 0)
    return _draws(generator).permutation(n), int64


for _name in ("zeros", "ones", "empty", "full", "rand", "randn", "randint"):
    public(f"{_name}_like", method=False)(_like(_name))
    if _name in ("zeros", "ones", "empty", "full"):
        give(f"new_{_name}", _new(_name))
give("new_tensor", lambda self, data, **given: tensor(data, **{"dtype": self.kind, **given}))


@public(method=False)
def normal(
    mean: Any, std: Any = 1.0, size: Any = None, *, generator: Any = None, requires_grad: bool = False, **_: Any
) -> Any:
    """Random numbers of normal distributions."""
    shape = tuple(size) if size is not None else np.broadcast_shapes(np.shape(_plain(mean)), np.shape(_plain(std)))
    std = _bounded(_OF_NORMAL, std, 0)
    return _finished(_draws(generator).standard_normal(shape) * std + _plain(mean), None, requires_grad)


def _plain(x: Any) -> Any:
    return np.asarray(getattr(x, "value", x), dtype=np.float64)


_OF_NORMAL = "normal expects std >= 0.0"


def _bounded(expected: str, x: Any, low: float, high: float = math.inf) -> Any:
    """The entries of what random numbers are drawn with. Raises RuntimeError where one is not from low to high."""
    found = _plain(x)
    if not ((found >= low) & (found <= high)).all():
        raise RuntimeError(f"{expected}, but found {x}")
    return found


@public()
def bernoulli(input: Any, p: Any = None, *, generator: Any = None) -> Any:
    """1 with the probability that each entry gives, else 0."""
    chance = _bounded(_OF_BERNOULLI, input if p is None else p, 0, 1)
    return _finished(_draws(generator).random(tuple(input.shape)) < chance, None, False)


@public()
def multinomial(input: Any, num_samples: int, replacement: bool = False, *, generator: Any = None) -> Any:
    """Places drawn with the weights that each row gives."""
    rows, draws = np.atleast_2d(_plain(input)), _draws(generator)
    if not replacement and num_samples > rows.shape[1]:
        raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    if not (np.isfinite(rows).all() and (rows >= 0).all() and (rows.sum(1) > 0).all()):
        raise RuntimeError("invalid multinomial distribution (each row needs weights of which none is below 0)")
    found = drawn_places(draws, rows, num_samples, replacement)
    return _finished(found if input.ndim > 1 else found[0], int64, False)


@public(method=False)
def poisson(input: Any, generator: Any = None) -> Any:
    """Random counts of the rates that are given."""
    rate = _bounded("poisson expects rates that are not negative", input, 0)
    return _finished(_draws(generator).poisson(rate), None, False)


def _randomised(name: str, draw: Callable[..., Any]) -> None:
    def method(self: Any, *args: Any, generator: Any = None, **given: Any) -> Any:
        made = _finished(draw(_draws(generator), tuple(self.shape), *args, **given), self.kind, False)
        return write_over(self, made, name)

    method.__name__, method.__doc__ = name, "Write random numbers over it."
    give(name, checked(name, method))


def _uniform(draws: Any, shape: Any, low: float = 0.0, high: float = 1.0, **ends: float) -> Any:
    low, high = ends.get("from", low), ends.get("to", high)
    return draws.uniform(low, _bounded(f"uniform_ expects an end of at least {low}", high, low), shape)


_OF_BERNOULLI = "bernoulli expects probabilities from 0 to 1"
_DRAWN: dict[str, Any] = {
    "normal_": lambda draws, shape, mean=0.0, std=1.0: draws.normal(mean, _bounded(_OF_NORMAL, std, 0), shape),
    "uniform_": _uniform,
    "random_": lambda draws, shape, *ends: draws.integers(*((0, *ends) if len(ends) == 1 else ends), shape),
    "bernoulli_": lambda draws, shape, p=0.5: draws.random(shape) < _bounded(_OF_BERNOULLI, p, 0, 1),
    "exponential_": lambda draws, shape, lambd=1.0: draws.exponential(
        1 / _bounded("exponential_ expects lambda > 0.0", lambd, math.ulp(0.0)), shape
    ),
}
for _name, _draw in _DRAWN.items():
    _randomised(_name, _draw)


@public("one_hot", method=False)
def one_hot(tensor: Any, num_classes: int = -1) -> Any:
    """1 at the place that each entry gives, along a new last axis."""
    if tensor.kind is not int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    places = _plain(tensor).astype(np.intp)
    count = int(places.max()) + 1 if num_classes < 0 else num_classes
    if places.size and not (places.min() >= 0 and places.max() < count):
        raise RuntimeError("Class values must be smaller than num_classes.")
    afford("one_hot", (*places.shape, count))
    return _finished(places[..., None] == np.arange(count), int64, False)


ONE_HOT = TORCH.pop("one_hot")
