"""`Tensor`: the handle that a user holds. It has its node, and the entries of an array.

Operators and methods come from the table of operations (see `ops`), `backward` from `autodiff`; this module
has the rest: value, gradient, leaf or not, and writing in place.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import ContextDecorator
from itertools import repeat, starmap
from typing import TYPE_CHECKING, Any, Self

from agrad.engine import core, units
from agrad.engine.core.context import current, scope
from agrad.engine.core.graph import (
    Gradient,
    Node,
    Roots,
    Storage,
    leaf,
    new_node,
    roots_of,
    sharers,
    together,
    touch,
)
from agrad.engine.core.guards import choose, forget, integer, is_ours, joined, note_read, number, take_out, truth
from agrad.engine.core.versions import mark_written, share_storage, supersede
from agrad.engine.errors import AgradError, Hint
from agrad.engine.values import (
    Array,
    Shape,
    Value,
    check_truths,
    coerce,
    fits,
    format_shape,
    format_value,
    is_mask,
    np,
    outward,
    shape_of,
    size_of,
    spread,
    whole,
)

if TYPE_CHECKING:  # what the table of operations, autodiff and NumPy's protocols install: a stub made from the table
    from agrad.engine.core.methods import Methods
else:
    Methods = object

CLEARED = Gradient(None, (), 0, "an earlier zero_grad")


class NoIndex(AgradError, TypeError):
    """A value that requires grad is not an index.

    For `array ** x` NumPy, before 2.3, calls `__index__` first, and would return an array without the graph. A
    TypeError makes it call the operation.
    """


class NoLength(AgradError, TypeError):
    """A scalar has no entries: a TypeError, since code that asks whether something can be iterated over expects one."""


class Tensor(Methods):
    """A value that may have a graph behind it.

    A scalar's value lives in its node; an array is held here as well, so that the node may release it if no
    rule reads it. What is computed is made by `handle`, `bare` or `BLANK`.
    """

    __slots__ = ("array", "bracketed", "is_truth", "kind", "node", "view_of", "__weakref__")

    node: Node
    array: Value | None
    bracketed: bool  # set by the language alone: where it was written as a list of numbers
    kind: Any  # set by `agrad.torch` alone: PyTorch's type of the entries
    is_truth: bool  # set where it is an entry of a mask, or of a comparison that is not recorded
    view_of: Any  # set by the language, and by `agrad.torch`: what PyTorch would share the data with

    def __new__(cls, value: object, requires_grad: bool = False) -> Self:
        """The same as `tensor`."""
        made, self = tensor(value, requires_grad), object.__new__(cls)
        self.node, self.array = made.node, made.array
        self.node.handle = weakref.ref(self)
        return self

    # What it is

    @property
    def value(self) -> Value:
        """The number or the array itself. It must not be written to: see `data`."""
        value = self.node.value
        if not is_ours(sys._getframe(1)):
            self._taken()
        return self.array if value is None else value  # type: ignore[return-value]

    def _taken(self) -> Value:
        """The value, for use without its graph, which makes a guard: see `take_out`."""
        value = self.value
        take_out(self.node, value)
        return value

    @classmethod
    def made(cls, op: Any, operands: tuple[Any, ...], attrs: dict[str, Any], result: Tensor) -> Tensor:
        """The result of an operation on a handle of a subclass, as the subclass has it."""
        return result

    @property
    def data(self) -> Value:
        """The value, read only: a float, or a view of the array that refuses writes; of a mask its booleans."""
        units.plain_number(self)
        value = self._taken()
        if not is_mask(value):
            return self.read_only()
        truths: Any = outward(value)
        truths.flags.writeable = False
        return truths  # type: ignore[no-any-return]

    @data.setter
    def data(self, value: object) -> None:
        """The same as `set_`."""
        self._set(value, "data")

    def read_only(self) -> Value:
        """The same for code whose control flow does not depend on it, such as to print or to store it."""
        value = self.value
        if isinstance(value, float):
            return value
        buffer: Any = value  # of which a read-only view has no flag that could be set back
        return np.asarray(memoryview(buffer).toreadonly())

    @property
    def shape(self) -> Shape:
        """() for a scalar."""
        return self.node.shape

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.node.shape)

    @property
    def size(self) -> int:
        """The number of entries."""
        return size_of(self.node.shape)

    @property
    def requires_grad(self) -> bool:
        """Whether a backward can reach it."""
        return self.node.requires_grad

    @requires_grad.setter
    def requires_grad(self, on: bool) -> None:
        self.requires_grad_(on)

    @property
    def is_leaf(self) -> bool:
        """Whether it was not computed, or only from values that do not require a gradient."""
        return self.node.op is None or not self.node.requires_grad

    @property
    def grad_fn(self) -> Node | None:
        """The node of the operation that made this value; None for a leaf."""
        return None if self.is_leaf else self.node

    @property
    def name(self) -> str | None:
        """Its name in messages and dumps, given by the language or the user."""
        return self.node.name

    @name.setter
    def name(self, name: str | None) -> None:
        self.node.name = name

    # Its gradient

    @property
    def grad(self) -> Tensor | None:
        """The accumulated gradient: a Tensor of the same shape, or None."""
        gradient = gradient_of(self.node)
        return gradient.value if gradient is not None else None

    @grad.setter
    def grad(self, value: object) -> None:
        if value is None:
            context = current()
            is_told = context.undo_log is not None or context.script is not None or context.begun is not None
            if self.node.collected is not None and not is_told:
                self.node.collected = CLEARED  # as clear_grad would do it
            else:
                self.clear_grad()
            return
        given = value if isinstance(value, Tensor) else tensor(value)
        if given.shape != self.shape:
            shapes = f"a gradient of shape {format_shape(given.shape)} to {format_shape(self.shape)}"
            raise AgradError("shape", f"cannot assign {shapes}: a gradient has the shape of its value")
        touch(self.node)
        self.node.grad = Gradient(given)

    def clear_grad(self) -> None:
        """Set the gradient to none."""
        node = self.node
        if node.collected is not None:
            touch(node)
            by = current().statement
            node.collected = CLEARED if by is None else Gradient(None, (), 0, by)

    def retain_grad(self) -> None:
        """Keep the gradient of this value, though it is not a leaf, in later backward passes."""
        if not self.requires_grad:
            raise AgradError("grad", f"{self.node.spell()} has no gradient to retain: it does not require grad")
        touch(self.node)
        self.node.keeps_grad = True

    def requires_grad_(self, on: bool = True) -> Tensor:
        """Make a leaf require a gradient, or not; returns itself."""
        if self.node.op is not None:
            if bool(on) == self.node.requires_grad:
                return self
            raise AgradError(
                "leaf",
                "only a leaf can be set to require grad or not; this value was computed",
                fixes=[Hint("use .detach() for the value without its graph")],
            )
        if bool(on) != self.node.requires_grad:
            before = self.node
            if before.uncertainty is not None:
                name = before.spell()
                message = f"{name} is uncertain: it requires a gradient, which its uncertainty follows from"
                raise AgradError("leaf", message, fixes=[f"{name}.detach()   is its value without uncertainty"])
            node = leaf(self._taken(), bool(on))  # what was computed so far keeps the old one
            node.stamp, node.name, node.grad = before.stamp, before.name, before.grad
            if before.is_parameter:
                node.is_parameter = True
            if before.unit is not None:
                node.recorded, node.unit, node.grad_unit = True, before.unit, before.grad_unit
            share_storage(before, node)
            self._become(node)
        return self

    def detach(self) -> Tensor:
        """A leaf with the same storage and version, cut off from the graph."""
        alias = leaf(self.value)
        alias.stamp, alias.name = self.node.stamp, self.node.name
        inherit(alias, (self.node,))
        share_storage(self.node, alias)
        units.keep(self.node, alias)
        return bare(alias)

    @property
    def version(self) -> int:
        """How often the data were written in place, through any alias."""
        return self.node.storage.version if self.node.storage else 0

    _version = version  # PyTorch's name

    # Plain numbers

    def item(self) -> float:
        """The one entry as a float."""
        units.plain_number(self)
        return _entry_of(self._taken())

    def _number(self) -> float:
        """The same, for code that makes its own guards."""
        return _entry_of(self.value)

    def tolist(self) -> Any:
        """The entries as (nested lists of) floats; of a mask, booleans."""
        units.plain_number(self)
        value = outward(self._taken())
        return value if isinstance(value, float) else value.tolist()

    def numpy(self) -> Array:
        """The entries as a read-only array, which for a mask is one of booleans."""
        return np.asarray(self.data)

    def __float__(self) -> float:
        return self.item()

    def __int__(self) -> int:
        units.plain_number(self)
        choose(self.node, self._number(), integer)
        return int(self._number())

    def __index__(self) -> int:
        if self.requires_grad:
            raise _no_index(self.node)
        choose(self.node, self._number(), number)
        return whole(self._number(), "an index")

    def __bool__(self) -> bool:
        value = self.value
        if not isinstance(value, float) and value.size != 1:
            raise AgradError(
                "type",
                f"an array of shape {format_shape(self.shape)} is neither true nor false",
                fixes=[Hint("use any(…) or all(…)")],
            )
        caller = sys._getframe(1)
        choose(self.node, value, truth, (caller.f_code, caller.f_lasti))
        return bool(self._number())

    def __len__(self) -> int:
        if not self.shape:
            raise NoLength("type", "a scalar has no length")
        return self.shape[0]

    def __iter__(self) -> Iterator[Tensor]:
        return (self[position] for position in range(len(self)))

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        number, _, unit = units.shown(self)
        text = f"{format_value(number)} {unit}".rstrip()
        if self.grad_fn is not None:
            return f"tensor({text}, grad_fn={self.grad_fn!r})"
        return f"tensor({text}, requires_grad=True)" if self.requires_grad else f"tensor({text})"

    # Writing in place

    def set_(self, value: object) -> Tensor:
        """Set new data of the same shape for a leaf. Everything computed from the old data is then stale."""
        self._set(value, "set")
        return self

    def _set(self, value: object, way: str) -> None:
        if self.node.op is not None:
            raise AgradError("leaf", f"{self.node.spell()} was computed: only a leaf can be set")
        units.fitting(self.node, value)
        self._overwrite(value.value if isinstance(value, Tensor) else coerce(value), way)

    def copy_(self, value: object) -> Tensor:
        """Write another value over this one, spread to its shape, with the graph it has; returns itself."""
        has_graph = self.node.op is not None and self.node.requires_grad
        if isinstance(value, Tensor) and value.node.recorded and current().recording and not has_graph:
            if self.node.requires_grad:
                raise core.graph_errors.leaf_error(self.node)
            if not fits(value.shape, self.shape):
                shapes = f"{format_shape(self.shape)}, not {format_shape(value.shape)}"
                raise AgradError("shape", f"copy_: {self.node.spell()} has shape {shapes}")
            return self.adopt(value.expand(self.shape) if value.shape != self.shape else value.clone())
        self._check_writable("copy_")
        if not (type(value) is float and value == 0.0):
            units.fitting(self.node, value)
        source = value.node if isinstance(value, Tensor) else None
        self._overwrite(value.value if isinstance(value, Tensor) else coerce(value), "copy_", True, source)
        return self

    def zero_(self) -> Tensor:
        """Write zeros; returns itself."""
        self._check_writable("zero_")
        return self.copy_(0.0)

    def _check_writable(self, what: str) -> None:
        """PyTorch's rule: a leaf that requires grad is written only where nothing is recorded."""
        node = self.node
        if node.requires_grad and current().recording:
            if node.op is None:
                raise core.graph_errors.leaf_error(self.node)
            name = node.name or "x"
            call = f"{name}.detach().{what}({'' if what == 'zero_' else '…'})"
            raise AgradError(
                "leaf",
                f"{what} would overwrite {node.spell()}, which was computed and has a graph",
                fixes=[f"{call}   to write the data alone", Hint(f"{name}2 = …   to make a new value")],
            )

    def _overwrite(self, value: Value, what: str, spread: bool = False, source: Node | None = None) -> None:
        shape = shape_of(value)
        if shape != self.shape and not (spread and fits(shape, self.shape)):
            name = self.node.spell()
            word = "set" if what == "data" else what
            raise AgradError("shape", f"{word}: {name} has shape {format_shape(self.shape)}, not {format_shape(shape)}")
        self.write(lambda array: np.copyto(array, value), value if not self.shape else None, what, source)

    def write(
        self, change: Callable[[Array], None], scalar: Value | None, what: str, source: Node | None = None
    ) -> None:
        """Change the data, for every alias, and count it as a new version of each; one without a name is not counted.

        An array is changed in place, a scalar replaced. `source` is what was written, if it has a node.
        """
        context = current()
        together, log = sharers(self.node), context.undo_log
        if log is not None:
            for node in together:
                touch(node)
        if self.shape:
            array: Any = self.value
            if not array.flags.writeable:  # the data of somebody else: from now on these have their own
                array = array.copy()
                for node in together:
                    _renew(node, array)
            if log is not None:
                remember_data(array, min(node.seq for node in together))
            change(array)
            check_truths(array)
        else:
            for node in together:
                node.value = scalar
        for node in together if context.guard is not None else ():
            if node.op is None and node.requires_grad:
                forget(node)
        if not what:
            return
        roots = () if self.node.recorded or source is None else roots_of(source)
        word = "set" if what == "data" else what
        mark_written(together, context.statement or f"an earlier {word}", roots, what)

    def write_entries(self, index: Any, value: Value, source: Node | None) -> None:
        """`x[index] = value` on the data, without recording."""

        def change(array: Array) -> None:
            try:
                array[index] = value
            except ValueError:
                have, given = format_shape(np.shape(array[index])), format_shape(shape_of(value))
                if have == "()" and np.size(value) == 1:
                    array[index] = np.reshape(value, ())
                    return
                raise AgradError("shape", f"entries of shape {have} cannot be set to values of shape {given}") from None

        self.write(change, None, "x[…] =", source)

    def adopt(self, other: Tensor, what: str = "copy_") -> Tensor:
        """Become `other`: a write outside `no_grad` gives a value, and its aliases, a new history."""
        before, node = self.node, other.node
        for alias in supersede(before, node, current().statement or f"an earlier {what}"):
            _renew(alias, other.value)
            if not alias.recorded:
                inherit(alias, (node,))
        self._become(node, other.array)
        if before.keeps_grad and before.op is not None:
            node.keeps_grad, node.grad, before.keeps_grad = True, before.grad, False
        if node.name is None:
            node.name = before.name
        return self

    def _become(self, node: Node, array: Value | None = None) -> None:
        """Hold another node; a statement that fails takes it back."""
        log, before = current().undo_log, (self.node, self.array)
        if log is not None and self.node.seq <= log.since:

            def undo() -> None:
                self.node, self.array = before

            log.remember((id(self), self), undo, before)
        self.node, self.array = node, array
        node.handle = weakref.ref(self)


