"""The ways that the choices of a function go: a program for each, and which code computes it.

A program that diverges at other values is left alone, and the function traced again there; of very many ways the
latest are kept.
"""

from __future__ import annotations

from _thread import allocate_lock
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from agrad.engine.compile import python_backend
from agrad.engine.core.guards import bits
from agrad.engine.program.ir import Diverged, Program, unchecked
from agrad.engine.program.passes import key
from agrad.engine.values import Value

WAYS = 64
_KEPT = 500_000  # steps, in programs that are kept compiled
_LARGE = 5_000  # steps: where Python's own compiler is slow, and its code too, machine code comes at once
_BY_DATA = "a number was taken out, as by float(x): each other one is traced anew"
_CALLS, _STEPS = 1_000, 100_000  # what Python computes before machine code, about what it takes to compile that

_compiled: OrderedDict[object, tuple[Any, int]] = OrderedDict()
_changing = allocate_lock()  # held while `_compiled` is


def kept(backend: str, program: Program, make: Callable[[Program], Any]) -> Any:
    """What was made of a program, or of one of the same structure before."""
    name = backend, key(program)
    with _changing:
        if name in _compiled:
            _compiled.move_to_end(name)
            return _compiled[name][0]
    made = make(program)  # two threads may do so at once: one of the results is kept
    with _changing:
        found, _ = _compiled.setdefault(name, (made, 1 + len(program.steps)))
        while sum(steps for _, steps in _compiled.values()) > _KEPT:
            _compiled.popitem(last=False)
    return found


def is_of_data(program: Program) -> bool:
    """Whether it is the program for some values alone: the function took plain data out of what it was given."""
    return any(check.read is bits for check in program.checks)


class Branch:
    """One way: the program that is bit for bit the function's own, and one for machine code, each when asked for."""

    def __init__(
        self,
        exact: Callable[[], Program],
        shared: Callable[[], Program],
        size: int,
        backend: str,
        is_of_data: bool = False,
    ) -> None:
        self._make_exact, self._make_shared = exact, shared
        self.is_of_data = is_of_data  # and so for these values alone: to make machine code would take far too long
        self._exact: Program | None = None
        self._python: python_backend.Compiled | None = None
        self.backend = backend
        self.size = size
        self.calls = 0
        self.native: Any = None
        # Why there is no machine code.
        self.reason = "asked for Python" if backend == "python" else _BY_DATA if is_of_data else ""
        self.checks: Any = ()  # of the machine code: their slots are its last outputs

    @property
    def exact(self) -> Program:
        """The program that is the function's own."""
        if self._exact is None:
            self._exact = self._make_exact()
        return self._exact

    @property
    def python(self) -> python_backend.Compiled:
        """Its code."""
        if self._python is None:
            self._python = kept("python", self.exact, python_backend.Compiled)
        return self._python

    def begin(self) -> None:
        """Make the program that the first call takes: whatever fails in it fails here.

        The one for machine code may be a hundredth of the function's own, which is not made then.
        """
        if (self.backend == "llvm" or self.size > _LARGE) and self.promote():
            return
        _ = self.exact

    def call(self, values: tuple[Value, ...]) -> tuple[Value, ...]:
        """The outputs. Raises Diverged where a choice goes another way."""
        if self.native is None and not self.reason:
            self.calls += 1
            if self.calls > _CALLS + _STEPS // (self.size or 1):
                self.promote()
        if self.native is None:
            return self.python.call(*values)
        found: tuple[Value, ...] = self.native.call(*values)
        if not self.checks:
            return found
        count = len(found) - len(self.checks)
        for number, check in enumerate(self.checks):
            if not check.holds(found[count + number]):
                raise Diverged(number)
        return found[:count]

    def promote(self) -> bool:
        """Change to machine code, if there is any; whether there is."""
        if self.native is None and not self.reason:
            from agrad.engine.compile.llvm import backend  # an extra, and only a long computation pays for it

            shared = self._make_shared()
            self.reason = backend.supports(unchecked(shared)) or ""
            if not self.reason:
                self.native = kept("llvm", unchecked(shared), backend.Native)
                self.checks = shared.checks
        return self.native is not None


class Branches:
    """All ways met so far, the last one met first. `trace` makes one more, at some values."""

    def __init__(self, trace: Callable[[tuple[Value, ...]], Branch]) -> None:
        self.trace = trace
        self.known: list[Branch] = []

    def call(self, values: tuple[Value, ...]) -> tuple[Value, ...]:
        """The outputs at some values."""
        for number, branch in enumerate(self.known):
            try:
                found = branch.call(values)
            except Diverged:
                continue
            if number:
                self.known.insert(0, self.known.pop(number))
            return found
        branch = self.at(values)
        try:
            return branch.call(values)
        except Diverged:  # machine code may round otherwise: then the choice is Python's
            return branch.python.call(*values)

    def at(self, values: tuple[Value, ...]) -> Branch:
        """One more way."""
        branch = self.trace(values)
        branch.begin()  # what fails here is no way
        self.known.insert(0, branch)
        del self.known[WAYS:]
        return branch
