"""Nothing that PyTorch would change stays as it was in silence: every form of write, on every kind of target.

writes.txt tells what torch 2.13 leaves behind each program of tests/support/torch_writes.py.
"""

from collections import Counter
from pathlib import Path

import pytest
from thinned import thinned
from torch_writes import SEEN, START, TARGETS, cases, changed, seen

from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError
from agrad.grammar.results import Noted
from agrad.grammar.session.session import Session

TABLE = dict(line.rsplit(" | ", 1) for line in (Path(__file__).parent / "writes.txt").read_text("utf-8").splitlines())
PROGRAMS = dict(cases())


def left_by(text):
    """What a program leaves under each of the first names, and the notes; or the error."""
    session, notes = Session(), []
    try:
        session.run(text, lambda result: notes.append(result.note) if isinstance(result, Noted) else None)
    except AgradError as error:
        return error, []
    found = {}
    for name in SEEN:
        value = session.names.get(name)
        if not isinstance(value, Tensor):
            found[name] = "gone"
            continue
        gradient = value.grad if value.is_leaf else None
        found[name] = seen(value.tolist(), None if gradient is None else gradient.tolist())
    return found, notes


BEFORE, _ = left_by(START)
# Data of data: in PyTorch an assignment gives the alias alone other data, and here what it is an alias of as well.
MORE = {(target, "data =") for target in ("the data", "the data of a leaf", "a detached leaf")}
# What is expected to work: there is nothing to refuse.
REACHES = [target for target in TARGETS if " list" in target and "views" not in target]


@pytest.mark.parametrize("target", thinned(REACHES, 4))
def test_a_write_through_a_list_reaches_the_value(target):
    names = [name for name in TABLE if name.startswith(f"{target} | ")]
    wrong = Counter(name.split(" | ")[1] for name in names if isinstance(left_by(PROGRAMS[name])[0], AgradError))
    assert set(wrong) <= {"data =", "zero_", "copy_", "fill_", "add_", "chain", "[...] =", "del"}, wrong


@pytest.mark.parametrize("target", thinned(TARGETS, 8))
def test_a_write_is_torchs_or_an_error_or_noted(target):
    silent = []
    for name in (name for name in TABLE if name.startswith(f"{target} | ")):
        found, notes = left_by(PROGRAMS[name])
        if isinstance(found, AgradError) or changed(found, BEFORE) == TABLE[name]:
            continue
        if not notes and (target, name.split(" | ")[1]) not in MORE:
            silent.append(f"{name} | {changed(found, BEFORE)}, not {TABLE[name]}")
    assert not silent
