"""Values that one reading has made, as the other has them, where a session or a script goes on in the other.

A number of the calculator is a float of Python, a vector a tensor, a list a list. Back in the calculator, whole numbers
are numbers, and a list of numbers is a vector. What both have alike stays the same object.
"""

from __future__ import annotations

import math
from functools import partial
from importlib import import_module
from types import BuiltinFunctionType
from typing import Any

from agrad.engine.core.context import current, remember_entry
from agrad.engine.core.op import FUNCTIONS
from agrad.engine.core.tensor import Tensor
from agrad.grammar.values.lists import List, settled

_LARGEST = 1023  # bits of a whole number that a float can be


def cross(session: Any, to_python: bool) -> None:
    """Let the names of a session have values of the reading that goes on."""
    known: dict[int, Any] = {}
    change = for_python if to_python else for_calculator
    for name, value in session.names.items():
        made = change(value, known)
        if made is not value:
            remember_entry(session.names, name)
            session.names[name] = made
    remember_entry(vars(session), "has_python")
    session.has_python = to_python


def for_python(value: Any, known: dict[int, Any]) -> Any:
    """A value of the calculator as Python has it."""
    if id(value) in known:
        return known[id(value)]
    kind, made = type(value), value
    if kind is Tensor:
        log = current().undo_log
        if log is not None:
            log.remember((id(value), "class"), partial(setattr, value, "__class__", Tensor))
        torch = import_module("agrad.torch")
        value.__class__, value.kind = torch.Tensor, getattr(value, "kind", torch.float64)
    elif kind is List:
        made = known[id(value)] = []
        made += [for_python(one, known) for one in value.parts]
    elif kind is tuple:
        made = tuple([for_python(one, known) for one in value])
    known[id(value)] = made
    return made


def for_calculator(value: Any, known: dict[int, Any]) -> Any:
    """A value of Python as the calculator has it."""
    if id(value) in known:
        return known[id(value)]
    kind, made = type(value), value
    if kind is int:
        made = float(value) if value.bit_length() <= _LARGEST else math.inf if value > 0 else -math.inf
    elif kind is BuiltinFunctionType and value.__module__ == "math" and value.__name__ in FUNCTIONS:
        made = FUNCTIONS[value.__name__].call  # which can be differentiated
    elif kind is list:
        made = known[id(value)] = List([], joins=True)
        made.parts += [for_calculator(one, known) for one in value]
        made = settled(made) if value and all(type(one) in (float, Tensor) for one in made.parts) else made
    elif kind is tuple:
        made = tuple([for_calculator(one, known) for one in value])
    known[id(value)] = made
    return made