def _entry_of(value: Value) -> float:
    if not isinstance(value, float) and value.size != 1:
        raise AgradError("shape", f"a value of shape {format_shape(value.shape)} is not one number")
    return float(spread(value, ()))


def _no_index(node: Node) -> NoIndex:
    """The error for an index that requires grad; for an argument of a function being traced, with its name."""
    name = node.spell()
    fixes: list[str] = [Hint("int(x)")]
    tracing = current().tracing
    named = dict(zip([x.node for x in tracing.inputs], tracing.names, strict=False)) if tracing is not None else {}
    if node in named:
        name = named.pop(node)
        others = [other for x, other in named.items() if x.requires_grad]
        fixes = [f"int({name})", *[Hint(f'wrt="{other}"') for other in others]]
    return NoIndex("type", f"{name} requires grad: as an index it has no derivative", fixes=fixes)


def remember_data(array: Array, seq: int) -> None:
    """Log the entries of an array that is about to be changed, and belongs to a node of this number."""
    log = current().undo_log
    if log is not None and seq <= log.since and id(array) not in log.undos:
        before = array.copy()
        log.remember(id(array), lambda: np.copyto(array, before), before)


def _renew(node: Node, value: Value) -> None:
    """Give a node, and its handle, the new data that were written through an alias; an undo log restores the old."""
    made = node.known_handle()
    if made is not None and made.array is not None:
        made._become(node, value)
    node.value = value


