"""A program as Python code: on floats, and on arrays whose buffers are reused. Bit for bit the eager results.

    def compiled(x, y):
        t3 = sin(y)
        return x*t3 + 1.0,

Arithmetic is written as operators; functions of the `math` module, and other functions on floats, are called by name.
If Python's arithmetic raises where IEEE 754 has a result, a second, careful source is run from the start, in which each
operation that may raise uses numpy instead. An operation on arrays that is one of numpy's ufuncs writes into its own
buffer; the rest are computed as without compilation.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from keyword import iskeyword
from typing import Any, TypeAlias

from agrad.engine.compile.registry import Backend
from agrad.engine.core.dispatch import compute
from agrad.engine.core.guards import truth
from agrad.engine.core.numpy_warnings import quiet
from agrad.engine.core.op import OPS, Op
from agrad.engine.program.ir import Diverged, Program, Step, called, checks_of
from agrad.engine.values import IEEE, Shape, Value, np, size_of

NAME = "compiled"
_DEEP = 8  # how deep formulas are nested
_LONG = 200  # characters
Layout: TypeAlias = "tuple[int, ...]"
_LITERALS = (float, int, bool, type(None), str)
_CALL = re.compile(r"\w+\([^()]*\)")


class Compiled:
    """A program that can be called: `call(*values)` gives its outputs, for floats and contiguous arrays of its shapes.

    Raises Diverged if a check does not hold, and the errors of operations.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.is_settled = program.is_scalar
        self.quick = _Writer(program).function() if self.is_settled else self._first
        self.call = self._over_floats if self.is_settled else self._first
        self._careful: Callable[..., tuple[Value, ...]] | None = None

    def _over_floats(self, *values: Value) -> tuple[Value, ...]:
        try:
            return self.quick(*values)
        except IEEE:
            return self.careful(*values)

    def _first(self, *values: Value) -> tuple[Value, ...]:
        """On new arrays: the rounding of a sum depends on the memory layout, which must be that of the buffers."""
        slots = self.program.computed(values)
        layouts: dict[int, Layout] = {}  # the axes of each array, the one with the widest steps first
        for slot in _writable(self.program):
            x: Any = slots[slot]
            layouts[slot] = tuple(sorted(range(x.ndim), key=lambda axis: (-x.strides[axis], axis)))
        self.quick = _Writer(self.program, layouts).function()
        self.call, self.is_settled = self._over_arrays, True
        found = [slots[slot] for slot in self.program.outputs]
        return tuple([x if isinstance(x, float) else x.copy("K") for x in found])

    def _over_arrays(self, *values: Value) -> tuple[Value, ...]:
        with quiet():
            return self._over_floats(*values)

    def inside(self, *values: Value) -> tuple[Value, ...]:
        """The same as `call`, but faster, if numpy's warnings are already off."""
        if not self.is_settled:
            return self.call(*values)
        try:
            return self.quick(*values)
        except IEEE:
            return self.careful(*values)

    def careful(self, *values: Value) -> tuple[Value, ...]:
        """The same, with IEEE's result where Python's arithmetic raises."""
        if self._careful is None:
            self._careful = _Writer(self.program, is_careful=True).function()
        with quiet():
            return self._careful(*values)

    def source(self) -> str:
        """The source of `call`, once its arrays have buffers."""
        return _Writer(self.program, dict.fromkeys(_writable(self.program), ())).source


class PythonBackend(Backend):
    """Python code; it supports every program."""

    def compile(self, program: Program) -> Compiled:
        """A Python function; it is generated at once."""
        return Compiled(program)


BACKEND = PythonBackend()


