"""A process that believes in its terminal, and what that terminal shows."""

import fcntl
import glob
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from contextlib import ExitStack, contextmanager, suppress

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

    def until(self, text):
        """What is shown up to `text`, which must come."""
        deadline = time.monotonic() + PATIENCE
        while text not in self.shown:
            assert time.monotonic() < deadline, f"no {text!r} in {self.shown!r}"
            self.read()
        before, _, self.shown = self.shown.partition(text)
        return before + text

    def interrupt(self):
        """What is shown of a statement that Ctrl-C stops: once it runs, since at the prompt Ctrl-C clears the line."""
        self.type('print "be" "gun"; x = [[sin(i*j) for i in range(1e5)] for j in range(1e5)]\r')
        seen = self.until("begun\r\n")
        self.type("\x03")
        return seen + self.until("interrupted")

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
        self.settle()
        return self.lines()

    def settle(self, seconds=0.15):
        """Until the process has nothing to do, and no more comes for a moment."""
        deadline = time.monotonic() + PATIENCE
        while self.read(seconds) or self.is_busy():
            assert time.monotonic() < deadline, "\n".join(["no rest", *self.lines()])

    def is_busy(self):
        """Whether the process computes or waits for a processor, where the system tells."""
        for path in glob.glob(f"/proc/{self.process.pid}/task/*/stat"):
            with suppress(OSError), open(path, encoding="utf-8") as told:  # a thread may have ended
                if told.read().rpartition(")")[2].split()[0] == "R":
                    return True
        return False

    def enter(self, line, *texts):
        """Type a line at a prompt, first its keys and then Enter; the screen at the next prompt, which the texts are on."""
        self.type(line)
        self.wait_for(lambda: self.line().endswith(line), line)
        self.type("\r")
        self.wait_for(lambda: self.line() in PROMPTS, "a prompt")
        self.wait_for(lambda: BELOW.search(self.lines()[-1]), "the toolbar")
        return self.see(*texts)
