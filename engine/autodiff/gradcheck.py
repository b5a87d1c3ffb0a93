"""`check`: whether derivatives are correct. The code that does the work is loaded when it is called."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from agrad.engine.core.tensor import Tensor, tensor
from agrad.engine.errors import AgradError
from agrad.engine.values import Value, coerce, format_shape, shape_of, spread

if TYPE_CHECKING:
    from agrad.engine.autodiff.comparison import Report


def check(f: Callable[..., Any], *points: Any, claim: Any = None) -> Report:
    """The exact derivatives of f at a point, compared with central differences, for every entry of every argument.

    The points are numbers or arrays, one for each argument; f must return one number. `claim` is another derivative
    to be checked as well: in the shape of the point, a tuple for several points (None where nothing is claimed), or
    a function of the points that gives this. The verdict on an entry is

    * `kink` if there is no derivative for differences to find: the value is not finite, there or on one side, or the
      differences on the right and on the left do not agree (to 1e-4) as the step shrinks; and where
      the exact derivative is inf or nan, if an intermediate value or slope is so too;
    * else `ok` if the difference, and the claim if there is one, are within 1e-7*max(|exact|, |difference|) + 4*doubt
      of the exact derivative, where the doubt bounds the error of the differences: the change by
      extrapolation, and the effect of rounding on them and on the exact derivative;
    * else `mismatch`.

    Each step is chosen for its entry, among all powers of 2 from a quarter of max(1, |x|) down to rounding. All other
    effects of f are undone.

    Raises AgradError: of kind `shape` if f gives an array, `type` if it gives something else, `arity` or `shape` for a
    claim that does not fit, and any error that f raises at the point itself.
    """
    from agrad.engine.autodiff.comparison import compare  # here: see above

    leaves = [tensor(point, requires_grad=True) for point in points]
    for leaf, name in zip(leaves, _names(f, len(points)), strict=True):
        leaf.name = name
    return compare(lambda: f(*leaves), leaves, _claims(claim, points, leaves))


def _names(f: Callable[..., Any], count: int) -> Sequence[str]:
    """The names of the arguments of f; x, or x1, x2, … if they are unknown."""
    from inspect import Parameter, signature  # here, since it takes as long to load as the rest of the engine

    try:
        parameters = list(signature(f).parameters.values())[:count]
    except (TypeError, ValueError):
        parameters = []
    by_place = [p.name for p in parameters if p.kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)]
    if len(by_place) == count:
        return by_place
    return ["x"] if count == 1 else [f"x{number}" for number in range(1, count + 1)]


def _claims(claim: Any, points: Sequence[Any], leaves: Sequence[Tensor]) -> list[Value | None]:
    """The claim for each leaf."""
    if callable(claim):
        claim = claim(*points)
    claims = list(claim) if isinstance(claim, tuple) and len(leaves) != 1 else [claim]
    if claim is None:
        claims *= len(leaves)
    if len(claims) != len(leaves):
        raise AgradError("arity", f"{len(claims)} derivatives are claimed, for {len(leaves)} points")
    return [None if part is None else claimed(part, leaf) for part, leaf in zip(claims, leaves, strict=True)]


def claimed(claim: Any, leaf: Tensor) -> Value:
    """A claimed derivative in the shape of its leaf; one number is the claim for every entry."""
    value = claim.value if isinstance(claim, Tensor) else coerce(claim)
    if shape_of(value) not in ((), leaf.shape):
        shapes = f"{format_shape(shape_of(value))}, and {leaf.node.spell()} has {format_shape(leaf.shape)}"
        raise AgradError("shape", f"the claimed derivative has shape {shapes}: they must be the same")
    return spread(value, leaf.shape)
