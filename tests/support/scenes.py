"""Sessions at a prompt whose screens are pinned, in several terminals: `tests/cli/repl/screens` has what they show.

`python tests/support/scenes.py [NAME …]` writes the files anew; look at what it changes.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from screens import PATIENCE, Terminal
from transcript import sections

PINNED = Path(__file__).parents[1] / "cli" / "repl" / "screens"
ENTER, CTRL_C = "\r", "\x03"
KEYS = {"enter": ENTER, "tab": "\t", "up": "\x1b[A", "down": "\x1b[B", "f2": "\x1bOQ", "ctrl-r": "\x12"}
KEYS |= {"alt-up": "\x1b[1;3A", "alt-down": "\x1b[1;3B"}
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

    def do(self, line: str) -> None:
        """A line of a scene."""
        if line[:1] == ">":
            return self.enter(line[2:])
        (word, _, typed), *texts = (
            part.partition(" ") if not place else part for place, part in enumerate(line.split(" | "))
        )
        if word == "keys":
            return self.keys(re.sub("<([a-z0-9-]+)>", lambda found: KEYS[found[1]], typed), *texts)
        return getattr(self, word)(*typed.split() if word == "again" else texts)

    def interrupt(self, *texts: str) -> None:
        """Press Ctrl-C while a statement runs, and wait for what it shows, and a prompt."""
        self.one.shown = ""
        self.one.interrupt()
        self.see(*texts)
        self.one.wait_for(lambda: _PROMPT.match(self._line()), "a prompt")

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
    """What is done in a session, line by line, and the looks besides the sizes in which it is pinned; `variables` of all."""

    lines: list[str]
    looks: list[str]
    variables: tuple[tuple[str, str], ...]


def scenes() -> Iterator[tuple[str, Scene]]:
    """Those of tests/cli/repl/scenes.txt: `> LINE` is entered; `keys KEYS | TEXT` waits for a text, as do the others."""
    for head, (text,) in sections(PINNED.with_name("scenes.txt")).items():
        name, _, looks = head.removesuffix(" (echo)").partition(": ")
        variables = (("AGRAD_ECHO", "1"),) if head.endswith("(echo)") else ()
        lines = [line for line in text.splitlines() if line[:1] != "#"]
        yield name, Scene(lines, [look for look in looks.split(", ") if look], variables)


SCENES = dict(scenes())


def settings() -> list[tuple[str, str]]:
    """Each scene with each of its looks, by their names."""
    return [(name, look) for name, one in SCENES.items() for look in (*SIZES, *one.looks)]


def played(name: str, look: str, environment: dict[str, str], folder: str, expected: list[str] | None) -> list[str]:
    """The screens of a scene."""
    one = SCENES[name]
    clear = {"PAGER": f"{sys.executable} -c \"print('the pager shows:', input(), '...')\""}
    stage = Stage(clear | environment | dict(one.variables), LOOKS[look], folder, expected)
    try:
        for line in one.lines:
            stage.do(line)
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