class _Writer:
    """Source for a program, and the names in it."""

    def __init__(self, program: Program, layouts: dict[int, Layout] | None = None, is_careful: bool = False) -> None:
        self.program = program
        self.is_careful = is_careful
        self.names: dict[str, Any] = {"nan": math.nan, "inf": math.inf, "Diverged": Diverged}
        self.names |= {"abs": abs, "float": float}
        self.texts: list[str] = []  # how each slot is written
        self.depths: dict[int, int] = {}  # of formulas that are not in a variable
        self.notes: dict[str, str] = {}
        self.uses = _uses(program)
        self.checks = checks_of(program)
        self.buffers = _Buffers(program, layouts or {})
        self.body = list(self._body())

    @property
    def source(self) -> str:
        """The text of the function."""
        given = ", ".join(self.texts[: len(self.program.inputs)])
        asked = self.program.outputs
        outputs = [self._output(slot, slot in asked[:place]) for place, slot in enumerate(asked)]
        taken = self.buffers.names
        lines = [*self.notes.values(), f"def {NAME}({given}):"]
        lines += [f"    {taken} = take()"] if taken else []
        lines += [f"    {line}" for line in self.body]
        result = f"({', '.join(outputs)},)" if outputs else "()"
        if taken:
            result, lines = "found", [*lines, f"    found = {result}", f"    give(({taken}))"]
        lines.append(f"    return {result}")
        return "\n".join(lines) + "\n"

    def function(self) -> Callable[..., tuple[Value, ...]]:
        """The function."""
        names = dict(self.names)
        if self.buffers.names:
            names["take"], names["give"] = self.buffers.lent()
        exec(compile(self.source, f"<{NAME}>", "exec"), names)
        found: Callable[..., tuple[Value, ...]] = names[NAME]
        return found

    def _body(self) -> Iterator[str]:
        program = self.program
        for given in program.inputs:
            self.texts.append(self._input(given.name))
        for constant in program.constants:
            self.texts.append(self._constant(constant))
        for slot in range(program.first):
            yield from self._checked(slot)
        for slot, step in enumerate(program.steps, program.first):
            formula, is_single = self._formula(step)
            depth = max((self.depths.get(x, 0) for x in step.operands), default=0)
            is_inner = self.uses[slot] == 1 and slot not in self.checks and depth < _DEEP
            if formula is not None and is_inner and len(formula) <= _LONG:
                self.texts.append(formula if is_single else f"({formula})")
                self.depths[slot] = 1 + depth
            else:
                self.texts.append(f"t{slot}")
                yield f"t{slot} = {self._array(slot, step) if formula is None else formula}"
            yield from self._checked(slot)

    def _input(self, name: str) -> str:
        usable = name.isidentifier() and name.isascii() and not iskeyword(name) and name[-1] != "_"
        clashes = name in OPS or name in self.names or name in ("take", "give", "found", NAME)
        numbered = name[:1] in "tcbk" and name[1:].isdigit()
        is_free = not (clashes or numbered or name.startswith(("np_", "holds")))
        return name if usable and is_free else f"x{len(self.texts)}_"

    def _constant(self, value: Value) -> str:
        if isinstance(value, float):
            text = repr(value)
            return f"({text})" if text[0] == "-" else text
        name = f"c{len(self.texts)}"
        self.names[name] = value
        return name

    def _formula(self, step: Step) -> tuple[str | None, bool]:
        """The source of an operation on floats, and whether it is a call, and needs no brackets; None if it is none."""
        op = step.op
        if step.shape or op.scalar is None or any(self.program.shape(x) for x in step.operands):
            return None, False
        if op.python and not step.attrs and not (self.is_careful and op.python_raises):
            return op.python.format(*[self.texts[x] for x in step.operands]), bool(_CALL.fullmatch(op.python))
        if self.is_careful:
            return self._call(op.name, lambda *values, **attrs: compute(op, values, attrs), step), True
        is_known = getattr(op.scalar, "__module__", "") == "math"
        note = "" if is_known else "is a function on floats, called directly"
        return self._call(op.name, op.scalar, step, note), True

    def _call(self, name: str, function: Callable[..., Any], step: Step, note: str = "") -> str:
        """The source of a call of a function, of which there may be a note."""
        self.names[name] = function
        if note:
            self.notes[name] = f"# {name} {note}"
        given = [self.texts[x] for x in step.operands]
        for key, value in step.attrs.items():
            text = repr(value)
            if type(value) not in _LITERALS:
                text = f"k{len(self.names)}"
                self.names[text] = value
            given.append(f"{key}={text}")
        return f"{name}({', '.join(given)})"

    def _array(self, slot: int, step: Step) -> str:
        """The source of an operation with arrays."""
        found = _ufunc(self.program, step)
        if found is not None:
            ufunc, arguments = found
            name = f"np_{ufunc.__name__}"
            self.names[name] = ufunc
            given = [self._argument(step, x) for x in arguments]
            given += [f"out=b{self.buffers.of[slot]}"] if slot in self.buffers.of else []
            return f"{name}({', '.join(given)})"
        have = self.program.shape(step.operands[0]) if step.operands else ()
        text = step.op.python_arrays and step.op.python_arrays(have, step.shape, step.attrs)
        if text:
            self.names["np_sum"] = np.add.reduce
            return text.format(*[self.texts[x] for x in step.operands])
        return self._call(f"{step.op.name}_", partial(called, step.op), step, "is computed as without compilation")

    def _argument(self, step: Step, place: int | float) -> str:
        """What a ufunc is given: the operand at a place, or a number."""
        number = _number_in(self.program, step.operands[place]) if isinstance(place, int) else place
        if number is None:  # to broadcast one entry takes half the time if it has no axes
            shapes = [self.program.shape(x) for x in step.operands]
            text, shape = self.texts[step.operands[int(place)]], shapes[int(place)]
            alone = shape and size_of(shape) == 1 < size_of(step.shape)
            return f"{text}.reshape(())" if alone and step.shape in shapes else text
        # A ufunc takes two thirds longer if it has to make an array of a constant each time, and twice as long to
        # broadcast it to one entry.
        shape = step.shape if size_of(step.shape) == 1 else ()
        name = f"n{number!r}_{len(shape)}_".replace(".", "_").replace("-", "m").replace("+", "")
        self.names[name] = np.full(shape, number)
        self.notes[name] = f"# {name} is {number!r} as numpy takes it"
        return name

    def _checked(self, slot: int) -> Iterator[str]:
        for number in self.checks.get(slot, ()):
            check = self.program.checks[number]
            text = self.texts[slot]
            # A name may be any text: in a comment it must stay one line.
            said = "".join([sign if sign.isprintable() else " " for sign in check.text])
            if check.read is truth and not self.program.shape(slot):
                yield f"if {'not ' if check.outcome else ''}{text}:  # {said}"
            else:
                name = f"holds{number}"
                self.names[name] = check.holds
                yield f"if not {name}({text}):  # {said}"
            yield f"    raise Diverged({number})"

    def _output(self, slot: int, is_given: bool) -> str:
        """An output: each array is a separate one, even if two outputs are equal."""
        text = self.texts[slot]
        if not self.program.shape(slot):
            return text
        lent = is_given or slot < self.program.first or self.program.steps[slot - self.program.first].op.role == "view"
        return f"{text}.copy()" if lent else text


