"""The text of a function of large arrays: loops in C and JavaScript, expressions of NumPy in Python.

Arrays of the loops are flat, row by row. What can be written: operations entry by entry, sums and means, products of
matrices, and operations that only move entries, or add them into zeros, along the axes (slices, transposes, shapes).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from agrad.engine.compile.export.derive import MOST, Derived
from agrad.engine.compile.export.source import COUNTERS, Lacking, Language, Written, prefix_of, written
from agrad.engine.compile.llvm.stages import dense, kept_strides, moved, strides_of
from agrad.engine.compile.symbols import Symbol, UnwrittenError, lower
from agrad.engine.core.op import OPS
from agrad.engine.errors import AgradError
from agrad.engine.program.ir import Step
from agrad.engine.values import Shape, np, size_of

_DATA = 200_000  # numbers that are constants of a function


class _Move(NamedTuple):
    """How the entries of a result are those of its operand: over a shape, and whether they are added to others."""

    strides: Sequence[int]
    begin: int
    around: Shape
    adds: bool


class Loops:
    """Writes a program of arrays as statements with loops. Raises AgradError where there are none for an operation."""

    def __init__(self, what: Derived, language: Language, names: Sequence[str], prefix: str) -> None:
        self.language, self.prefix, self.written = language, prefix, Written()
        program = what.program
        self.shapes = [program.shape(slot) for slot in range(program.first + len(program.steps))]
        self.names = list(names)
        first = len(program.inputs)
        self.numbers = {first + place: x for place, x in enumerate(program.constants) if isinstance(x, float)}
        for constant in program.constants:
            self.names.append(self._constant(constant))
        for step in program.steps:
            name = f"{prefix}{len(self.names)}"
            self._step(step, name)
            self.names.append(name)
        self.written.outputs = [self.names[slot] for slot in program.outputs]

    def _step(self, step: Step, name: str) -> None:
        """Write one operation, whose result gets a name."""
        op, shapes = step.op, [self.shapes[x] for x in step.operands]
        if op.reach == "pointwise" and op.scalar is not None and "axis" not in step.attrs:
            self._pointwise(step, name)
        elif op.sums is not None:
            self._sum(step, name, *op.sums(shapes[0], step.attrs))
        elif op.operator is not None and op.operator.sign == "@" and max(map(len, step.attrs["shapes"])) <= self._most:
            self._product(step, name)
        elif (found := _moved(step, shapes)) is not None:
            self._move(step, name, found)
        else:
            raise self._lacking(op.name)

    def _formula(self, step: Step, name: str, entry: Callable[[int], str]) -> tuple[list[str], str]:
        """The statements, and the formula, of an operation entry by entry; a constant is one to the language, too."""
        inner = type(self.language)()
        given = [
            inner.constant(self.numbers[x]) if x in self.numbers else Symbol(inner, inner.given(entry(x)))
            for x in step.operands
        ]
        try:
            found = lower(step.op, given, step.attrs)
        except (Lacking, UnwrittenError):
            raise AgradError("type", f"{step.op.name}{self._kind} cannot be written in {inner.name}") from None
        body, formulas = written(inner, [found.text], f"{name}_")
        self.language.used.update(inner.used)
        return body, formulas[0]

    def _require_data(self, count: int) -> None:
        if count > _DATA:
            raise AgradError("limit", f"the function cannot be exported: it has more than {_DATA} numbers of data")

    _kind = ""  # of an operation that is not written, in words
    _most: float = 2  # axes of what is multiplied

    def _constant(self, value: Any) -> str:
        numbers = [self.language.number(x) for x in np.ravel(value).tolist()]
        if np.shape(value) == ():
            return numbers[0] if numbers[0][0] != "-" else f"({numbers[0]})"
        self._require_data(sum(len(known) for _, known in self.written.constants) + len(numbers))
        name = f"{self.prefix}_data{len(self.written.constants)}"
        self.written.constants.append((name, numbers))
        return name

    _lacks = "loop"
    _note = f"a function of fewer entries, of at most {MOST} instructions, is exported without loops"

    def _lacking(self, operation: str) -> AgradError:
        message = f"the function cannot be exported: {operation} of an array of so many entries has no {self._lacks}"
        return AgradError("limit", message, notes=[self._note] if self._note else [])

    def _lines(self, *lines: str) -> None:
        self.written.body += lines

    def _result(self, name: str, shape: Shape, is_sum: bool = True) -> None:
        """Have an array for a result, of zeros if there is a sum in it."""
        self.written.buffers[name] = size_of(shape)
        if is_sum:
            self._lines(*self._nest((size_of(shape),), [f"{name}[i] = {self.language.number(0.0)};"]))

    def _pointwise(self, step: Step, name: str) -> None:
        """Entry by entry; an operand with fewer axes, or of length 1 along one, is read again and again."""
        flat = all(self.shapes[x] in ((), step.shape) for x in step.operands)
        around = (size_of(step.shape),) if flat and step.shape else step.shape

        def entry(x: int) -> str:
            shape = self.shapes[x]
            if not shape:
                return self.names[x]
            own = [0 if length == 1 else stride for length, stride in zip(shape, strides_of(shape), strict=True)]
            return _entry(self.names[x], (1,) if flat else [0] * (len(step.shape) - len(shape)) + own)

        body, formula = self._formula(step, name, entry)
        if not step.shape:
            self._lines(*body, self.language.assign(name, formula, False))
            return
        self._result(name, step.shape, False)
        target = _entry(name, (1,) if flat else strides_of(step.shape))
        self._lines(*self._nest(around, [*body, f"{target} = {formula};"]))

    def _nest(self, lengths: Sequence[int], inside: Sequence[str]) -> Iterator[str]:
        """Loops inside each other, of the lengths."""
        for depth, length in enumerate(lengths):
            yield "    " * depth + self.language.loop(COUNTERS[depth], length)
        yield from ("    " * len(lengths) + line for line in inside)
        for depth in reversed(range(len(lengths))):
            yield "    " * depth + "}"

    def _total(self, name: str, lengths: Sequence[int], term: str, over: str = "") -> None:
        """A sum that is a number."""
        total = f"{name}_sum"
        self._lines(self.language.zero.format(total), *self._nest(lengths, [f"{total} += {term};"]))
        self._lines(self.language.assign(name, f"{total}{over}", False))

    def _sum(self, step: Step, name: str, axes: Sequence[int], divisor: float) -> None:
        (x,) = step.operands
        shape = self.shapes[x]
        over = f" / {self.language.number(divisor)}" if divisor != 1.0 else ""
        source = _entry(self.names[x], strides_of(shape))
        if not step.shape:
            self._total(name, shape, source, over)
            return
        self._result(name, step.shape)
        self._lines(*self._nest(shape, [f"{_entry(name, kept_strides(shape, axes))} += {source};"]))
        if over:
            self._lines(*self._nest((size_of(step.shape),), [f"{name}[i] = {name}[i]{over};"]))

    def _product(self, step: Step, name: str) -> None:
        first, second = step.attrs["shapes"]
        rows, inner, columns = first[0] if len(first) == 2 else 1, first[-1], second[1] if len(second) == 2 else 1
        left, right = (self.names[x] for x in step.operands)
        if not step.shape:
            self._total(name, (inner,), f"{left}[i]*{right}[i]")
            return
        self._result(name, step.shape)
        # The innermost loop runs along the rows of the second matrix and of the result.
        term = f"{_entry(left, (inner, 1, 0))}*{_entry(right, (0, columns, 1))}"
        self._lines(*self._nest((rows, inner, columns), [f"{_entry(name, (columns, 0, 1))} += {term};"]))

    def _move(self, step: Step, name: str, move: _Move) -> None:
        source, around = self.names[step.operands[0]], move.around
        there, here = _entry(source, move.strides, move.begin), _entry(name, strides_of(around))
        if not step.shape:
            self._lines(self.language.assign(name, there, False))
            return
        self._result(name, step.shape, move.adds)
        if move.adds:
            there = _entry(source, strides_of(around)) if around else source
            here = _entry(name, move.strides, move.begin)
        self._lines(*self._nest(around, [f"{here} {'+=' if move.adds else '='} {there};"]))


class Expressions(Loops):
    """The same as statements with operations on whole arrays."""

    _kind, _most = " of arrays", math.inf
    _lacks, _note = "code in Python", ""

    def _constant(self, value: Any) -> str:
        if isinstance(value, float):
            return self.language.number(value)
        self._require_data(np.size(value))
        name = f"{self.prefix}_data{len(self.written.constants)}"
        text = repr(np.asarray(value).tolist()).replace("nan", "np.nan").replace("inf", "np.inf")
        self.written.constants.append((name, [text]))
        return name

    def _pointwise(self, step: Step, name: str) -> None:
        body, formula = self._formula(step, name, lambda x: self.names[x])
        shape = np.broadcast_shapes(*[self.shapes[x] for x in step.operands])
        whole = formula if shape == step.shape else f"np.broadcast_to({formula}, {step.shape})"
        self.written.body += [*body, f"{name} = {whole}"]

    def _sum(self, step: Step, name: str, axes: Sequence[int], divisor: float) -> None:
        over = f"/{self.language.number(divisor)}" if divisor != 1.0 else ""
        shaped = f".reshape({step.shape})" if step.shape else ""
        source = self.names[step.operands[0]]
        self.written.body.append(f"{name} = np.sum({source}, axis={tuple(axes)}){shaped}{over}")

    def _product(self, step: Step, name: str) -> None:
        left, right = (self.names[x] for x in step.operands)
        self.written.body.append(f"{name} = {left} @ {right}")

    def _move(self, step: Step, name: str, move: _Move) -> None:
        operand = self.names[step.operands[0]]
        flat = f"np.ascontiguousarray({name if move.adds else operand}).reshape(-1)[{move.begin}:]"
        view = f"as_strided({flat}, {move.around}, {tuple(8 * stride for stride in move.strides)})"
        if move.adds:
            self.written.body += [f"{name} = np.zeros({step.shape})", f"{name}_part = {view}"]
            self.written.body.append(f"{name}_part += {operand}")
        else:
            self.written.body.append(f"{name} = {view}")


def _moved(step: Step, shapes: Sequence[Shape]) -> _Move | None:
    """How the entries of a result are moved; None where they are not, or not with strides."""
    if len(shapes) != 1:
        return None
    op, attrs, shape, around = step.op, step.attrs, shapes[0], step.shape
    adds = op.role == "adding"
    if adds:
        op, shape, around = OPS["getitem"], step.shape, shapes[0]
    view = moved(op, dense(0, shape), shape, around, attrs) if shape else None
    return None if view is None or view.table is not None else _Move(view.strides, view.offset, around, adds)


def _entry(name: str, strides: Sequence[int], begin: int = 0) -> str:
    """An entry at the counters of the loops."""
    parts = [
        counter if stride == 1 else f"{stride}*{counter}"
        for counter, stride in zip(COUNTERS, strides, strict=False)
        if stride
    ]
    parts += [str(begin)] if begin or not parts else []
    return f"{name}[{' + '.join(parts).replace('+ -', '- ')}]"


def of_arrays(
    kind: type[Loops], language: Language, what: Derived, name: str, names: Sequence[str], remark: Sequence[str]
) -> str:
    """The text of the function for a program of arrays.

    Raises AgradError of kind `limit` for an operation that has no loop, or that NumPy does not have, and of kind `type`
    for a function that the language does not have.
    """
    flat = [language.flat.format(one) if given.shape else one for one, given in zip(names, what.arguments, strict=True)]
    return language.arrays(name, names, what, kind(what, language, flat, prefix_of(names)).written, remark)
