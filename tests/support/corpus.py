"""What agrad answers, to very many texts: `tests/corpus.txt`, which holds the inputs and, below each, all that comes out.

`python tests/support/corpus.py` runs the inputs in that file again, and writes today's answers into it; with `--print`, on
standard output; with `--whole`, nothing is cut, to compare two versions of agrad. To try more, add entries to the
file with their inputs alone. A change that is to change nothing that a user sees leaves the file as it is, byte for byte.

An entry begins with `=== KIND ORIGIN`, and has lines that begin with a sign:

    > . a statement, and its further lines        $ < the words of a command line, and its standard input
    T   its syntax tree                           |   what is printed
    !   an error or a note, as it is shown        ~   the same results as hexadecimal floats
    =   a name that has another value than before, its gradient behind it
    ?   the exit code                             w   a file that was written

The kinds are `session` (statements as at the prompt), `each` (the same, each in a session of its own), `file` (a script),
`lint`, `complete`, and `cli`; `data` is a file for all. `each NAME`, `lint NAME`: after the statements of `prelude NAME`.
"""

from __future__ import annotations

import gc
import hashlib
import io
import math
import os
import re
import resource
import shlex
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np

# All that is used of agrad.
from agrad.cli.main import main as command_line
from agrad.engine.core.context import current
from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError
from agrad.grammar.diagnostics import Source, render
from agrad.grammar.help.completion import completions
from agrad.grammar.lint.lint import problems
from agrad.grammar.results import Gradient, Noted, Plot, Quit, Settings, Shown, text_of
from agrad.grammar.session.session import Session
from agrad.grammar.syntax.ast import Node
from agrad.grammar.syntax.parser import parse

ROOT = Path(__file__).parents[2]
FILE = ROOT / "tests" / "corpus.txt"
UNDONE = 100  # statements that `undo` can take back, as at the prompt
SHOWN = 6  # entries of an array; of a larger one, a hash
LONGEST = 160  # characters of a tree; of a longer one, its beginning
LARGE = 6000  # characters of what is printed; of more, the beginning
LIBRARIES = "numpy scipy llvmlite pyarrow matplotlib click lark dask".split()
INPUTS = ">.$<"
EXACT = Settings(precision=None)


# Signs and lines


def escaped(text: str) -> str:
    """A line that can be printed, and read back."""
    made = "".join("\\\\" if sign == "\\" else sign if sign.isprintable() else f"\\u{ord(sign):06x}" for sign in text)
    return made if made[-1:] != " " else f"{made[:-1]}\\u000020"


def restored(line: str) -> str:
    """The text that a line was escaped from."""
    return re.sub(r"\\(?:u([0-9a-f]{6})|\\)", lambda found: chr(int(found[1], 16)) if found[1] else "\\", line)


def lines_of(sign: str, text: str, more: str = "") -> Iterator[str]:
    """The lines of a text behind a sign."""
    for line in text.split("\n"):
        yield f"{sign} {escaped(line)}".rstrip()
        sign = more or sign


def masked(text: str, folder: str) -> str:
    """The same without what differs from run to run: places in memory, the folder, times."""
    text = text.replace(os.path.realpath(folder), "FOLDER").replace(folder, "FOLDER").replace(str(ROOT), "ROOT")
    text = re.sub(r"\bat 0x[0-9a-f]{6,}", "at PLACE", text)
    made = re.sub(r"\b\d[\d.e-]* (ns|µs|us|ms|s)\b", "TIME", text)
    return made if made == text else re.sub(r" +", " ", re.sub(r"\d[\d.]*%?", "N", made))


