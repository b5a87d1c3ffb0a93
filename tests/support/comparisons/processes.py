"""What a process of agrad does with random files: it ends with an exit code of its own, says why, and leaves no litter.

Each case is a process, forked from this one so that it starts in milliseconds, in a folder with files of random content.
A table in CSV is read twice, with pyarrow and without, and a table that is right is computed here, too. Then come scripts
that read many files, each of which is a case: every statement must say in its process what it says in this one.
"""

from __future__ import annotations

import csv
import gc
import io
import json
import math
import os
import pkgutil
import random
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from itertools import zip_longest
from pathlib import Path
from typing import Any

from sentences import STORE, mutate

import agrad.cli
import agrad.engine
import agrad.grammar
from agrad.cli.__main__ import process
from agrad.cli.main import main
from agrad.cli.output import printer
from agrad.engine.errors import AgradError
from agrad.grammar.session.session import Session

from .files import Table, configuration, damaged, numpy_archive, numpy_file, parquet_file, table

CODES = {0, 1, 2, 124}
SECONDS = 60  # for a process; the machine may be busy
EXPRESSIONS = ("x*2 + y", "x", "sin(x)*y", "x**2 if x > 0 else -x", "log(x)", "1", "x/y", "sqrt(x - y)", "x*y - 1")
OUTPUTS = ("out.csv", "out.jsonl", "out.npy", "out.npz", "out.parquet", "no/such/out.csv", "out.what", "/proc/out.csv")
TIDY = {"out.csv", "out.jsonl", "out.npy", "out.npz", "out.parquet"}
PYARROW = find_spec("pyarrow") is not None


@dataclass
class Run:
    """A command line with what is behind it, and what came of it."""

    words: list[str]
    given: bytes = b""
    table: Table | None = None
    without: bool = False  # pyarrow
    code: int = -1
    out: str = ""
    err: str = ""
    files: dict[str, bytes] = field(default_factory=dict)


def cases(dice: random.Random) -> Iterator[None]:
    """Processes, of which two must agree at times, then files that a script reads in a process, and here."""
    _load()
    for _ in range(25):
        with tempfile.TemporaryDirectory(prefix="agrad-fuzz-") as name:
            folder = Path(name)
            (folder / "home" / "agrad").mkdir(parents=True)
            run = _prepared(dice, folder)
            before = _files(folder)
            _forked(run, folder)
            _judge(run, before, _files(folder))
            yield
            if run.table is not None and PYARROW:
                for left in _files(folder):
                    (folder / left).unlink()
                for name, data in before.items():
                    (folder / name).write_bytes(data)
                other = Run(run.words, run.given, run.table, without=True)
                _forked(other, folder)
                _judge(other, before, _files(folder))
                if not any(".parquet" in word for word in run.words):
                    both = [(one.code, _numbers(one.out), one.err) for one in (run, other)]
                    assert both[0] == both[1], _told(run, other)
                yield
    for _ in range(15):
        with tempfile.TemporaryDirectory(prefix="agrad-fuzz-") as name:
            folder = Path(name)
            (folder / "home" / "agrad").mkdir(parents=True)
            statements = [_reading(dice, folder / f"f{number}") for number in range(20)]
            run = Run(["run", "-k", "--json", "-"], "\n".join(statements).encode())
            before = _files(folder)
            _forked(run, folder)
            _judge(run, before, _files(folder))
            found = [_outcome(json.loads(line)) for line in run.out.splitlines()]
            for statement, one in zip_longest(statements, found):
                wanted = _computed(statement)
                assert one == wanted, f"{statement}: {one}, not {wanted}\n{_told(run)}\n{_contents(folder)}"
                yield


def _reading(dice: random.Random, path: Path) -> str:
    """A statement that reads a random file, which is written there."""
    kind = dice.randrange(4)
    path.write_bytes((_csv, _csv, numpy_file, numpy_archive)[kind](dice))
    if kind > 1:
        form = dice.choice(('load_npy("{}")', 'load_npy("{}")*2', 'load_csv("{}")', 'chunks("{}", 2)'))
    else:
        columns = dice.choice(("", "", ', "x"', ', ["x", "y"]', ", 0", ", [1, 0]", ', "nosuch"', ", 9"))
        form = dice.choice(
            (
                f'load_csv("{{}}"{columns})',
                f'sum(load_csv("{{}}"{columns}))',
                'np.loadtxt("{}", delimiter=",", skiprows=1)',
            )
        )
    return form.format(path)


