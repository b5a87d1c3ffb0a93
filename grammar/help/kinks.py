"""The page of `help` on kinks: where functions are not smooth, not finite or not defined, from the table."""

from __future__ import annotations

from agrad.engine.core.op import FUNCTIONS, Kink

HEADING = "The value and derivative of a function where it has a kink, an end or a pole"
FOOTING = """\
Elsewhere derivatives are exact, in all orders. A branch that a condition did not select contributes exactly 0;
a 0 that was computed follows IEEE arithmetic: 0*inf is nan. A backward that meets an inf or a nan notes once
where it began."""


def all_kinks() -> list[Kink]:
    """The kinks of all functions, in the order of the functions; one that several functions share is listed once."""
    return list(dict.fromkeys(kink for entry in FUNCTIONS.values() for kink in entry.kinks))
