"""`undo` leads back to the state before the last statement that changed something: all of it, to the last bit."""

import tracemalloc
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from answers import answers
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rows import each
from session_state import difference, picture
from sessions import said

from agrad.engine.core.context import UndoLog, current
from agrad.engine.errors import AgradError
from agrad.grammar.diagnostics import Source, Span
from agrad.grammar.session import log
from agrad.grammar.session.log import DEPTH
from agrad.grammar.session.session import Session

START = """
manual_seed(1)
var a = 3
var x = [1, 2, 3]
w = x.detach()
b = a**2
c = b*2
y = sum(x**2)*a
n = zeros(2, 3)
k = 7
"""


def session(text=START, depth=DEPTH):
    """A session that keeps its statements from the end of a text on."""
    made = Session()
    made.run(text)
    made.steps.depth = depth
    return made


# What changes something: each alone is taken back whole.
CHANGES = [*answers(Path(__file__).with_name("undone.txt"))]


@pytest.mark.parametrize("text", CHANGES)
def test_each_statement_is_taken_back_whole(text):
    made = session()
    made.run("backward sum(x)*1; zero_grad; 1;")
    before = picture(made), watched(made)
    made.steps.clear()
    with suppress(AgradError):
        made.run(text)
    if len(made.steps):
        made.run(f"undo {len(made.steps)}")
    assert_same(before[0], picture(made))
    assert watched(made) == before[1]


@pytest.mark.long
@settings(max_examples=120, suppress_health_check=list(HealthCheck))
@given(st.lists(st.sampled_from([*CHANGES, *["undo"] * 12]), min_size=1, max_size=10), st.data())
def test_random_statements_are_taken_back_in_any_number(texts, data):
    made = session()
    stages = {0: (picture(made), watched(made))}  # by the number of steps that led there
    for text in texts:
        if text == "undo":
            take_back(made, min(len(made.steps), 1), stages)
            continue
        steps = len(made.steps)
        with suppress(AgradError):
            made.run(text)
        for between in range(steps + 1, len(made.steps)):
            stages.pop(between, None)
        stages[len(made.steps)] = picture(made), watched(made)  # also of no step: the last answer may be another
    while len(made.steps):
        take_back(made, data.draw(st.integers(1, len(made.steps))), stages)


def take_back(made, count, stages):
    """Undo so much; the session is as it was then."""
    if count:
        made.run(f"undo {count}")
    stage = stages.get(len(made.steps))
    if stage is not None:
        assert_same(stage[0], picture(made))
        assert watched(made) == stage[1]


def test_a_text_that_says_undo_keeps_its_own_statements():
    made = session(depth=0)
    assert said("z = 1\nz = 2\nundo\nz", made) == ["took back: z = 2", "1"]
    assert not len(made.steps) and not made.steps.depth
    with pytest.raises(AgradError, match="nothing to take back"):
        made.run("undo")


def test_a_text_that_does_not_keeps_none():
    made = session(depth=0)
    made.run("z = 1\nz = 2")
    assert not len(made.steps)


def test_only_so_many_statements_are_kept():
    made = session()
    for number in range(DEPTH + 20):
        made.run(f"z = {number}")
    assert len(made.steps) == DEPTH
    made.run(f"undo {DEPTH}")
    assert said("z", made) == ["19"]


@pytest.fixture
def little_memory():
    before = current().limits.memory
    current().limits.allow(40e6)  # of which undo may keep a fourth
    yield
    current().limits.allow(before)


@pytest.mark.parametrize(
    "text",
    [
        "z = zeros(2e5) + {0}",  # old values of names
        "z = {0}; z = sum(sin(sin(ones(1e5)*a)))",  # graphs behind them
        "no_grad: big += {0}",  # what was written over
        "z = sum(big**2); backward z",  # what a backward let go of
    ],
)
def test_what_is_kept_takes_no_more_than_a_fourth_of_the_memory(little_memory, text):
    made = session(START + "var big = ones(1e5)")
    for number in range(30):
        made.run(text.format(number))
        assert made.steps.bytes <= 10e6
    assert 0 < len(made.steps) < 25


def test_a_statement_that_replaces_more_than_may_be_kept_clears_what_was_kept(little_memory):
    made = session(START + "big = ones(2e6)")
    made.run("z = 1\nbig = 0")
    assert not len(made.steps)
    assert made.steps.bytes == 0 and not made.steps.nodes


def test_a_growing_graph_is_weighed_once():
    made = session()
    made.run("var t = 1\nd = t")
    for _ in range(60):
        made.run("d = sin(d)")
    assert len(made.steps.nodes) < 120


