"""The places of what runs: spans from code objects, statements and loops from trees, the frames of a script.

The columns of a node's code are its span, so that a traceback, and the instruction that a node of a graph keeps, say
where something was written. Nothing of this is computed before someone asks.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from types import CodeType, FrameType, TracebackType
from typing import Any

from agrad.engine.core.context import Script
from agrad.engine.errors import Origin
from agrad.grammar.diagnostics import Source, Span
from agrad.grammar.syntax import ast

CUT = ".deep"  # begins the names of functions that are parts of an expression
_PARTS = (CUT, ".clas", "<list")  # begin those of what runs as a part of something
THUNK = ".part"  # a parameter that marks those without names


class File(Script):
    """The file name of the code of a tree."""

    __slots__ = ("binds", "known", "needs", "source", "tables", "tree")

    source: Source
    tree: Any
    tables: dict[int, list[Any]]  # by code: the place of each instruction, and its span once it was asked for
    binds: list[str]  # the names of the session that the code binds
    needs: set[str]  # the names that the code reads
    known: dict[tuple[int, int], Span | None]  # the statement of each instruction, by its code, that was asked for

    def __new__(cls, tree: Any, source: Source) -> File:
        """Of a statement, an expression or several."""
        name = source.name.encode("utf-8", "replace").decode().replace("\0", "?")  # as the file of a code object may be
        made = super().__new__(cls, f"<agrad {name}>")
        made.source, made.tree, made.needs, made.binds = source, tree, set(), []
        made.tables, made.known = {}, {}
        return made

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        """Sent to another process, it is the name alone."""
        return str, (str(self),)

    def span(self, code: CodeType, instruction: int) -> Span:
        """The place of an instruction."""
        table = self.tables.get(id(code))
        if table is None:
            table = self.tables[id(code)] = [*code.co_positions()]
        found = table[instruction // 2]
        if type(found) is tuple:
            found = table[instruction // 2] = Span(self.source, found[2] or 0, found[3] or 0)
        return found  # type: ignore[no-any-return]

    def statement(self, span: Span) -> Span | None:
        """The smallest statement around a place."""
        around = [one.span for one in ast.nodes(self.tree) if isinstance(one, ast.Statement) and holds(one, span)]
        return min(around, key=lambda one: one.end - one.start, default=None)

    def loops(self, span: Span) -> list[Any]:
        """The loops around a place, the outermost first."""
        found = [
            one
            for one in ast.nodes(self.tree)
            if isinstance(one, ast.For | ast.While) and any(holds(part, span) for part in one.body)
        ]
        return sorted(found, key=lambda one: one.span.start)


def holds(node: ast.Node, span: Span) -> bool:
    """Whether a place is inside a node."""
    start, end = node.span.start, node.span.end
    return start <= span.start and span.end <= end


def place_of(frame: FrameType) -> Span:
    """The place of the running instruction of a frame."""
    found: Span = frame.f_code.co_filename.span(frame.f_code, frame.f_lasti)  # type: ignore[attr-defined]
    return found


def innermost(frame: FrameType | None) -> Any:
    """The first of a frame and those that called it that is of a script; None if there is none."""
    while frame is not None and type(frame.f_code.co_filename) is not File:
        frame = frame.f_back
    return frame


def frames(frame: FrameType | None) -> Iterator[FrameType]:
    """The frames of scripts that run, the innermost first."""
    while (frame := innermost(frame)) is not None:
        yield frame
        frame = frame.f_back


def raised(traceback: TracebackType | None) -> list[tuple[FrameType, Span]]:
    """The frames of a script in a traceback, the outermost first, with their places; parts of expressions apart."""
    found: list[tuple[FrameType, Span]] = []
    while traceback is not None:
        frame, code = traceback.tb_frame, traceback.tb_frame.f_code
        if type(code.co_filename) is File:
            if found and (code.co_name[:5] in _PARTS or THUNK in code.co_varnames):
                found.pop()
            found.append((frame, code.co_filename.span(code, traceback.tb_lasti)))
        traceback = traceback.tb_next
    return found


class Running:
    """What finds places in the frames of the running script, and stops it where it keeps too many nodes."""

    def __init__(self, watch: Any, look: Callable[[Any], None]) -> None:
        self.watch, self.look = watch, look
        self.due: float = 0
        self.code: CodeType | None = None

    def locate(self, node: Any, frame: FrameType | None) -> None:
        """Keep in a node where the script is that makes it: the instruction in the first of its frames."""
        node.code = node.place = None
        if node.seq > self.due:
            self.look(node)
            self.due = self.watch.due
        while frame is not None and type(frame.f_code.co_filename) is not File:  # not by a call, which takes longer
            frame = frame.f_back
        if frame is not None:
            self.code = node.code = frame.f_code
            node.place = frame.f_lasti

    @staticmethod
    def origin() -> Origin | None:
        """The expression that is being evaluated."""
        frame = innermost(sys._getframe(1))
        return None if frame is None else place_of(frame)

    @staticmethod
    def statement(begun: Origin | None) -> Origin | None:
        """The statement that is running."""
        frame = innermost(sys._getframe(1))
        if frame is None:
            return begun
        code, place = frame.f_code, frame.f_lasti
        file = code.co_filename
        key = id(code), place  # a loop asks for the same one again and again
        if key not in file.known:
            file.known[key] = file.statement(file.span(code, place))
        found: Origin | None = file.known[key]
        return found or begun


class Local(dict[str, Any]):
    """The names of a function that runs: what is written here is written there."""

    def __init__(self, frame: FrameType) -> None:
        super().__init__({name: value for name, value in frame.f_locals.items() if name[0] != "."})
        self.frame = frame

    def __setitem__(self, name: str, value: Any) -> None:
        super().__setitem__(name, value)
        self.write({name: value})

    def restore(self) -> None:
        """Give all names the values that they have here."""
        now = self.frame.f_locals
        self.write(dict(self), [name for name in now if name[0] != "." and name not in self])

    def write(self, values: dict[str, Any], gone: Iterable[str] = ()) -> None:
        """Give names other values, or none."""
        inside = self.frame.f_locals
        inside.update(values)
        for name in gone:
            inside.pop(name, None)
        if sys.version_info < (3, 13):
            ctypes: Any = import_module("ctypes")  # here, since few scripts need it
            ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(self.frame), ctypes.c_int(1))
