"""The error type: its facts, and how it travels between processes."""

import copy
import multiprocessing
import pickle

import pytest
from refused import refuses
from rows import each

import agrad.engine as ag
from agrad.engine.core.graph_errors import Freed
from agrad.engine.errors import AgradError, Label, NotCalled, Place, UnknownName
from agrad.grammar.diagnostics import render
from agrad.grammar.session.session import Session


class Local:
    """An origin that pickle refuses."""

    text = "y = x"
    where = "line 1"

    def __reduce__(self):
        raise TypeError("no")


def failing(text):
    """Fail in a worker."""
    Session().run(text)


def caught_of(text):
    return refuses(lambda: Session().run(text))


def test_all_that_is_told_of_an_error_survives_pickling():
    error = caught_of("var a = 3\nb = a**2\nbackward b\nbackward b")
    found = pickle.loads(pickle.dumps(error))
    assert type(found) is AgradError
    assert render(found) == render(error)
    assert (found.kind, str(found), found.args) == (error.kind, str(error), error.args)
    assert (found.at, found.statement) == (error.at, error.statement)


def test_facts_about_nodes_stay_behind():
    error = caught_of("var a = 3\nb = a**2\nbackward b\nbackward b")
    assert isinstance(error.facts, Freed)
    assert pickle.loads(pickle.dumps(error)).facts is None
    assert pickle.loads(pickle.dumps(caught_of("x + 1"))).facts == UnknownName("x")
    assert copy.copy(caught_of("sin(sin)")).facts == NotCalled("sin")


def test_an_origin_that_cannot_be_pickled_leaves_its_texts():
    error = AgradError("name", "x has no value", labels=[Label(Local(), "here")])
    error.at = Local()
    found = pickle.loads(pickle.dumps(error))
    assert found.labels == [Label(Place("y = x", "line 1"), "here")]
    assert found.at == Place("y = x", "line 1")


def test_what_is_set_later_survives_too():
    error = AgradError("file", "no number in line 3", row=True)
    error.unfinished = True
    error.add_note("seen twice")
    found = pickle.loads(pickle.dumps(error))
    assert (found.row, found.unfinished, found.__notes__) == (True, True, ["seen twice"])


@each("method", ["fork", "spawn"])
def test_a_worker_of_a_pool_can_raise_one(method):
    with multiprocessing.get_context(method).Pool(1) as pool, pytest.raises(AgradError) as caught:
        pool.map_async(failing, ["x = 1", "y = z + 1"]).get(60)
    assert (caught.value.kind, caught.value.message) == ("name", "z has no value")


def test_an_engine_error_has_facts_in_types():
    x = ag.tensor([1.0, 2.0], requires_grad=True)
    assert refuses((x * 2).backward).facts.node.shape == (2,)
