"""Where a gradient ends without a word, a note says so, once; nowhere else."""

from agrad.grammar.results import Noted
from agrad.grammar.session.session import Session


def test_the_line_that_is_proposed_keeps_the_gradient() -> None:
    session = Session()
    session.run("var x = 3")
    told: list[Noted] = []
    session.run("var u = x**2", lambda result: told.append(result) if isinstance(result, Noted) else None)
    session.run(told[0].note.fixes[0])
    assert session.evaluate("grad(u*x, x)") == 27