# Its next is a Tensor with empty slots, made without a call in Python, which is 5 % of an operation on numbers.
BLANK: Iterator[Tensor] = starmap(object.__new__, repeat((Tensor,)))


def bare(node: Node, array: Value | None = None) -> Tensor:
    """A handle that its node does not know: on a scalar, or a temporary one."""
    made = next(BLANK)
    made.node, made.array = node, array
    return made


def handle(node: Node, array: Value | None = None) -> Tensor:
    """A handle that its node knows, so that a replay can renew its array."""
    made = bare(node, array)
    node.handle = weakref.ref(made)
    return made


def gradient_of(node: Node) -> Gradient | None:
    """The accumulated gradient of a node: see `Node.grad`."""
    found = node.collected
    if found is None or isinstance(found, Gradient):
        if found is not None and found.value is not None:
            units.put(found.value, node.grad_unit)
        return found
    number, storage, stamp = found
    value = new_node(None, (), None, number, (), False)
    value.origin = value.guard = None  # plain data, without guards
    value.seq, value.stamp = node.seq, stamp  # at least as old as the backward pass, so that a write to it is logged
    value.storage = storage
    node.collected = Gradient(bare(value), (number,))
    return gradient_of(node)


def _variable(node: Node) -> Tensor | None:
    made: Tensor | None = node.known_handle()
    return None if node.op else made if made is not None else handle(node)


