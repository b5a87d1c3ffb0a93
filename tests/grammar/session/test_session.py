"""Running statements: what the language means, and that a statement which fails has done nothing."""

from pathlib import Path

import pytest
from answers import answers
from rows import each
from session_state import deep
from sessions import error, said, session_of

from agrad.engine.core.tensor import Tensor
from agrad.grammar.results import Quit
from agrad.grammar.session.session import Session


def test_an_answer_keeps_no_graph_alive():
    session = session_of("var x = 2\nx**2")
    assert isinstance(session.answer, Tensor)
    assert not session.answer.requires_grad


@each("doomed", answers(Path(__file__).with_name("failing.txt")))
def test_a_statement_that_fails_leaves_everything_as_it_was(doomed):
    session = session_of("var x = [1, 2]\nk = [3, 4]\nb = x*k\ny = sum(b**2)\nbackward y retain")
    before = deep(session)
    assert error(doomed, session).kind in ("name", "freed", "assert")
    assert deep(session) == before
    said("backward y", session)


def test_an_interrupted_statement_leaves_everything_as_it_was():
    session = session_of("var x = [1, 2]\ny = sum(x**2)\nbackward y retain\ni = 0")
    before = deep(session)

    def stop(result):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        session.run("for i in range(9):\n    backward y retain\n    no_grad: x -= 1\n    print i", stop)
    assert deep(session) == before


def test_what_fails_expects_has_done_nothing_either():
    session = session_of("var x = [1, 2]\ny = sum(x**2)\nbackward y")
    before = deep(session)
    said("fails name:\n    zero_grad\n    x = 3\n    nothing", session)
    assert deep(session) == before


def test_nothing_runs_of_a_text_that_cannot_be_read():
    session = Session()
    assert error("x = 1\ny = (2", session).kind == "syntax"
    assert session.names == {}


def test_quit_ends_the_session():
    with pytest.raises(Quit):
        Session().run("quit")


@pytest.mark.long
@each("depth", [50_000])
def test_a_sum_of_many_terms(depth):
    session = session_of("var x = 1")
    session.run("y = " + "+".join(["x"] * depth))
    session.run("backward y")
    assert said("x.grad", session) == [str(depth)]


def test_deep_nesting_gives_a_result_or_an_error():
    assert said("(" * 3000 + "1" + ")" * 3000) == ["1"]
    assert said("abs(" * 1000 + "-1" + ")" * 1000) == ["1"]
    assert error("def f(n) = f(n + 1)\nf(0)").kind == "limit"
    assert error("def f(n) = grad(f)(n)\nf(1)").kind == "limit"


def test_every_example_of_a_command_runs(tmp_path, monkeypatch):
    from agrad.grammar.commands import COMMANDS

    monkeypatch.chdir(tmp_path)  # some write a file

    for command in COMMANDS.values():
        session = Session()
        try:
            session.run(command.example)
        except Quit:
            assert command.word == "quit"


def test_every_example_of_a_function_is_true():
    from agrad.grammar.runtime.builtins import FUNCTIONS

    for entry in FUNCTIONS.values():
        if entry.example:
            session = Session()
            session.run(entry.example.partition("# with ")[2])  # the function that it takes
            session.run(f"assert {entry.example}")


def test_help_has_something_on_every_word():
    from agrad.grammar.commands import COMMANDS
    from agrad.grammar.runtime.builtins import FUNCTIONS

    for word in [*COMMANDS, *FUNCTIONS]:
        (text,) = said(f"help {word}")
        assert text.startswith(word)
    assert "backward d [retain]" in said("help everything")[0]
    assert error("help sine").fixes == ["help sin", "help sinc", "help sinh"]


def test_values_are_used_as_before_behind_pythons_reading():
    session = session_of("v = [1, 2]; w = 2*v; m = [[1, 2], [3, 4]]")
    for line in ("import numpy as np", "calculator"):
        session.run(line, lambda result: None)
    lines = ("w[1] = 5; w", "w += 1; w", "m[0, 1] = 7; m", "w[0] *= 2; w", "w[0]", "w[:1]", "w.sum()", "mean(w)", "w/2")
    assert [said(line, session) for line in lines] == [
        said(line, session_of("w = [2, 4]; m = [[1, 2], [3, 4]]\n" + "\n".join(lines[:n])))
        for n, line in enumerate(lines)
    ]
