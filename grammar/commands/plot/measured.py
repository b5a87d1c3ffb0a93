"""Functions of values with units as functions of plain numbers, for the commands that draw."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from agrad.engine.units.quantity import Scale
from agrad.grammar.commands.registry import Call
from agrad.grammar.runtime.builtins import Closure
from agrad.grammar.runtime.operations import as_array


def in_numbers(call: Call, *ranges: Sequence[str]) -> tuple[Call, list[Scale], Scale]:
    """A command over ranges as one of plain numbers, with the units of each range, and that of the functions."""
    axes, up, options = [Scale() for _ in ranges], Scale(), dict(call.options)
    for axis, words in zip(axes, ranges, strict=True):
        for word in [*words, *words]:  # where a range begins at 0, its end tells the unit
            options[word] = axis.numbers(as_array(call.options[word]))

    def run(called: Closure, *xs: Any) -> Any:
        return up.numbers(as_array(called(*[axis.of(x) for axis, x in zip(axes, xs, strict=True)])))

    values = [_with(one, partial(run, one)) if isinstance(one, Closure) else one for one in call.values]
    return Call(call.node, values, options, call.names, call.span), axes, up


def _with(closure: Closure, run: Callable[..., Any]) -> Closure:
    """A function of the user that is computed otherwise."""
    return Closure(closure.definition, closure.defaults, closure.machine, closure.around, run)
