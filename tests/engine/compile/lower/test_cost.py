"""Which way a program is computed, by counting, and how that is told."""

import re
from pathlib import Path

import numpy as np
import pytest

import agrad.engine as ag
from agrad.engine.compile.llvm import target
from agrad.engine.errors import AgradError

ENGINE = Path(ag.__file__).parent
native = pytest.mark.skipif(target.binding() is None, reason="llvmlite is not installed")
LINE = re.compile(r"^  (numbers|loops|python) +(about [0-9.e+]+ µs a call: |no: ).+$")


def told(f, *examples, backend="llvm"):
    *lines, last = ag.compile(f, *examples, backend=backend).explain().splitlines()
    assert [LINE.match(line)[1] for line in lines] == ["numbers", "loops", "python"], lines
    return lines, last


@native
@pytest.mark.parametrize(
    ("f", "example", "way"),
    [
        (lambda x: x**2 * ag.sin(x), 2.0, "numbers"),
        (lambda x: ag.det(x), np.eye(3), "numbers"),
        (lambda x: ag.sum(x[0] * x), np.ones(10), "numbers"),
        (lambda x: ag.mean((x - 1) ** 2), np.ones(2_000), "loops"),
        (lambda x: ag.sum(ag.sin(x)), np.ones(100_000), "loops"),
        (lambda x: ag.sum(ag.tanh(x @ x)), np.ones((50, 50)), "loops"),
    ],
)
def test_the_cheaper_way_is_taken_and_told(f, example, way):
    _, last = told(f, example)
    assert last == f"computed by machine code, as {way}"


@native
def test_what_is_no_way_says_why():
    lines, last = told(lambda x: ag.sum(ag.sort(x)), np.ones(5))
    assert "no: an operation has no expansion into numbers" in lines[0]
    assert "no: there is no loop over many entries in it" in lines[1]
    assert last == "computed by python, since there is no loop over many entries in it"
    lines, _ = told(lambda x: ag.sum(ag.tanh(x @ x)), np.ones((50, 50)))
    assert lines[1].endswith("by the library matmul")


@native
def test_by_default_machine_code_comes_after_calls_that_are_counted():
    _, last = told(lambda x: ag.sum(ag.sin(x)), np.ones(1000), backend="auto")
    assert re.fullmatch(r"computed by python; machine code is tried from call \d+ on", last)
    assert told(lambda x: ag.sum(ag.sin(x)), np.ones(1000), backend="auto")[1] == last
    assert told(lambda x: x * 2, 1.0, backend="python")[1] == "computed by python, since the backend is python"


def test_without_machine_code_it_says_so(monkeypatch):
    from agrad.engine.compile.llvm import backend
    from agrad.engine.compile.lower import plan

    for module in (target, backend, plan):
        monkeypatch.setattr(module, "binding", lambda: None)
    lines, _ = told(lambda x: ag.sum(ag.sin(x)), np.ones(1000), backend="auto")
    assert "is not installed" in lines[0] and "is not installed" in lines[1]
    monkeypatch.setattr(type(backend.BACKEND), "require", missing)
    _, last = told(lambda x: ag.sum(ag.sin(x)), np.ones(1000), backend="auto")
    assert last == "computed by python, since machine code needs llvmlite, which is not installed"


def missing(_: object) -> None:
    raise AgradError("extra", "machine code needs llvmlite, which is not installed")


def test_no_clock_decides_how_a_program_is_computed():
    for folder in ("compile", "program"):
        for path in (ENGINE / folder).rglob("*.py"):
            assert not re.search(r"perf_counter|monotonic|import time|from time", path.read_text("utf-8")), path