def _uses(program: Program) -> list[int]:
    """How often each slot is written in the source; an operand that a formula repeats counts as two."""
    uses = [0] * (program.first + len(program.steps))
    for step in program.steps:
        text = step.op.python
        for place, operand in enumerate(step.operands):
            uses[operand] += max(1, text.count(f"{{{place}}}")) + (2 if step.shape else 0)
    for slot in program.outputs:
        uses[slot] += 1
    return uses


def _number_in(program: Program, slot: int) -> float | None:
    """The number that is always in a slot."""
    place = slot - len(program.inputs)
    value = program.constants[place] if 0 <= place < len(program.constants) else None
    return value if isinstance(value, float) else None


# Buffers


def _ufunc(program: Program, step: Step) -> tuple[Any, tuple[int | float, ...]] | None:
    """The same as `ufunc_of` for a step; with some numbers an operation is another ufunc: a square is a product."""
    if step.attrs or not step.shape:
        return None
    found = ufunc_of(step.op, (None,) * len(step.operands))
    if found is None:
        numbers = tuple([_number_in(program, x) for x in step.operands])
        found = ufunc_of(step.op, numbers) if any(x is not None for x in numbers) else None
    return found


@lru_cache(maxsize=4096)  # of many programs, each has other numbers
def ufunc_of(op: Op, numbers: tuple[float | None, ...]) -> tuple[Any, tuple[int | float, ...]] | None:
    """The ufunc of numpy (or SciPy) that an operation on arrays is, and its arguments: operands by place, and numbers.

    `numbers` has the operands that are known numbers. None if it is not a single ufunc, and for a power, of which
    numpy computes some in another way.
    """
    operands = len(numbers)
    seen: list[tuple[Any, tuple[Any, ...]]] = []

    class Probe(np.lib.mixins.NDArrayOperatorsMixin):
        def __init__(self, place: int) -> None:
            self.place = place

        def __array_ufunc__(self, ufunc: Any, method: str, *given: Any, **keywords: Any) -> Any:
            if method != "__call__" or keywords:
                return NotImplemented
            seen.append((ufunc, given))
            return Probe(operands)

    try:
        result = op.array(*[Probe(place) if x is None else x for place, x in enumerate(numbers)])
    except Exception:  # with any error, it is not a single ufunc
        return None
    if len(seen) != 1 or not isinstance(result, Probe) or result.place != operands or seen[0][0] is np.power:
        return None
    ufunc, given = seen[0]
    asked = {place for place, x in enumerate(numbers) if x is None}
    arguments = tuple([x.place if isinstance(x, Probe) else float(x) for x in given])
    return (ufunc, arguments) if {x for x in arguments if isinstance(x, int)} == asked else None


