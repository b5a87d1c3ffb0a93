"""Specialisations of a function: a program for each set of outcomes of its guards, and the code that computes it.

A program whose guards do not hold at other values is kept, and the function is traced again there; of very many
specialisations the latest are kept. Threads may share a compiled function: the specialisations known are an immutable
tuple that readers take without a lock, and only tracing and compiling hold `TRACING`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from threading import RLock
from typing import Any, NamedTuple, TypeAlias

from agrad.engine.compile import cost
from agrad.engine.compile.llvm.backend import MOST_JOINED, Branches, Decisions, Lowered, joined
from agrad.engine.compile.registry import AUTO, NATIVE, REFERENCE, Code, NativeBackend, NativeCode, load
from agrad.engine.compile.scalarise import regular
from agrad.engine.core.guards import bits
from agrad.engine.errors import AgradError
from agrad.engine.program.ir import Diverged, GuardCheck, Program, frozen, key, unchecked
from agrad.engine.values import Shape, Value

MOST = 256  # specialisations of one function
_DECIDED = 2048  # the same where they are one function of machine code
_SHARED = 4  # of so many instructions of arrays, one is there for each specialisation: the others are shared
_FOUND, _EAGERLY, _TRACED = 6.0, 20.0, 200.0  # times a call: to find the one that holds, an eager one, a trace
_FEW = 64  # that are kept however long they are
_STEPS = 300_000  # of more than these
_RARE = 8  # calls for each that no specialisation holds for, below which these are most of the new ones
_EAGER = 24  # eager calls for each trace there: a trace with its code takes about as long
TRACING = RLock()  # one for all functions: a function that is traced may call another that is compiled
_KEPT = 500_000  # steps, in programs that are kept compiled
_EACH = 50  # steps that take the memory of what is kept of each program besides
_LARGE = 5_000  # steps from which on machine code is made at once, since Python's own compiler is slow
_OTHER = "the backend is {}"
_BY_DATA = "a number was read, as by float(x): every new number is traced again"


_COMPILED: dict[object, tuple[Any, int]] = {}  # the code of programs, the latest last, and their sizes


def kept(kind: object, program: Program, make: Callable[[Program], Any]) -> Any:
    """The code of a program, or of an earlier one with the same structure; `kind`: which code of it."""
    name = kind, key(program)
    with TRACING:
        found = _COMPILED.pop(name, None) or (make(program), _EACH + len(program.steps))
        _COMPILED[name] = found
        excess = sum([size for _, size in _COMPILED.values()]) - _KEPT
        while excess > 0:
            excess -= _COMPILED.pop(next(iter(_COMPILED)))[1]
    return found[0]


def names_of(backend: str) -> tuple[str, str | None]:
    """The backend of a function's own program, and that of machine code, if possible, by their names."""
    if backend == AUTO:
        return REFERENCE, NATIVE
    return (REFERENCE, backend) if isinstance(load(backend), NativeBackend) else (backend, None)


def supporting(backend: str, program: Program) -> tuple[str, str]:
    """The backend, or REFERENCE and a reason where it does not support the program."""
    reason = load(backend).supports(program)
    return (backend, "") if reason is None else (REFERENCE, reason)


def is_of_data(program: Program) -> bool:
    """Whether it is the program for some values only: the function read plain data from its arguments."""
    return any(check.read is bits for check in program.checks)


Values: TypeAlias = "tuple[Value, ...]"
# About how long a specialisation is: in steps and in instructions of machine code; in ns, a call of Python and one of
# machine code.
Size: TypeAlias = "tuple[int, int, float, float]"


def code_size(program: Program, factor: int = 1) -> Size:
    """The size of what is derived of a program, which is so many times as long."""
    steps, length = factor * len(program.steps), factor * cost.length_of_code(program)
    return steps, length, factor * cost.interpreted(program), factor * cost.native(program)


