"""Where values are: on the processor. Of any other device an error, or a note, says so."""

from __future__ import annotations

import warnings
from typing import Any

from agrad.engine.core.context import current
from agrad.engine.errors import AgradError, Hint, Note


class NoDevice(AssertionError, AgradError):
    """A device that is not there; an AssertionError, as in a PyTorch without CUDA."""

    __init__ = AgradError.__init__


def need_processor(*given: Any) -> None:
    """Refuse a device that is not there: a name, a number, or an object with a `type`; other values are none."""
    for one in given:
        name = getattr(one, "type", one)
        name = f"cuda:{name}" if type(name) is int else name
        if type(name) is str and name != "cpu":
            message = f"agrad computes on the processor alone: there is no device {name!r}"
            raise NoDevice("type", message, fixes=[Hint("device = 'cuda' if torch.cuda.is_available() else 'cpu'")])


_TOLD: list[Any] = [None]  # the last statement of which it was noted


def stay(x: Any, *_: Any, **__: Any) -> Any:
    """`x.cuda()`: a note that there is no such device, and the value or module itself."""
    context = current()
    text = ".cuda() leaves it on the processor: agrad computes there alone"
    if context.listener is None:
        warnings.warn(text, stacklevel=2)
    elif context.begun is None or context.begun is not _TOLD[0]:
        _TOLD[0] = context.begun
        context.listener(Note(text))
    return x
