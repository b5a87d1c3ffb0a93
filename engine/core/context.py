"""`Context`: everything that belongs to one session and would otherwise be a global variable.

`current()` is the context of the code that is running. It is kept in a `contextvars.ContextVar`, so:

* Each thread has its own context, made when it is first needed.
* A task of asyncio starts with the context of the task that made it. What the task changes with `scope`, `no_grad` or
  `enter` has an effect in that task alone.
* A `Session` has its own context. Each of its statements runs in a `derived` one (see `enter`), so nothing has to
  be restored when the statement ends or is interrupted, and a session may run inside a callback of another.

A context is never changed for a while and then changed back. `scope(recording=False)` makes a derived context current
instead: a copy that shares the limits, the random numbers and the access to files. The guards of the code
inside stay in force outside, unless the scope has its own `guard`; all other switches are dropped with the copy.

In code that runs often, call `current()` once and keep the result in a local variable. Do not keep it longer than the
call: by then another context may be current.

Objects such as nodes and Tensors do not belong to a context. Two threads may use the same ones as long as neither
writes.
"""

from __future__ import annotations

import math
import os
from _thread import _local  # from `threading`, which a short calculation need not import
from collections import deque
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar, copy_context
from functools import cache, partial
from itertools import count
from types import CellType
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from agrad.engine import core
from agrad.engine.errors import AgradError, Note, Origin
from agrad.engine.struct import Struct, computed
from agrad.engine.text import truncate
from agrad.engine.values import MISSING, ROUNDING, Shape, Value, format_bytes, format_shape, size_of, whole_as_float

if TYPE_CHECKING:
    from types import CodeType, FrameType

_T = TypeVar("_T")

STAMPS = count(1)  # of all threads: a number is used once
next_stamp = STAMPS.__next__

_NUMBER = 8  # bytes
_UNKNOWN = 4e9  # bytes of memory that a machine is assumed to have if it does not say
_CONTAINER = "/sys/fs/cgroup/memory.max"
MOST_UNDEFINED = 8  # operations with a result that is nan, of which a statement keeps what they were
PYTHON_ADVICE = "agrad.engine.core.context.allow({}e9)"


class UndoLog:
    """How to restore everything that the current statement has changed. One is open while a statement runs.

    Before something older than the statement is written, its old state is logged here. Only the first write to a
    thing is logged, so that a long loop costs no more than one iteration. `outer` is the log of the statement that
    this one is a part of: it undoes the part too.
    """

    __slots__ = ("held", "since", "undos")

    def __init__(self, outer: UndoLog | None = None) -> None:
        self.since = next_stamp()
        self.undos: dict[object, Callable[[], None]] = {}
        self.held: list[object] = []  # the objects that the undos would restore, and therefore keep in memory
        if outer is not None:
            outer.remember(self, self.roll_back)

    @property
    def changed(self) -> bool:
        """Whether there is anything to restore."""
        return any(not isinstance(key, UndoLog) or key.changed for key in self.undos)

    def remember(self, key: object, undo: Callable[[], None], held: object = None) -> None:
        """Keep `undo`, which keeps `held` alive, unless `key` has been written since the statement began."""
        if self.undos.setdefault(key, undo) is undo and held is not None:
            self.held.append(held)

    def remember_first(self, key: object, undo: Callable[[], None]) -> None:
        """Keep an `undo` that runs after all others, whatever else is written."""
        if key not in self.undos:
            self.undos = {key: undo, **self.undos}

    def roll_back(self) -> None:
        """Restore everything. A Ctrl-C that arrives meanwhile is raised when that is done.

        One that arrives before the first line here is for the caller to handle: calling this again is always safe.
        """
        stopped = None
        while self.undos or self.held:
            try:
                while self.undos:
                    next(reversed(self.undos.values()))()  # the last first: what was logged later may hold less
                    self.undos.popitem()  # only now: an undo that was interrupted is run again
                self.held.clear()
            except KeyboardInterrupt as error:
                stopped = error
        if stopped is not None:
            raise stopped

    def roll_back_surely(self) -> None:
        """The same, also where a Ctrl-C arrives before its first line."""
        try:
            self.roll_back()
        finally:
            self.roll_back()  # does nothing, unless the first could not begin


class Clock(Struct, eq=False, frozen=False):
    """The time that parts of a statement take while it is timed, and the nodes that its backwards started from.

    While there is one, backwards free nothing, so that the graph can be measured afterwards.
    """

    walking: float = 0.0  # seconds in backwards
    compiled: float = 0.0  # seconds in loop iterations that ran compiled
    iterations: int = 0  # and how many these were
    roots: list[Any] = computed()

    def __post_init__(self) -> None:
        self.roots = []


class Tracing(Struct, eq=False):
    """The function that is being traced: its arguments, Tensors, and their names."""

    inputs: Sequence[Any]
    names: Sequence[str]


