"""Exceptions of Python in the words of agrad, with what to type instead, for both readings."""

from __future__ import annotations

import builtins as real
import re
from types import FrameType
from typing import Any

from agrad.engine.core.op import FUNCTIONS
from agrad.engine.errors import AgradError, Hint
from agrad.grammar import reach
from agrad.grammar.diagnostics import Span, suggest
from agrad.grammar.elsewhere import ABSENT, MODULES
from agrad.grammar.reach import REACH
from agrad.grammar.results import Quit
from agrad.grammar.runtime.python_builtins import Large
from agrad.grammar.syntax.readings import is_script


def of_python(machine: Any, error: Exception, frame: FrameType, place: Span) -> Exception:
    """An exception of Python as an error of agrad's, with its type in the message."""
    if isinstance(error, Quit | AgradError | MemoryError) and not isinstance(error, Large):
        return error
    name, (message, _, fix) = type(error).__name__, _text(error).partition("\n  fix: ")
    if isinstance(error, Large):
        name, message = "MemoryError", error.message
    elif isinstance(error, SystemError) and "NULL without setting" in message:  # as `deque` without memory ends
        return MemoryError()
    elif isinstance(error, RecursionError):
        message = f"{frame.f_code.co_name.strip('<>')}: calls are nested too deeply"
    kinds = {kind: tuple([getattr(real, one) for one in row.split()]) for kind, row in REACH["kinds"].items()}
    kind: Any = next((kind for kind, bases in kinds.items() if isinstance(error, bases)), "type")
    if isinstance(error, TypeError) and re.search(r"argument|missing \d|takes \d", message):
        kind = "arity"
    made = AgradError(kind, f"{name}: {message}" if message else name)
    made.fixes = _fixes(machine, error, frame, place) or ([Hint(fix)] if fix else [])
    made.notes = _notes(error)
    return made


def _fixes(machine: Any, error: Exception, frame: FrameType, place: Span) -> list[str]:
    """What to type instead."""
    name = getattr(error, "name", None)
    if isinstance(error, AttributeError) and error.obj is None and ".grad" in place.text:
        return ["run backward first"]
    if isinstance(error, AttributeError) and isinstance(name, str):
        before, dot, behind = place.text.rpartition(f".{name}")
        return [f"{before}.{one}{behind}" for one in suggest(name, machine.names_of(error.obj)) if dot]
    if isinstance(error, ModuleNotFoundError):
        known = [*reach.names(), *reach.PACKAGES]
        return [f"import {one}" for one in suggest(str(error).split("'")[1], known)]
    if type(error) is NameError and isinstance(name, str):
        there = [*machine.session.names, *frame.f_locals, *(one for one in machine.builtins if one[0] not in "._")]
        close = suggest(name, there)
        known = [MODULES[name]] if name in MODULES else []
        found = [module for module in ("math", "torch") if name in reach.names_in(module) and not known]
        known += [f"from {module} import {name}" for module in found]
        if not (known or close) and name in FUNCTIONS and not is_script(place.source):
            known = [f"calculator   goes back to the language that has {name}"]
        return [*close, *known]
    if isinstance(error, TypeError) and "for ^: 'float'" in str(error):
        return [place.text.replace("^", "**")]
    return []


def _notes(error: Exception) -> list[str]:
    """What else is known of an exception."""
    cause = error.__cause__
    if isinstance(error, ModuleNotFoundError):
        instead = ABSENT.get(str(error).split("'")[1])
        return [*([instead] if instead else []), f"a script can import {', '.join(reach.names())}"]
    if isinstance(error, TypeError) and "'float' object cannot be interpreted as an integer" in str(error):
        return ["a number of the calculator is a float: int(n) is a whole one"]
    if isinstance(error, NameError) and error.name in (absent := REACH["absent"]):
        return [absent[error.name]]
    return [f"caused by {type(cause).__name__}: {_text(cause)}"] if isinstance(cause, Exception) else []


def _text(error: BaseException) -> str:
    """What an exception says."""
    try:
        return str(error)
    except Exception:  # of a class of the script
        return ""
