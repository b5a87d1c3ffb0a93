"""Places in words: at which line something was done, and which lines to evaluate again."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import groupby

from agrad.engine.core.context import current
from agrad.grammar.diagnostics import Source, Span


def at(place: Span) -> str:
    """`line 7`, with the file if that is not the one that runs."""
    return f"{place.where}{_of(place.source)}"


def statement_of(place: Span) -> tuple[range, str]:
    """The lines of the top-level statement that a place is part of, and the function that it defines, or ""."""
    source = place.source
    lines = Source(source.name, source.text, source.first_line)  # each with a number of its own
    begin = end = lines.position(place.start)[0]
    last = lines.position(len(source.text))[0]
    while begin > source.first_line and _is_inside(lines.line(begin)):
        begin -= 1
    while end < last and _is_inside(lines.line(end + 1)):
        end += 1
    while end > begin and not lines.line(end).strip():
        end -= 1
    defined = re.match(r"def +(\w+)", lines.line(begin))
    numbers = range(source.first_line, source.first_line + 1) if source.is_entry else range(begin, end + 1)
    return numbers, defined[1] if defined else ""


def _is_inside(line: str) -> bool:
    """Whether a line cannot begin a statement at the top level."""
    return not line.strip() or line[0] in " \t" or re.match(r"(elif|else)\b", line) is not None


def evaluate_again(places: Iterable[object]) -> str | None:
    """`evaluate lines 2 to 4 again`; for a place inside a function `call f again`; None if there is no place.

    At a prompt, what can be typed: see `again`.
    """
    files: dict[str, set[int]] = {}
    called: dict[str, None] = {}
    text, entered = "", list[Span]()
    known = [place for place in places if isinstance(place, Span)]
    for place in known:
        lines, function = statement_of(place)
        if function:
            called[function] = None
        else:
            entered += [place] * place.source.is_entry
            files.setdefault(_of(place.source), set()).update(lines)
            text += "\n".join(map(place.source.line, lines)) + "\n"
    calls = [name for name in called if not re.search(rf"\b{name}\(", text)]  # else one of the lines calls it
    if files and all(place.source.is_entry for place in known) and not calls and (commands := again(entered)):
        return commands
    parts = [f"evaluate {listed([_lines(lines) + file for file, lines in files.items()])}"] if files else []
    parts += [f"call {listed(calls)}"] if calls else []
    return f"{' again, and '.join(parts)} again" if parts else None


def again(places: Iterable[Span]) -> str:
    """What runs the statements at some places of a session again: `again 2..4; y = x**2`.

    That is the number of what was typed where all its statements are meant, and the statement itself where it has
    others, which may take back what is to be done again. Empty where such a statement takes several lines.
    """
    from agrad.grammar.syntax.parser import parse  # here: the parser explains its errors with this module

    meant: dict[Source, set[tuple[int, int]]] = {}
    for place in places:
        meant.setdefault(place.source, set()).add((place.start, place.end))
    found: list[tuple[int, str]] = []
    for source, spans in meant.items():
        statements = [statement.span for statement in parse(source)]
        mine = [one for one in statements if any(one.start <= start < one.end for start, _ in spans)]
        whole = len(mine) == len(statements)
        found += [(source.first_line, "")] if whole else [(source.first_line, one.text) for one in mine]
    if any("\n" in text for _, text in found):
        return ""
    parts: list[str] = []
    for text, group in groupby(sorted(found, key=lambda one: one[0]), key=lambda one: one[1]):
        parts.append(text or _numbered(number for number, _ in group))
    return "; ".join(parts)


def _numbered(numbers: Iterable[int]) -> str:
    runs = _runs(numbers)
    return "; ".join(f"again {run[0]}..{run[-1]}" if len(run) > 1 else f"again {run[0]}" for run in runs)


def _of(source: Source) -> str:
    statement = current().statement
    here = statement.source.name if isinstance(statement, Span) else source.name
    return f" of {source.name}" if source.is_file and source.name != here else ""


def _lines(numbers: Iterable[int]) -> str:
    """`line 3`, `lines 2 to 4`, `lines 2, 5 and 6`, `lines 2 and 5 to 8`."""
    runs = _runs(numbers)
    if len(runs) > 1:
        runs = [part for run in runs for part in ([run] if len(run) > 2 else [[number] for number in run])]
    parts = [f"{run[0]} to {run[-1]}" if len(run) > 1 else str(run[0]) for run in runs]
    return f"line{'' if parts == [str(runs[0][0])] else 's'} {listed(parts)}"


def _runs(numbers: Iterable[int]) -> list[list[int]]:
    """Numbers in their order, those that follow each other together."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return runs


def listed(words: Sequence[object]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    *others, last = map(str, words)
    return f"{', '.join(others)} and {last}" if others else last