@cache
def machine_memory() -> float:
    """The bytes of memory of this machine, or of the container that the process runs in."""
    found = _UNKNOWN
    with suppress(AttributeError, OSError, ValueError):
        found = float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    with suppress(OSError, ValueError), open(_CONTAINER) as file:
        found = min(found, float(file.read()))
    return found


class Limits:
    """How much memory one result may take: half of the machine's unless something else is set."""

    __slots__ = ("advice", "ceiling", "entries", "memory")

    def __init__(self) -> None:
        self.advice = PYTHON_ADVICE  # the statement or option that allows so many GB
        self.ceiling: Callable[[float], None] | None = None  # sets the limit of the operating system
        self.set(machine_memory() / 2)

    def set(self, memory: float) -> None:
        """Set the limit, in bytes."""
        self.memory = memory
        self.entries = memory / _NUMBER

    def allow(self, memory: float) -> None:
        """Set the limit, in bytes, here and in the operating system."""
        self.set(memory)
        self.enforce()

    def enforce(self) -> None:
        """Set the limit of the operating system to this one."""
        if self.ceiling is not None:
            self.ceiling(self.memory)

    @contextmanager
    def lifted(self) -> Iterator[None]:
        """Start other programs inside without the limit of the operating system: a browser reserves terabytes."""
        if self.ceiling is not None:
            self.ceiling(math.inf)
        try:
            yield
        finally:
            self.enforce()

    def copy(self) -> Limits:
        """Another object with the same limits."""
        made = Limits()
        made.advice, made.ceiling = self.advice, self.ceiling
        made.memory, made.entries = self.memory, self.entries
        return made


class Files(Struct, eq=False, frozen=False):
    """Whether files may be read and written.

    `seen`: the files that were read, by path, each with its size and the time of its last write; None while that is
    not recorded.
    """

    on: bool = True
    seen: dict[str, list[int]] | None = None


class RandomNumbers(Struct, eq=False, frozen=False):
    """The generator of random numbers; None until the first is drawn or a seed is set.

    `seeds` gives the seed when the first is drawn: a session that keeps its statements notes it.
    """

    generator: Any = None
    seeds: Callable[[], int | None] = lambda: None


class Script(str):
    """The file name of the code of a script, by which its frames are known."""

    __slots__ = ()

    def span(self, code: CodeType, instruction: int) -> Origin:
        """The place of an instruction of the script."""
        raise NotImplementedError


class Places(Protocol):
    """What finds places in the frames of the script that runs."""

    watch: Any  # the limits of the statement that runs
    due: float  # the stamp from which on nodes are counted
    code: CodeType | None  # of the script, that made the last node

    def locate(self, node: Any, frame: FrameType | None) -> None:
        """Keep in a node where the script is that makes it."""

    def origin(self) -> Origin | None:
        """The expression that is being evaluated."""

    def statement(self, begun: Origin | None) -> Origin | None:
        """The statement that is running; `begun` is the one around all code."""


class Context(Struct, eq=False, frozen=False):
    """Everything that belongs to one session. See the docstring of this module."""

    recording: bool = True  # whether operations append nodes
    inference: bool = False  # whether what is made may take part in no derivative later: PyTorch's inference mode
    mapped: Any = None  # in a function that is called for each entry: when that began, and the Tensors that it is given
    guard: Any = None  # the last `Guard` that new nodes depend on, or None
    place: Origin | None = None  # of the expression that is being evaluated, where it is told
    begun: Origin | None = None  # the statement it is a part of, where that is told
    script: Places | None = None  # finds both in the frames of the script that runs
    undo_log: UndoLog | None = None
    tracing: Tracing | None = None
    reads: list[tuple[Any, Origin | None]] | None = None  # nodes of values read as plain data, if collected
    clock: Clock | None = None
    anomalies: bool = False  # whether a backward that gives nan is an error
    listener: Callable[[Note], None] | None = None  # receives notes on results
    undefined: list[Any] | None = None  # operations whose result is nan: see `inspect.undefined`
    silence: Any = None  # while numpy's warnings are off: see `numpy_warnings`
    quietly: Callable[[], Any] | None = None  # what runs one operation of numpy without warnings
    settings: Any = None  # of the session, which its texts of values follow
    outer: Context | None = None  # that this is derived from
    scope: scope | None = None  # that this was made by
    given: Any = None  # the guard that it began with
    units: dict[str, Any] = computed()  # of one's own, by name
    limits: Limits = computed()
    random: RandomNumbers = computed()
    files: Files = computed()

    def __init__(self, limits: Limits | None = None) -> None:
        """A context that is derived from none."""
        super().__init__()
        self.limits, self.random, self.files, self.units = limits or Limits(), RandomNumbers(), Files(), {}

    def derived(self) -> Context:
        """A copy that shares everything but the switches: limits, random numbers, access to files, units."""
        made = Context.__new__(Context)
        made.recording, made.inference, made.mapped = self.recording, self.inference, self.mapped
        made.guard = self.guard
        made.place, made.begun, made.script = self.place, self.begun, self.script
        made.undo_log, made.tracing, made.reads = self.undo_log, self.tracing, self.reads
        made.clock, made.listener, made.undefined = self.clock, self.listener, self.undefined
        made.anomalies = self.anomalies
        made.limits, made.random, made.files, made.units = self.limits, self.random, self.files, self.units
        made.silence, made.quietly, made.settings = self.silence, self.quietly, self.settings
        made.outer, made.scope, made.given = self, None, self.guard
        return made

    @property
    def origin(self) -> Origin | None:
        """The expression that is being evaluated."""
        return self.script.origin() if self.place is None and self.script is not None else self.place

    @property
    def statement(self) -> Origin | None:
        """The statement that it is a part of."""
        return self.script.statement(self.begun) if self.script is not None else self.begun


