"""The text of a function: the steps of a program as formulas, in variables or inside the only one that uses them."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple, TypeAlias

from agrad.engine.compile.export.derive import Derived
from agrad.engine.compile.export.special import NAMED, SPECIAL, called
from agrad.engine.compile.symbols import Symbol, UnwrittenError, Writer, lower
from agrad.engine.core.op import Op
from agrad.engine.errors import AgradError
from agrad.engine.program.ir import Input, Program, placed, spans
from agrad.engine.struct import Struct
from agrad.engine.text import printable
from agrad.engine.values import Shape, format_shape, np, size_of

# How tightly parts of a formula hold together.
CHOICE, OR, AND, EQUAL, LESS, SUM, PRODUCT, SIGN, ATOM = range(9)
_LONG = 88  # characters of a formula inside another
_SIGNS = {"add": ("+", SUM), "sub": ("-", SUM), "mul": ("*", PRODUCT), "div": ("/", PRODUCT)}
_COMPARISONS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}


Lines: TypeAlias = Sequence[str]


class Formula(NamedTuple):
    """A text, and how tightly it holds together."""

    text: str
    binding: int = ATOM


class Results(Struct):
    """The formulas of the results of a function."""

    what: Derived
    values: Sequence[str]  # one, or those of the entries
    first: Sequence[str]  # derivatives of each value, by entries
    second: Sequence[Sequence[str]]  # rows of the Hessian

    @property
    def value(self) -> str:
        """The value, an array in brackets."""
        return nested(self.values, [self.what.result])[0]

    @property
    def gradients(self) -> list[str]:
        """The gradient by each argument, an array in brackets: in the shape of the value, and then of the argument."""
        parts: list[str] = []
        for places, shape in zip(spans(map(size_of, self.what.shapes)), self.what.shapes, strict=True):
            rows = range(0, len(self.first), self.what.count or 1)
            entries = [self.first[row + place] for row in rows for place in places]
            parts += nested(entries, [(*self.what.result, *shape)]) if self.first else []
        return parts

    @property
    def rows(self) -> str:
        """The Hessian as a list of rows."""
        return nested([x for row in self.second for x in row], [(len(self.second), len(self.second))])[0]

    @property
    def of_python(self) -> list[str]:
        """The value, a tuple of the gradients, and the Hessian, as far as they are asked for."""
        gradients = f"({', '.join(self.gradients)}{',' * (len(self.gradients) == 1)})"
        return [self.value, gradients, self.rows][: self.what.order + 1]


class Lacking(Exception):
    """The language has no such function; with its name."""


class Language(Writer):
    """Code in a language. A result is a number: the place of its instruction, in `steps`."""

    name: ClassVar[str]
    words: ClassVar[frozenset[str]]  # that no argument may be called
    declared: ClassVar[frozenset[str]] = frozenset()  # nor the function
    doubtful: ClassVar[str] = "(?!)"  # a pattern of names that an argument gets another for
    functions: ClassVar[dict[str, str]]  # of the C library, and exact ones: how they are called
    helpers: ClassVar[dict[str, str]] = {}  # definitions of functions that are called, by their names
    same: ClassVar[tuple[str, str]] = ("==", "!=")
    spell: ClassVar[Any]  # the text of a function of `special`

    def __init__(self) -> None:
        self.steps: list[tuple[Callable[..., Formula], tuple[str, ...]]] = []
        self.known: dict[object, str] = {}
        self.used: dict[str, None] = {}  # helpers
        self.special: dict[str, None] = {}  # functions of `special` that are called
        self.outcomes: set[str] = set()  # the results that are outcomes, not numbers
        self.negated: dict[str, str] = {}  # the operands of those that are of the other sign
        self.of_outcome: dict[str, str] = {}  # the outcomes of which numbers are 1 or 0

    # What a symbol can do

    def _step(self, write: Callable[..., Formula], *operands: str, key: object) -> str:
        known = (key, operands)
        if known not in self.known:
            self.known[known] = str(len(self.steps))
            self.steps.append((write, operands))
        return self.known[known]

    def given(self, text: str) -> str:
        """An argument, or an entry of one."""
        return self._step(lambda: Formula(text), key=("given", text))

    def literal(self, value: float) -> str:
        """A number, whose text is read back to the same bits."""
        text = self.number(value)
        return self._step(lambda: Formula(text, SIGN if text[0] == "-" else ATOM), key=("literal", text))

    def binary(self, name: str, x: str, y: str) -> str:
        """Arithmetic."""
        if name == "rem":
            return self.library("fmod", (x, y))
        if x in self.negated or y in self.negated:
            return self._without_signs(name, x, y)
        return self._arithmetic(name, x, y)

    def _without_signs(self, name: str, x: str, y: str) -> str:
        """Arithmetic where a sign of an operand becomes one of the operation, or of its result: to the same bits."""
        if name in ("mul", "div"):
            found = self.binary(name, self.negated.get(x, x), self.negated.get(y, y))
            return found if x in self.negated and y in self.negated else self.negate(found)
        if y in self.negated:
            return self.binary("sub" if name == "add" else "add", x, self.negated[y])
        return self.binary("sub", y, self.negated[x]) if name == "add" else self._arithmetic(name, x, y)

    def _arithmetic(self, name: str, x: str, y: str) -> str:
        sign, binding = _SIGNS[name]

        def write(left: Formula, right: Formula) -> Formula:
            space = " " if binding == SUM else ""
            return Formula(f"{inside(left, binding)}{space}{sign}{space}{inside(right, binding + 1)}", binding)

        return self._step(write, x, y, key=name)

    def negate(self, x: str) -> str:
        """The other sign."""
        if x in self.negated:
            return self.negated[x]
        found = self._step(lambda one: Formula(f"-{inside(one, ATOM)}", SIGN), x, key="negate")
        self.negated[found] = x
        return found

    def compare(self, name: str, x: str, y: str) -> str:
        """A comparison; that of 1 or 0 with 0 is the outcome of which it was made."""
        if x in self.of_outcome and name in ("eq", "ne") and y == self.literal(0.0):
            return self.of_outcome[x] if name == "ne" else self.invert(self.of_outcome[x])
        sign = self.same[name == "ne"] if name in ("eq", "ne") else _COMPARISONS[name]
        binding = EQUAL if name in ("eq", "ne") else LESS
        return self._between(f" {sign} ", SUM, binding, x, y, key=name)

    def _between(self, sign: str, inner: int, binding: int, *operands: str, key: object) -> str:
        """The outcome of an infix operator, whose operands hold together so tightly."""
        return self._outcome(
            lambda *xs: Formula(sign.join([inside(x, inner) for x in xs]), binding), *operands, key=key
        )

    def _outcome(self, write: Callable[..., Formula], *operands: str, key: object) -> str:
        found = self._step(write, *operands, key=key)
        self.outcomes.add(found)
        return found

    def logic(self, name: str, a: str, b: str) -> str:
        """Two outcomes together."""
        word, binding = {"and": (self.both, AND), "or": (self.either, OR), "xor": (self.same[1], EQUAL)}[name]
        return self._between(f" {word} ", ATOM, binding, a, b, key=name)

    both, either = "&&", "||"

    def invert(self, a: str) -> str:
        """The opposite outcome."""
        text, binding = self.opposite
        return self._outcome(lambda one: Formula(text.format(inside(one, ATOM)), binding), a, key="invert")

    opposite: ClassVar[Formula] = Formula("!{}", SIGN)

    def select(self, condition: str, x: str, y: str) -> str:
        """A choice."""
        text, binding = self.choice

        def write(which: Formula, here: Formula, there: Formula) -> Formula:
            return Formula(text.format(inside(which, OR), inside(here, OR), inside(there, CHOICE)), binding)

        found = self._step(write, condition, x, y, key="select")
        if (x, y) == (self.literal(1.0), self.literal(0.0)):
            self.of_outcome[found] = condition
        return found

    choice: ClassVar[Formula] = Formula("{} ? {} : {}", CHOICE)

    def library(self, name: str, operands: tuple[str, ...]) -> str:
        """A call of a function of the language, or else of `special`. Raises Lacking."""
        called = self.defined(name)
        return self._step(lambda *xs: Formula(f"{called}({', '.join([x.text for x in xs])})"), *operands, key=called)

    builtin = library

    def defined(self, function: str) -> str:
        """How a function is called, which is defined, with what it calls, if it is none of the language."""
        name = self.functions.get(function)
        if name is None and function not in SPECIAL:
            raise Lacking(function)
        if name is None and function not in self.special:
            self.special[function] = None  # before those that it calls, which may call it in turn
            for one in called(function):
                if one in self.functions or one in SPECIAL:
                    self.defined(one)
        elif name in self.helpers:
            self.used[name] = None
        return name or f"agrad_{function}"

    @property
    def definitions(self) -> list[str]:
        """The functions that are to stand before the one that calls them."""
        spelt = {one: f"agrad_{one}" for one in SPECIAL} | self.functions
        spelt |= {"NAN": self.nan, "INFINITY": self.infinity}
        return [*[self.helpers[one] for one in self.used], *[self.spell(one, spelt) for one in self.special]]

    # What a language spells

    nan, infinity = "nan", "inf"

    def number(self, value: float) -> str:
        """A literal."""
        if math.isfinite(value):
            return repr(value)
        return self.nan if value != value else f"{'-' * (value < 0)}{self.infinity}"

    def entry(self, name: str, index: tuple[int, ...], shape: tuple[int, ...]) -> str:
        """An entry of an argument that is an array, or a list of lists."""
        return name + "".join(f"[{one}]" for one in index)

    def assign(self, name: str, formula: str, is_outcome: bool) -> str:
        """A statement that gives a new variable its value: a number, or an outcome."""
        return f"{name} = {formula}"

    def function(self, name: str, names: Lines, body: Lines, results: Results, remark: Lines) -> str:
        """The text of the function: `names` are those of its arguments, `remark` the lines of a comment."""
        raise NotImplementedError


def spread(parts: Sequence[str]) -> str:
    """Parts of a result in one line, or a line for each where that is long."""
    line = ", ".join(parts)
    return line if len(line) <= _LONG else "\n        " + ",\n        ".join(parts) + ",\n    "


def inside(formula: Formula, binding: int) -> str:
    """A formula as a part of one that holds together so tightly."""
    return formula.text if formula.binding >= binding else f"({formula.text})"


def source(what: Derived, language: Language, name: str, text: str) -> str:
    """The text of a function of that name in a language. `text`: the expression, for a comment.

    Raises AgradError of kind `name` for a name that the language does not allow, and of kind `type` for an operation
    that has no code in it.
    """
    names, body, found = statements(what.program, what.arguments, language, name)
    taken = language.words | language.declared | NAMED | {*language.used}
    if not (name.isascii() and name.isidentifier()) or name in taken:
        raise AgradError("name", f"a function in {language.name} cannot be called {name}")
    return language.function(name, names, body, Results(what, *what.divided(found)), _remark(text, names, what))


def statements(
    program: Program, arguments: Sequence[Input], language: Language, name: str
) -> tuple[list[str], list[str], list[str]]:
    """A program of numbers in a language: the names of the arguments, the statements, and the formulas of its outputs.

    Raises AgradError of kind `type` for an operation that has no code in it.
    """
    names = _names(arguments, name, language)
    entries = [
        language.entry(called, index, given.shape) if given.shape else called
        for called, given in zip(names, arguments, strict=True)
        for index in np.ndindex(*given.shape)
    ]
    slots = [Symbol(language, language.given(entry)) for entry in entries]
    slots += [language.constant(float(value)) for value in program.constants]
    for step in program.steps:
        operands = [slots[x] for x in step.operands]
        try:
            try:
                slots.append(lower(step.op, operands, step.attrs))
            except UnwrittenError:
                language.defined(step.op.name)
                slots.append(operands[0].call(step.op.name, *operands[1:], *step.attrs.values()))
        except Lacking as problem:
            raise AgradError("type", _unwritten(step.op, str(problem), language.name)) from None
    outputs = [slots[slot].text for slot in program.outputs]
    # the first letters of variables, with which no argument begins
    letters: tuple[str, ...] = (*"tvuwz", *("t" * count for count in range(2, 1000)))
    prefix = next(prefix for prefix in letters if not any(name.startswith(prefix) for name in names))
    return names, *written(language, outputs, prefix)


# What is no function of the user's, in words.
_TOLD = {
    "gamma_slope": "the derivative of an incomplete gamma function by its shape",
    "betainc_slope": "the derivative of betainc by a shape",
}


def _unwritten(op: Op, lacking: str, language: str) -> str:
    """What is said of an operation that has no code."""
    reason = f": it has no function {lacking}" if lacking != op.name else ""
    if not reason and op.reach == "pointwise":
        reason = ": no short algorithm for it is accurate"
    return f"{_TOLD.get(op.name) or op.name.removeprefix('bessel_')} cannot be written in {language}{reason}"


def _remark(text: str, names: Sequence[str], what: Derived) -> list[str]:
    """What the function computes, and in which order."""
    lines = [printable(" ".join(text.split()))]
    for name, given in zip(names, what.arguments, strict=True):
        if name != given.name:
            lines.append(f"{name}: in the formula {printable(given.name)}")
        if given.shape:
            lines.append(f"{name}: an array of shape {format_shape(given.shape)}")
    by = ", ".join([names[place] for place in what.wrt])
    if what.result:
        lines.append(f"value: an array of shape {format_shape(what.result)}")
    if what.order:
        lines.append(f"grad: the derivatives by {by}" + ("; hess: the second ones, row by row" * (what.order > 1)))
    return lines


def written(language: Language, outputs: Sequence[str], prefix: str) -> tuple[list[str], list[str]]:
    """The statements before the results, and the formulas of these."""
    uses = Counter(outputs)  # how often each result is used, of those that lead to an output
    for place in range(len(language.steps) - 1, -1, -1):
        uses.update(language.steps[place][1] if uses[str(place)] else ())
    body: list[str] = []
    formulas: dict[str, Formula] = {}
    for place, (write, operands) in enumerate(language.steps):
        text = str(place)
        if not uses[text]:
            continue
        made = write(*[formulas[x] for x in operands])
        if operands and (uses[text] > 1 or len(made.text) > _LONG):
            variable = f"{prefix}{len(body)}"
            body.append(language.assign(variable, made.text, text in language.outcomes))
            made = Formula(variable)
        formulas[text] = made
    return body, [formulas[x].text for x in outputs]


def _names(arguments: Sequence[Input], function: str, language: Language) -> list[str]:
    """The names of the arguments in the language: another where theirs is taken, or not in ASCII."""
    taken = {function, *language.words, *language.helpers, *NAMED}
    names: list[str] = []
    for place, given in enumerate(arguments):
        name = given.name if given.name.isascii() and given.name.isidentifier() else f"x{place}"
        name = f"x_{name}" if re.fullmatch(language.doubtful, name) else name
        while name in taken:
            name += "_"
        taken.add(name)
        names.append(name)
    return names


def nested(entries: Sequence[str], shapes: Sequence[Shape]) -> list[str]:
    """Entries as a text for each shape: the entry itself, or in brackets, row by row."""
    return [
        f"[{', '.join(nested(entries[one], [shape[1:]] * shape[0]))}]" if shape else entries[one.start]
        for one, shape in placed(shapes)
    ]
