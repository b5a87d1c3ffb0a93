"""Compiled functions that are asked for again, as those of other processes are: each is compiled once in a process."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from agrad.engine.compile.specializations import TRACING

if TYPE_CHECKING:
    from agrad.engine.compile.function import Compiled

_KEPT = 64  # of very many, the latest
_REMADE: dict[tuple[str, float | None, str], Compiled] = {}  # in the order of their use


def again(
    make: Callable[..., Compiled],
    identity: str,
    planned: float | None,
    function: Callable[..., Any],
    examples: Sequence[object],
    wrt: Any,
    backend: str,
    keywords: Mapping[str, object],
) -> Compiled:
    """The function of an `identity`, which is made when it first comes. `planned`: see Columns."""
    name = identity, planned, backend
    with TRACING:
        found = _REMADE.pop(name, None)
        if found is None:
            found = make(function, examples, wrt, backend, keywords)
            found.identity, found.planned = identity, planned
        _REMADE[name] = found
        while len(_REMADE) > _KEPT:
            del _REMADE[next(iter(_REMADE))]
    return found