class _Default(Context, frozen=False):
    """What `current` returns in a thread that has not set a context: a placeholder for the thread's own context.

    The context is made, and made current, as soon as any attribute is used.
    """

    def __init__(self) -> None:
        pass  # it has no attributes of its own

    def __getattr__(self, name: str) -> Any:
        return getattr(_own(), name)

    def __setattr__(self, name: str, value: object) -> None:
        setattr(_own(), name, value)

    def derived(self) -> Context:
        return _own().derived()


def _own() -> Context:
    """Make the context of this thread current."""
    try:
        found: Context = _THREAD.context
    except AttributeError:
        found = _THREAD.context = Context()
    CURRENT.set(found)
    return found


_THREAD = _local()
CURRENT: ContextVar[Context] = ContextVar("agrad", default=_Default())  # noqa: B039 - it has no state of its own
current = CURRENT.get


class scope:  # noqa: N801 - used like a function
    """`with scope(recording=False):` derives a context, changes it, and makes it current.

    Guards made inside stay in force afterwards, unless `guard` is among the changes.
    """

    __slots__ = ("changes",)

    def __init__(self, **changes: Any) -> None:
        self.changes = changes

    def __enter__(self) -> Context:
        made = current().derived()
        made.scope = self
        for name, value in self.changes.items():
            setattr(made, name, value)
        CURRENT.set(made)
        return made

    def __exit__(self, *_: object) -> None:
        made = current()
        if made.scope is not self:
            self._leave_early(made)
            return
        outer = made.outer
        assert outer is not None
        if "guard" not in self.changes:  # others may have made guards outside meanwhile
            outer.guard = made.guard if outer.guard is made.given else core.guards.joined(outer.guard, made.guard)
        CURRENT.set(outer)

    def _leave_early(self, inner: Context | None) -> None:
        """Leave the scope of a generator while one that was entered later is current, or in another context."""
        while inner is not None and inner.outer is not None:
            if inner.outer.scope is self:
                inner.outer = inner.outer.outer
                return
            inner = inner.outer


class taken_back(scope):  # noqa: N801 - used like a function
    """A scope in which everything that is written is restored at the end, and no notes are given."""

    __slots__ = ()

    def __enter__(self) -> Context:
        made = super().__enter__()
        made.undo_log, made.listener = UndoLog(made.undo_log), self.changes.get("listener")
        return made

    def __exit__(self, *_: object) -> None:
        log = current().undo_log
        try:
            if log is not None:
                log.roll_back_surely()
        finally:
            super().__exit__()


def enter(context: Context, function: Callable[..., _T], *args: Any) -> _T:
    """Call a function with a context as the current one.

    It runs in a copy of the caller's `contextvars` context: nothing has to be restored, however it ends.
    """
    copied = copy_context()
    copied.run(CURRENT.set, context)
    return copied.run(function, *args)


# The limit of memory for one result, checked before the result is made.
#
# The memory of several results together is limited by the operating system, if the command line sets that
# (`Limits.ceiling`); the MemoryError is reported with the same message.

_LONGEST = 40  # characters of an expression in a message


def allow(memory: float) -> None:
    """Set how many bytes one result may take, in this thread or session."""
    current().limits.allow(memory)


def afford(name: str, *shapes: Shape) -> None:
    """Refuse results of these shapes if they need more memory than allowed; `name` is the operation."""
    entries = sum(map(size_of, shapes))
    if entries > current().limits.entries:
        raise _refusal(name, shapes[0], entries)


