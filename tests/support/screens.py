"""A process that believes in its terminal, and what that terminal shows."""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from contextlib import ExitStack, contextmanager

import pyte

PATIENCE = 100  # seconds to wait for what must come, also on a busy machine
PROMPTS = ("agrad>", "  ...>")
BELOW = re.compile(r" \d+(\.\d+)? m?s$| no graph yet")  # the toolbar
START = """
import fcntl, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
from agrad.cli.__main__ import process
process()
"""


def unnumbered(text):
    """What a terminal shows, with prompts as in documents: without the numbers of lines."""
    return re.sub(r"agrad \d+>", "agrad>", re.sub(r"(?m)^ +\.\.\.>", "  ...>", text))


def telling_its_cursor(environment):
    """The environment of a terminal that tells where its cursor is, as all but the dumbest do."""
    return {name: text for name, text in environment.items() if name != "PROMPT_TOOLKIT_NO_CPR"}


def above_toolbar(lines):
    """A screen without the toolbar, whose time varies."""
    assert BELOW.search(lines[-1])
    return "\n".join(lines[:-1]).rstrip()


@contextmanager
def terminals(environment, folder, *command):
    """A function that opens terminals, of the size asked for and at their first prompt; all are closed at the end."""
    with ExitStack() as opened:

        def open_one(*words, columns=80, rows=24, **variables):
            one = Terminal(environment | variables, *command, *words, columns=columns, rows=rows, folder=folder)
            opened.enter_context(one)
            one.wait_for(lambda: one.line() in PROMPTS, "a prompt")
            return one

        yield open_one


class Terminal:
    """`agrad ARGUMENTS` in a pseudo-terminal. `shown` is what came since the last `until`, escape codes and all.

    Prompts are read without their numbers, but for `numbered`.
    """

    def __init__(self, environment, *arguments, columns=80, rows=24, folder=None):
        self.screen = pyte.Screen(columns, rows)
        self.stream = pyte.ByteStream(self.screen)
        self.end, inside = pty.openpty()
        self.screen.write_process_input = self.type  # where the cursor is, when asked
        fcntl.ioctl(inside, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.process = subprocess.Popen(
            [sys.executable, "-c", START, *(arguments or ["repl"])],
            stdin=inside,
            stdout=inside,
            stderr=inside,
            env={"AGRAD_ECHO": "0"} | environment,  # the tests of these lines turn them on
            cwd=folder,
            start_new_session=True,
        )
        os.close(inside)
        self.shown = ""

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        self.process.kill()
        self.process.wait()
        os.close(self.end)

    def type(self, keys):
        os.write(self.end, keys.encode())

    def read(self, seconds=0.1):
        """Take in what comes within the time; whether anything did."""
        if not select.select([self.end], [], [], seconds)[0]:
            return False
        try:
            data = os.read(self.end, 65536)
        except OSError:  # the process has left its terminal
            raise AssertionError("\n".join(["it has ended", *self.lines()])) from None
        self.feed(data)
        self.shown = unnumbered(self.shown + data.decode(errors="replace"))
        return True

    def feed(self, data):
        """What the terminal does with what is written to it."""
        self.stream.feed(data)

    def until(self, text, pressing=""):
        """What is shown up to `text`, which must come; twice a second the keys are pressed until it does."""
        started, presses = time.monotonic(), 0
        while text not in self.shown:
            passed = time.monotonic() - started
            assert passed < PATIENCE, f"no {text!r} in {self.shown!r}"
            if pressing and passed * 2 > presses:
                presses += 1
                self.type(pressing)
            self.read()
        before, _, self.shown = self.shown.partition(text)
        return before + text

    def lines(self):
        """What stands on the screen, without the blanks at the ends of lines and below the last."""
        return unnumbered(self.numbered()).split("\n")

    def numbered(self):
        """The same as one text, with the numbers of the prompts."""
        return "\n".join(line.rstrip() for line in self.screen.display).rstrip("\n")

    def line(self):
        """The line that the cursor is on, up to it."""
        return unnumbered(self.screen.display[self.screen.cursor.y][: self.screen.cursor.x].rstrip())

    def wait_for(self, holds, what):
        """Until something holds of the screen."""
        deadline = time.monotonic() + PATIENCE
        while not holds():
            assert time.monotonic() < deadline, "\n".join([f"no {what!r} in", *self.lines()])
            self.read()

    def wait(self, *texts):
        """Until the screen holds all the texts."""
        self.wait_for(lambda: all(text in "\n".join(self.lines()) for text in texts), texts)

    def see(self, *texts):
        """The lines of the screen once they hold all the texts, and no more comes for a moment."""
        self.wait(*texts)
        while self.read(0.15):
            pass
        return self.lines()

    def enter(self, line, *texts):
        """Type a line at a prompt, first its keys and then Enter; the screen at the next prompt, which the texts are on."""
        self.type(line)
        self.wait_for(lambda: self.line().endswith(line), line)
        self.type("\r")
        self.wait_for(lambda: self.line() in PROMPTS, "a prompt")
        self.wait_for(lambda: BELOW.search(self.lines()[-1]), "the toolbar")
        return self.see(*texts)
