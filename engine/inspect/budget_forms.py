"""An uncertainty budget as a table, JSON, CSV or LaTeX, and as curves."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any

from agrad.engine.inspect.json_values import finite
from agrad.engine.text import align
from agrad.engine.values import format_number, format_uncertain, np

if TYPE_CHECKING:
    from agrad.engine.inspect.budget import Budget, Source

_HEAD = ("source", "where", "value", "u", "dy/dx", "u dy/dx", "share", "dof")
_NUMBERS = ("value", "u", "sensitivity", "contribution", "share")


def _cells(row: Any, digits: int = 4) -> list[str]:
    numbers = [format_number(x, digits) for x in (row.u, row.slope, row.contribution)]
    dof = format_number(row.dof, digits) if isfinite(row.dof) else ""
    return [row.name, row.place, format_number(row.value), *numbers, f"{100 * row.share:.1f} %", dof]


def text(budget: Budget, sign: str) -> str:
    """The table, a line for each source, and what follows from it."""
    rows = [_cells(row) for row in budget.sources]
    if len({row[1] for row in rows}) == 1:
        rows = [[name, "", *rest] for name, _, *rest in rows]
    head = [word if any(row[place] for row in rows) else "" for place, word in enumerate(_HEAD)]
    lines = align([head, *rows], right=range(2, len(_HEAD)))
    u = format_number(budget.u, 3)
    result = format_uncertain(budget.value, budget.u, sign=sign)
    lines += ["", f"{budget.name} = {result}   u = {u}" + _dof(budget.dof)]
    wide = format_number(budget.expanded, 3)
    lines.append(
        f"expanded uncertainty U = {wide}   k = {format_number(budget.factor, 3)}, coverage {budget.coverage:g}"
    )
    if budget.second is not None:
        both = format_number(float(np.hypot(budget.u, budget.second.u)), 3)
        bias = format_number(budget.second.bias, 3)
        lines.append(f"second order: bias {bias}, u = {format_number(budget.second.u, 3)} more, {both} in all")
    return "\n".join([*lines, *_sampled(budget)])


def _dof(dof: float) -> str:
    return f", {format_number(dof, 3)} effective degrees of freedom" if isfinite(dof) else ""


def _sampled(budget: Budget) -> list[str]:
    sampled = budget.sampled
    if sampled is None:
        return []
    ends = f"{format_number(sampled.low, 5)} to {format_number(sampled.high, 5)}"
    linear = [format_number(budget.value + side * budget.expanded, 5) for side in (-1, 1)]
    verdict = "holds" if sampled.holds else "does not hold"
    mean = f"mean {format_number(sampled.mean, 6)}, u = {format_number(sampled.u, 3)}"
    return [
        f"{sampled.number} samples: {mean}, {100 * budget.coverage:g} % in {ends}",
        f"the linear result, {linear[0]} to {linear[1]}, {verdict} to two digits of u, "
        f"which is within {format_number(sampled.tolerance, 3)}",
    ]


def fields(budget: Budget) -> dict[str, Any]:
    """The budget for JSON; degrees of freedom are null where they are infinite."""
    found: dict[str, Any] = {
        "value": budget.value,
        "u": budget.u,
        "sources": [
            {"name": row.name, "where": row.place, **dict(zip(_NUMBERS, _numbers(row), strict=True))}
            | {"dof": finite(row.dof)}
            for row in budget.sources
        ],
        "dof": finite(budget.dof),
        "coverage": budget.coverage,
        "k": budget.factor,
        "expanded": budget.expanded,
    }
    if budget.second is not None:
        found["second"] = {"bias": budget.second.bias, "u": budget.second.u}
    sampled = budget.sampled
    if sampled is not None:
        names = ("number", "mean", "u", "low", "high", "tolerance", "holds")
        found["samples"] = {name: getattr(sampled, name) for name in names}
    return found


def _numbers(row: Source) -> tuple[float, ...]:
    """Those of `_NUMBERS`."""
    return row.value, row.u, row.slope, row.contribution, row.share


def json(budget: Budget) -> str:
    """One object."""
    from json import dumps

    return dumps({"schema": 1, "budget": fields(budget)})


def csv(budget: Budget) -> str:
    """A line for each source, and one for the result."""
    from csv import writer
    from io import StringIO

    file = StringIO()
    table = writer(file, lineterminator="\n")
    table.writerow(["source", *_NUMBERS, "dof"])
    for row in budget.sources:
        table.writerow([row.name, *[format_number(x, None) for x in (*_numbers(row), row.dof)]])
    result = (budget.value, budget.u, 1.0, budget.u, 1.0, budget.dof)
    table.writerow([budget.name, *[format_number(x, None) for x in result]])
    return file.getvalue().removesuffix("\n")


def latex(budget: Budget) -> str:
    """A table for a paper."""
    rows = [_latex_row([_escaped(row.name), *_cells(row)[2:6], f"{100 * row.share:.1f}"]) for row in budget.sources]
    head = ["source", "value", "$u$", r"$\partial y/\partial x$", "contribution", r"share / \%"]
    result = format_uncertain(budget.value, budget.u, sign=r"\pm")
    return "\n".join(
        [
            r"\begin{tabular}{lrrrrr}",
            _latex_row(head),
            r"\hline",
            *rows,
            r"\hline",
            rf"{_escaped(budget.name)} & \multicolumn{{5}}{{l}}{{${result}$}} \\",
            r"\end{tabular}",
        ]
    )


def _latex_row(cells: Sequence[str]) -> str:
    return " & ".join(cells) + r" \\"


def _escaped(name: str) -> str:
    return name.replace("_", r"\_").replace("^", r"\^{}").replace("%", r"\%")


def curves(budget: Budget) -> list[tuple[str, list[float], list[float]]]:
    """The density of the samples, and that of the normal distribution of the linear result."""
    sampled = budget.sampled
    assert sampled is not None
    middles = (sampled.edges[1:] + sampled.edges[:-1]) / 2
    found = [("samples", middles.tolist(), sampled.heights.tolist())]
    if budget.u > 0:
        z = (middles - budget.value) / budget.u
        density = np.exp(-z * z / 2) / (budget.u * np.sqrt(2 * np.pi))
        found.append(("normal", middles.tolist(), density.tolist()))
    return found