def short_hash(text: str | bytes) -> str:
    """Eight characters that stand for a text."""
    return hashlib.sha256(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")).hexdigest()[:8]


def shortened(text: str) -> str:
    """A text; of a large one, the beginning, and a hash of the whole."""
    return text if len(text) <= LARGE else f"{text[: LARGE // 4]} … #{short_hash(text)}"


# Numbers and trees


def hexadecimal(number: float) -> str:
    """A float, exactly, without zeros at the end of its digits."""
    return re.sub(r"\.?0*(?=p)", "", float(number).hex())


def exact(value: object) -> str:
    """A value of the language, with its numbers as hexadecimal floats."""
    if isinstance(value, Tensor):
        marks = " grad" if value.requires_grad else ""
        return exact(value.read_only()) + marks
    if isinstance(value, bool | str | None):
        return repr(value)
    if isinstance(value, int | float):
        return hexadecimal(value)
    if isinstance(value, np.ndarray):
        shape = "x".join(map(str, value.shape))
        if value.size <= SHOWN:
            return f"({shape})[{' '.join(map(hexadecimal, value.ravel()))}]"
        return f"({shape})#{short_hash(np.ascontiguousarray(value).tobytes())}"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key!r}: {exact(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list | tuple):
        return f"{type(value).__name__}({', '.join(exact(one) for one in value)})"
    with suppress(Exception):
        return text_of(value, EXACT).split("\n")[0][:LONGEST]
    return type(value).__name__


def results(result) -> Iterator[str]:
    """The numbers of a result, exactly."""
    if isinstance(result, Shown | Gradient):
        if not isinstance(result.value, str | None):
            yield exact(result.value)
    elif isinstance(result, Plot):
        for curve in result.curves:
            yield f"{curve.name}: {exact(np.asarray(curve.x))} {exact(np.asarray(curve.y))}"
        if result.below is not None:
            yield from results(result.below)


def tree(text: str) -> str:
    """The statements of a text as one line, without places, and a hash of it with them."""
    plain, placed = [], []
    stack: list[object] = [parse(Source("session", text))]
    while stack:
        part = stack.pop()
        if isinstance(part, Node):
            span = getattr(part, "span", None)
            placed.append(f"{span.start}-{span.end}" if span is not None else "")
            values = [getattr(part, name) for name in type(part).fields if name != "span"]
            stack += [_Text(")"), *(values[::-1]), _Text(f"{type(part).__name__}(")]
            continue
        if isinstance(part, tuple | list):
            stack += [_Text("]"), *part[::-1], _Text("[")]
            continue
        if isinstance(part, frozenset | set):
            part = sorted(map(str, part))
        if hasattr(part, "start") and hasattr(part, "end"):
            placed.append(f"{part.start}-{part.end}")
            continue
        written = part if isinstance(part, _Text) else hexadecimal(part) if isinstance(part, float) else repr(part)
        plain.append(re.sub(r" at 0x\w+", "", written) + ("" if isinstance(part, _Text) else " "))
    whole = "".join(plain).replace(" )", ")").replace(" ]", "]")
    return f"{whole[:LONGEST]}{'…' * (len(whole) > LONGEST)} #{short_hash(whole + ' '.join(placed))}"


class _Text(str):
    """A piece of a tree as it is written."""


# Running


@contextmanager
def workshop() -> Iterator[str]:
    """A folder with the examples, where everything runs; nothing of the user's is seen, and nothing is left behind."""
    folder = os.path.realpath(tempfile.mkdtemp())
    before, environment = os.getcwd(), dict(os.environ)
    shutil.copytree(ROOT / "examples", os.path.join(folder, "examples"))
    for name in [name for name in os.environ if name.startswith(("AGRAD", "NO_COLOR", "COLUMNS", "LINES", "LC_"))]:
        del os.environ[name]
    home = dict.fromkeys(("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "APPDATA"), os.path.join(folder, "home"))
    os.environ.update(home | {"TERM": "xterm", "PYTHONUTF8": "1", "LANG": "C.UTF-8", "COLUMNS": "80", "LINES": "24"})
    os.chdir(folder)
    try:
        yield folder
    finally:
        os.chdir(before)
        os.environ.clear()
        os.environ.update(environment)
        shutil.rmtree(folder)


class Entry:
    """An entry: its kind, the rest of its first line, and its inputs, each with its sign."""

    def __init__(self, kind: str, origin: str, inputs: list[tuple[str, str]]) -> None:
        self.kind = kind
        self.origin = origin
        self.inputs = inputs

    @property
    def head(self) -> str:
        """The first line."""
        return f"=== {self.kind} {self.origin}".rstrip()


class Runner:
    """Runs entries, one after the other, in a folder."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.preludes: dict[str, list[str]] = {}
        self.kept = self.files()

    def files(self) -> dict[str, tuple[int, int]]:
        """The files in the folder, but for those of agrad itself, with what changes when they are written."""
        found = {}
        for path, folders, names in os.walk("."):
            folders[:] = sorted(name for name in folders if name not in ("home", "__pycache__"))
            for name in sorted(names):
                place = os.path.normpath(os.path.join(path, name))
                facts = os.stat(place)
                found[place] = (facts.st_mtime_ns, facts.st_size)
        return found

    def answered(self, entry: Entry) -> list[str]:
        """The lines of an entry, with today's answers."""
        current().guard = None
        lines = [entry.head, *getattr(self, entry.kind)(entry)]
        lines += self.tidied(entry)
        if entry.kind == "complete":
            return lines
        return [masked(line, self.folder) if line[:1] not in INPUTS else line for line in lines]

    def tidied(self, entry: Entry) -> Iterator[str]:
        """What was written; then the folder is as it was."""
        if entry.kind == "data":
            self.kept = self.files()
            return
        shutil.rmtree("home", ignore_errors=True)
        now = self.files()
        if now == self.kept:
            return
        for place in sorted(now.keys() - self.kept.keys()):
            text = Path(place).read_bytes()
            os.unlink(place)
            with suppress(UnicodeDecodeError):
                if b"\0" not in text and len(text) < LARGE and not place.endswith((".svg", ".html")):
                    yield from lines_of("w", f"{place}\n{text.decode()}")
                    continue
            yield f"w {place} #{short_hash(text) if place.endswith(('.csv', '.npy', '.svg', '.html')) else ''}"
        assert self.files() == self.kept, f"{entry.head} writes a file that was there"
        for path, folders, _ in os.walk(".", topdown=False):
            for name in folders:
                with suppress(OSError):
                    os.rmdir(os.path.join(path, name))

    # The kinds of entries

    def data(self, entry: Entry) -> Iterator[str]:
        """A file for the entries below."""
        text = "\n".join(text for _, text in entry.inputs)
        Path(entry.origin).write_text(text + "\n", "utf-8")
        yield from lines_of("<", text)

    def prelude(self, entry: Entry) -> Iterator[str]:
        """Statements before each of some entries."""
        self.preludes[entry.origin] = [text for _, text in entry.inputs]
        for _, text in entry.inputs:
            yield from lines_of(">", text, ".")

    def session(self, entry: Entry) -> Iterator[str]:
        """Statements as they are typed at the prompt."""
        typing = Typing()
        for _, text in entry.inputs:
            yield from lines_of(">", text, ".")
            yield from typing.type(text)

    def each(self, entry: Entry) -> Iterator[str]:
        """Statements, each in a session of its own."""
        for _, text in entry.inputs:
            yield from lines_of(">", text, ".")
            typing = Typing()
            for one in self.preludes.get(entry.origin, []):
                for _ in typing.type(one):
                    pass
            yield from typing.type(text)
            current().guard = None

    def file(self, entry: Entry) -> Iterator[str]:
        """A script, which is run in the folder of the examples."""
        text = "\n".join(text for _, text in entry.inputs)
        yield from lines_of(">", text)
        os.chdir("examples")
        try:
            yield from Typing().type(text, source=entry.origin, is_file=True)
        finally:
            os.chdir("..")

    def lint(self, entry: Entry) -> Iterator[str]:
        """What is told of scripts that are not run."""
        for _, text in entry.inputs:
            yield from lines_of(">", text, ".")
            for problem in problems(Source("script", text, is_file=True)):
                yield from lines_of("!", render(problem))

    def complete(self, entry: Entry) -> Iterator[str]:
        """What may be typed next."""
        for _, text in entry.inputs:
            yield from lines_of(">", text, ".")
            session = Session()
            for one in self.preludes.get(entry.origin, []):
                session.run(one)
            word, found = completions(text, session)
            told = " ".join(f"{one.text}·{one.usage}·{one.meaning}" for one in found)
            yield from lines_of(
                "|", f"{word}: {len(found)} {' '.join(one.text for one in found[:12])} #{short_hash(told)}"
            )

    def cli(self, entry: Entry) -> Iterator[str]:
        """A command line, in this process."""
        (_, words), *given = entry.inputs
        yield f"$ {escaped(words)}"
        for _, line in given:
            yield f"< {escaped(line)}".rstrip()
        out, err, code = called(shlex.split(words), "".join(f"{line}\n" for _, line in given))
        if out:
            yield from lines_of("|", shortened(out.removesuffix("\n")))
        if err:
            yield from lines_of("!", err.removesuffix("\n"))
        yield f"? {code}"


def called(words: list[str], given: str) -> tuple[str, str, int]:
    """Run `agrad WORDS` on a standard input: (stdout, stderr, exit code)."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", "surrogateescape", write_through=True) for _ in range(2))
    before, stdin, limits, code = sys.argv, sys.stdin, resource.getrlimit(resource.RLIMIT_AS), 0
    sys.argv, sys.stdin = ["agrad", *words], io.TextIOWrapper(io.BytesIO(given.encode()), "utf-8")
    try:
        with redirect_stdout(out), redirect_stderr(err):
            command_line()
    except SystemExit as end:
        code = int(end.code or 0)
    finally:
        sys.argv, sys.stdin = before, stdin
        resource.setrlimit(resource.RLIMIT_AS, limits)
    return out.buffer.getvalue().decode("utf-8", "replace"), err.buffer.getvalue().decode("utf-8", "replace"), code


class Typing:
    """A session, and what is told of each statement: its tree, its results, and which names it has changed."""

    def __init__(self) -> None:
        self.session = Session()
        self.session.steps.depth = UNDONE
        self.session.shows = True, True  # as a prompt does
        self.known: dict[str, str] = {}

    def type(self, text: str, **options) -> Iterator[str]:
        """Run a text, and tell what comes out."""
        settings, lines = self.session.settings, []

        def emit(result) -> None:
            if isinstance(result, Noted):
                lines.extend(lines_of("!", render(result.note)))
                return
            lines.extend(lines_of("|", shortened(result.text(settings))))
            for line in results(result):
                lines.extend(lines_of("~", line))

        with suppress(AgradError):
            lines += lines_of("T", tree(text))
        try:
            self.session.run(text, emit, **options)
        except AgradError as problem:
            lines += lines_of("!", render(problem))
        except Quit:
            lines.append("? quit")
        yield from lines
        yield from self.changed()

    def changed(self) -> Iterator[str]:
        """The names with another value, or gradient, than before the statement."""
        now = {name: self.state(value) for name, value in self.session.names.items()}
        for name, state in now.items():
            if self.known.get(name) != state:
                yield from lines_of("=", f"{name} {state}")
        for name in sorted(self.known.keys() - now.keys()):
            yield f"= {name} deleted"
        self.known = now

    def state(self, value: object) -> str:
        """A value, and its gradient, exactly."""
        text = exact(value)
        if isinstance(value, Tensor) and value.requires_grad and value.grad is not None:
            text += f", {exact(value.grad)}"
        return text


# The whole


def machine() -> str:
    """What the last digits of results depend on, besides agrad: libraries, and how this machine computes."""
    versions = []
    for name in LIBRARIES:
        try:
            versions.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            versions.append(f"{name} none")
    x = np.linspace(0.01, 1, 1001)
    computed = [f(x).tobytes() for f in (np.exp, np.sin, np.cos, np.log, np.tanh, np.sqrt, np.arcsin, np.cbrt, np.sum)]
    computed.append((x[:961].reshape(31, 31) @ x[40:].reshape(31, 31)).tobytes())
    computed += [f(0.7).hex().encode() for f in (math.exp, math.sin, math.lgamma, math.erf, math.expm1)]
    return f"{', '.join(versions)}, Python {sys.version_info[0]}.{sys.version_info[1]}, digits {short_hash(b''.join(computed))}"


def read(text: str) -> list[Entry]:
    """The entries of a file, with their inputs."""
    entries: list[Entry] = []
    for line in text.split("\n"):
        sign, text_of_line = line[:1], restored(line[2:])
        if line.startswith("=== "):
            kind, _, origin = line[4:].partition(" ")
            entries.append(Entry(kind, origin, []))
        elif sign == ".":
            before = entries[-1].inputs.pop()
            entries[-1].inputs.append((before[0], f"{before[1]}\n{text_of_line}"))
        elif sign and sign in INPUTS:
            entries[-1].inputs.append((sign, text_of_line))
    return entries


def answers(entries: list[Entry], tell=lambda *_: None) -> Iterator[list[str]]:
    """The lines of each entry, with today's answers; `tell` is called with an entry and the seconds it took."""
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)  # as `agrad` does
    with workshop() as folder:
        runner = Runner(folder)
        for entry in entries:
            begun = time.process_time()
            yield runner.answered(entry)
            tell(entry, time.process_time() - begun)


def written(entries: list[Entry]) -> str:
    """The whole file."""
    parts = ["\n".join(lines) for lines in answers(entries)]
    return "\n\n".join([f"# {machine()}", *parts]) + "\n"


def main() -> None:
    global LARGE
    if "--whole" in sys.argv:
        LARGE = sys.maxsize
    made = written(read(FILE.read_text("utf-8")))
    if "--print" in sys.argv:
        sys.stdout.reconfigure(encoding="utf-8")
        sys.stdout.write(made)
    else:
        FILE.write_text(made, "utf-8")


if __name__ == "__main__":
    main()
