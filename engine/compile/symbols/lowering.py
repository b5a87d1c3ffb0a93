"""How an operation is written in code: by its own array function, called with symbols.

A row has its own `lower` if its function on arrays does not take symbols, or differs at -0, inf or nan from
its function on numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agrad.engine.compile.symbols.symbol import Symbol, UnwrittenError
from agrad.engine.core.op import Op
from agrad.engine.errors import AgradError


def lower(op: Op, operands: Sequence[Symbol], attrs: Mapping[str, Any]) -> Symbol:
    """Write an operation on numbers; UnwrittenError where there is no code for it."""
    by_entries = op.array if op.reach == "pointwise" else op.scalar
    try:
        result = (op.lower or by_entries)(*operands, **attrs)  # type: ignore[misc]
    except (UnwrittenError, AgradError, TypeError, ValueError, AttributeError) as error:
        raise UnwrittenError(f"{op.name} has no machine code") from error
    if isinstance(result, float):
        return operands[0].like(result)
    if not isinstance(result, Symbol):
        raise UnwrittenError(f"{op.name} has no machine code")
    return result