class Specialization:
    """One set of outcomes: the program that is bit for bit the function's own, and one for machine code.

    Each is made when it is first needed; `shared` makes the one for machine code, as loops if it is told so.
    """

    def __init__(
        self,
        exact: Callable[[], Program],
        shared: Callable[..., Lowered],
        size: Size,
        backend: str,
        is_of_data: bool = False,
        template: Any = None,
        shapes: Sequence[Shape] = ((),),
    ) -> None:
        self.template, self.shapes = template, list(shapes)  # the structure of the result, and of what shapes its parts
        self._make_exact, self._make_shared = exact, shared
        self.is_of_data = is_of_data  # for these values only: making machine code would take far too long
        self._exact: Program | None = None
        self._lowered: Lowered | None = None  # the one for machine code
        self._code: Code | None = None
        self.backend = backend
        self.exact_backend, self.native_backend = names_of(backend)
        self.is_native_first = backend == self.native_backend  # machine code was requested, even if it is slower
        self.size, self.length, self.called, self.called_natively = size
        self.calls = 0
        # how many calls Python computes before machine code is tried, and why
        self.most_calls, self._why = cost.calls_before_machine_code(self.called, self.length)
        self.native: NativeCode | None = None
        self.lowering = ""  # the name of the way that machine code computes it
        # the reason why there is no machine code
        self.reason = _OTHER.format(backend) if self.native_backend is None else _BY_DATA if is_of_data else ""
        self.checks: Sequence[GuardCheck] = ()  # of the machine code: their slots are its last outputs

    @property
    def exact(self) -> Program:
        """The program that is the function's own."""
        if self._exact is None:
            with TRACING:
                self._exact = self._exact or self._make_exact()
        return self._exact

    @property
    def lowered(self) -> Lowered:
        """The one for machine code."""
        if self._lowered is None:
            with TRACING:
                self._lowered = self._lowered or self._make_shared()
        return self._lowered

    @property
    def code(self) -> Code:
        """Its code."""
        if self._code is None:
            name, _ = supporting(self.exact_backend, self.exact)
            self._code = kept(name, self.exact, load(name).compile)
        return self._code

    def source(self, backend: str | None) -> str:
        """The code of a backend as text; of the current one if it is None or AUTO."""
        asked = None if backend == AUTO else backend
        exact, native = names_of(asked or self.backend)
        if native is None or not (asked or self.is_native_first or self.native is not None):
            return self._exact_source(exact)
        code = self.promote() if native == self.native_backend else None
        if code is not None:
            return code.source()
        return f"# no machine code: {self.reason or _OTHER.format(self.backend)}\n{self._exact_source(exact)}"

    def _exact_source(self, backend: str) -> str:
        name, reason = supporting(backend, self.exact)
        code = self.code if backend == self.exact_backend else load(name).compile(self.exact)
        return (f"# not by {backend}: {reason}\n" if reason else "") + code.source()

    def begin(self) -> None:
        """Make the program for the first call: an error in it is raised here.

        The one for machine code may be a hundredth of the function's own, which is not made then.
        """
        if not (self.is_native_first or self.size > _LARGE) or self.promote() is None:
            _ = self.exact

    def call(self, values: Values) -> Values:
        """The outputs. Raises Diverged where a guard has another outcome."""
        if self.native is None and not self.reason:
            self.calls += 1
            if self.calls > self.most_calls:
                self.promote()
        if self.native is None:
            return self.code.call(*values)
        found = self.native.call(*values)
        if not self.checks:
            return found
        count = len(found) - len(self.checks)
        for number, check in enumerate(self.checks):
            if not check.holds(found[count + number]):
                if check.read is regular:
                    return self.code.call(*values)
                raise Diverged(number)
        return found[:count]

    @cached_property
    def outcomes(self) -> list[object]:
        """The outcomes of the guards of the code that computes it."""
        return [frozen(check.outcome) for check in self.exact.checks]

    def state(self) -> str:
        """What computes it, and why, in words."""
        if self.native is not None:
            return f"machine code, as {self.lowering}"
        if self.reason:
            return f"{self.exact_backend}, since {self.reason}"
        assert self.native_backend is not None  # or a reason was found
        try:
            load(self.native_backend).require()
        except AgradError as problem:
            return f"{self.exact_backend}, since {problem.message}"
        return f"{self.exact_backend}; machine code is tried from call {math.ceil(self.most_calls + 1)} on: {self._why}"

    def promote(self) -> NativeCode | None:
        """Change to machine code, if there is any, and return it."""
        if self.native is not None or self.reason:
            return self.native
        name = self.native_backend
        assert name is not None  # or a reason was found
        backend: Any = load(name)  # imported here: it needs an extra, and only long computations use it
        with TRACING:
            lowered = self.lowered
            program = unchecked(lowered.program)
            self.reason = lowered.reason or backend.supports(program) or ""
            if not self.reason and self.native is None:  # which another thread may have made
                self.checks = checks = lowered.program.checks
                shapes = lowered.shapes and (lowered.shapes[0], (*lowered.shapes[1], *[()] * len(checks)))
                native = kept((name, shapes), program, partial(backend.compile, shapes=shapes))
                self.outcomes = [frozen(check.outcome) for check in self.checks]
                self.lowering = lowered.name
                self.native = native  # last: from here on other threads call it, and read the checks
        return self.native