Node.grad = property(gradient_of, lambda node, gradient: setattr(node, "collected", gradient))  # type: ignore[method-assign, assignment]
Node.variable = property(_variable)  # type: ignore[method-assign, assignment]


def inherit(node: Node, operands: Iterable[object]) -> None:
    """Let a value that is not recorded remember what it was computed from: the leaves, and the guards."""
    roots: Roots = ()
    cut = None
    for operand in operands:
        if type(operand) is not Node:
            continue
        if operand.extra is None and operand.op is None and not operand.requires_grad:
            pass  # a constant, of which nothing else is known
        elif operand.requires_grad or operand.recorded or operand.storage is not None:
            found = roots_of(operand)
            roots = found if not roots or roots is found else together(roots, found)
            if found and cut is None:
                before = None if operand.recorded else operand
                cut = node.origin if before is None else (before.storage and before.storage.cut) or before.origin
        if operand.guard is not node.guard:
            node.guard = joined(node.guard, operand.guard)
    if roots:
        old = node.storage  # not None where it shares its data already, or was written
        node.storage = Storage((), 0, None, 0, 0, roots, cut) if old is None else old._replace(roots=roots, cut=cut)


def tensor(value: object, requires_grad: bool = False) -> Tensor:
    """A new leaf from a number, nested lists or an array (copied). Raises AgradError of kind `type` or `shape`.

    An array of booleans is a mask, which as an index selects, unless it requires grad.
    """
    if type(value) is float:
        node = new_node(None, (), None, value, (), bool(requires_grad))
        return handle(node) if requires_grad else bare(node)
    source = value.node if isinstance(value, Tensor) else None
    if isinstance(value, Tensor):
        note_read(value.node)
        value = value._taken() if requires_grad else value.value
    elif type(value) in (list, tuple) or getattr(getattr(value, "dtype", None), "hasobject", False):
        for one in tensors_in(value):
            one._taken()  # if it requires grad, the error of `coerce` says more
    number = coerce(value, truths=not requires_grad)
    if type(number) is not float:
        # The rounding of a sum depends on the memory layout: use that of data that are set later.
        number = np.asanyarray(number, order="C")
    node = leaf(number, bool(requires_grad))
    if requires_grad:
        return handle(node)
    if source is not None:
        inherit(node, (source,))
    return bare(node)


