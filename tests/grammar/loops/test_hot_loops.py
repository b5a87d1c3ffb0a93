"""A loop whose turns do the same gives, run as a program, to the bit what it gives turn by turn; and says the same."""

from pathlib import Path

import pytest
from rows import divided, each
from thinned import thinned
from transcript import sections

from agrad.engine.errors import AgradError
from agrad.grammar.diagnostics import render
from agrad.grammar.loops import compiled_run
from agrad.grammar.results import Noted
from agrad.grammar.session.session import Session

HERE = Path(__file__).parent
DATA = "manual_seed(1); x = randn(20); y = 2*x + 1; A = randn(3, 4); var w = 0.5; var b = 0; var W = randn(4)\n"

# Loops of which most turns are run as a program.
STATIC = {name: text for name, (text,) in sections(HERE / "compiled_loops.txt").items()}
# Loops that no turn tells about the next.
DYNAMIC = {name: text for name, (text,) in sections(HERE / "interpreted_loops.txt").items()}
# Loops whose first compiled iteration would change the kind of a value.
OTHER_KIND = {
    "a number that becomes a value": """k = 1.5
z = [1, 2]
for i in range(-3, 200):
    if i >= i*i: k -= z[0]""",
    "a value that becomes a number": """k = [1, 2][0]
for i in range(-3, 200):
    u = k
    if i >= i*i: k = 2*i""",
}
AFTER = divided("vars; grad w; grad W; info w; graph loss; backward loss; forward loss; w.version; undo; vars")


@pytest.fixture
def stretches(monkeypatch):
    """How many turns each stretch had."""
    seen = []
    run = compiled_run.CompiledIteration.run

    def counted(*arguments):
        seen.append(run(*arguments))
        return seen[-1]

    monkeypatch.setattr(compiled_run.CompiledIteration, "run", counted)
    return seen


def told(session, text):
    """All that a text makes a session say."""
    said = []

    def emit(result):
        said.append(render(result.note) if isinstance(result, Noted) else result.text(session.settings))

    try:
        session.run(text, emit)
    except AgradError as error:
        said.append(render(error))
    return said


def everything(text, compiles):
    session = Session()
    session.settings.precision = None
    session.steps.depth = 100
    session.compiles = compiles
    said = told(session, DATA) + told(session, text)
    return said + [told(session, line) for line in (*AFTER, *sorted(session.names))]


@pytest.mark.parametrize("name", thinned(sorted(STATIC), 3))
def test_a_loop_whose_iterations_do_the_same(stretches, name):
    assert everything(STATIC[name], True) == everything(STATIC[name], False)
    assert sum(stretches) > 90


@pytest.mark.parametrize("name", sorted(DYNAMIC))
def test_a_loop_whose_iterations_differ_is_interpreted(stretches, name):
    assert everything(DYNAMIC[name], True) == everything(DYNAMIC[name], False)
    assert sum(stretches) == 0


@pytest.mark.parametrize("name", sorted(OTHER_KIND))
def test_a_value_keeps_its_version_where_a_choice_changes_its_kind(name):
    versions = []
    for compiles in (True, False):
        session = Session()
        session.compiles = compiles
        session.run(OTHER_KIND[name])
        k = session.names["k"]
        versions.append((type(k), getattr(k, "version", None)))
    assert versions[0] == versions[1]


def test_a_gradient_that_is_not_finite_is_reported_in_its_iteration(stretches):
    text = "for i in range(300):\n    zero_grad; backward sqrt(w)\n    no_grad: w -= 0.002*w.grad"
    text = "var w = 0.5\n" + text
    assert everything(text, True) == everything(text, False)


def test_an_iteration_that_fails_takes_the_whole_loop_back():
    text = "for i in range(300):\n    zero_grad; backward (w - 1)**2; step sgd w lr=0.01\n    if i == 250: nowhere"
    assert everything(text, True) == everything(text, False)


@pytest.mark.parametrize(
    "step",
    [
        "z = inv(M)",
        "s = s + sum(M.inv())",
        "z = solve(M, [1, 2])",
        "zero_grad; backward sum(M)*p; z = grad(sqrt(p - M[1, 1] + M[0, 0]), p)",
    ],
)
def test_what_is_refused_or_has_a_note_at_some_values_is_so_also_where_it_is_not_used(stretches, step):
    text = f"M = eye(2); s = 0; var p = 1\nfor i in range(200):\n    M -= [[1/128, 0], [0, 0]]\n    {step}"
    assert everything(text, True) == everything(text, False)
    assert sum(stretches) > 90


def test_a_loop_inside_a_loop_is_traced_once(stretches, monkeypatch):
    traced = []
    trace = compiled_run.CompiledIteration.__init__
    monkeypatch.setattr(
        compiled_run.CompiledIteration, "__init__", lambda *arguments: traced.append(1) or trace(*arguments)
    )
    text = "for k in range(5):\n    for i in range(200):\n        zero_grad; backward (w - k)**2; step sgd w lr=0.01"
    assert everything(text, True) == everything(text, False)
    assert len(traced) == 1
    assert sum(stretches) > 900


def test_what_is_stopped_in_between_has_changed_nothing(monkeypatch):
    session = Session()
    session.run(DATA)
    before = session.names["w"].item(), session.names["w"].version
    run = compiled_run.CompiledIteration.run

    def stopped(self, *arguments):
        step, count = self.step, []

        def interrupted(*values):
            count.append(1)
            if len(count) == 50:
                raise KeyboardInterrupt
            return step(*values)

        self.step = interrupted
        return run(self, *arguments)

    monkeypatch.setattr(compiled_run.CompiledIteration, "run", stopped)
    with pytest.raises(KeyboardInterrupt):
        session.run(STATIC["descent"])
    assert (session.names["w"].item(), session.names["w"].version) == before
    assert "loss" not in session.names


@pytest.mark.long
def test_a_limit_of_time_stops_it():
    session = Session()
    session.run("limit time=1; s = 1")
    with pytest.raises(AgradError, match="took longer"):
        session.run("for i in range(1e9): s = s*1.0000001")
    assert session.names["s"] == 1.0


DEAD = "log(50 - i); sqrt(20 - i) + log(50 - i); log(x*(50 - i)); (50 - i)**0.5; asin(i/100); 0/max(60 - i, 0)"


@each("dead", DEAD.split("; "))
@each("rest", ["s += 1", "s += i; t = t*0.5 + s", "x = x*0.999"])
def test_a_note_names_the_first_iteration_that_is_not_defined(dead, rest):
    said = [], []
    for compiles, notes in enumerate(said):
        session = Session()
        session.compiles = bool(compiles)
        session.run("s = 0; t = 0; x = ones(3)")
        session.run(f"for i in range(300):\n    y = {dead}\n    {rest}", notes.append)
    assert len(said[0]) == 1 and [render(one.note) for one in said[0]] == [render(one.note) for one in said[1]]