class Eager(NamedTuple):
    """A call that was computed without compiling: what is asked of a specialisation afterwards."""

    template: Any
    shapes: list[Shape]
    native: None = None
    checks: Sequence[GuardCheck] = ()


class Together(NamedTuple):
    """One function for several specialisations, which gives their numbers."""

    code: Decisions | Branches
    members: Sequence[Specialization]  # by their numbers
    inside: set[Specialization]  # those that fit into it


class Specializations:
    """All specialisations so far, the one used last first. `trace` makes another, at some values.

    `eager` computes the outputs without a program, where it can. It is called instead of most traces where nearly every
    call would be one: where a function has many more sets of outcomes than are kept.
    """

    def __init__(
        self, trace: Callable[[Values], Specialization], eager: Callable[[Values], tuple[Eager, Values] | None]
    ) -> None:
        self.trace, self.eager = trace, eager
        self.calls = self.missed = 0  # calls, and those that no specialisation held for
        self.since = 0  # eager calls since the last trace
        self.known: tuple[Specialization, ...] = ()
        self.first: Specialization | None = None  # of all that were traced
        self._others: dict[tuple[Specialization, int], Specialization | None] = {}  # see `_other`
        self.together: Together | None = None  # most of them as one function
        self.tried: set[Specialization] = set()  # those that there were when it was made last
        self.outside = 0.0  # what calls have taken since then, in ns

    def restart(self) -> None:
        """Keep the first specialisation alone, as if nothing had been called since it was traced."""
        with TRACING:
            self.known = self.known if self.first is None else (self.first,)
            self.calls = self.missed = self.since = 0
            self.together, self.outside, self.tried = None, 0.0, set()
            self._others = {}

    def found(self, values: Values) -> tuple[Specialization | Eager, Values]:
        """The specialisation that holds at some values, and its outputs."""
        self.calls += 1  # by several threads, it may miss some: it affects only speed
        if self.together is not None:
            hit = self.together.code.along(values)
            if hit is not None:
                return self.together.members[hit[0]], hit[1]
        known, together = self.known, self.together
        if together is not None and not together.code.has_doubts:
            known = tuple([one for one in known if one not in together.inside])
        retracing = self.missed > _FEW and self.calls < _RARE * self.missed  # most calls would be traced
        is_all = len(known) > 1 and known is self.known
        found = self._along(values) if is_all else self._among(known, values)
        if found is None and is_all and not retracing:
            found = self._among(known, values)
        if len(self.known) > 1:
            self.note(self.known[0].called * (_FOUND if found is not None else _EAGERLY if retracing else _TRACED))
        if found is not None:
            return found
        self.missed += 1
        if retracing and self.since < _EAGER:
            self.since += 1
            computed = self.eager(values)
            if computed is not None:
                return computed
        with TRACING:
            seen = {*known} if self.together is None else {*known, *self.together.members}
            found = self._among([one for one in self.known if one not in seen], values)  # traced by another thread
            if found is not None:
                return found
            self.since = 0
            new = self.at(values)
            try:
                return new, new.call(values)
            except Diverged:  # machine code may round differently: then the exact program decides
                return new, new.code.call(*values)

    def _along(self, values: Values) -> tuple[Specialization, Values] | None:
        """The same by paths: a guard that does not hold leads to a specialisation with another outcome of it."""
        one: Specialization | None = self.known[0]
        last = -1
        while one is not None:
            try:
                outputs = one.call(values)
            except Diverged as diverged:
                (number,) = diverged.args
                one, last = self._other(one, number) if number > last else None, number
                continue
            if last >= 0:
                self._move_up(one)
            return one, outputs
        return None

    def _other(self, one: Specialization, number: int) -> Specialization | None:
        """One with the same outcomes up to the guard of this number, and another of this one; None if there is none."""
        key, others, known = (one, number), self._others, self.known  # another thread may replace both, these first
        if key not in others:
            *head, last = one.outcomes[: number + 1]
            found = (
                x for x in known if x.outcomes[:number] == head and x.outcomes[number : number + 1] not in ([], [last])
            )
            others[key] = next(found, None)
        return others[key]

    def _move_up(self, one: Specialization) -> None:
        """Try a specialisation first from now on, unless another thread changes the order, which affects only speed."""
        if TRACING.acquire(blocking=False):
            try:
                self.known = (one, *[other for other in self.known if other is not one])
            finally:
                TRACING.release()

    def _among(self, known: Sequence[Specialization], values: Values) -> tuple[Specialization, Values] | None:
        for number, one in enumerate(known):
            try:
                outputs = one.call(values)
            except Diverged:
                continue
            if number:
                self._move_up(one)
            return one, outputs
        return None

    def at(self, values: Values) -> Specialization:
        """A new specialisation, traced at some values."""
        with TRACING:
            new = self.trace(values)
            new.begin()  # a specialisation that fails here is not kept
            self.first = self.first or new
            self.known = (new, *self.known)
            self._others = {}
            self._drop()
        return new

    def note(self, took: float) -> None:
        """Note what a call outside of the one function takes, in ns, and make that, or make it anew, where it pays."""
        if len(self.known) < 2 or self.tried.issuperset(self.known):
            return
        self.outside += took
        if self.outside > cost.repaid_by_one_function(sum([one.length for one in self.known])):
            with TRACING:
                self._put_together()

    def _put_together(self) -> None:
        """Make one function of machine code of the specialisations, in which they share what is common."""
        self.outside = 0.0
        sizes = itertools.accumulate([max(one.size, one.length // _SHARED) for one in self.known])
        short = [one for one, size in zip(self.known, sizes, strict=True) if size <= MOST_JOINED]
        chosen = [one for one in short if one.native_backend == NATIVE and not one.is_of_data]
        # the own program of each that is one of numbers
        own = [one._exact if one._exact is not None and one._exact.is_scalar else None for one in chosen]
        programs = [x.lowered if one is None else Lowered(one) for x, one in zip(chosen, own, strict=True)]
        are_loops = 2 * sum(one.name == "loops" for one in programs) >= len(programs)
        if are_loops:  # a path by itself may be cheaper as numbers
            programs = [x.lowered if x.lowered.name == "loops" else x._make_shared(as_loops=True) for x in chosen]
        made = joined(programs)
        if made is not None:
            code, members = made
            inside = {chosen[members[number]] for number in code.members}
            self.together = Together(code, [chosen[place] for place in members], inside)
        self.tried = {*self.known}  # until there is another one

    def _drop(self) -> None:
        """Drop the specialisations that were used longest ago, if there are too many."""
        count, steps = len(self.known), sum(one.size for one in self.known)
        most, length = (MOST, _STEPS) if self.together is None else (_DECIDED, MOST_JOINED)
        while count > most or (count > _FEW and steps > length):
            count -= 1
            steps -= self.known[count].size
        self.known = self.known[:count]
