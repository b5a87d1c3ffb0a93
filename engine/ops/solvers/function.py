"""A function as a program of one vector and of what it uses from outside, and functions that are derived from it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from agrad.engine.autodiff.transforms import jacobian
from agrad.engine.core.context import scope
from agrad.engine.core.dispatch import operand
from agrad.engine.core.numpy_warnings import quiet
from agrad.engine.core.op import FUNCTIONS, OPS
from agrad.engine.core.tensor import Tensor, tensor
from agrad.engine.errors import AgradError, Hint
from agrad.engine.program.closed import closed_over, settled
from agrad.engine.program.extract import extract
from agrad.engine.program.scan import Body, Sizes
from agrad.engine.program.structure import flat, joined
from agrad.engine.program.trace import entered, gradients, inlined, recording
from agrad.engine.values import Array, Shape, describe, np


def apply(body: Body, z: Any) -> Any:
    """A function, on its argument and what it uses from outside as one vector: an operation, with derivatives."""
    return OPS["scanned"].call(z, body=body, count=1)


def function_of(what: str, f: Any, shapes: Sequence[Shape], start: Array) -> tuple[Body, Any, Shape]:
    """A function of several values as one of a vector of their entries; what it uses; the shape of its result.

    Raises AgradError as `closed_over` does, and of kind `type` where the result is no number or array.
    """
    if not callable(f):
        fixes = [Hint(f"{what}(x**2 - 2, …)   of a name that has no value; or the name of a function")]
        raise AgradError("type", f"{what} needs a function, not {describe(f)}", fixes=fixes)
    shape: list[Shape] = []

    def called(x: Tensor) -> Tensor:
        try:
            y = f(*_split(x, shapes))
        except TypeError as problem:
            if problem.__traceback__ is None or problem.__traceback__.tb_next is not None:
                raise  # from inside of the function
            raise AgradError("type", f"{what}: the function takes other arguments: {problem}") from None
        if isinstance(y, str | tuple) or callable(y) or y is None:
            raise AgradError("type", f"{what} of a function whose result is {describe(y)}, not a number or an array")
        y = operand(y)
        y = y if isinstance(y, Tensor) else tensor(y)
        shape.append(y.shape)
        made: Tensor = flat(y)
        return made

    found = closed_over(what, called, [start], ("x",))
    program = settled(what, found.program)
    sizes = Sizes(0, len(start), len(found.example), prod(shape[0]), 0)
    same = joined([flat(x) for x in found.same]) if found.same else np.zeros(0)
    return _body(program, sizes, start, found.example), same, shape[0]


def _split(x: Tensor, shapes: Sequence[Shape]) -> list[Tensor]:
    """The values of a vector of their entries."""
    found, end = [], 0
    for shape in shapes:
        begin, end = end, end + prod(shape)
        found.append(FUNCTIONS["reshape"].call(x[begin:end], shape) if shape else x[begin])
    return found


def _body(program: Any, sizes: Sizes, x: Array, same: Array) -> Body:
    """A program of two vectors as the body of a loop without a state."""
    moved = extract_with_state(program, x, same)
    return Body(moved, sizes, (np.zeros(0), x, same))


def extract_with_state(program: Any, x: Array, same: Array) -> Any:
    """The program with a state of no entries before its inputs."""
    with recording(), scope(listener=None, undefined=None), quiet():
        xs = [entered(value) for value in (np.zeros(0), x, same)]
        (y,) = inlined(program, xs[1:])
        return settled("scan", extract([y], xs, ("state", "row", "same"), None))


def derived(body: Body, derive: Callable[..., Any], more: tuple[int, int] = (0, 0)) -> Body:
    """The function that computes something from the result, the argument, and what is used from outside.

    It has so many `more` numbers in its argument, and from outside, and gets each of these as well.
    """
    state, row, same = body.example
    example = state, np.concatenate([row, np.ones(more[0])]), np.concatenate([same, np.ones(more[1])])
    with recording(), scope(listener=None, undefined=None), quiet():
        xs = [entered(value) for value in example]
        own = [x[: len(before)] for x, before in zip(xs[1:], (row, same), strict=True)]
        (y,) = inlined(body.program, [xs[0], *own])
        made = flat(derive(y, *own, xs[1][len(row) :], xs[2][len(same) :]))
        made = made if isinstance(made, Tensor) else tensor(made)
        program = settled("scan", extract([made], xs, ("state", "row", "same"), None))
    sizes = Sizes(0, len(example[1]), len(example[2]), made.size, 0)
    return Body(program, sizes, example)


def gradient_of(body: Body) -> Body:
    """The gradient of a number."""
    return derived(body, lambda y, x, *_: gradients(y[0], [x])[0])


def jacobian_of(body: Body) -> Body:
    """The derivatives by the argument, in the order of the result's entries."""
    return derived(body, lambda y, x, *_: jacobian_or_zeros(y, x))


def products_of(gradient: Body) -> Body:
    """The products of a Hessian with a vector, which follows the argument; from the gradient."""

    def derive(y: Tensor, x: Tensor, same: Tensor, v: Tensor, _: Tensor) -> Tensor:
        return gradients(FUNCTIONS["sum"].call(y * v), [x])[0]

    return derived(gradient, derive, (gradient.sizes.row, 0))


def jacobian_or_zeros(y: Tensor, x: Tensor) -> Any:
    """The Jacobian, also where y does not depend on x."""
    zeros = FUNCTIONS["where"].call(0.0, FUNCTIONS["sum"].call(x), 0.0)
    return jacobian(y + zeros, x, create_graph=True)


def pulled(body: Body) -> Body:
    """The gradient by what is used from outside of the sum of g times the results; g is the rest of it."""

    def derive(y: Tensor, x: Tensor, same: Tensor, _: Tensor, g: Tensor) -> Tensor:
        total = FUNCTIONS["sum"].call(y * g)
        return gradients(total, [same])[0]

    return derived(body, derive, (0, body.sizes.out))


class Evaluated:
    """A function to be called many times, with what it uses from outside fixed."""

    def __init__(self, body: Body, same: Array) -> None:
        self.step = body.step
        self.is_of_numbers = body.numbers is not None
        self.same = same.tolist() if self.is_of_numbers else same
        self.calls = 0

    def __call__(self, x: Any) -> Array:
        """The result as a vector."""
        self.calls += 1
        if self.is_of_numbers:
            return np.array(self.step(*(x.tolist() if hasattr(x, "tolist") else x), *self.same))
        (found,) = self.step(np.zeros(0), np.ascontiguousarray(x, dtype=float), self.same)
        return np.array(found)
