"""The machine that runs code: a stack, the names, and a frame for each running function.

The loop itself runs loads, constants, binary operators, calls and returns, which make up most of an expression; every
other instruction is a method. Functions of the user do not use Python's stack: a frame is an entry of a list.
"""

from __future__ import annotations

from typing import Any

from agrad.engine.core.context import current, next_stamp
from agrad.engine.core.tensor import Tensor
from agrad.grammar.runtime.bytecode import Do
from agrad.grammar.runtime.vm.calls import ENTERED
from agrad.grammar.runtime.vm.control import Control
from agrad.grammar.runtime.vm.core import MISSING
from agrad.grammar.runtime.vm.expressions import no_arithmetic
from agrad.grammar.runtime.vm.operators import Operators
from agrad.grammar.runtime.vm.statements import Statements

_LONG = 1000  # instructions between two checks of the limits, where there is no jump


_PLAIN = frozenset({float, Tensor, bool})


class Machine(Operators, Control, Statements):
    """Runs code against the names of a session."""

    def _loop(self, base: int) -> Any:
        """Run the topmost frame, and those it calls, until the one at `base` returns."""
        load, constant, binary, call, leave = Do.LOAD, Do.CONSTANT, Do.BINARY, Do.CALL, Do.RETURN
        handlers, frames, context = self.handlers, self.frames, current()
        while True:
            frame, depth, result = frames[-1], len(frames), None
            stack, names, instructions = frame.stack, frame.scopes[0], frame.code.instructions
            end = len(instructions)
            if end > _LONG:
                end = min(end, frame.pc + _LONG)
            while frame.pc < end:
                do, detail, span = instructions[frame.pc]
                frame.pc += 1
                if do is load:
                    value = names.get(detail, MISSING)
                    stack.append(self.look_up(detail, span) if value is MISSING else value)
                elif do is constant:
                    stack.append(detail)
                elif do is binary:
                    right, left = stack.pop(), stack.pop()
                    context.origin = span
                    if type(left) not in _PLAIN or type(right) not in _PLAIN:
                        if self.operate(frame, detail, left, right, span):
                            break  # into the frame of the operator of an object
                        continue
                    value = detail(left, right)
                    stack.append(value if type(value) in _PLAIN else no_arithmetic(span))
                elif do is call:
                    if self.call_top(stack, detail, span):
                        break  # into the frame that this opened
                elif do is leave:
                    result = stack.pop()
                    break
                else:
                    target = handlers[do](frame, detail, span)
                    if target is not None:
                        if target is ENTERED:
                            break
                        frame.pc = target
            else:
                if next_stamp() > self.session.watch.due:
                    self.session.watch.look(frames)
                if end < len(instructions):
                    continue
            if len(frames) > depth:
                continue
            context.statement = frames.pop().statement
            if len(frames) == base:
                return result
            frames[-1].stack.append(result)
