"""Which way a program is computed, by counting, and how that is told."""

import re
from pathlib import Path

import numpy as np
import pytest
from rows import each

import agrad.engine as ag
from agrad.engine.compile import cost
from agrad.engine.compile.llvm import target
from agrad.engine.errors import AgradError
from agrad.engine.program.trace import trace

ENGINE = Path(ag.__file__).parent
native = pytest.mark.skipif(target.binding() is None, reason="llvmlite is not installed")
LINE = re.compile(r"^  (numbers|loops|python) +(about [0-9.e+]+ [µm]s a call: |no: ).+$")


def told(f, *examples, backend="llvm"):
    *lines, last = ag.compile(f, *examples, backend=backend).explain().splitlines()
    lines = [line for line in lines if not line.startswith("    ")]
    assert [LINE.match(line)[1] for line in lines] == ["numbers", "loops", "python"], lines
    return lines, last


@native
@each(
    "f, example, way",
    [
        (lambda x: x**2 * ag.sin(x), 2.0, "numbers"),
        (lambda x: ag.det(x), np.eye(3), "numbers"),
        (lambda x: ag.sum(x[0] * x), np.ones(10), "numbers"),
        (lambda x: ag.max(x * x), np.ones(10), "numbers"),  # differentiated before it becomes numbers
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
    lines, last = told(lambda x: ag.sum(ag.expm(x)), np.ones((2, 2)))
    assert "no: an operation has no expansion into numbers" in lines[0]
    assert "no: there is no loop over many entries in it" in lines[1]
    assert last == "computed by python, since there is no loop over many entries in it"
    lines, _ = told(lambda x: ag.sum(ag.tanh(x @ x)), np.ones((150, 150)))
    assert lines[1].endswith("by the library matmul")


@native
def test_each_part_of_loops_is_told_with_what_it_takes():
    def f(x, w):
        return ag.sum(ag.tanh(x @ w)) + ag.scan(lambda s, row: (s * 0.5 + ag.sum(row), ()), 0.0, x)[0]

    *lines, _ = ag.compile(f, np.ones((150, 140)), np.ones((140, 130)), backend="llvm").explain().splitlines()
    parts = [line.strip() for line in lines if line.startswith("    ")]
    assert all(re.match(r"about [0-9.e+]+ [µm]s: ", part) for part in parts)
    assert any(part.endswith("matmul, by the library") for part in parts)
    assert any(part.endswith("a loop over (150, 130), with 1 operation and 1 sum") for part in parts)
    assert any(re.search(r"scanned, 150 iterations of \d+ instructions$", part) for part in parts)


@pytest.mark.long
@native
def test_how_a_hessian_is_computed_is_told():
    def chain(x):
        return ag.sum((x[1:] - x[:-1] ** 2) ** 2)

    told = []
    for size in (10, 2000):
        f = ag.compile(chain, np.ones(size))
        assert "Hessian" not in f.explain()
        f.hessian(np.ones(size))
        told.append(f.explain().splitlines()[-1])
    assert re.fullmatch(r"the Hessian is computed by entries, about [0-9.]+ [µm]s", told[0])
    line = r"the Hessian is computed by 3 products with a direction, about [0-9.]+ [µm]s; by entries .*"
    assert re.fullmatch(line, told[1])


@native
def test_by_default_machine_code_comes_after_calls_that_are_counted():
    _, last = told(lambda x: ag.sum(ag.sin(x)), np.ones(1000), backend="auto")
    assert re.fullmatch(r"computed by python; machine code is tried from call \d+ on: .*", last)
    assert told(lambda x: ag.sum(ag.sin(x)), np.ones(1000), backend="auto")[1] == last
    assert told(lambda x: x * 2, 1.0, backend="python")[1] == "computed by python, since the backend is python"


def test_the_iterations_of_a_loop_in_python_are_counted():
    def polynomial(x):
        y = 0.0 * x
        for place in range(1000):
            y = y * x + 1.0 / (place + 1.0)
        return y

    compiled = ag.compile(polynomial, 0.9)
    compiled.value_and_grad(0.5)
    (one,) = compiled._gradient.known
    assert [step.op.role for step in one.exact.steps].count("loop") == 2
    assert one.most_calls < 200  # each takes some ms


def test_without_machine_code_it_says_so(monkeypatch):
    from agrad.engine.compile.llvm import backend

    for module in (target, cost):
        monkeypatch.setattr(module, "binding", lambda: None)
    lines, _ = told(lambda x: ag.sum(ag.sin(x)), np.ones(1000), backend="auto")
    assert "is not installed" in lines[0] and "is not installed" in lines[1]
    monkeypatch.setattr(type(backend.BACKEND), "require", missing)
    _, last = told(lambda x: ag.sum(ag.sin(x)), np.ones(1000), backend="auto")
    assert last == "computed by python, since machine code needs llvmlite, which is not installed"


def missing(_: object) -> None:
    raise AgradError("extra", "machine code needs llvmlite, which is not installed")


def test_no_clock_decides_how_a_program_is_computed():
    modules = [path for folder in ("compile", "program") for path in (ENGINE / folder).rglob("*.py")]
    for path in (*modules, ENGINE.parent / "grammar" / "loops" / "compiled_run.py"):
        assert not re.search(r"perf_counter|monotonic|import time|from time", path.read_text("utf-8")), path


def test_iterations_repay_by_what_each_is_faster():
    """The time that it takes to begin and to compile, by the time that Python takes longer for one of them."""
    program = trace(lambda x: ag.sin(x) * x + ag.exp(x), [0.5], ["x"])
    length = cost.instructions(program)
    faster = cost.interpreted(program) - cost._INSTRUCTION * length
    assert 0.0 < faster < cost.interpreted(program)
    assert cost.iterations_to_repay(program) * faster == pytest.approx(cost._STARTED + cost._COMPILED * length)
