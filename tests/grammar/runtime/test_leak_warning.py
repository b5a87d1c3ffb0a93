"""The note on a history that keeps growing behind a name; and when there is none."""

import gc
import weakref

from agrad.grammar.results import Noted
from agrad.grammar.session.session import Session


def grown(*texts, session=None):
    """The notes about growing histories, of texts that run one after the other."""
    session, notes = session or Session(), []
    for text in texts:
        session.run(text, lambda result: notes.append(result.note) if isinstance(result, Noted) else None)
    return [note for note in notes if "has grown" in note.message]


START = "var w = 2\ntotal = 0\n"


def test_counting_keeps_no_graph_alive():
    session = Session()
    grown(START, *["total = total + w"] * 5, session=session)
    node = weakref.ref(session.names["total"].node)
    gc.disable()
    session.run("del total")
    assert node() is None
    gc.enable()