def _writable(program: Program) -> list[int]:
    """The slots that may be written into a buffer: arrays that are only intermediate results."""
    kept = {*program.outputs}
    return [
        slot
        for slot, step in enumerate(program.steps, program.first)
        if slot not in kept and _ufunc(program, step) is not None
    ]


class _Buffers:
    """Which results are written into which buffers: one is free again after the last step that reads it."""

    def __init__(self, program: Program, layouts: dict[int, Layout]) -> None:
        self.of: dict[int, int] = {}
        self.kinds: list[tuple[Shape, Layout]] = []
        end = program.first + len(program.steps)
        last = {operand: slot for slot, step in enumerate(program.steps, program.first) for operand in step.operands}
        last.update(dict.fromkeys(program.outputs, end))
        for slot in range(end - 1, program.first - 1, -1):
            step = program.steps[slot - program.first]
            if step.op.role == "view":
                last[step.operands[0]] = max(slot, last[step.operands[0]], last.get(slot, slot))
        ends: dict[int, list[int]] = {}
        for x, slot in last.items():
            ends.setdefault(slot, []).append(x)
        free: dict[tuple[Shape, Layout], list[int]] = {}
        for slot, step in enumerate(program.steps, program.first) if layouts else ():
            for x in ends.get(slot, ()):  # a result may be written over an operand, entry by entry
                if x in self.of:
                    free.setdefault(self.kinds[self.of[x]], []).append(self.of[x])
            if slot in layouts:
                kind = step.shape, layouts[slot]
                available = free.get(kind)
                self.of[slot] = available.pop() if available else len(self.kinds)
                if self.of[slot] == len(self.kinds):
                    self.kinds.append(kind)

    @property
    def names(self) -> str:
        """`b0, b1,`: all of them."""
        return "".join(f"b{number}, " for number in range(len(self.kinds))).rstrip()

    def lent(self) -> tuple[Callable[[], Any], Callable[[Any], None]]:
        """The functions by which a call takes buffers, and returns them; two calls at a time have two sets."""
        pool: list[Any] = []
        kinds = self.kinds

        def take() -> Any:
            try:
                return pool.pop()
            except IndexError:
                made = [(np.empty([shape[axis] for axis in layout]), layout) for shape, layout in kinds]
                return tuple([one.transpose([layout.index(axis) for axis in range(one.ndim)]) for one, layout in made])

        return take, pool.append
