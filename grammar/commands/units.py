"""The commands about units: those of one's own, and the constants of physics."""

from __future__ import annotations

from agrad.engine import units
from agrad.engine.core.tensor import tensor
from agrad.engine.errors import AgradError, Label
from agrad.grammar import constants
from agrad.grammar import session as sessions
from agrad.grammar.commands.operands import EXPRESSION
from agrad.grammar.commands.registry import Call, Session, command
from agrad.grammar.diagnostics import suggest
from agrad.grammar.results import Printed


@command(changes="session", operands=EXPRESSION)
def _unit(session: Session, call: Call) -> None:
    """unit smoot = 1.7018 m
    unit EUR

    Defines a unit of one's own, as so many of another; without a value, a dimension of its own, such as money. It takes
    no prefix. A name that is a unit already is refused. `vars` lists them, `undo` and `reset` remove them, and a script
    has those that it defines itself.

    as typed: unit smoot = 1.7018 m, or unit EUR
    example: unit smoot = 1.7018 m; (620 m) to smoot
    """
    units.quantity.define(*call.values)


def _check_constants(call: Call) -> None:
    """Refuse what is no constant."""
    what, *names = call.node.operands
    for one, known, there in [(what, ["constants"], "use takes"), *((one, constants.MEANINGS, "") for one in names)]:
        name = one.value  # type: ignore[attr-defined]
        if name not in known:
            message = f"use takes constants, and not {name}" if there else f"there is no constant {name}"
            begin = call.node.span.text[: one.span.start - call.node.span.start]
            fixes = [begin + near for near in suggest(name, known)] or ["use constants"]
            raise AgradError("name", message, labels=[Label(one.span)], fixes=fixes)


@command(
    changes="session",
    choices={"constants": "of physics"},
    after={"constants": constants.MEANINGS},
    check=_check_constants,
)
def _use(session: Session, call: Call) -> None:
    """use constants [c, h]

    Gives constants of physics their names, with units, and with uncertainties where they are not exact (CODATA 2022):
    all, or those that are named. Your variables are not overwritten. e stays Euler's number but for `use constants e`,
    the elementary charge. What follows from others, such as m_e, has these as its sources in a budget.

    example: use constants; k*(300 K) to meV
    """
    kept, taken = list[str](), list[str]()
    if not session.constants:
        source = sessions.session.Session()
        source.run(constants.TEXT, source="constants", is_file=True)
        session.constants = source.names
    for name in call.values[1:]:
        value = session.constants[name]
        if not value.requires_grad:  # one of its own, which may be written in place
            value = tensor(value.value)
            units.quantity.keep(session.constants[name].node, value.node)
        (kept if name in call.names else taken).append(name)
        if name not in call.names:
            session.machine.bind(call.names, name, value)
    parts = [(taken, "is a constant now", "are constants now")]
    parts += [(kept, "has a value, which stays", "have values, which stay")]
    told = [f"{', '.join(names)} {many if len(names) > 1 else one}" for names, one, many in parts if names]
    session.emit(Printed("; ".join(told)))
