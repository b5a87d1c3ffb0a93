"""The picture of a fit: the data, the curve with its confidence band, and the residuals below."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, NamedTuple

from agrad.engine.autodiff.uncertainty import uncertainty
from agrad.engine.core.tensor import Tensor, tensor
from agrad.engine.errors import AgradError
from agrad.engine.inspect.budget import coverage_factor
from agrad.engine.values import Array, np
from agrad.grammar.diagnostics import Source
from agrad.grammar.results import Curve, Plot
from agrad.grammar.run.code import loads
from agrad.grammar.runtime.builtins import Closure, Definition
from agrad.grammar.runtime.operations import as_array
from agrad.grammar.syntax.ast import Attribute, Each, Expr, Index, Lambda, Name, replaced
from agrad.grammar.syntax.parser import parse_expression

_PLACES = 200  # of the curve
_COVERAGE = 0.95  # of the band


class LastFit(NamedTuple):
    """The latest fit of a session: the model, its parameters, and what was measured."""

    model: Closure  # of the parameters, and of all else that it uses
    parameters: list[Tensor]
    used: dict[str, Any]
    dof: float
    name: str
    y: Array
    u: Any  # of what was measured; None where that is not known

    def at(self, count: int, **others: Any) -> Any:
        """So many numbers of the model, with other values for what it uses. Raises AgradError where it has others."""
        return as_array(self.model(*self.parameters, **{**self.used, **others})) + np.zeros(count)


def last_fit(model: Closure, parameters: list[Tensor], dof: float, name: str, y: Array, u: Any) -> LastFit:
    """A fit, with what its model uses as it is now; parts of names, as `t.x` and `x[:50]`, are names of their own."""
    given, used = model.definition.parameters, dict[str, Any]()
    bound = {*given}  # names that have another value each time

    def function(tree: Expr, parameters: tuple[str, ...] = ()) -> Closure:
        definition = Definition(tree.span.text, parameters, (), tree, tree.span)
        return Closure(definition, (), model.machine, model.scopes)

    def named(node: Any) -> Name | None:
        if isinstance(node, Each | Lambda):
            bound.update(_names(node.target) if isinstance(node, Each) else [one.name for one in node.parameters])
        base = node
        while isinstance(base, Attribute | Index):
            base = base.value
        if not isinstance(base, Name) or not any(base.id in names for names in model.scopes) or _names(node) & bound:
            return None
        part = Name(node.span.text, span=node.span)
        used[part.id] = function(node)()
        return part

    tree = replaced(parse_expression(Source("model", model.__name__)), named)
    return LastFit(function(tree, (*given, *used)), parameters, used, dof, name, y, u)


def _names(tree: Any) -> set[str]:
    """What an expression looks up."""
    return {one.id for one in loads(tree)}


def _places(x: Array, log: bool) -> Array:
    """Where the curve over data at `x` is computed, in steps that are equal on the axis."""
    above = x[x > 0]
    if log and above.size:
        return np.geomspace(np.min(above), np.max(above), _PLACES)
    return np.linspace(np.min(x), np.max(x), _PLACES)


def picture(fit: LastFit, log: bool = False) -> Plot:
    """The data and the curve over the vector that the model uses, or over the index if there are several or none.

    With `log`, the places of the curve are as dense as a logarithmic axis shows them.
    """
    value = fit.at(len(fit.y))
    used = {name: as_array(value) for name, value in fit.used.items()}
    vectors: dict[str, Any] = {
        name: x.value for name, x in used.items() if isinstance(x, Tensor) and x.shape == fit.y.shape
    }
    axis, x = next(iter(vectors.items())) if len(vectors) == 1 else ("index", np.arange(float(len(fit.y))))
    order = np.argsort(x, kind="stable")
    dense, curve = x[order], value[order]
    with suppress(AgradError):  # a point of most models is the same whatever the others are
        some, places = dense[::2], _places(x, log)
        if np.allclose(fit.at(len(some), **{axis: tensor(some)}).value, curve.value[::2], rtol=1e-9, atol=0):
            dense, curve = places, fit.at(len(places), **{axis: tensor(places)})
    middle, half = curve.value, coverage_factor(_COVERAGE, fit.dof) * np.asarray(uncertainty(curve))
    u = () if fit.u is None else np.broadcast_to(fit.u, fit.y.shape).tolist()
    gap = [np.nan]
    band = np.concatenate([middle + half, gap, middle - half]).tolist()
    curves = (
        Curve(fit.name, x.tolist(), fit.y.tolist(), "points", u=u),
        Curve(fit.model.__name__, dense.tolist(), middle.tolist()),
        Curve(f"{100 * _COVERAGE:g} % confidence", [*dense.tolist(), *gap, *dense.tolist()], band, "dashes"),
    )
    below = Plot((Curve("residuals", x.tolist(), (fit.y - value.value).tolist(), "points", u=u),), axis)
    return Plot(curves, axis, below=below)
