"""Results for programs: JSON, one object per line, and CSV; and for papers: LaTeX. docs/json.md has the schema."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import product, zip_longest
from typing import Any

import agrad
from agrad.engine.errors import AgradError, Hint, Label
from agrad.engine.inspect.json_values import plain, plain_fields
from agrad.engine.text import csv_lines, latex_name
from agrad.engine.values import format_number
from agrad.grammar import results
from agrad.grammar.diagnostics import Span
from agrad.grammar.values.lists import as_truth

SCHEMA = 1
# What is told of an entry that `check` has looked at; `claim` is null where nothing is claimed.
_CHECKED = ("entry", "exact", "difference", "doubt", "claim", "absolute", "verdict", "remark")

# JSON


def answer_line(found: results.Answer, settings: results.Settings) -> str:
    """A value and its derivatives as one object."""
    nonfinite: dict[str, str] = {}
    fields = _value(found.value, settings, nonfinite)
    derivatives, kind = found.derivatives, found.kind
    first = {by[0]: part for by, part in derivatives.items() if len(by) == 1}
    field = kind if kind in ("jacobian", "vjp") else "grad"
    own: dict[str, Any] = {field: first} if first else {}
    if kind == "jvp":
        own["jvp"] = derivatives[()]
    if kind == "order":
        own["derivatives"] = {",".join(by): part for by, part in derivatives.items() if len(by) > 1}
    if kind == "hessian":
        own["hessian"] = {x: {y: _block(found, x, y) for y in first} for x in first}
    if found.units:
        named = {",".join(by): unit for by, unit in found.units.items()}
        own["grad_unit"] = {by: unit for by, unit in named.items() if unit}
    return _line(fields | plain_fields(own, "", nonfinite), nonfinite)


def _block(found: results.Answer, x: str, y: str) -> Any:
    """The second derivatives by x and y, in the shape of x followed by that of y."""
    if (x, y) in found.derivatives:
        return found.derivatives[x, y]
    other: Any = found.derivatives[y, x]
    if isinstance(other, float):
        return other
    own = getattr(found.derivatives[(y,)], "ndim", 0)
    return other.transpose(*range(own, other.ndim), *range(own))


def error_line(problem: AgradError) -> str:
    """An error as one object, with its places."""
    labels = [_label(label) for label in problem.labels]
    said = {"kind": problem.kind, "message": problem.message, "labels": labels, "notes": problem.notes}
    hints = [fix for fix in problem.fixes if isinstance(fix, Hint)]
    return _line({"error": {**said, "fixes": [fix for fix in problem.fixes if fix not in hints], "hints": hints}})


def _label(label: Label) -> dict[str, Any]:
    """A remark on a place: lines and columns count from 1; without a place they are left out."""
    fields: dict[str, Any] = {"text": label.text}
    origin = label.origin
    if origin is not None:
        fields["code"] = origin.text
    if isinstance(origin, Span):
        line, column = origin.source.position(origin.start)
        end_line, end_column = origin.source.position(origin.end)
        fields |= {"source": origin.source.name, "line": line, "column": column}
        fields |= {"end_line": end_line, "end_column": end_column}
    return fields


def result_line(result: results.Result, settings: results.Settings) -> str:
    """A result as one object; what is made for people is a text."""
    nonfinite: dict[str, str] = {}
    if isinstance(result, results.Gradient):
        fields: dict[str, Any] = {"grad": {result.name: result.value}}
        fields |= {"remark": result.remark} if result.remark else {}
    elif isinstance(result, results.Checked):
        names = [(*_CHECKED, "unit") if one.unit else _CHECKED for one in result.report.findings]
        each = zip(result.report.findings, names, strict=True)
        found = [{name: getattr(one, name) for name in fields} for one, fields in each]
        fields = {"ok": result.report.ok, "check": found}
    elif isinstance(result, results.Estimated):
        fields = result.found.fields()
    elif isinstance(result, results.Plot):
        fields = _plot(result, "plot", nonfinite)
    elif hasattr(result, "value"):
        return _line(_value(result.value, settings, nonfinite), nonfinite)
    else:
        fields = {"text": result.text(settings)}
    return _line(plain_fields(fields, "", nonfinite), nonfinite)


def _plot(plot: results.Plot, name: str, nonfinite: dict[str, str]) -> dict[str, Any]:
    """The curves of a plot, and those of the plot below it."""
    below = plain_fields(_plot(plot.below, "below", nonfinite), "", nonfinite) if plot.below is not None else {}
    curves = [
        {"name": one.name, "style": one.style, "x": one.x, "y": one.y} | ({"u": one.u} if one.u else {})
        for one in plot.curves
    ]
    texts = {key: text for key, text in (("label", plot.label), ("title", plot.title)) if text}
    log = {"log": [axis for axis, is_log in zip(("axis", "values"), plot.log, strict=True) if is_log]}
    return {name: curves, **below, "axis": plot.axis, **texts, **(log if any(plot.log) else {})}


def _value(value: Any, settings: results.Settings, nonfinite: dict[str, str]) -> dict[str, Any]:
    """Numbers and arrays as `value`, anything else as its text."""
    try:
        number, u, unit = agrad.engine.units.shown(value, results.uncertainty_of(value))
        fields = {"value": plain(number if unit else as_truth(value), "value", nonfinite)}
        fields |= {} if u is None else {"u": plain(u, "u", nonfinite)}
        return fields | {"unit": unit} if unit else fields
    except AgradError:
        return {"text": results.whole_text_of(value, settings)}


def _line(fields: dict[str, Any], nonfinite: dict[str, str] | None = None) -> str:
    """One object. JSON has no nan and no inf: they become null, and `nonfinite` gives them by path."""
    more = {"nonfinite": nonfinite} if nonfinite else {}
    return json.dumps({"schema": SCHEMA, **fields, **more}, allow_nan=False)


# CSV


def answer_table(found: results.Answer, precision: int | None) -> str:
    """A line of names and the rows below it: a number is repeated on every row, an array has its first axis as rows.

    A vector is a column; an array with more axes has a column for each entry of a row, `d/dx[0]`.
    Raises AgradError of kind `type` for what is not a number.
    """
    columns: dict[str, list[str] | str] = {}
    value, _, unit = agrad.engine.units.shown(found.value)
    for name, part in ((f"value ({unit})" if unit else "value", value), *found.parts()):
        above = found.unit(name).strip()
        columns |= _columns(f"{name} ({above})" if above else name, _numbers(part), precision)
    rows = max((len(column) for column in columns.values() if isinstance(column, list)), default=1)
    cells = [[column] * rows if isinstance(column, str) else column for column in columns.values()]
    return csv_lines([columns, *zip_longest(*cells, fillvalue="")]).removesuffix("\n")


def _numbers(value: Any) -> Any:
    try:
        plain(value, "", {})
    except AgradError:
        raise AgradError("type", "only numbers and arrays can be written as CSV or LaTeX") from None
    return _listed(value)


def _listed(value: Any) -> Any:
    """A float or lists of them, nan and inf included."""
    if isinstance(value, tuple | list):
        return [_listed(entry) for entry in value]
    return value.tolist() if hasattr(value, "tolist") else float(value)


def _columns(name: str, value: Any, precision: int | None) -> dict[str, list[str] | str]:
    if not isinstance(value, list):
        return {name: format_number(value, precision)}
    columns: dict[str, list[str] | str] = {}
    for index in product(*map(range, _shape(value)[1:])):
        column = []
        for row in value:
            for place in index:
                row = row[place]
            column.append(format_number(row, precision))
        columns[f"{name}[{','.join(map(str, index))}]" if index else name] = column
    return columns


def _shape(value: Any) -> list[int]:
    return [len(value), *_shape(value[0])] if isinstance(value, list) and value else [0] * isinstance(value, list)


# LaTeX


def answer_latex(
    found: results.Answer, precision: int | None, written: Callable[[Sequence[str]], str], is_siunitx: bool = False
) -> Iterator[str]:
    """The same lines as formulas, for between dollar signs; `written` gives what a result is computed by.

    `is_siunitx`: numbers and units as the package siunitx takes them.
    """
    amount = _in_siunitx if is_siunitx else _with_unit
    value, _, unit = agrad.engine.units.shown(found.value)
    yield _equation([written(()), amount(_numbers(value), unit, precision)])
    for by, part in found.derivatives.items():
        if found.kind != "hessian" or found.matrix is None or len(by) == 1:
            text = written(by) if found.kind in ("grad", "order", "hessian") else ""
            number = amount(_numbers(part), found.units.get(by, ""), precision)
            yield _equation([_operator(found.kind, by), text, number])
    if found.kind == "hessian" and found.matrix is not None:
        yield f"H = {_formula(_numbers(found.matrix), precision)}"


def _with_unit(value: Any, unit: str, precision: int | None) -> str:
    """A number or an array with its unit, upright: `9.81\\,\\mathrm{m/s^{2}}`."""
    return _formula(value, precision) + (rf"\,\mathrm{{{_upright(unit)}}}" if unit else "")


def _in_siunitx(value: Any, unit: str, precision: int | None) -> str:
    """The same for siunitx: `\\qty{9.81}{\\metre\\per\\second\\tothe{2}}`."""
    macros = agrad.engine.units.siunitx.macros(unit) or _upright(unit)
    text = format_number(value, precision) if isinstance(value, float) else ""
    if not text[-1:].isdigit():  # an array, inf or nan
        return _formula(value, precision) + (rf"\,\unit{{{macros}}}" if unit else "")
    return rf"\qty{{{text}}}{{{macros}}}" if unit else rf"\num{{{text}}}"


def _upright(unit: str) -> str:
    """The text of a unit, for an upright font."""
    unit = re.sub(r"\^\(([^)]+)\)", r"^{\1}", unit)
    powers = re.sub("[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+", lambda found: f"^{{{found[0].translate(agrad.engine.units.unit.DIGITS)}}}", unit)
    signs = {"·": r"\cdot ", "µ": r"\mu ", "Ω": r"\Omega ", "°": r"{}^\circ ", "Å": r"\text{Å}", "%": r"\%", "_": r"\_"}
    return "".join(signs.get(sign, sign) for sign in powers)


def _equation(sides: Sequence[str]) -> str:
    """What is equal, without what is missing or said twice."""
    return " = ".join(dict.fromkeys(filter(None, sides)))


def _operator(kind: str, by: Sequence[str]) -> str:
    if kind == "jvp":
        return r"J v"
    if kind == "vjp":
        return rf"u^{{\top}} J_{{{latex_name(by[0])}}}"
    power = f"^{{{len(by)}}}" if len(by) > 1 else ""
    below = " ".join(
        rf"\partial {latex_name(name)}" + (f"^{{{count}}}" if count > 1 else "") for name, count in Counter(by).items()
    )
    return rf"\frac{{\partial{power}}}{{{below}}}"


def _formula(value: Any, precision: int | None) -> str:
    """A number, or an array in brackets: a vector as a column, a matrix with its rows, more axes inside each other."""
    if not isinstance(value, list):
        return _number(value, precision)
    rows = [row if len(_shape(value)) == 2 and isinstance(row, list) else [row] for row in value]
    lines = [" & ".join(_formula(entry, precision) for entry in row) for row in rows]
    return r"\begin{bmatrix} " + r" \\ ".join(lines) + r" \end{bmatrix}"


def _number(number: float, precision: int | None) -> str:
    text = format_number(number, precision)
    special = {"inf": r"\infty", "-inf": r"-\infty", "nan": r"\mathrm{nan}"}
    mantissa, e, exponent = text.partition("e")
    return special.get(text) or (rf"{mantissa} \times 10^{{{exponent}}}" if e else text)
