"""Functions of large arrays in Python: an expression of NumPy for each operation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

from agrad.engine.compile.export.derive import Derived
from agrad.engine.compile.export.loops import moved
from agrad.engine.compile.export.source import Formula, Lacking, Language, Results, prefix_of, written
from agrad.engine.compile.symbols.lowering import lower
from agrad.engine.compile.symbols.symbol import Symbol, UnwrittenError
from agrad.engine.errors import AgradError
from agrad.engine.program.ir import Step
from agrad.engine.values import Shape, np

_SAME = (
    "sin cos tan sinh cosh tanh exp exp2 expm1 log log2 log10 log1p cbrt hypot fmod sqrt floor ceil trunc rint copysign"
)
_DATA = 200_000  # numbers that are constants of a function


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


class _Body:
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
    made = _Body(what, names, prefix_of(names))
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
