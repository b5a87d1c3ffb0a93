"""A statement that fails leaves everything as it was, at whichever bytecode of its roll-back a Ctrl-C comes."""

from __future__ import annotations

import random
from collections.abc import Iterator

from interruptions import Interruption, at_bytecode
from session_state import assert_same, picture

from agrad.engine.errors import AgradError
from agrad.grammar.results import Quit
from agrad.grammar.session.session import Session
from agrad.grammar.syntax.ast import Statement

from .answers import begin_again, new_session, read
from .programs import START, Script

ROLL_BACK = (Session._take_back, Session._end)
BUILT = START + "y = sum(u**2)*a*b\nz = u*a\nretain z\nbackward sum(z) retain\nv = exp(a*s)\nbackward v\n"
MORE = (
    "del s", "del t; c = 3", "manual_seed(3); c = rand()", "retain y; backward y retain", "forward y with a=2",
    "z[0] = 3", "u.grad[0] = 5", "backward v", "def f(x) = x*a", "set u = [3, 2, 1]; forward y", "y", "c = rand()",
    "zero_grad", "no_grad: u *= 2", "k = a.data; k += 1", "w = z.detach(); w[1] = 3", "backward y create_graph",
)  # fmt: skip
MOMENTS = 40  # for each statement


def cases(dice: random.Random) -> Iterator[None]:
    """An interruption for each case; some moments of each of some statements."""
    session, script = new_session(BUILT), Script(dice)
    for _ in range(5):
        lines = [script.statement() if dice.random() < 0.6 else dice.choice(MORE) for _ in range(dice.randint(1, 4))]
        body = "\n".join([*lines, "nosuch"]).replace("\n", "\n    ")
        text = f"{dice.choice(('if 1', 'no_grad', 'for i in range(2)', 'fails nothing', 'time'))}:\n    {body}"
        statements = read(text)
        if isinstance(statements, str):
            continue  # it is no program
        begin_again(session, BUILT)
        before, whole = picture(session), Interruption()
        if not _failed(session, statements, whole):
            continue
        assert_same(before, picture(session))
        for moment in sorted(dice.sample(range(1, whole.count + 1), min(whole.count, MOMENTS))):
            _failed(session, statements, Interruption(moment))
            try:
                assert_same(before, picture(session))
            except AssertionError as problem:
                raise AssertionError(f"{text}\na Ctrl-C at bytecode {moment} of {whole.count}: {problem}") from None
            held = session._log, session.emit("nothing"), session.watch.running  # type: ignore[arg-type, func-returns-value]
            assert held == (None, None, False), f"{text}\na Ctrl-C at bytecode {moment} of {whole.count} left {held}"
            yield


def _failed(session: Session, statements: str | tuple[Statement, ...], interruption: Interruption) -> bool:
    """Whether a statement failed."""
    try:
        with at_bytecode(ROLL_BACK, interruption):
            session._run_statement(statements[0], lambda result: None)  # type: ignore[arg-type]
    except (AgradError, KeyboardInterrupt):
        return True
    except Quit:
        pass
    return False
