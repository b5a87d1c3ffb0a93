"""Fixes for what a table does not have: the column that is meant, or what a method of data frames is here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from agrad.engine.errors import Hint, Origin, UnknownColumn
from agrad.grammar.diagnostics import Span, suggest
from agrad.grammar.syntax.errors.fixes import corrected
from agrad.grammar.syntax.parser import can_be_read

# What is asked of the data frames of pandas and R, of a table t with a column x: the same of a table of the language.
_OF_FRAMES = {
    "head": "{t}[:{n}]",
    "tail": "{t}[-{n}:]",
    "values": "tensor({t})",
    "to_numpy": "tensor({t})",
    "dropna": "{t}[isfinite({x})]",
    "sort_values": "{t}[argsort({x}), :]",
    "hist": "histogram {x}",
    "describe": "mean({x}), std({x}), min({x}), max({x})",
    "iloc": "{t}[2:5]   for rows",
    "loc": "{t}[{x} > 0]   for rows",
    "plot": "plot {x}, {y}",
}
_GENERIC = re.compile(r"(?<![\w.\"'])t(?=\[|\.columns|\)(?:$| |:))")
_NAMES = re.compile(r"(?<![\w.\"'])[^\W\d]\w*")
_ROWS = 5  # of head and tail
_LEADING = re.compile(r"[^\W\d]\w*(?![\w.])"), re.compile(r"[^\W\d]\w*(?: \w+)*(?=\s*[\[(/])")  # the name in `time (s)`


def column_fixes(facts: UnknownColumn, at: Origin | None) -> list[str]:
    """The line with a column that the table has, or with what a method of a data frame is in the language."""
    name, columns = facts.name, facts.columns
    owner, rest = _apart(name, at.text if at is not None else "")
    meant = suggest(name, columns) or leading(name, columns)
    if isinstance(at, Span) and owner:
        fixes = [corrected(at, spelled(owner, one)) for one in meant]
        if name in _OF_FRAMES and not meant and columns:
            fixes = [_of_frame(name, owner, rest, columns, at)]
        if fixes := [fix for fix in fixes if isinstance(fix, Hint) or can_be_read(fix)]:
            return fixes
    table = owner if owner.isidentifier() else "t"
    return [Hint(spelled(table, one)) for one in meant] or [Hint(f"{table}.columns   are the names")]


def of_own_table(fixes: list[str], typed: str, names: Mapping[str, object] | None) -> list[str]:
    """Fixes that speak of a table t, with the name that it has in what was typed, if there is one table alone."""
    if not names or not any(map(_GENERIC.search, fixes)):
        return fixes
    from agrad.engine.ops.tables import Table  # here, since few sessions have tables

    own = [name for name in dict.fromkeys(_NAMES.findall(typed)) if isinstance(names.get(name), Table)]
    return [type(fix)(_GENERIC.sub(own[0], fix)) for fix in fixes] if len(own) == 1 else fixes


def spelled(table: str, name: str) -> str:
    """A column of a table as it is typed: `t.x`, `t["time (s)"]`."""
    if name.isidentifier():
        return f"{table}.{name}"
    quote = "'" if '"' in name else '"'
    return f"{table}[{quote}{name}{quote}]"


def _apart(name: str, text: str) -> tuple[str, str]:
    """The table in `t.name(…)` and `t["name"]`, as typed, and what is called with; empty where it is neither."""
    found = re.fullmatch(rf"(?s)(.+?)(?:\.{re.escape(name)}\b(.*)|\[[\"']{re.escape(name)}[\"']\])", text)
    return (found[1], found[2] or "") if found is not None else ("", "")


def leading(name: str, columns: Iterable[str]) -> list[str]:
    """The columns that are called so, apart from the unit, `time` of `time (s)`: those in the same letters first."""
    known = {one: [found[0] for pattern in _LEADING if (found := pattern.match(one))] for one in columns}
    exact = [column for column, own in known.items() if name in own]
    return exact or [column for column, own in known.items() if name.lower() in map(str.lower, own)]


def _of_frame(name: str, owner: str, rest: str, columns: tuple[str, ...], at: Span) -> str:
    """What a method of data frames is in the language, in the line it stands in."""
    given = re.fullmatch(r"\((\d*)\)", rest)
    asked = re.search(r"[\"']([^\"']*)[\"']", rest)
    x, y = columns[0], columns[1] if len(columns) > 1 else columns[0]
    if asked is not None and asked[1] in columns:
        x = asked[1]
    words = {"t": owner, "n": given[1] if given and given[1] else _ROWS}
    fix = _OF_FRAMES[name].format(**words, x=spelled(owner, x), y=spelled(owner, y))
    if "   " in fix:
        return Hint(fix)
    if fix.startswith(("plot ", "histogram ")):  # statements
        return fix
    return corrected(at, fix)