def afford_spread(name: str, values: Sequence[Value]) -> None:
    """The same for operands of a pointwise operation, which would be spread to one large shape."""
    most = 1
    for value in values:
        if type(value) is not float:
            most *= value.size  # type: ignore[union-attr]
    if most > current().limits.entries:
        shapes = [value.shape for value in values if not isinstance(value, float)]
        axes = max(map(len, shapes))
        aligned = [(1,) * (axes - len(shape)) + shape for shape in shapes]
        afford(name, tuple(map(max, *aligned)) if len(aligned) > 1 else aligned[0])


def exhausted(name: str, error: MemoryError) -> AgradError:
    """The error for a MemoryError while `name` was computed. numpy's gives the shape that did not fit."""
    shape = getattr(error, "shape", None)
    if shape is not None and size_of(shape) > current().limits.entries:
        return _refusal(name, shape, size_of(shape))
    need = size_of(shape) * _NUMBER if shape is not None else None
    memory = current().limits.memory
    there, room = format_bytes(memory), f" for the {format_bytes(need)} of" if need else " for"
    message = f"there is not enough memory{room} {_subject(name)}; the limit is {there}"
    return AgradError("limit", message, fixes=_advice(memory + (need or memory)))


def _refusal(name: str, shape: Shape, entries: int) -> AgradError:
    need = whole_as_float(entries) * _NUMBER
    what = _subject(f"{name} of shape {format_shape(shape)}")
    message = f"{what} needs {format_bytes(need)}; the limit is {format_bytes(current().limits.memory)}"
    there = machine_memory()
    notes = [f"this machine has {format_bytes(there)}"] if need > there else []
    return AgradError("limit", message, notes=notes, fixes=_advice(need))


def _advice(need: float) -> list[str]:
    """The fix that allows so much, if the machine has it."""
    return [current().limits.advice.format(math.ceil(need / 1e9))] if need <= machine_memory() else []


def _subject(otherwise: str) -> str:
    """The expression that is being evaluated, as typed; from Python, a phrase."""
    origin = current().origin
    text = origin.text if origin is not None else otherwise
    return truncate(text, _LONGEST)


def remember_entry(entries: MutableMapping[Any, Any], key: Any) -> None:
    """Log how to restore one entry of a mapping, if a statement is running. Called before it is written or deleted."""
    log = current().undo_log
    if log is None or (id(entries), key) in log.undos:
        return
    before = entries.get(key, MISSING)
    log.remember((id(entries), key), partial(put_back, entries, key, before), before)


def put_back(entries: MutableMapping[Any, Any], key: Any, before: Any) -> None:
    """Give an entry of a mapping the value that it had, or none."""
    if before is MISSING:
        entries.pop(key, None)
    else:
        entries[key] = before


def restored(x: Any, before: Any) -> None:
    """Give a container, an instance, a class or a cell what it had."""
    if isinstance(x, list | set | deque | dict):
        x.clear()
        (x.extend if isinstance(x, list | deque) else x.update)(before)
    elif type(x) is CellType:
        if before is MISSING:
            del x.cell_contents
        else:
            x.cell_contents = before
    elif isinstance(x, type):
        for name in [name for name in vars(x) if name not in before]:
            type.__delattr__(x, name)
        for name, value in before.items():
            if vars(x).get(name, MISSING) is not value and name not in ("__dict__", "__weakref__"):
                type.__setattr__(x, name, value)
    else:
        restored(vars(x), before)


def remember_order(entries: dict[Any, Any]) -> None:
    """Log how to restore the order of a mapping, if a statement is running, which is about to delete entries."""
    log = current().undo_log
    if log is None or (id(entries), "order") in log.undos:
        return
    order = list(entries)
    kept: dict[Any, Any] = {}  # outside `undo`, which runs again if a Ctrl-C interrupts it: no entry is lost then

    def undo() -> None:
        kept.update({key: entries[key] for key in order if key in entries})
        dict.clear(entries)
        dict.update(entries, kept)

    log.remember_first((id(entries), "order"), undo)


def remember_random(numbers: RandomNumbers) -> None:
    """Log how to restore the state of the random numbers, if a statement is running."""
    log, generator, key = current().undo_log, numbers.generator, (id(numbers), "random")
    if log is None or key in log.undos:
        return
    state = generator.bit_generator.state if generator is not None else None

    def undo() -> None:
        numbers.generator = generator
        if generator is not None:
            generator.bit_generator.state = state

    log.remember(key, undo)


ROUNDING.append(lambda: getattr(current().settings, "rounding", "two"))


def require_files(what: str) -> None:
    """Refuse `what` if access to files is off. Raises AgradError of kind `file`."""
    if not current().files.on:
        raise AgradError("file", f"{what}: file access is switched off")


def note_read(path: str) -> None:
    """Record that a file is about to be read, if such records are kept."""
    seen = current().files.seen
    if seen is not None:
        with suppress(OSError, ValueError):  # a file that cannot be read is reported where it is read
            found = os.stat(path)
            seen[path] = [found.st_size, found.st_mtime_ns]