@each("count, said, left", [(1, "undo is complete", "xy"), (2, "undo took back 1 of 2 statements", "xy")])
def test_a_roll_back_that_is_interrupted_ends_the_step_all_the_same_and_says_so(count, said, left):
    made = session()
    made.run("x = 1\ny = 2\nz = 3")
    pressed = []

    def undo():
        if not pressed:
            pressed.append(1)
            raise KeyboardInterrupt

    made.steps.last.log.remember("pressed", undo)
    with pytest.raises(KeyboardInterrupt, match=rf"^{said}$"):
        made.run(f"undo {count}")
    assert [name for name in "xyz" if name in made.names] == list(left) and len(made.steps) == 2


def test_an_undo_that_is_interrupted_before_it_takes_back_anything_says_nothing_of_it(monkeypatch):
    made = session()
    made.run("x = 1")

    def pressed(left):
        raise KeyboardInterrupt

    monkeypatch.setattr(made, "take_back", pressed)
    with pytest.raises(KeyboardInterrupt, match=r"^$"):
        made.run("undo")
    assert "x" in made.names


def test_a_journal_with_nothing_in_it_changed_nothing():
    assert not UndoLog().changed


def assert_same(before, after):
    for part, content in before.items():
        assert content == after[part], f"{part}: {difference(content, after[part])}"


def watched(made):
    """What is no part of a picture: limits, and the next random numbers."""
    generator = made.context.random.generator
    state = generator.bit_generator.state if generator is not None else None
    return made.watch.time, made.watch.nodes, made.watch.memory, str(state), np.geterr()


LARGE = "var a = linspace(0, 1, 300_000)\n"


@pytest.fixture
def few(monkeypatch):
    """25 MB for undo, so that the tests need little time."""
    assert log.MOST == 256e6
    monkeypatch.setattr(log, "MOST", 25e6)


def test_statements_that_replace_much_are_forgotten_from_the_oldest_on(few):
    made = session(LARGE)
    for _ in range(30):
        made.run("y = sum(exp(a))")
        assert made.steps.bytes <= log.MOST
    kept = len(made.steps)
    assert 5 < kept < 15
    with pytest.raises(AgradError, match=f"only {kept} statements") as caught:
        made.run("undo 30")
    assert "at most 25 MB" in caught.value.notes[0]
    assert caught.value.fixes == [f"undo {kept}"]
    made.run(f"undo {kept}")
    with pytest.raises(AgradError, match="nothing to take back") as caught:
        made.run("undo")
    assert "at most 25 MB" in caught.value.notes[0]


def test_memory_of_graphs_that_only_undo_holds_is_given_back(few):
    made = session(LARGE)
    tracemalloc.start()
    try:
        for _ in range(40):
            made.run("y = sum(exp(a))")
        assert tracemalloc.get_traced_memory()[0] < log.MOST
    finally:
        tracemalloc.stop()


def test_the_last_statement_can_be_taken_back_though_it_replaced_more(few):
    made = session("x = zeros(5_000_000); y = 1")
    made.run("y = 2; x = 3")
    assert len(made.steps) == 1
    made.run("undo")
    assert made.names["x"].shape == (5_000_000,)


def test_what_undo_keeps_is_told():
    made = session(LARGE)
    assert "undo" not in said("info a", made)[0] + said("vars", made)[0]
    made.run("y = sum(exp(a)); y = sum(exp(a)); y = 2*y")
    assert said("vars", made)[0].endswith(f"undo keeps {made.steps.told}")
    assert "MB for 3 statements" in made.steps.told
    lines = dict(line.split(None, 1) for line in said("info y", made)[0].split("\n") if line[0] != " ")
    assert lines["undo"].startswith("keeps up to ")
    assert lines["kept"] == "by  y"
    assert said("info a", made)[0].count("a, y and undo") == 1


def test_statements_beyond_the_hundredth_are_not_said_to_need_memory():
    made = session("k = 1")
    made.run("k += 1\n" * (DEPTH + 5))
    with pytest.raises(AgradError) as caught:
        made.run(f"undo {DEPTH + 1}")
    assert caught.value.notes == []


def test_the_statements_since_a_place_are_counted_and_none_since_another():
    made = session("")
    made.run("a = 1\nb = a\nc = b")
    made.run("d = c; e = d")
    assert [made.steps.since(step.span) for step in made.steps._kept] == [5, 4, 3, 2, 1]
    assert made.steps.since(Span(Source("other", "d = c"), 0, 1)) == 0
    made.by_entry = True
    with pytest.raises(AgradError) as caught:
        made.run("nosuch", source="part.ag", is_file=True)
    assert not caught.value.at.source.is_entry  # a file is no entry of the prompt
