"""An uncertainty budget as a table, JSON, CSV or LaTeX, and as curves."""

from __future__ import annotations

import json as jsons
from collections.abc import Sequence
from csv import writer
from io import StringIO
from math import hypot, isfinite
from typing import TYPE_CHECKING, Any

from agrad.engine.inspect.json_values import finite
from agrad.engine.text import align
from agrad.engine.values import format_number, format_uncertain, np

if TYPE_CHECKING:
    from agrad.engine.inspect.budget import Budget, Sampled, Source

_HEAD = ("source", "where", "value", "u", "dy/dx", "u dy/dx", "share", "dof")


def _cells(row: Source, percent: str = " %") -> list[str]:
    numbers = [format_number(x, 4) for x in (row.u, row.sensitivity, row.contribution)]
    dof = format_number(row.dof, 4) if isfinite(row.dof) else ""
    return [row.name, row.where, format_number(row.value), *numbers, f"{100 * row.share:.1f}{percent}", dof]


def text(budget: Budget, sign: str) -> str:
    """The table, a line for each source, and what follows from it."""
    rows = [_cells(row) for row in budget.sources]
    if len({row[1] for row in rows}) == 1:
        rows = [[name, "", *rest] for name, _, *rest in rows]
    head = [word if any(row[place] for row in rows) else "" for place, word in enumerate(_HEAD)]
    u, wide, k = (format_number(x, 3) for x in (budget.u, budget.expanded, budget.k))
    dof = f", {format_number(budget.dof, 3)} effective degrees of freedom" if isfinite(budget.dof) else ""
    lines = [
        *align([head, *rows], right=range(2, len(_HEAD))),
        "",
        f"{budget.name} = {format_uncertain(budget.value, budget.u, sign=sign)}   u = {u}{dof}",
        f"expanded uncertainty U = {wide}   k = {k}, coverage {budget.coverage:g}",
    ]
    if budget.second is not None:
        more = budget.second.u
        bias, one, both = (format_number(x, 3) for x in (budget.second.bias, more, hypot(budget.u, more)))
        lines.append(f"second order: bias {bias}, u = {one} more, {both} in all")
    return "\n".join([*lines, *(_sampled(budget, budget.samples) if budget.samples is not None else ())])


def _sampled(budget: Budget, found: Sampled) -> list[str]:
    ends = f"{format_number(found.low, 5)} to {format_number(found.high, 5)}"
    linear = [format_number(budget.value + side * budget.expanded, 5) for side in (-1, 1)]
    verdict = "holds" if found.holds else "does not hold"
    mean = f"mean {format_number(found.mean, 6)}, u = {format_number(found.u, 3)}"
    return [
        f"{found.number} samples: {mean}, {100 * budget.coverage:g} % in {ends}",
        f"the linear result, {linear[0]} to {linear[1]}, {verdict} to two digits of u, "
        f"which is within {format_number(found.tolerance, 3)}",
    ]


def fields(budget: Budget) -> dict[str, Any]:
    """The budget for JSON; degrees of freedom are null where they are infinite."""
    found = budget._asdict() | {"dof": finite(budget.dof)}
    del found["name"], found["histogram"]
    found["sources"] = [row._asdict() | {"dof": finite(row.dof)} for row in budget.sources]
    parts = {name: found.pop(name) for name in ("second", "samples")}
    return found | {name: part._asdict() for name, part in parts.items() if part is not None}


def json(budget: Budget) -> str:
    """One object."""
    return jsons.dumps({"schema": 1, "budget": fields(budget)})


def csv(budget: Budget) -> str:
    """A line for each source, and one for the result."""
    result = (budget.value, budget.u, 1.0, budget.u, 1.0, budget.dof)
    named = [*((row.name, row[2:]) for row in budget.sources), (budget.name, result)]
    rows = [[name, *[format_number(x, None) for x in numbers]] for name, numbers in named]
    file = StringIO()
    writer(file, lineterminator="\n").writerows([["source", *budget.sources[0]._fields[2:]], *rows])
    return file.getvalue().removesuffix("\n")


def latex(budget: Budget) -> str:
    """A table for a paper."""
    head = ["source", "value", "$u$", r"$\partial y/\partial x$", "contribution", r"share / \%"]
    rows = [[_escaped(name), *rest[1:6]] for name, *rest in (_cells(row, "") for row in budget.sources)]
    number = format_uncertain(budget.value, budget.u, sign=r"\pm")
    result = [_escaped(budget.name), rf"\multicolumn{{5}}{{l}}{{${number}$}}"]
    lines = [_latex_row(head), r"\hline", *map(_latex_row, rows), r"\hline", _latex_row(result)]
    return "\n".join([r"\begin{tabular}{lrrrrr}", *lines, r"\end{tabular}"])


def _latex_row(cells: Sequence[str]) -> str:
    return " & ".join(cells) + r" \\"


def _escaped(name: str) -> str:
    return name.replace("_", r"\_").replace("^", r"\^{}").replace("%", r"\%")


def curves(budget: Budget) -> list[tuple[str, list[float], list[float]]]:
    """The density of the samples, and that of the normal distribution of the linear result."""
    assert budget.histogram is not None
    edges, heights = budget.histogram
    middles = (edges[1:] + edges[:-1]) / 2
    found = [("samples", middles.tolist(), heights.tolist())]
    if budget.u > 0:
        z = (middles - budget.value) / budget.u
        density = np.exp(-z * z / 2) / (budget.u * np.sqrt(2 * np.pi))
        found.append(("normal", middles.tolist(), density.tolist()))
    return found
