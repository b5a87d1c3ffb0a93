"""Control dependence of names: `if x > 0: k = 2` makes k depend on a guard that no graph shows.

A guard is active until the end of its statement. The names that the statement binds, in whatever branch, keep it: a
later statement that uses such a name runs under the same guard.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from agrad.engine.core.graph import touch
from agrad.engine.core.guards import Guard, joined
from agrad.engine.core.tensor import Tensor
from agrad.grammar.runtime.builtins import Closure, is_object
from agrad.grammar.runtime.bytecode import Code, Definition, Do

_WRITES = (Do.SET_INDEX, Do.SET_ATTRIBUTE, Do.METHOD)


def context(code: Code, chosen: Mapping[str, Guard], names: Mapping[str, Any]) -> Guard | None:
    """The guards of the names that a statement uses, those in the functions it calls included."""
    guard: Guard | None = None
    seen: set[str] = set()
    waiting = [code]
    while waiting:
        for name in _loaded(waiting.pop()) - seen:
            seen.add(name)
            guard = joined(guard, chosen.get(name))
            value = names.get(name)
            if isinstance(value, Closure):
                waiting.append(value.definition.code)
            elif is_object(value):
                waiting += _methods(value)
    return guard


def _methods(value: Any) -> list[Code]:
    """The code of the methods of an object, or a class."""
    from agrad.grammar.runtime import objects  # here, since few calculations have objects

    return [closure.definition.code for closure in objects.methods_of(value)]


def after(code: Code, chosen: dict[str, Guard], guard: Guard | None, names: Mapping[str, Any]) -> dict[str, Guard]:
    """The guards of names after a statement that ran under a guard, or without one.

    The graphs that the statement bound depend on guards that came after them too, as in the last iteration of a loop.
    """
    bound, written = _given(code)
    if guard is None:
        return {name: one for name, one in chosen.items() if name not in bound}
    written = {name for name in written if not _is_leaf(names.get(name))}
    written |= {name for name in _loaded(code) if is_object(names.get(name))}  # whose attributes may be written
    for name in bound | written:
        value = names.get(name)
        if isinstance(value, Tensor) and value.node.op is not None:
            touch(value.node)
            value.node.guard = joined(value.node.guard, guard)
    return {**chosen, **dict.fromkeys(bound | written, guard)}


def _is_leaf(value: Any) -> bool:
    """Whether a value is data that the user sets, which no guard decides."""
    return isinstance(value, Tensor) and value.node.op is None and value.node.recorded


def _instructions(code: Code) -> Iterator[tuple[Do, Any]]:
    """All instructions, those of functions and of `fails` and `time` included."""
    stack = [code]
    while stack:
        for do, detail, _ in stack.pop().instructions:
            yield do, detail
            for inner in detail if isinstance(detail, tuple) else (detail,):
                if isinstance(inner, Code):
                    stack.append(inner)
                elif isinstance(inner, Definition):
                    stack.append(inner.code)


def _loaded(code: Code) -> set[str]:
    return {detail for do, detail in _instructions(code) if do is Do.LOAD}


def _given(code: Code) -> tuple[set[str], set[str]]:
    """The names that a statement binds, and those that it may write into."""
    bound: set[str] = set()
    written: set[str] = set()
    used: set[str] = set()
    for do, detail in _instructions(code):
        if do is Do.STATEMENT:
            used = set()
        elif do is Do.LOAD:
            used.add(detail)
        elif do is Do.STORE:
            bound.add(detail[0])
        elif do is Do.VARIABLE:
            bound.add(detail)
        elif do is Do.DEFINE:
            bound.add(detail.name)
        elif do is Do.CLASS:
            bound.add(detail[0])
        elif do in _WRITES and (do is not Do.METHOD or detail[0].endswith("_")):
            written |= used
    return bound, written
