"""`time:` measures a statement as it normally runs: what runs compiled without it runs compiled in it."""

import gc
import re
import sys

import pytest
import slow_numpy

from agrad.grammar.commands import time
from agrad.grammar.run.places import File
from agrad.grammar.session.session import Session

COUNT = 2000
START = "manual_seed(1); x = randn(20); y = 2*x + 1; var w = 0.5; var b = 0; k = 1"
BODIES = {
    "numbers": "k = k*1.0001",
    "descent": "backward mean((w*x + b - y)**2); step sgd w b lr=0.05; zero_grad",
    "one in a hundred prints": "k = k*1.0001\n        if i % 100 == 0: print k",
    "nothing that can be compiled": "k = rand()",
}


@pytest.fixture(autouse=True)
def _no_hooks():
    """A value with a hook, which sees each backward, may still wait for the garbage collector: loops would not compile."""
    gc.collect()


def ran(text):
    """The session after a text, how many lines of Python's ran one by one, and what it showed."""
    session, lines, shown = Session(), [], []
    session.run(START)

    def traced(frame, event, _):
        if isinstance(frame.f_code.co_filename, File) and event == "line":
            lines.append(1)
        return traced

    sys.settrace(traced)
    try:
        session.run(text, lambda result: shown.append(result.text(session.settings)))
    finally:
        sys.settrace(None)
    return session, len(lines), shown


@pytest.mark.parametrize("name", BODIES)
def test_a_loop_takes_the_path_that_it_takes_when_it_is_not_timed(monkeypatch, name):
    monkeypatch.setattr(time, "ENOUGH", 0.0)  # one run to measure, and the one that stands
    block = f"    for i in range({COUNT}):\n        {BODIES[name]}\n"
    plain, once, said = ran(block.replace("    for", "for").replace("        ", "    "))
    timed, twice, shown = ran(f"time:\n{block}")
    assert abs(twice - 2 * once) < 10  # the head of a loop is counted otherwise by each Python
    assert shown[:-1] == said
    assert str(timed.names["k"]) == str(plain.names["k"]) or "rand" in BODIES[name]
    assert timed.names["w"].item() == plain.names["w"].item()


def test_it_says_how_many_iterations_ran_compiled():
    *_, (text,) = ran(f"time:\n    for i in range({COUNT}):\n        {BODIES['descent']}\n")
    head, compiled, *rest = text.splitlines()
    assert head.startswith("whole statement")
    assert re.fullmatch(r"  compiled loops +\S+ \S+ +\d+% +(\d+) iterations", compiled)
    assert COUNT - 10 < int(compiled.split()[-2]) < COUNT
    assert any("building the graph" in line for line in rest)  # of the iterations that ran uncompiled
    *_, (short,) = ran("time:\n    for i in range(5): k = k*2\n")
    assert "compiled" not in short


@pytest.mark.long
def test_the_first_array_is_not_blamed_for_loading_numpy(tmp_path):
    first = slow_numpy.said(tmp_path, "time: x = [1, 2]*2").splitlines()[0]
    assert re.fullmatch(r"whole statement +[\d.]+ [mu]s +(one run|median of \d+ runs)", first)


def test_a_graph_that_cannot_be_replayed_is_timed_all_the_same(monkeypatch):
    monkeypatch.setattr(time, "ENOUGH", 0.0)
    lines = (
        "t = 0",
        "for i in range(2):",
        "    y = sum(w*w); backward y; t += w.grad[0].item(); zero_grad w",
        "return t",
    )
    text = "\n    ".join(["var w = [2, 3]\ndef f():", *lines]) + "\ntime: f()"
    session, shown = Session(), []
    session.run(text, lambda result: shown.append(result.text(session.settings)))
    assert re.search(r"^replay +y cannot be replayed: it was built where the number in .* was 4$", shown[-1], re.M)
