"""Calls of the C library in straight-line code for numbers: several that do not depend on each other become one.

libmvec's functions compute 8 numbers in the time of one. What an entry of an array calls, its neighbours call too: in
code that was made of arrays, most calls have others beside them. Where a function of libmvec gives other last digits
than that of the C library, so does the code.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from agrad.engine.compile.llvm.ir_builder import Code
from agrad.engine.compile.llvm.target import definitions, machine

_FEWEST = 3  # calls, of fewer of which one takes no less time
_CALL = re.compile(r"  (%\S+) = call double @(\w+)\(double ([^,)]+)\)")
_NAMES = re.compile(r"%[\w.]+")


class Grouped:
    """The lines of a code with calls put together, what they call, and the attributes that their function needs."""

    def __init__(self, code: Code) -> None:
        self.lines, self.declared, self.attributes = code.lines, list[str](), ""
        lanes = machine().lanes
        known = {name for name, count in code.called.items() if count == 1 and machine().vector_name(name, 1)}
        calls = {place: match for place, match in _calls(code.lines) if match[2] in known}
        depths = _depths(code.lines, calls)
        while calls:  # without small groups, others may change
            counts = Counter([(depths[place], match[2]) for place, match in calls.items()])
            large = {place: match for place, match in calls.items() if counts[depths[place], match[2]] >= _FEWEST}
            if len(large) == len(calls):
                break
            calls = large
            depths = _depths(code.lines, calls)
        if calls:
            self.lines = list(_together(code.lines, calls, depths, lanes))
            self.declared = [*definitions({match[2]: 1 for match in calls.values()}, lanes)]
            width = 64 * lanes  # without these, LLVM may pass vectors otherwise than libmvec expects them
            self.attributes = f'"prefer-vector-width"="{width}" "min-legal-vector-width"="{width}"'


def _calls(lines: Sequence[str]) -> Iterator[tuple[int, re.Match[str]]]:
    for place, line in enumerate(lines):
        match = _CALL.fullmatch(line)
        if match is not None:
            yield place, match


def _depths(lines: Sequence[str], calls: dict[int, re.Match[str]]) -> list[int]:
    """For each line, how many of the calls there are on the longest path to it, with itself."""
    found, known = [], dict[str, int]()
    for place, line in enumerate(lines):
        name, *operands = _NAMES.findall(line)
        depth = max([known.get(x, 0) for x in operands], default=0) + (place in calls)
        known[name] = depth
        found.append(depth)
    return found


def _together(
    lines: Sequence[str], calls: dict[int, re.Match[str]], depths: Sequence[int], lanes: int
) -> Iterator[str]:
    """The lines depth by depth, at each the calls first: they need nothing of that depth."""
    waiting: dict[str, list[re.Match[str]]] = {}
    depth = 0
    for place in sorted(range(len(lines)), key=lambda place: (depths[place], place not in calls)):
        if waiting and (place not in calls or depths[place] != depth):
            yield from _vectors(waiting, lanes)
            waiting = {}
        depth = depths[place]
        if place in calls:
            waiting.setdefault(calls[place][2], []).append(calls[place])
        else:
            yield lines[place]
    yield from _vectors(waiting, lanes)


def _vectors(waiting: dict[str, list[re.Match[str]]], lanes: int) -> Iterator[str]:
    vector = f"<{lanes} x double>"
    for function, calls in waiting.items():
        name = machine().vector_name(function, 1)
        for start in range(0, len(calls), lanes):
            some = calls[start : start + lanes]
            if len(some) < _FEWEST:
                yield from [call[0] for call in some]
                continue
            packed, first = "poison", some[0][1]
            for lane in range(lanes):
                number = some[min(lane, len(some) - 1)][3]
                yield f"  {first}.g{lane} = insertelement {vector} {packed}, double {number}, i64 {lane}"
                packed = f"{first}.g{lane}"
            yield f"  {first}.all = call {vector} @{name}({vector} {packed})"
            for lane, call in enumerate(some):
                yield f"  {call[1]} = extractelement {vector} {first}.all, i64 {lane}"