def tensors_in(value: Any) -> Iterator[Tensor]:
    """The Tensors among the entries of (nested) lists or of an array of objects."""
    for entry in value.flat if hasattr(value, "flat") else value:
        if isinstance(entry, Tensor):
            yield entry
        elif type(entry) is list or type(entry) is tuple:
            yield from tensors_in(entry)


_UNRECORDED = {"recording": False}


class _NoGrad(scope, ContextDecorator):
    """What `no_grad()` gives. It may stay open while other tasks of the same thread run."""

    __slots__ = ()

    def __init__(self) -> None:
        self.changes = _UNRECORDED  # for every step of a training: `super().__init__` would take time

    def _recreate_cm(self) -> _NoGrad:
        return self  # nothing of it changes


def no_grad() -> _NoGrad:
    """Nothing is recorded inside; leaves may be written in place."""
    return _NoGrad()


def is_truth(part: Any) -> bool:
    """Whether this is True or False, or the result of a comparison, or an entry of a mask.

    NumPy and PyTorch make a new axis for it, as an index.
    """
    if isinstance(part, Tensor):
        op, operands = part.node.op, part.node.inputs
        if op is not None and op.scatter is not None:  # an entry
            op = getattr(operands[0], "op", None)
        return not part.shape and (getattr(part, "is_truth", False) or (op is not None and op.role == "truths"))
    kind = getattr(getattr(part, "dtype", None), "kind", "")
    return isinstance(part, bool) or (kind == "b" and not part.shape)
