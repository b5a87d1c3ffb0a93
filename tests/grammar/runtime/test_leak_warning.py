"""The note on a history that keeps growing behind a name; and when there is none."""

import gc
import weakref

import pytest

from agrad.engine.errors import AgradError
from agrad.grammar.diagnostics import render
from agrad.grammar.results import Noted
from agrad.grammar.session.session import Session


def grown(*texts, session=None):
    """The notes about growing histories, of texts that run one after the other."""
    session, notes = session or Session(), []
    for text in texts:
        session.run(text, lambda result: notes.append(result.note) if isinstance(result, Noted) else None)
    return [note for note in notes if "has grown" in note.message]


START = "var w = 2\ntotal = 0\n"


def training(add, backward="backward loss", turns=12, start=START):
    return f"{start}for i in range({turns}):\n  loss = (w*i - 3)**2\n  {backward}\n  {add}"


def test_it_says_what_has_grown_and_what_to_type():
    (note,) = grown(training("total = total + loss", start="var w = 2\n\ntotal = 0\n"))
    assert (
        render(note)
        == """\
note: the graph of total has grown for 10 iterations: 41 nodes, 80 bytes, and nothing frees it
  session line 7 |   total = total + loss
                 |   ^^^^^^^^^^^^^^^^^^^^
  fix: total = total + loss.item()   to add the value alone
  fix: total = total.detach()   to drop its graph so far"""
    )


def test_it_comes_at_the_tenth_round():
    assert grown(training("total = total + loss", turns=9)) == []
    assert len(grown(training("total = total + loss", turns=10))) == 1


@pytest.mark.parametrize("backward", ["backward loss", "backward loss retain", "loss.backward()"])
@pytest.mark.parametrize("add", ["total = total + loss", "total += loss", "total = loss + total"])
def test_it_is_said_once_however_it_is_written(add, backward):
    assert len(grown(training(add, backward, turns=40))) == 1


@pytest.mark.parametrize(
    ("add", "fix"),
    [
        ("total = total + loss", "total = total + loss.item()"),
        ("total = total - loss", "total = total - loss.item()"),
        ("total += loss", "total += loss.item()"),
        ("total -= sqrt(loss)", "total -= sqrt(loss).item()"),
        ("total = total + loss*2", "total = total + (loss*2).item()"),
        ("total = total + (loss - 1)", "total = total + (loss - 1).item()"),
        ("total = total + loss*[1, 2]", "total = total + (loss*[1, 2]).detach()"),
    ],
)
def test_the_fix_is_the_statement_itself_without_the_history(add, fix):
    (note,) = grown(training(add))
    assert note.fixes[0] == f"{fix}   to add the value alone"
    assert grown(training(fix)) == []


@pytest.mark.parametrize("add", ["total = total*0.5 + loss", "total = total + loss + 1", "total = (loss + 1) + total"])
def test_where_no_statement_fits_it_offers_detach(add):
    (note,) = grown(training(add))
    assert note.fixes == ["total = total.detach()   to drop its graph so far"]


def test_it_comes_for_statements_typed_one_by_one():
    turn = ["loss = (w - 3)**2", "backward loss", "total = total + loss"]
    (note,) = grown(START, *turn * 10)
    assert note.labels[0].origin.text == "total = total + loss"


@pytest.mark.parametrize(
    "text",
    [
        "s = 0\nfor i in range(50): s = s + w**i\nbackward s",
        "s = 0\nfor i in range(50): s += w**i\nbackward s",
        "s = w*1\nfor i in range(50): s = tanh(s*w)\nbackward s",
        "for k in range(30):\n  s = 0\n  for i in range(5): s = s + w**i\n  backward s",
        "for k in range(30):\n  s = w*0\n  for i in range(5): s = s + w**i\n  backward s",
        "def f(n):\n  s = 0\n  for i in range(n):\n    s = s + w**i\n    backward w*1\n  return s\nf(50)",
        training("total = total + loss.item()", start=""),
        training("total = total.detach() + loss", start=""),
        training("total = total.item() + loss", start=""),
        training("no_grad: total = total + loss", start=""),
        training("total = loss", start=""),
        training("no_grad: w -= 0.01*w.grad", start=""),
        training("step sgd w lr=0.001", start=""),
        "x = 5\nfor k in range(30):\n  x = x + 1\n  backward w*1",
    ],
)
def test_there_is_none_where_nothing_grows_from_round_to_round(text):
    assert grown(f"{START}{text}") == []


def test_a_loop_at_a_time_is_a_round_each():
    assert len(grown(START, *["for i in range(3): total = total + w*i"] * 10)) == 1
    assert grown(START, *["for i in range(3): total = total + w*i"] * 9) == []


def test_a_statement_that_fails_does_not_count():
    session = Session()
    assert grown(START, *["total = total + w"] * 8, session=session) == []
    for _ in range(5):
        with pytest.raises(AgradError):
            session.run("if True:\n  total = total + w\n  zzz")
    assert grown(*["total = total + w"] * 3, session=session) == []  # it starts over: the value of before is back


def test_counting_keeps_no_graph_alive():
    session = Session()
    grown(START, *["total = total + w"] * 5, session=session)
    node = weakref.ref(session.names["total"].node)
    gc.disable()
    session.run("del total")
    assert node() is None
    gc.enable()
