"""Every kind of error has a program that causes it, and a way on that works."""

from pathlib import Path
from typing import get_args

import pytest
from reference import errors_page as markdown
from reference import without
from rows import each

from agrad.engine.errors import AgradError, Kind
from agrad.grammar.commands import COMMANDS
from agrad.grammar.help.help import KINDS, help_on
from agrad.grammar.session.log import DEPTH
from agrad.grammar.session.session import Session

ROOT = Path(__file__).parents[3]
TRIED = {name: kind for name, kind in KINDS.items() if kind.program}


def test_every_kind_has_an_entry_and_all_but_the_one_for_faults_a_program():
    assert list(KINDS) == list(get_args(Kind))
    assert KINDS.keys() - TRIED.keys() == {"internal"}
    assert all(kind.fix for kind in TRIED.values())


@pytest.mark.parametrize("name", TRIED)
def test_the_last_statement_fails_with_the_kind_and_the_way_on_works(name, monkeypatch):
    monkeypatch.chdir(ROOT)  # one of them reads examples/
    kind, session = TRIED[name], Session()
    session.steps.depth = DEPTH
    with without(kind.missing):
        for statement in kind.program[:-1]:
            session.run(statement)
        with pytest.raises(AgradError) as caught:
            session.run(kind.program[-1])
    assert caught.value.kind == name
    if kind.shell:
        assert kind.shell in caught.value.fixes
    for statement in kind.fix:
        session.run(statement)


@each("name", TRIED)
def test_help_on_a_kind_shows_its_program(name):
    text = help_on(name, COMMANDS)
    assert all(statement in text for statement in (*TRIED[name].program, *TRIED[name].fix))


def test_the_page_has_every_kind(monkeypatch):
    monkeypatch.chdir(ROOT)
    page = markdown()
    assert [line[3:] for line in page.splitlines() if line.startswith("## ")] == list(KINDS)
    assert [name for name in TRIED if f"error[{name}]: " not in page] == []
