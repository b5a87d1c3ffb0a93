"""The core of the machine: its frames, and running code in a new one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from agrad.engine.core.context import current
from agrad.engine.errors import AgradError, Label, Note
from agrad.grammar.diagnostics import Span
from agrad.grammar.results import Noted
from agrad.grammar.runtime.bytecode import Code, Do, Frame
from agrad.grammar.runtime.errors.cut_paths import CutPaths
from agrad.grammar.runtime.errors.iterations import iteration
from agrad.grammar.runtime.errors.spread_losses import SpreadLosses
from agrad.grammar.runtime.leak_warning import Growth
from agrad.grammar.runtime.vm.host import Host

MISSING = object()
_SAME_EACH_TIME = ("syntax", "name", "arity")  # errors of what is written, whichever iteration finds them


class Core(ABC):
    """What every group of instructions uses: the session that the machine runs for, and the frames."""

    def __init__(self, session: Host) -> None:
        self.session = session
        self.frames: list[Frame] = []
        self.growth = Growth()
        self.cut_paths = CutPaths()
        self.spread_losses = SpreadLosses()
        self.figure: Any = None  # what `plt` draws on
        self.line = ""  # what was printed without the end of its line
        self.noted: dict[tuple[int, int], Any] = {}  # by the place of a note: its text, which keeps its identity
        self.column_noted = False  # whether a note has said that one index of a table is a column
        self.expecting = 0  # how many `fails` blocks are running
        self.calling = 0  # how many functions of the user the engine is calling
        self.handlers: dict[Do, Callable[[Frame, Any, Span], int | None]] = {
            do: getattr(self, f"_{do.name.lower()}") for do in Do if hasattr(self, f"_{do.name.lower()}")
        }

    def run(self, code: Code) -> Any:
        """Run the code of a statement (or expression) at the top level."""
        self.growth.next_round()
        if not self.frames:
            self.calling = 0  # a Ctrl-C may have come right after it was raised
        return self._run(Frame(code, (self.session.names,)))

    def _places(self, args: tuple[Any, ...]) -> list[Any]:
        """Everything that refers to values: names, stacks, and the arguments of a call that begins."""
        scopes = [scope for frame in self.frames for scope in frame.scopes]
        return [self.session.names, *scopes, *(frame.stack for frame in self.frames), list(args)]

    def is_first(self, span: Span) -> bool:
        """Whether nothing was noted at a place so far, such as in an earlier iteration of a loop."""
        place = id(span.source), span.start
        if place in self.noted:
            return False
        self.noted[place] = span.source
        return True

    def note_rounded(self, message: str, span: Span) -> None:
        """Note, once, what rounding does at a place."""
        if self.is_first(span):
            self.session.emit(Noted(Note(message, labels=[Label(span)])))

    def before_backward(self, loss: Any, span: Span) -> None:
        """Begin a new round, and note a loss that compares each entry with each."""
        self.growth.next_round()
        note = self.spread_losses.of(loss, span)
        if note is not None:
            self.session.emit(Noted(note))

    def evaluate(self, code: Code) -> Any:
        """Run the code of an expression in the scopes of the running statement."""
        scopes = self.frames[-1].scopes if self.frames else (self.session.names,)
        return self._run(Frame(code, scopes))

    def run_inside(self, code: Code, frame: Frame) -> None:
        """Run the code of statements in the scopes of a running frame."""
        self._run(Frame(code, frame.scopes))

    def _run(self, frame: Frame) -> Any:
        base = len(self.frames)
        try:
            self.frames.append(frame)  # inside `try`, since a Ctrl-C may come right after it
            return self._loop(base)
        except AgradError as error:
            self._locate(error, base)
            raise
        finally:
            del self.frames[base:]

    def _locate(self, error: AgradError, base: int) -> None:
        """Add the place to an error: the running instruction, and the calls around it."""
        places = [frame.code.instructions[frame.pc - 1][2] for frame in self.frames[base:] if frame.pc]
        if not places or error.at is not None:
            return
        *callers, place = places
        error.at, error.statement = place, current().statement
        if not error.labels:
            error.labels.append(Label(place))
            error.labels.extend(Label(caller, "called here") for caller in callers[:1])
        if error.kind not in _SAME_EACH_TIME and not error.labels[0].text and (told := iteration(self.frames)):
            error.labels[0] = Label(error.labels[0].origin, f"at {told}")

    @abstractmethod
    def _loop(self, base: int) -> Any:
        """Run the topmost frame, and those it calls, until the one at `base` returns."""
