"""Only what declares that it may be staged is: anything else in a loop body runs in every iteration."""

import math
from pathlib import Path

import pytest
from thinned import thinned
from transcript import sections

from agrad.engine.core.dispatch import composed
from agrad.engine.core.op import FUNCTIONS, Signature
from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError
from agrad.grammar.commands import COMMANDS, Command
from agrad.grammar.loops.compiled_run import NotTraceable, Stager
from agrad.grammar.results import Noted
from agrad.grammar.run.code import _Generator, of_body
from agrad.grammar.run.guarded import Guarded
from agrad.grammar.run.machine import Machine
from agrad.grammar.runtime.attributes import ATTRIBUTES, METHODS, Attribute, Method
from agrad.grammar.session.session import Session

COUNT = 300
START = "k = 1; x = [1, 2]; var w = 0.5\n"
LOOP = f"for i in range({COUNT}):\n    k = k*1.001\n    "


def loop(statement, session=None):
    """A session in which a loop with a statement in its body has run."""
    session = session or Session()
    session.run(START + LOOP + statement)
    assert session.names["k"] == pytest.approx(1.001**COUNT)
    return session


@pytest.fixture
def runs():
    """What a side effect appends to."""
    return []


def test_without_a_side_effect_most_of_the_loop_is_compiled(monkeypatch):
    skipped = []
    from agrad.grammar.loops.hot_loops import HotLoop

    skip = HotLoop.skip
    monkeypatch.setattr(HotLoop, "skip", lambda self, count: skipped.append(count) or skip(self, count))
    loop("pass")
    assert sum(skipped) > COUNT - 10


def test_a_new_helper_with_a_side_effect_runs_in_every_iteration(monkeypatch, runs):
    monkeypatch.setattr(Machine, "on_new", lambda self, site: runs.append(site[0]), raising=False)
    emit = lambda self, node: [self.run(self.do("new", "now", [], node.span), node.span)]  # noqa: E731
    monkeypatch.setattr(_Generator, "_on_pass", emit)
    loop("pass")
    assert runs == ["now"] * COUNT


def test_a_new_function_with_a_side_effect_runs_in_every_iteration(monkeypatch, runs):
    monkeypatch.setitem(FUNCTIONS, "record", None)  # taken out again behind the test

    @composed("record", "x", family="graph", doc="", example="")
    def record(x):
        runs.append(float(x))
        return x

    loop("z = record(k)")
    loop("z = w.record()")
    assert len(runs) == 2 * COUNT
    assert runs[0] == 1.001
    loop("record(k)\n    z = 1")
    assert len(runs) == 3 * COUNT


def test_a_function_that_has_the_name_of_a_pure_one_is_not_taken_for_it(monkeypatch, runs):
    def sin(x):
        runs.append(x)
        return 0.0

    session = Session()
    session.names["f"] = sin
    loop("z = f(k)", session)
    assert len(runs) == COUNT


def test_a_new_method_with_a_side_effect_runs_in_every_iteration(monkeypatch, runs):
    monkeypatch.setitem(METHODS, "record", Method(Signature("x.record", ""), lambda x: runs.append(x.item())))
    loop("w.record()")
    assert len(runs) == COUNT


def test_a_new_attribute_with_a_side_effect_is_read_in_every_iteration(monkeypatch, runs):
    monkeypatch.setitem(ATTRIBUTES, "record", Attribute(lambda x: runs.append(1) or 2.0))
    loop("z = w.record")
    assert len(runs) == COUNT


def test_a_new_command_runs_in_every_iteration(monkeypatch, runs):
    command = COMMANDS["info"]
    facts = command.word, command.usage, command.help, command.example
    new = Command(*facts, lambda session, call: runs.append(1), command.options, command.keywords)
    monkeypatch.setitem(COMMANDS, "info", new)
    loop("info w")
    assert len(runs) == COUNT


def test_the_stager_refuses_every_helper_but_those_that_are_declared_and_those_of_its_own():
    stager = Stager(Session(), "i")
    words = {name.removeprefix("on_") for name in dir(Machine) if name.startswith("on_")}
    assert words >= Stager.as_is
    for word in words:
        rule = stager.helper(f".{word}")
        if word in Stager.as_is or f"on_{word}" in {*vars(Stager), *vars(Guarded)}:
            assert rule == getattr(stager, f"on_{word}")
        else:
            with pytest.raises(NotTraceable, match=word):
                rule()


# One loop body for each kind of effect: what it leaves is what it leaves when it is not compiled.
EFFECTS = {name: text for name, (text,) in sections(Path(__file__).with_name("effects.txt")).items()}
AROUND = Path(__file__).with_name("around.ag").read_text()
AFTER = ("rand()", "t", "info t", "info w", "grad w", "total", "z", "_", "undo", "vars", "info w", "t", "rand()")
# What a body raises, where it does.
RAISES = {
    "asserts": "the assertion does not hold",
    "fails in the end": "singular matrix",
}


def outcome(statement, compiles):
    session = Session()
    session.compiles = compiles
    session.settings.precision = None
    session.steps.depth = 10
    said = []

    def emit(result):
        said.append(result.note.message if isinstance(result, Noted) else result.text(session.settings))

    raised = []
    session.run(START + AROUND)
    for text in (LOOP + statement, *AFTER):
        try:
            session.run(text, emit)
        except AgradError as error:
            (raised if text not in AFTER else said).append(error.message)
    values = {name: str(value.value if isinstance(value, Tensor) else value) for name, value in session.names.items()}
    return said, values, raised


@pytest.mark.parametrize("name", thinned(EFFECTS, 5))
def test_an_effect_of_a_loop_body_is_neither_lost_nor_repeated(name):
    found, expected = outcome(EFFECTS[name], True), outcome(EFFECTS[name], False)
    assert found == expected
    assert [text for text in found[2] if RAISES.get(name, "") not in text] == []
    assert bool(found[2]) is (name in RAISES)


def test_a_refused_staging_leaves_no_trace():
    session = Session()
    session.run(START + AROUND)
    before = {name: getattr(value, "version", None) for name, value in session.names.items()}
    stager = Stager(session, "i")
    from agrad.grammar.diagnostics import Source
    from agrad.grammar.syntax.parser import parse

    body = parse(Source("body", "no_grad: w += 1\nt += 1\nprint w"))
    with pytest.raises(NotTraceable, match="print"):
        stager.stage(of_body(tuple(body), False), 0.0)
    assert {name: getattr(value, "version", None) for name, value in session.names.items()} == before
    assert session.names["w"].item() == 0.5
    assert not math.isnan(session.names["k"])