def _computed(statement: str) -> Any:
    """What a statement gives in a session of this process, as `_outcome` has it."""
    session, out = Session(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(io.StringIO()):
        try:
            session.run(statement, printer(session.settings, "json"))
        except AgradError as error:
            return error.kind, error.message
    return _outcome(json.loads(out.getvalue()))


PACKAGES = ("agrad.engine.torch", "agrad.engine.numpy")  # which are imported as agrad.torch and agrad.numpy


def _outcome(line: Any) -> Any:
    """A line of JSON: the kind and the message of an error, or all that it says."""
    error = line.get("error")
    return (error["kind"], error["message"]) if error else line


@cache
def _load() -> None:
    """Import all that a command may import, and run some, so that a forked process has little to do of its own."""
    for package in (agrad.engine, agrad.grammar, agrad.cli):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not module.name.endswith(("__main__", "papermill_parameters")) and not module.name.startswith(PACKAGES):
                import_module(module.name)
    for name in ("concurrent.futures.thread", "difflib", "mmap", "numpy.ma"):
        import_module(name)
    if PYARROW:
        for name in ("pyarrow.compute", "pyarrow.csv", "pyarrow.parquet"):
            import_module(name)
    csv.field_size_limit(1 << 30)  # a cell that is kept may be long
    with tempfile.TemporaryDirectory(prefix="agrad-fuzz-") as name:
        path = Path(name, "d.csv")
        path.write_text("x,y\n1,2\n", encoding="utf-8")
        for words in (
            "eval x*2 x=1 --wrt x",
            f"eval sum(x) x=@{path}:x",
            f"map x/y {path} --wrt x",
            "run -",
            "eval inv(eye(2))",
        ):
            sys.argv, sys.stdin = ["agrad", *words.split()], io.StringIO("x = 1\n1+\n")
            with redirect_stdout(io.TextIOWrapper(io.BytesIO())), redirect_stderr(io.StringIO()), suppress(SystemExit):
                main()
    gc.collect()
    gc.freeze()


def _prepared(dice: random.Random, folder: Path) -> Run:
    """Random files in a folder, and a command line that reads some of them."""
    kind = dice.randrange(16)
    if dice.random() < 0.15:
        (folder / "home" / "agrad" / "config.toml").write_bytes(configuration(dice))
    if kind < 7:
        return _mapped(dice, folder)
    if kind < 10:
        return _tables_of_numpy(dice, folder)
    if kind < 12:
        name = dice.choice(("d.csv", "d.npy", "d.npz", "d.txt"))
        (folder / name).write_bytes(dice.choice((numpy_file, numpy_archive, _csv))(dice))
        option = dice.choice(([], ["--wrt", "x"], ["--json"], ["--no-files"]))
        return Run(
            [
                "eval",
                dice.choice(("sum(x)", "x*2", "x", "sort(x)")),
                f"x=@{name}{dice.choice(('', ':x', ':0', ':y'))}",
                *option,
            ]
        )
    if kind < 14:
        script = mutate(dice.choice(STORE), dice).encode(errors="replace")
        (folder / "s.ag").write_bytes(damaged(dice, script) if dice.random() < 0.3 else script)
        words = dice.choice(
            (["run", "s.ag"], ["run", "--check", "s.ag"], ["run", "-k", "s.ag"], ["run", "--json", "s.ag"], ["s.ag"])
        )
        return Run([*words, "--timeout", "2"] if words[0] == "run" else words)
    if kind == 14:
        text = "\n".join(mutate(dice.choice(STORE), dice) for _ in range(3)).encode(errors="replace")
        return Run(["repl", "--timeout", "2"], damaged(dice, text) if dice.random() < 0.2 else text)
    (folder / "home" / "agrad" / "config.toml").write_bytes(configuration(dice))
    return Run(dice.choice((["config"], ["eval", "1/3"], ["eval", "x**2", "x=3", "--wrt", "x"], ["config", "path"])))


def _csv(dice: random.Random) -> bytes:
    return table(dice).data


def _mapped(dice: random.Random, folder: Path) -> Run:
    """`map` over a table in CSV, most often one that is right."""
    made = table(dice)
    words = ["map", dice.choice(EXPRESSIONS), "-" if dice.random() < 0.2 else "d.csv"]
    (folder / "d.csv").write_bytes(made.data)
    if dice.random() < 0.3:
        words += ["--wrt", dice.choice(("x", "x,y", "y", "z"))]
    if dice.random() < 0.3:
        words += ["--keep", dice.choice(("all", "x", "name", "x,name", "nosuch"))]
    if dice.random() < 0.3:
        words += ["--on-error", "null"]
    if dice.random() < 0.15:
        words += ["--json"]
    if dice.random() < 0.1:
        words += ["--precision", dice.choice(("3", "0", "17", "full"))]
    if dice.random() < 0.25:
        words += ["-o", dice.choice(OUTPUTS)]
        if dice.random() < 0.3 and words[-1] in TIDY:
            (folder / words[-1]).write_bytes(b"kept")
    if dice.random() < 0.1:
        words += ["--columns", dice.choice(("x,y", "x,y,name", "x", "x,x"))]
    return Run(words, made.data if words[2] == "-" else b"", made)


def _tables_of_numpy(dice: random.Random, folder: Path) -> Run:
    """`map` over a binary table, most often a damaged one."""
    name, make = dice.choice((("d.npy", numpy_file), ("d.npz", numpy_archive), ("d.parquet", parquet_file)))
    (folder / name).write_bytes(make(dice))
    words = ["map", dice.choice((*EXPRESSIONS, "c0*2", "x")), name]
    if dice.random() < 0.5:
        words += ["--keep", dice.choice(("all", "x", "name"))]
    if dice.random() < 0.3:
        words += ["-o", dice.choice(OUTPUTS[:5])]
    if dice.random() < 0.2:
        words += ["--json"]
    return Run(words)


def _forked(run: Run, folder: Path) -> None:
    """Run a command line in a process of its own, and note its exit code and what it printed."""
    (folder / "home" / "stdin").write_bytes(run.given)
    paths = [str(folder / "home" / name) for name in ("stdin", "stdout", "stderr")]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of other threads, which do nothing here
        child = os.fork()
    if not child:
        try:
            _become(run, folder, paths)
        except BaseException:
            traceback.print_exc()
            sys.stderr.flush()
        finally:
            os._exit(99)
    end = time.monotonic() + SECONDS
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            break
        if time.monotonic() > end:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            raise AssertionError(f"it does not end: {run.words}\n{_contents(folder)}")
        time.sleep(0.001)
    run.code = os.waitstatus_to_exitcode(status)
    run.out, run.err = (Path(path).read_bytes().decode(errors="surrogateescape") for path in paths[1:])
    run.files = {name: data for name, data in _files(folder).items() if name in TIDY}


def _become(run: Run, folder: Path, paths: list[str]) -> None:
    """Be a process that was started with the command line."""
    for number, path in enumerate(paths):
        os.dup2(os.open(path, os.O_RDONLY if not number else os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    sys.stdin, sys.stdout, sys.stderr = (
        open(number, mode, encoding="utf-8", errors=errors, closefd=False)  # noqa: SIM115
        for number, mode, errors in ((0, "r", "strict"), (1, "w", "strict"), (2, "w", "backslashreplace"))
    )
    home = str(folder / "home")
    os.environ.update({"HOME": home, "XDG_CONFIG_HOME": home, "TERM": "dumb", "COLUMNS": "80"})
    os.chdir(folder)
    if run.without:
        for name in [name for name in sys.modules if name.partition(".")[0] == "pyarrow"] or ["pyarrow"]:
            sys.modules[name] = None  # type: ignore[assignment]
    sys.argv = ["agrad", *run.words]
    process()


def _files(folder: Path) -> dict[str, bytes]:
    """What is in a folder, and in the home folder but for what was printed."""
    found = {}
    for path in folder.rglob("*"):
        name = str(path.relative_to(folder))
        if path.is_file() and name not in ("home/stdin", "home/stdout", "home/stderr"):
            found[name] = path.read_bytes()
    return found


def _judge(run: Run, before: dict[str, bytes], after: dict[str, bytes]) -> None:
    """Fail where a process has broken a claim."""
    assert run.code in CODES, _told(run)
    for text in (run.out, run.err):
        assert "Traceback" not in text and "internal" not in text and "at 0x" not in text, _told(run)
    if run.code:
        assert run.err or "--json" in run.words, _told(run)
    else:
        assert "error[" not in run.err, _told(run)
    changed = {name for name in {*before, *after} if before.get(name) != after.get(name)}
    asked = {run.words[run.words.index("-o") + 1]} if "-o" in run.words else set()
    litter = {name for name in changed if not name.startswith("home/")} - (asked if run.code == 0 else set())
    scripts = run.given + before.get("s.ag", b"")
    litter -= {name for name in litter if f'"{name}"'.encode() in scripts}  # by `save` or `plot` there
    assert not litter, f"{litter} changed\n{_told(run)}"
    if "--json" in run.words and "-o" not in run.words and run.words[0] != "run":
        for line in run.out.splitlines():
            json.loads(line)
    if run.table is not None and run.table.rows is not None and run.code == 0:
        _compare(run, run.table.rows)


def _compare(run: Run, rows: list[tuple[float, float]]) -> None:
    """The values of a table that is right, against those that are computed here."""
    if run.words[1] != "x*2 + y" or "-o" in run.words or "--precision" in run.words or "--json" in run.words:
        return
    found = list(csv.DictReader(run.out.splitlines()))
    assert len(found) == len(rows), _told(run)
    for line, (x, y) in zip(found, rows, strict=True):
        value, wanted = float(line["value"] or "nan"), x * 2 + y
        assert value == wanted or (math.isnan(value) and math.isnan(wanted)), _told(run)


def _numbers(text: str) -> list[Any]:
    """What is in a table of CSV, with numbers as such: pyarrow writes 0.000049 for 4.9e-05, and quotes each text."""

    def cell(part: str) -> Any:
        try:
            return float(part).hex()
        except ValueError:
            return part

    return [[cell(part) for part in line] for line in csv.reader(io.StringIO(text, newline=""))]


def _told(*runs: Run) -> str:
    parts = []
    for run in runs:
        data = run.table.data[:1500] if run.table is not None else b""
        parts.append(
            f"{run.words} gave {run.code}\nout: {run.out[:600]!r}\nerr: {run.err[:300]} … {run.err[-900:]}\ntable: {data!r}"
        )
    return "\n".join(parts)


def _contents(folder: Path) -> str:
    return "\n".join(f"{name}: {data[:800]!r}" for name, data in _files(folder).items())
