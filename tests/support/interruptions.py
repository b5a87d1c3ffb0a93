"""A Ctrl-C at a given bytecode of some functions, or of what these call."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


class Interruption:
    """Which bytecode is interrupted, the first being 1; `count`: how many there were. Without a moment they are counted."""

    def __init__(self, moment: int = 0) -> None:
        self.moment = moment
        self.count = 0
        self.came = False


@contextmanager
def at_bytecode(functions: tuple[Callable[..., Any], ...], interruption: Interruption) -> Iterator[None]:
    """Raise KeyboardInterrupt once, at that bytecode inside the functions.

    The collector does not run meanwhile: what it calls, as Hypothesis does after each collection, is not theirs,
    and Python loses what is raised there.
    """
    codes, it, inside = {function.__code__ for function in functions}, interruption, False

    def trace(frame: FrameType, event: str, arg: Any) -> Any:
        nonlocal inside
        if it.came or not (inside or frame.f_code in codes):
            return None
        outermost = not inside
        inside = True

        def each(frame: FrameType, event: str, arg: Any) -> Any:
            nonlocal inside
            if event == "return" and outermost:
                inside = False
            it.count += event == "opcode"
            if event == "opcode" and it.count == it.moment and not it.came:
                it.came = True
                raise KeyboardInterrupt
            return each

        frame.f_trace = each  # before the next line: Python 3.13 looks for it there
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        sys.settrace(trace)  # else Python 3.12 may tell no bytecodes of it
        return each

    outer, collects, levels = sys.gettrace(), gc.isenabled(), sys.getrecursionlimit()
    gc.disable()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(outer)
        sys.setrecursionlimit(levels)  # which one that comes while code is made leaves as it is there
        if collects:
            gc.enable()
