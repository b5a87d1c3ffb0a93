"""Only what declares that it may be staged is: anything else in a loop body runs in every iteration."""

import math

import pytest
from thinned import thinned

from agrad.engine.core.dispatch import composed
from agrad.engine.core.op import FUNCTIONS, Signature
from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError
from agrad.grammar.commands import COMMANDS, Command
from agrad.grammar.loops.staging import NotTraceable, Stager
from agrad.grammar.results import Noted
from agrad.grammar.runtime import compiler
from agrad.grammar.runtime.attributes import ATTRIBUTES, METHODS, Attribute, Method
from agrad.grammar.runtime.bytecode import Do, Staging
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


def test_a_new_instruction_with_a_side_effect_runs_in_every_iteration(monkeypatch, runs):
    new = Do._new_member_(Do)  # as one that is added to the list without a word on staging
    new._name_ = "NEW"
    assert new.staging is Staging.NEVER
    session = Session()
    session.machine.handlers[new] = lambda frame, detail, span: runs.append(detail)
    emit = lambda self, node: self.instructions.append((new, "now", node.span))  # noqa: E731
    monkeypatch.setattr(compiler._Compiler, "_pass", emit)
    loop("pass", session)
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
    facts = command.word, command.usage, command.help, command.example, command.changes
    new = Command(*facts, lambda session, call: runs.append(1))
    monkeypatch.setitem(COMMANDS, "info", new)
    loop("info w")
    assert len(runs) == COUNT


@pytest.mark.parametrize("do", Do, ids=lambda do: do.name)
def test_the_stager_has_a_rule_for_an_instruction_if_and_only_if_it_is_declared(do):
    rules = {Do.RETURN, *Stager(Session(), "i").rules}
    assert (do in rules) is (do.staging is not Staging.NEVER)


def test_methods_and_commands_declared_to_have_a_rule_have_one():
    stager = Stager(Session(), "i")
    by_rule = {name for name, method in METHODS.items() if method.staging is Staging.BY_RULE}
    assert set(stager.method_rules) == by_rule
    assert set(stager.command_rules) == {w for w, one in COMMANDS.items() if one.staging is Staging.BY_RULE}
    assert all(command.staging is not Staging.AS_IS for command in COMMANDS.values())


def test_a_rule_that_is_declared_and_missing_is_an_error(monkeypatch):
    monkeypatch.setattr(Do.PRINT, "staging", Staging.BY_RULE)
    with pytest.raises(TypeError, match="PRINT"):
        Stager(Session(), "i")


# One loop body for each kind of effect: what it leaves is what it leaves when it is not compiled.
EFFECTS = {
    "prints": "print i",
    "shows": "i",
    "shows text": 'f"{i}"',
    "shows through a function": "show(i)",
    "draws": "z = rand()",
    "draws in a function": "z = noisy(1)",
    "draws as a method": "z = x.randn()",
    "draws below a derivative": "z = jvp(noisy, 2, 1)",
    "reads a changing name below a derivative": "z = jvp(scaled, 2, 1); total = total + z",
    "writes below a derivative": "total = total + jvp(writing, 2, 1)",
    "prints below a derivative": "z = jvp(printing, 2, 1)",
    "reads a default": "total = total + default(2)\n    no_grad: w += 0.01",
    "reads a captured value": "total = total + captured(2)\n    no_grad: w += 0.01",
    "reads an attribute of a name that is a prefix too": "total = total + sum(F.data); F += 1",
    "seeds": "manual_seed(i)",
    "writes an entry": "t[0] = i",
    "writes an entry with an operator": "t[1] += i",
    "writes by a method": "t.add_(1)",
    "copies into": "t.copy_([i, i])",
    "makes a leaf": "var u = i",
    "deletes": "q = i; del q",
    "defines": "def g(x) = x + i",
    "makes a version": "no_grad: w += 1",
    "sets a gradient": "w.grad = tensor(1.0)",
    "sets data": "w.data = tensor(2.0)",
    "retains": "u = w*2; retain u; backward u; zero_grad",
    "backward with a seed": "backward w*x seed [1, 2]",
    "requires_grad_": "q = tensor(1.0); q.requires_grad_()",
    "forward": "u = w*2; forward u",
    "checks": "check w**2",
    "asserts": "assert i < 290",
    "fails": "fails shape: [1, 2] + [1, 2, 3]",
    "fails in the end": "z = inv([[i - 250, 0], [0, 1]])",
    "limits": "limit nodes=1e6",
    "lists": "vars",
    "explains": "explain w*2",
    "asks": "info w",
    "draws the graph": "u = w*2; graph u",
    "reads a file": 'fails file: z = load_csv("nowhere.csv")',
    "notes a lost leaf": "w = w*1.5",
    "notes a stale value": "y = w*2\n    no_grad: w += 1\n    y",
    "notes a history": "total = total + w",
    "notes what is not finite": "u = sqrt(w - w); backward u; zero_grad w",
    "rebinds the counter": "i = 5",
    "unpacks": "p, q = i, k",
    "chains": "z = 0 < i < 200",
    "compares approximately": "z = i ~= 200",
    "loops inside": "for j in range(3): t[0] += j",
    "inner while": "while k > 10: k = k/2",
    "reads the answer": "5;\n    z = ans",
}
AROUND = """total = 0; t = zeros(2); F = zeros(2)
manual_seed(1)
def show(x):
    print x
    return x
def noisy(x) = x*rand()
def scaled(x) = x*k
def writing(x):
    t[0] = t[0] + 1
    return x*t[0].item()
def printing(x):
    print x
    return x*2
def default(x, by=w) = x*by
def keep(v):
    def inner(x) = x*v
    return inner
captured = keep(w)
"""
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
    with pytest.raises(NotTraceable, match="PRINT"):
        stager.stage(compiler.compile_block(tuple(body)), 0.0)
    assert {name: getattr(value, "version", None) for name, value in session.names.items()} == before
    assert session.names["w"].item() == 0.5
    assert not math.isnan(session.names["k"])
