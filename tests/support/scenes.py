"""Sessions at a prompt whose screens are pinned, in several terminals: `tests/cli/repl/screens` has what they show.

`python tests/support/scenes.py [NAME …]` writes the files anew; look at what it changes.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from screens import PATIENCE, Terminal

PINNED = Path(__file__).parents[1] / "cli" / "repl" / "screens"
ENTER, TAB, ESCAPE, UP, DOWN, RIGHT = "\r", "\t", "\x1b", "\x1b[A", "\x1b[B", "\x1b[C"
ALT_UP, ALT_DOWN, CTRL_C, CTRL_R, F2 = "\x1b[1;3A", "\x1b[1;3B", "\x03", "\x12", "\x1bOQ"
_PROMPT = re.compile(r"(agrad \d+>| +\.\.\.>)$")
_QUIET = 0.7  # seconds without output, after which a screen is written down
# What differs each time: how long a statement took, when a session was, and how often Ctrl-C was pressed.
_VARYING = (
    (re.compile(r"\b\d+(\.\d+)? m?s(?=$| {3})"), "0 ms"),
    (re.compile(r"\b\d\d:\d\d\b"), "00:00"),
    (re.compile(r"^(\^C)+(?=interrupted)"), "^C"),
)


class Look(NamedTuple):
    """A terminal: its size, what the environment says of it, and options of `agrad repl`."""

    columns: int = 80
    rows: int = 24
    variables: tuple[tuple[str, str], ...] = ()
    options: tuple[str, ...] = ()


SIZES = {"80x24": Look(), "200x60": Look(200, 60), "40x20": Look(40, 20)}
LOOKS = {
    **SIZES,
    "no colour": Look(variables=(("NO_COLOR", "1"),)),
    "dumb": Look(variables=(("TERM", "dumb"),)),
    "only ASCII": Look(variables=(("LC_ALL", "C"), ("PYTHONUTF8", "0"), ("PYTHONCOERCECLOCALE", "0"))),
    "vi": Look(options=("--vi",)),
}


class Stage:
    """A session in a terminal; `pin` collects its screens, or, with those that are `expected`, waits for each."""

    def __init__(self, environment: dict[str, str], look: Look, folder: str, expected: list[str] | None = None) -> None:
        self.environment, self.look, self.folder = environment | dict(look.variables), look, folder
        self.expected, self.pinned = expected, []
        self.one = self._opened()

    def _opened(self, *options: str) -> Terminal:
        one = Terminal(
            self.environment,
            "repl",
            *self.look.options,
            *options,
            columns=self.look.columns,
            rows=self.look.rows,
            folder=self.folder,
        )
        one.wait_for(lambda: one.line() == "agrad>", "a prompt")
        return one

    def again(self, *options: str) -> None:
        """End the session, and open another."""
        self.one.type("\x04")
        self.one.process.wait(timeout=PATIENCE)
        self.close()
        self.one = self._opened(*options)

    def close(self) -> None:
        self.one.__exit__()

    def keys(self, keys: str, *texts: str) -> None:
        """Type keys, and wait for what they show, however it is folded."""
        self.one.type(keys)
        self.see(*texts)

    def cancel(self) -> None:
        """Press Ctrl-C, and wait for a prompt without anything behind it."""
        self.one.type(CTRL_C)
        self.one.wait_for(lambda: _PROMPT.match(self._line()), "a prompt")

    def see(self, *texts: str) -> None:
        """Wait for texts, however they are folded."""
        wanted = ["".join(text.split()) for text in texts]
        self.one.wait_for(lambda: all(text in "".join(self.one.numbered().split()) for text in wanted), texts)

    def enter(self, *lines: str) -> None:
        """Type lines, each at a prompt of its own, and wait for the next."""
        for line in lines:
            line = line if self.look == LOOKS["dumb"] else line.strip()  # the prompt indents by itself
            self.one.type(line)
            self.one.wait_for(lambda line=line: self._typed().endswith("".join(line.split())), line)
            self.one.type(ENTER)
            begins = "agrad" if not line else ""  # an empty line ends a block
            self.one.wait_for(
                lambda begins=begins: _PROMPT.match(self._line()) and self._line().startswith(begins), "a prompt"
            )

    def _line(self) -> str:
        cursor = self.one.screen.cursor
        return self.one.screen.display[cursor.y][: cursor.x].rstrip()

    def _typed(self) -> str:
        """All up to the cursor, without blanks."""
        cursor = self.one.screen.cursor
        above = "".join(self.one.screen.display[: cursor.y])
        return "".join((above + self.one.screen.display[cursor.y][: cursor.x]).split())

    def pin(self) -> None:
        """Pin the screen: in a test, once it is what is expected, at the latest when patience ends."""
        if self.expected is None:
            self._settle()
        else:
            wanted = self.expected[len(self.pinned)] if len(self.pinned) < len(self.expected) else None
            end = time.monotonic() + PATIENCE
            while self.shown() != wanted and time.monotonic() < end:
                self.one.read()
        self.pinned.append(self.shown())

    def _settle(self) -> None:
        self.one.settle(_QUIET)

    def shown(self) -> str:
        """The screen: its lines, and below them where they have colours."""
        lines = [line.rstrip() for line in self.one.screen.display]
        while lines and not lines[-1]:
            lines.pop()
        ends = {}
        for row, line in enumerate(lines):
            for varying, instead in _VARYING:
                if found := varying.search(line):
                    ends[row] = min(found.start(), ends.get(row, found.start()))
                    line = varying.sub(instead, line)
            lines[row] = line.replace(self.folder, "FOLDER")
        colours = [self._colours(row, ends.get(row, self.look.columns)) for row in range(len(lines))]
        told = [f"{row}: {', '.join(colour)}" for row, colour in enumerate(colours, 1) if colour]
        rows = [row for empty, run in groupby(lines, lambda line: not line) for row in _short(empty, [*run])]
        return "\n".join([*rows, *told])

    def _colours(self, row: int, end: int) -> list[str]:
        """The runs of letters in a row that look the same, but for those that are plain."""
        cells = [self.one.screen.buffer[row][column] for column in range(end)]
        found, column = [], 0
        for style, run in groupby(cells, look_of):
            part = "".join(cell.data for cell in run)
            if style and (part.strip() or " on " in style or "reverse" in style):
                found.append(f"{style} {part.strip()!r}")
            column += len(part)
        return found


def _short(empty: bool, lines: list[str]) -> list[str]:
    """Rows of a screen; of many empty ones how many there are."""
    return [f"({len(lines)} empty rows)"] if empty and len(lines) > 2 else [f"|{line}" for line in lines]


def look_of(cell) -> str:
    """The colours of a letter, and whether it is bold, underlined or reversed; empty if it is plain."""
    words = [name for name in ("bold", "italics", "underscore", "reverse") if getattr(cell, name)]
    words += [cell.fg] if cell.fg != "default" else []
    words += [f"on {cell.bg}"] if cell.bg != "default" else []
    return " ".join(words)


class Scene(NamedTuple):
    """What is typed in a session, and the looks besides the sizes in which it is pinned; `variables` of all."""

    play: Callable[[Stage], None]
    looks: tuple[str, ...] = ()
    variables: tuple[tuple[str, str], ...] = ()


SCENES: dict[str, Scene] = {}
_ECHO = (("AGRAD_ECHO", "1"),)


def scene(*looks: str, echo: bool = False) -> Callable[[Callable[[Stage], None]], Callable[[Stage], None]]:
    """Add a scene under the name of its function."""

    def add(play: Callable[[Stage], None]) -> Callable[[Stage], None]:
        SCENES[play.__name__] = Scene(play, looks, _ECHO if echo else ())
        return play

    return add


@scene("dumb", "vi")
def numbers(stage: Stage) -> None:
    """One number for the prompt, `_5`, `again`, `history` and messages."""
    stage.enter("x = 6", "x*7", "_2 + 1", "again 2", "again 2..3", "oops + x", "history")
    stage.pin()


@scene("no colour", "dumb", "only ASCII", echo=True)
def what_changed(stage: Stage) -> None:
    """The dim line on what a statement has changed."""
    stage.enter("var w = 2", "var b = [0.5, 1, 1.5]", "y = sum(w*b)**2", "backward y", "step sgd w b lr=0.1")
    stage.enter("zero_grad w", "set w = 3", "forward y", "set echo off", "set w = 4")
    stage.pin()


@scene("no colour", "vi")
def live_line(stage: Stage) -> None:
    """The value of what is typed, its derivatives, and how a function is called."""
    stage.enter("var x = 2", "var y = 3")
    stage.keys("sin(x)*y", "= 2.728", "d/dx -1.248")
    stage.pin()
    stage.cancel()
    stage.keys("clip(x, ", "‹lo=None›")
    stage.pin()
    stage.keys(F2, "2 leaves")
    stage.pin()


@scene()
def steps(stage: Stage) -> None:
    """A leaf moves, and the plot above with it."""
    stage.enter("var k = 1.5", "plot k*x**2 for x in -2..2")
    stage.keys("k", "= 1.5")
    stage.keys(ALT_UP + ALT_UP, "= 1.7")
    stage.pin()
    stage.keys(ALT_DOWN, "= 1.6")
    stage.pin()


@scene("only ASCII")
def tables(stage: Stage) -> None:
    """Matrices, long vectors, what is rounded, and what is empty."""
    stage.enter("set echo on", "m = [[1, -20.5, 300], [0.25, 4, -0.0]]", "m", "zeros(0, 3)", "linspace(0, 1, 12)")
    stage.enter("0.1 + 0.2 - 0.3", "[1e-20, 1, 1e20]", "randn(3, 12) > 9")
    stage.pin()


@scene("no colour", "vi")
def menu(stage: Stage) -> None:
    """Completion by Tab."""
    stage.enter("var weight = 2", "loss = weight**2")
    stage.keys("backward " + TAB, "backward loss")
    stage.keys(" " + TAB, "keeps the graph")
    stage.pin()
    stage.keys(DOWN + DOWN, "create_graph")
    stage.pin()
    stage.keys(ENTER + ENTER, "agrad 4>")
    stage.keys("SINH" + TAB, "sinh(")
    stage.pin()


@scene("no colour")
def search(stage: Stage) -> None:
    """Earlier lines: what is suggested, found by Up, and by Ctrl-R."""
    stage.enter("20 + 1", "30 + 1", "20 + 2")
    stage.keys("3", "agrad 4> 3")
    stage.pin()
    stage.keys(UP, "agrad 4> 30 + 1")
    stage.cancel()
    stage.keys(CTRL_R + "20", "I-search backward: 20", "agrad 4> 20 + 2")
    stage.pin()
    stage.keys("zz", "not found: 20zz")
    stage.pin()


@scene("dumb")
def kept_sessions(stage: Stage) -> None:
    """What is told of earlier sessions, and one that is restored."""
    stage.enter("var x = 2", "y = x**3")
    stage.again()
    stage.enter("sessions")
    stage.pin()
    stage.again("--resume")
    stage.enter("backward y", "x.grad", "history")
    stage.pin()


@scene("no colour", "dumb")
def paging(stage: Stage) -> None:
    """What is longer than the screen goes through the pager; what is not does not."""
    stage.enter("z = [[1, 2], [3, 4]]", "help", "z")
    stage.pin()


@scene("no colour", "dumb", "only ASCII")
def plots(stage: Stage) -> None:
    """Curves of a function and of points, over an axis, with a title."""
    stage.enter('plot sin(x) for x in 0..6.3 title "A wave" labels "angle", "height"')
    stage.pin()
    stage.enter("x = [1, 2, 3, 4]", "y = [1.2, 1.9, 3.2, 3.9]", "plot x, y, x")
    stage.pin()


@scene("only ASCII")
def plots_with_log_axes(stage: Stage) -> None:
    """Logarithmic axes, and a pole."""
    stage.enter("plot x**2 + 1/x for x in 1e-3..1e3 log logy")
    stage.pin()
    stage.enter("plot 1/x for x in -1..1 value")
    stage.pin()


@scene("only ASCII")
def contours(stage: Stage) -> None:
    """Contour lines, with the path of two leaves."""
    stage.enter("var w = -1.5", "var b = 1", "for i in range(6):", "    l = w**2 + 3*b**2", "    backward l")
    stage.enter("    step sgd w b lr=0.1", "    zero_grad w b", "")
    stage.enter("contour w**2 + 3*b**2 for w in -2..2, b in -1..1 levels 5 path w b")
    stage.pin()


@scene("only ASCII")
def histograms(stage: Stage) -> None:
    """A histogram."""
    stage.enter("manual_seed(1)", "histogram randn(500) bins 12")
    stage.pin()


@scene("dumb", "vi")
def interrupted(stage: Stage) -> None:
    """Ctrl-C in a line, and in a statement that would not end."""
    stage.enter("x = 6")
    stage.keys("x = 7 +", "x = 7 +")
    stage.cancel()
    stage.one.shown = ""
    stage.one.interrupt()
    stage.see("as before this statement")
    stage.one.wait_for(lambda: _PROMPT.match(stage._line()), "a prompt")
    stage.enter("x*7")
    stage.pin()


@scene("dumb", "vi")
def undo_and_redo(stage: Stage) -> None:
    """A block is one statement, which one `undo` takes back."""
    stage.enter("total = 0", "for i in range(4):", "    total = total + i", "", "total")
    stage.enter("undo 2", "total", "redo", "total", "undo 99")
    stage.pin()


@scene("no colour", "dumb", "only ASCII")
def errors(stage: Stage) -> None:
    """Errors with their place, and what to type instead."""
    stage.enter("var a = [1, 2, 3]", "a + [1, 2]", "sine(a)", "b = sum(a)**2", "backward b", "backward b")
    stage.pin()


@scene("no colour", "vi")
def a_line_that_is_wrong(stage: Stage) -> None:
    """A syntax error is told below the line, which stays."""
    stage.keys("2 +* 3" + ENTER, "a value is missing between")
    stage.pin()


@scene("no colour", "dumb")
def states_of_graphs(stage: Stage) -> None:
    """Graphs, and what holds, freed and outdated them."""
    stage.enter("var x = 2", "y = sin(x)*x", "z = y + x", "graph z", "backward y", "graph z", "set x = 3", "info z")
    stage.pin()


@scene("dumb", "vi")
def blocks(stage: Stage) -> None:
    """Lines of a block, indented, and a pasted transcript."""
    stage.enter("def f(x):", "    if x > 0:", "        return x", "    return -x", "", "f(-3)")
    stage.pin()


def settings() -> list[tuple[str, str]]:
    """Each scene with each of its looks, by their names."""
    return [(name, look) for name, one in SCENES.items() for look in (*SIZES, *one.looks)]


def played(name: str, look: str, environment: dict[str, str], folder: str, expected: list[str] | None) -> list[str]:
    """The screens of a scene."""
    one = SCENES[name]
    clear = {"PAGER": f"{sys.executable} -c \"print('the pager shows:', input(), '...')\""}
    stage = Stage(clear | environment | dict(one.variables), LOOKS[look], folder, expected)
    try:
        one.play(stage)
    finally:
        stage.close()
    return stage.pinned


def pinned(name: str) -> dict[str, list[str]]:
    """What the file of a scene holds: screens, by the name of the look."""
    found: dict[str, list[str]] = {}
    for part in (PINNED / f"{name}.txt").read_text("utf-8").split("=== ")[1:]:
        look, _, screen = part.partition("\n")
        found.setdefault(look, []).append(screen.rstrip("\n"))
    return found


def write(name: str) -> None:
    """Play a scene in all its looks, and write what it shows into its file."""
    parts = []
    for look in (*SIZES, *SCENES[name].looks):
        with tempfile.TemporaryDirectory() as folder:
            screens = played(name, look, home(folder), folder, None)
        parts += [f"=== {look}\n{screen}\n" for screen in screens]
    PINNED.mkdir(exist_ok=True)
    (PINNED / f"{name}.txt").write_text("\n".join(parts), "utf-8")


def home(folder: str) -> dict[str, str]:
    """The environment of a user whose files are in a folder."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    places = dict.fromkeys(("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "APPDATA"), folder)
    return kept | places | {"TERM": "xterm", "PYTHONUTF8": "1", "LC_ALL": "C.UTF-8"}


if __name__ == "__main__":
    for one in sys.argv[1:] or SCENES:
        write(one)
