"""A function as a program of one vector and of what it uses from outside, and functions that are derived from it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from agrad.engine import units
from agrad.engine.autodiff.transforms import returned
from agrad.engine.compile.derive import row
from agrad.engine.core.dispatch import operand
from agrad.engine.core.tensor import Tensor, tensor
from agrad.engine.errors import AgradError, Hint
from agrad.engine.ops.arrays.reduction import total
from agrad.engine.program.closed import closed_over, flat, joined, settled, split
from agrad.engine.program.ir import cancel, optimised, rewritten
from agrad.engine.program.scan import Body, Sizes
from agrad.engine.program.trace import extract, gradients, inlined, placeholders
from agrad.engine.values import Array, Shape, describe, format_shape, np


def argument_names(f: Any) -> list[str]:
    """The names of the arguments of a function, of Python or of the language, where it tells them."""
    if hasattr(f, "arguments"):
        return [*f.arguments]
    code = getattr(f, "__code__", None)
    return [*code.co_varnames[: code.co_argcount]] if code is not None else []


def function_of(
    what: str,
    f: Any,
    shapes: Sequence[Shape],
    start: Array,
    wanted: Shape | None = None,
    is_deep: bool = False,
    known: Any = units.Unmeasured,
) -> tuple[Body, Any, Shape]:
    """A function of several values as one of a vector of their entries; what it uses; the shape of its result.

    `known`: the units of its arguments, which `units.function` gives; without it there must be none.

    Raises AgradError as `closed_over` does, of kind `type` where the result is no number or array, and of kind `shape`
    where it has not as many entries as the shape that is `wanted`.
    """
    if not callable(f):
        fixes = [Hint(f"{what}(x**2 - 2, …)   of a name that has no value; or the name of a function")]
        raise AgradError("type", f"{what} needs a function, not {describe(f)}", fixes=fixes)
    shape: list[Shape] = []

    def called(_: Tensor, x: Tensor) -> Tensor:
        try:
            given = split(x, shapes)
            with known.given(given):
                y = f(*given)
        except TypeError as problem:
            if problem.__traceback__ is None or problem.__traceback__.tb_next is not None:
                raise  # from inside of the function
            raise AgradError("type", f"{what}: the function takes other arguments: {problem}") from None
        y = returned(what, operand(y) if isinstance(y, list) else y)
        shape.append(y.shape)
        made: Tensor = flat(known.inferred(y))
        return made

    state = np.zeros(0)  # of a loop, which a function alone has not
    program, outside, example = closed_over(what, called, [state, start], ("state", "x"), is_deep=is_deep)
    if wanted is not None and prod(shape[0]) != prod(wanted):
        shapes_of = f"{format_shape(shape[0])}, and one of shape {format_shape(wanted)} is needed"
        raise AgradError("shape", f"{what}: the function gives a result of shape {shapes_of}")
    sizes = Sizes(0, len(start), len(example), prod(shape[0]), 0)
    program = settled(what, program)
    if is_deep:  # so that distances from a place are exact
        program = optimised(rewritten(program, cancel), again=True)
    body = Body(program, sizes, (state, start, example))
    same = joined([flat(units.infer.bare(x)) for x in outside]) if outside else np.zeros(0)
    return body, same, shape[0]


def derived(
    body: Body, derive: Callable[..., Any], more: tuple[int, int] = (0, 0), computed: Callable[..., Any] = inlined
) -> Body:
    """The function that computes something from the result, the argument, and what is used from outside.

    It has so many `more` numbers in its argument, and from outside, and gets each of these as well. `computed`: another
    way to compute the program of the function than step by step.
    """
    state, own, same = body.example
    example = state, np.concatenate([own, np.ones(more[0])]), np.concatenate([same, np.ones(more[1])])
    with placeholders(example, range(3)) as xs:
        given = xs[1][: len(own)], xs[2][: len(same)]
        (y,) = computed(body.program, [xs[0], *given])
        made = flat(derive(y, *given, xs[1][len(own) :], xs[2][len(same) :]))
        made = made if isinstance(made, Tensor) else tensor(made)
        program = settled("scan", extract([made], xs, ("state", "row", "same"), None))
    sizes = Sizes(0, len(example[1]), len(example[2]), made.size, 0)
    return Body(program, sizes, example)


def gradient_of(body: Body) -> Body:
    """The gradient of a number."""
    return derived(body, lambda y, x, *_: gradients(y[0], [x])[0])


def jacobian_of(body: Body) -> Body:
    """The derivatives by the argument, in the order of the result's entries."""
    return derived(body, lambda y, x, *_: row(y, [x])[0])


def products_of(gradient: Body) -> Body:
    """The products of a Hessian with a vector, which follows the argument; from the gradient."""
    return derived(gradient, lambda y, x, _, v, *__: gradients(total(y * v), [x])[0], (gradient.sizes.row, 0))


def pulled(body: Body) -> Body:
    """The gradient by what is used from outside of the sum of g times the results; g is the rest of it."""
    return derived(body, lambda y, _, same, __, g: gradients(total(y * g), [same])[0], (0, body.sizes.out))


class Evaluated:
    """A function to be called many times, with what it uses from outside fixed; the result has a shape."""

    def __init__(self, body: Body, same: Array, shape: Shape = (-1,)) -> None:
        self.step, self.shape = body.step, shape
        self.is_of_numbers = body.numbers is not None
        self.same = same.tolist() if self.is_of_numbers else same
        self.calls = 0

    def __call__(self, x: Any) -> Array:
        """The result as a vector."""
        self.calls += 1
        if self.is_of_numbers:
            found = self.step(*np.asarray(x, dtype=float).tolist(), *self.same)
        else:
            (found,) = self.step(np.zeros(0), np.ascontiguousarray(x, dtype=float), self.same)
        return np.array(found).reshape(self.shape)[()]
