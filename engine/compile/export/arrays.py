"""The text of a function of large arrays: loops in C and JavaScript, expressions of NumPy in Python.

Arrays of the loops are flat, row by row. What can be written: operations entry by entry, sums and means, products of
matrices, and operations that only move entries, or add them into zeros, along the axes (slices, transposes, shapes).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any, ClassVar

from agrad.engine.compile.export.derive import MOST, Derived
from agrad.engine.compile.export.source import (
    COUNTERS,
    Formula,
    Lacking,
    Language,
    Results,
    Written,
    prefix_of,
    written,
)
from agrad.engine.compile.symbols import Symbol, UnwrittenError, lower
from agrad.engine.core.op import OPS
from agrad.engine.errors import AgradError
from agrad.engine.program.ir import Step
from agrad.engine.values import Shape, np, size_of

_DATA = 200_000  # numbers that are constants of a function


class _Body:
    """Writes the statements of a program of arrays."""

    def __init__(self, what: Derived, language: Language, names: Sequence[str], prefix: str) -> None:
        self.language, self.prefix, self.written = language, prefix, Written()
        program = what.program
        self.shapes: list[Shape] = [given.shape for given in program.inputs]
        self.shapes += [np.shape(constant) for constant in program.constants]
        self.shapes += [step.shape for step in program.steps]
        self.names = list(names)
        first = len(program.inputs)
        self.numbers = {first + place: x for place, x in enumerate(program.constants) if isinstance(x, float)}
        for constant in program.constants:
            self.names.append(self._constant(constant))
        for step in program.steps:
            self.names.append(self._step(step))
        self.written.outputs = [self.names[slot] for slot in program.outputs]

    def _constant(self, value: Any) -> str:
        numbers = [self.language.number(x) for x in np.ravel(value).tolist()]
        if np.shape(value) == ():
            return numbers[0] if numbers[0][0] != "-" else f"({numbers[0]})"
        if sum(len(known) for _, known in self.written.constants) + len(numbers) > _DATA:
            raise AgradError("limit", f"the function cannot be exported: it has more than {_DATA} numbers of data")
        name = f"{self.prefix}_data{len(self.written.constants)}"
        self.written.constants.append((name, numbers))
        return name

    def _step(self, step: Step) -> str:
        """Write one operation; the name of its result. Raises AgradError of kind `type` where it is no loop."""
        name = f"{self.prefix}{len(self.names)}"
        op = step.op
        if op.reach == "pointwise" and op.scalar is not None and "axis" not in step.attrs:
            self._pointwise(step, name)
        elif op.sums is not None:
            self._sum(step, name)
        elif (
            op.operator is not None
            and op.operator.sign == "@"
            and all(len(shape) in (1, 2) for shape in step.attrs["shapes"])
        ):
            self._product(step, name)
        elif (found := moved(step, [self.shapes[x] for x in step.operands])) is not None:
            self._move(step, name, *found)
        else:
            raise AgradError(
                "limit",
                f"the function cannot be exported: {op.name} of an array of so many entries has no loop",
                notes=[f"a function of fewer entries, of at most {MOST} instructions, is exported without loops"],
            )
        return name

    def _lines(self, *lines: str) -> None:
        self.written.body += lines

    def _result(self, name: str, shape: Shape) -> None:
        self.written.buffers[name] = size_of(shape)

    def _pointwise(self, step: Step, name: str) -> None:
        """Entry by entry; an operand with fewer axes, or of length 1 along one, is read again and again."""
        shapes = [self.shapes[x] for x in step.operands]
        flat = all(shape in ((), step.shape) for shape in shapes)
        around = (size_of(step.shape),) if flat and step.shape else step.shape
        inner = type(self.language)()
        given = [self._symbol(inner, x, (1,) if flat else None, step.shape) for x in step.operands]
        try:
            found = lower(step.op, given, step.attrs)
        except (Lacking, UnwrittenError):
            raise AgradError("type", f"{step.op.name} cannot be written in {inner.name}") from None
        body, formulas = written(inner, [found.text], f"{name}_")
        self.language.used.update(inner.used)
        if not step.shape:
            self._lines(*body, self.language.assign(name, formulas[0], False))
            return
        self._result(name, step.shape)
        target = _entry(name, (1,) if flat else _strides(step.shape))
        self._lines(*self._nest(around, [*body, f"{target} = {formulas[0]};"]))

    def _symbol(self, inner: Language, x: int, strides: Sequence[int] | None, around: Shape) -> Symbol:
        """An entry of an operand at the counters; a number that is a constant is one to the language, too."""
        if x in self.numbers:
            return inner.constant(self.numbers[x])
        if not self.shapes[x]:
            return Symbol(inner, inner.given(self.names[x]))
        return Symbol(inner, inner.given(_entry(self.names[x], strides or _strides_in(self.shapes[x], around))))

    def _nest(self, lengths: Sequence[int], inside: Sequence[str]) -> Iterator[str]:
        """Loops inside each other, of the lengths."""
        for depth, length in enumerate(lengths):
            yield "    " * depth + self.language.loop(COUNTERS[depth], length)
        yield from ("    " * len(lengths) + line for line in inside)
        for depth in reversed(range(len(lengths))):
            yield "    " * depth + "}"

    def _sum(self, step: Step, name: str) -> None:
        """A sum over some axes, or a mean."""
        (x,) = step.operands
        shape = self.shapes[x]
        assert step.op.sums is not None
        axes, divisor = step.op.sums(shape, step.attrs)
        kept = [0 if axis in axes else length for axis, length in enumerate(shape)]
        left = iter(_strides(tuple(length for length in kept if length)))
        strides = [next(left) if length else 0 for length in kept]
        over = f" / {self.language.number(divisor)}" if divisor != 1.0 else ""
        source = _entry(self.names[x], _strides(shape))
        if not step.shape:
            total = f"{name}_sum"
            self._lines(self.language.variable(total), *self._nest(shape, [f"{total} += {source};"]))
            self._lines(self.language.assign(name, f"{total}{over}", False))
            return
        self._result(name, step.shape)
        self._zero(name, step.shape)
        self._lines(*self._nest(shape, [f"{_entry(name, strides)} += {source};"]))
        if over:
            self._lines(*self._nest((size_of(step.shape),), [f"{name}[i] = {name}[i]{over};"]))

    def _zero(self, name: str, shape: Shape) -> None:
        self._lines(*self._nest((size_of(shape),), [f"{name}[i] = {self.language.number(0.0)};"]))

    def _product(self, step: Step, name: str) -> None:
        """A product of matrices, or of a matrix and a vector."""
        first, second = step.attrs["shapes"]
        rows, inner, columns = first[0] if len(first) == 2 else 1, first[-1], second[1] if len(second) == 2 else 1
        left, right = (self.names[x] for x in step.operands)
        term = f"{_entry(left, (inner, 0, 1))}*{_entry(right, (0, 1, columns))}"
        if not step.shape:
            total = f"{name}_sum"
            self._lines(self.language.variable(total))
            self._lines(*self._nest((inner,), [f"{total} += {left}[i]*{right}[i];"]))
            self._lines(self.language.assign(name, total, False))
            return
        self._result(name, step.shape)
        self._zero(name, step.shape)
        # The innermost loop runs along the rows of the second matrix and of the result.
        term = f"{_entry(left, (inner, 1, 0))}*{_entry(right, (0, columns, 1))}"
        self._lines(*self._nest((rows, inner, columns), [f"{_entry(name, (columns, 0, 1))} += {term};"]))

    def _move(self, step: Step, name: str, strides: Sequence[int], begin: int, around: Shape, adds: bool) -> None:
        """Entries moved along the axes, or added into zeros."""
        source = self.names[step.operands[0]]
        there, here = _entry(source, strides, begin), _entry(name, _strides(around))
        if not step.shape:
            self._lines(self.language.assign(name, there, False))
            return
        self._result(name, step.shape)
        if adds:
            self._zero(name, step.shape)
            there = _entry(source, _strides(around)) if around else source
            here = _entry(name, strides, begin)
        self._lines(*self._nest(around, [f"{here} {'+=' if adds else '='} {there};"]))


def moved(step: Step, shapes: Sequence[Shape]) -> tuple[Sequence[int], int, Shape, bool] | None:
    """How the entries of a result are those of its operand: strides and a beginning, over a shape, and whether added.

    None where the entries are not moved so.
    """
    op, attrs, shape = step.op, step.attrs, shapes[0] if len(shapes) == 1 else ()
    adds = False
    if op.role == "adding":
        op, shape, adds = OPS["getitem"], step.shape, True
    if len(shapes) != 1 or not (op.moves_entries and shape):
        return None
    places = np.arange(float(size_of(shape))).reshape(shape)
    found = np.asarray(op.array(places, **attrs))
    around = shapes[0] if adds else step.shape
    if found.shape != around or not found.size:
        return None
    strides = [
        int(np.take(found, 1, axis).ravel()[0] - found.ravel()[0]) if n > 1 else 0 for axis, n in enumerate(around)
    ]
    begin = int(found.ravel()[0])
    expected = begin + sum(
        (np.arange(n).reshape([-1 if axis == other else 1 for other in range(len(around))]) * strides[axis])
        for axis, n in enumerate(around)
    )
    squares = np.asarray(op.array(places * places, **attrs))  # an operation that adds entries does not pass both
    if not (np.array_equal(found, np.broadcast_to(expected, around)) and np.array_equal(squares, found * found)):
        return None
    return strides, begin, around, adds


def _strides(shape: Shape) -> list[int]:
    """How far the entries of a flat array are apart along each axis."""
    return [*accumulate(reversed(shape[1:]), lambda x, y: x * y, initial=1)][::-1] if shape else []


def _strides_in(shape: Shape, around: Shape) -> list[int]:
    """The same for an array that is spread over a larger shape."""
    own = [0 if length == 1 else stride for length, stride in zip(shape, _strides(shape), strict=True)]
    return [0] * (len(around) - len(shape)) + own


def _entry(name: str, strides: Sequence[int], begin: int = 0) -> str:
    """An entry at the counters of the loops."""
    parts = [
        counter if stride == 1 else f"{stride}*{counter}"
        for counter, stride in zip(COUNTERS, strides, strict=False)
        if stride
    ]
    parts += [str(begin)] if begin or not parts else []
    return f"{name}[{' + '.join(parts).replace('+ -', '- ')}]"


def in_loops(what: Derived, language: Language, name: str, names: Sequence[str], remark: Sequence[str]) -> str:
    """The text of the function for a program of arrays.

    Raises AgradError of kind `limit` for an operation that has no loop, and of kind `type` for a function that the
    language does not have.
    """
    flat = [language.flat(one) if given.shape else one for one, given in zip(names, what.arguments, strict=True)]
    parts = _Body(what, language, flat, prefix_of(names)).written
    return language.arrays(name, names, what, parts, remark)


_SAME = (
    "sin cos tan sinh cosh tanh exp exp2 expm1 log log2 log10 log1p cbrt hypot fmod sqrt floor ceil trunc rint copysign"
)


class NumPy(Language):
    """Operations on whole arrays."""

    name = "Python"
    words = frozenset()
    functions: ClassVar[dict[str, str]] = {
        **{name: f"np.{name}" for name in _SAME.split()},
        **{f"a{name}": f"np.arc{name}" for name in "sin cos tan tan2 sinh cosh tanh".split()},
        "pow": "np.power",
        "fabs": "np.abs",
    }

    def logic(self, name: str, a: str, b: str) -> str:
        """Two outcomes together."""
        return self._outcome(
            lambda left, right: Formula(f"np.logical_{name}({left.text}, {right.text})"), a, b, key=name
        )

    def opposite(self, text: str) -> Formula:
        """The opposite of an outcome."""
        return Formula(f"np.logical_not({text})")

    def choice(self, which: Formula, here: Formula, there: Formula) -> Formula:
        """One of two numbers, entry by entry."""
        return Formula(f"np.where({which.text}, {here.text}, {there.text})")

    def number(self, value: float) -> str:
        """A literal."""
        if math.isfinite(value):
            return repr(value)
        return "np.nan" if value != value else f"{'-' * (value < 0)}np.inf"

    def entry(self, name: str, index: tuple[int, ...], shape: tuple[int, ...]) -> str:
        """An entry of an array."""
        return f"{name}[{', '.join(map(str, index))}]"

    def assign(self, name: str, formula: str, is_outcome: bool) -> str:
        """A variable."""
        return f"{name} = {formula}"

    def function(
        self, name: str, names: Sequence[str], body: Sequence[str], results: Results, remark: Sequence[str]
    ) -> str:
        """Functions of numbers are written without NumPy."""
        raise NotImplementedError


class _NumPyBody:
    """Writes the statements of a program of arrays."""

    def __init__(self, what: Derived, names: Sequence[str], prefix: str) -> None:
        self.prefix, self.lines = prefix, list[str]()
        self.constants: list[str] = []
        program = what.program
        self.shapes: list[Shape] = [given.shape for given in program.inputs]
        self.shapes += [np.shape(constant) for constant in program.constants]
        self.shapes += [step.shape for step in program.steps]
        first = len(program.inputs)
        self.numbers = {first + place: x for place, x in enumerate(program.constants) if isinstance(x, float)}
        self.names = list(names)
        for constant in program.constants:
            self.names.append(self._constant(constant))
        for step in program.steps:
            self.names.append(self._step(step))
        self.outputs = [self.names[slot] for slot in program.outputs]

    def _constant(self, value: Any) -> str:
        if isinstance(value, float):
            return NumPy().number(value)
        if np.size(value) > _DATA:
            raise AgradError("limit", f"the function cannot be exported: it has more than {_DATA} numbers of data")
        name = f"{self.prefix}_data{len(self.constants)}"
        text = repr(np.asarray(value).tolist()).replace("nan", "np.nan").replace("inf", "np.inf")
        self.constants.append(f"{name} = np.array({text})")
        return name

    def _step(self, step: Step) -> str:
        """Write one operation; the name of its result. Raises AgradError where NumPy has none."""
        name, op = f"{self.prefix}{len(self.names)}", step.op
        operands = [self.names[x] for x in step.operands]
        if op.reach == "pointwise" and op.scalar is not None and "axis" not in step.attrs:
            self._pointwise(step, name)
            return name
        if op.sums is not None:
            axes, divisor = op.sums(self.shapes[step.operands[0]], step.attrs)
            over = f"/{NumPy().number(divisor)}" if divisor != 1.0 else ""
            shaped = f".reshape({step.shape})" if step.shape else ""
            self.lines.append(f"{name} = np.sum({operands[0]}, axis={tuple(axes)}){shaped}{over}")
        elif op.operator is not None and op.operator.sign == "@":
            self.lines.append(f"{name} = {operands[0]} @ {operands[1]}")
        elif (found := moved(step, [self.shapes[x] for x in step.operands])) is not None:
            strides, begin, around, adds = found
            source = name if adds else operands[0]
            if adds:
                self.lines.append(f"{name} = np.zeros({step.shape})")
            bytes_ = tuple(8 * stride for stride in strides)
            view = f"as_strided(np.ascontiguousarray({source}).reshape(-1)[{begin}:], {around}, {bytes_})"
            self.lines += [f"{name}_part = {view}", f"{name}_part += {operands[0]}"] if adds else [f"{name} = {view}"]
        else:
            message = f"the function cannot be exported: {op.name} of an array of so many entries has no code in Python"
            raise AgradError("limit", message)
        return name

    def _pointwise(self, step: Step, name: str) -> None:
        inner = NumPy()
        given = [
            inner.constant(self.numbers[x]) if x in self.numbers else Symbol(inner, inner.given(self.names[x]))
            for x in step.operands
        ]
        try:
            found = lower(step.op, given, step.attrs)
        except (Lacking, UnwrittenError):
            raise AgradError("type", f"{step.op.name} of arrays cannot be written in Python") from None
        body, formulas = written(inner, [found.text], f"{name}_")
        shape = np.broadcast_shapes(*[self.shapes[x] for x in step.operands])
        formula = formulas[0] if shape == step.shape else f"np.broadcast_to({formulas[0]}, {step.shape})"
        self.lines += [*body, f"{name} = {formula}"]


def in_numpy(what: Derived, language: Language, name: str, names: Sequence[str], remark: Sequence[str]) -> str:
    """The text of the function: it takes arrays, and returns the value, and a tuple of gradients.

    Raises AgradError of kind `limit` or `type` for an operation that NumPy does not have.
    """
    made = _NumPyBody(what, names, prefix_of(names))
    arrays = [one for one, argument in zip(names, what.arguments, strict=True) if argument.shape]
    grads = made.outputs[1:]
    results = [f"float({made.outputs[0]})", *([f"({', '.join(grads)}{',' * (len(grads) == 1)})"] if what.order else [])]
    lines = ["import numpy as np"]
    lines += ["from numpy.lib.stride_tricks import as_strided"] * any("as_strided(" in line for line in made.lines)
    lines += ["", *made.constants, *([""] if made.constants else []), ""]
    lines += [*[f"# {line}" for line in remark], f"def {name}({', '.join(names)}):"]
    lines += [f"    {one} = np.ascontiguousarray({one}, dtype=float)" for one in arrays]
    lines += ['    with np.errstate(all="ignore"):', *[f"        {line}" for line in made.lines]]
    return "\n".join([*lines, f"    return {', '.join(results)}"]) + "\n"
