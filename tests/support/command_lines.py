"""Command lines with all that they answer, as tests/transcripts/shell has them, one file for what belongs together.

A claim is a line `## ...`; below it stand command lines, which run in a folder of their own. Their lines have the signs of
tests/corpus.txt:

    = NAME   a file, its lines behind `<`, of a .npy file as JSON; before the first claim, one that is in every folder
    $ <      the words behind `agrad`, and its standard input
    | !      what is printed, and what is told on stderr; `|-` is a line without an end
    w        a file that is written
    ?        the exit code, if it is not 0
    x        a session that is killed behind the statements in the lines `<`

`python tests/support/command_lines.py` writes today's answers into the files.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))  # for Python; pytest adds it by itself
from corpus import called, lines_of, masked, restored

from agrad.engine.core.context import CURRENT, Context

FOLDER = Path(__file__).parents[1] / "transcripts" / "shell"
OF_THE_USER = ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "APPDATA")


def replayed(text: str) -> str:
    """The same command lines with today's answers."""
    common, *claims = text.split("\n## ")
    lines = [common, *(f"## {answered(claim, common)}" for claim in claims)]
    return "\n".join(lines).rstrip("\n") + "\n"


def answered(claim: str, common: str) -> str:
    """A claim whose command lines are run in a folder."""
    title, *lines = claim.split("\n")
    with alone() as folder:
        for _ in ran(common.split("\n"), folder):
            pass
        return "\n".join([title, *ran(lines, folder)]) + "\n"


@contextmanager
def alone() -> Iterator[str]:
    """A new folder to be in, which is also the home, and an environment that says nothing of a terminal."""
    before, environment, context = os.getcwd(), dict(os.environ), CURRENT.set(Context())
    with tempfile.TemporaryDirectory() as folder:
        folder = os.path.realpath(folder)
        for name in [name for name in os.environ if name.startswith(("AGRAD", "NO_COLOR", "COLUMNS", "LINES"))]:
            del os.environ[name]
        os.environ.update(dict.fromkeys(OF_THE_USER, folder) | {"TERM": "xterm", "PYTHONUTF8": "1"})
        os.chdir(folder)
        try:
            yield folder
        finally:
            os.chdir(before)
            os.environ.clear()
            os.environ.update(environment)
            CURRENT.reset(context)


def ran(lines: list[str], folder: str) -> Iterator[str]:
    """The lines of a claim that are typed, each with what it does now."""
    typed = [line for line in lines if line[:2] in ("= ", "$ ") or line[:1] == "<" or line in ("$", "x")]
    while typed:
        head, given = typed.pop(0), []
        while typed and typed[0][:1] == "<":
            given.append(typed.pop(0))
        yield from [head, *given]
        text = "".join(f"{restored(line[2:])}\n" for line in given)
        if head[0] == "=":
            put(Path(restored(head[2:])), text)
            continue
        if head == "x":
            kill(text)
            continue
        known = files()
        out, err, code = called(shlex.split(restored(head[2:])), text)
        if out:
            *most, last = (masked(line, folder) for line in lines_of("|", out.removesuffix("\n")))
            yield from [*most, last if out.endswith("\n") else last.replace("|", "|-", 1)]
        if err:
            told = re.sub(r"from \d\d:\d\d", "from 14:03", err.removesuffix("\n"))  # the time of day
            told = re.sub(r"\d{8}-\d{6}-\d+(?=\.jsonl)", "NAME", told)
            yield from (masked(line, folder) for line in lines_of("!", told))
        for place, content in files().items():
            if known.get(place) != content:
                yield from lines_of("w", f"{place}\n{content}".removesuffix("\n"))
        if code:
            yield f"? {code}"


def kill(text: str) -> None:
    """Kill a session that has accepted some lines."""
    command = [sys.executable, "-m", "agrad.cli", "repl", "--resume", "--precision", "full"]
    with Popen(command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, text=True) as process:
        assert process.stdin and process.stdout
        process.stdin.write(f'{text}print "done"\n')
        process.stdin.flush()
        while process.stdout.readline() != "done\n":
            assert process.poll() is None
        process.kill()


def put(path: Path, text: str) -> None:
    """Write a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".npy":
        np.save(path, np.array(json.loads(text)))
    else:
        path.write_text(text, "utf-8")


def files() -> dict[str, str]:
    """The texts in the folder, but for what agrad keeps of sessions and of runs, which have times."""
    found = {}
    for path in sorted(Path().rglob("*")):
        if path.is_file() and path.parts[0] not in ("agrad", ".config", ".local") and path.name != "_agrad.jsonl":
            found[str(path)] = path.read_text("utf-8", "replace")
    return found


def main() -> None:
    """Write today's answers into the files."""
    for file in sorted(FOLDER.rglob("*.txt")):
        file.write_text(replayed(file.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
