"""The functions and constants that the language has by itself: the engine's table, and functions of its own."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from types import CellType
from typing import Any

import agrad
from agrad.engine.core.context import current
from agrad.engine.core.dispatch import composed
from agrad.engine.core.guards import choose, entries, number
from agrad.engine.core.op import FUNCTIONS, Entry
from agrad.engine.core.tensor import Tensor, tensor
from agrad.engine.errors import AgradError, Hint, Label, OneTooMany
from agrad.engine.ops.tables import Table, Texts, as_operand
from agrad.engine.struct import Struct, computed
from agrad.engine.values import Value, describe, format_shape, not_a_number, whole, whole_as_float
from agrad.grammar.diagnostics import Span
from agrad.grammar.elsewhere import SCHOOL
from agrad.grammar.results import text_of
from agrad.grammar.syntax import ast
from agrad.grammar.values.lists import List, entries_of, settled, sorted_parts
from agrad.lazy import pattern

__all__ = ["CONSTANTS", "FUNCTIONS", "Closure", "as_tensor"]

# The constants that the language has.
CONSTANTS: dict[str, float] = {"pi": math.pi, "e": math.e, "inf": math.inf, "nan": math.nan, "tau": math.tau}
# Functions that take a list as it is; all others get the array that it makes, or several values.
TAKES_LISTS = frozenset("len enumerate zip list tuple sorted reversed str repr bool".split())


def meaning(name: str, scopes: Iterable[Mapping[str, Any]], otherwise: Any) -> Any:
    """What a name stands for in some scopes, the innermost first, or in the language itself."""
    for names in scopes:
        if name in names:
            return names[name]
    if name in CONSTANTS:
        return CONSTANTS[name]
    if name in SCHOOL:
        return agrad.grammar.runtime.school.function(name)
    return FUNCTIONS[name].call if name in FUNCTIONS else otherwise


def bindable(name: str, *labels: Label) -> str:
    """A name that a text may give a value, unlike `__builtins__` and others to which Python gives a meaning.

    Raises AgradError.
    """
    if len(name) > 4 and name[:2] == name[-2:] == "__":
        raise AgradError("name", f"{name} cannot be given a value", labels=list(labels))
    return name


def is_result(name: str) -> bool:
    """Whether a name is that of the result of a line, such as `_5`."""
    return name[0] == "_" and name[1:].isdecimal()


RANDOM = pattern(r"\b(rand\w*|dropout)\b")  # a text that draws random numbers contains one of these words


class Definition(Struct, eq=False, frozen=False):
    """A function as written: its tree and parameters; the values of defaults come when `def` runs.

    The parameters are given as typed: also `*rest`, and `*`, behind which all are given by name.
    """

    name: str
    parameters: tuple[str, ...]  # without those that begin with a star
    defaulted: tuple[str, ...]  # those that have a default
    tree: Any  # its body, its value, or the value for each of some
    span: Span
    rest: str = ""  # the name of `*rest`
    placed: int = computed()  # how many may be given by place

    def __post_init__(self) -> None:
        stars = [one for one in self.parameters if one[:1] == "*"]
        self.placed = self.parameters.index(stars[0]) if stars else len(self.parameters)
        self.rest = stars[0][1:] if stars else ""
        self.parameters = tuple([one for one in self.parameters if one not in stars])


def defined(name: str, parameters: Iterable[ast.Parameter], tree: Any, span: Span) -> tuple[Definition, list[ast.Expr]]:
    """A function, and the expressions of its defaults."""
    given = [(one.name, one.default) for one in parameters if one.default is not None]
    names, defaulted = tuple([one.name for one in parameters]), tuple([name for name, _ in given])
    return Definition(name, names, defaulted, tree, span), [default for _, default in given]


class Loop(Struct, eq=False, frozen=False):
    """A `for` with one counter, as written, and its compiled iteration once there is one."""

    counter: str
    body: ast.Body
    in_function: bool
    code: Any = None  # of the body, to be staged
    compiled: Any = None
    staged: int = 0  # how often its body was staged
    ran: int = 0  # iterations that ran compiled
    refused: bool = False  # whether its body cannot be staged


_UNBOUND = CellType()  # of a name that has no value yet


class Closure:
    """A function that the user defined: its code, the values of its defaults, and the names around it."""

    __slots__ = ("around", "definition", "defaults", "machine", "run")

    def __init__(
        self,
        definition: Any,
        defaults: tuple[Any, ...],
        machine: Any,
        scopes: tuple[dict[str, Any], ...],
        run: Callable[..., Any] | None = None,
    ) -> None:
        self.definition = definition
        self.run: Any = run
        self.defaults = defaults
        self.machine = machine
        self.around = scopes

    @property
    def scopes(self) -> tuple[dict[str, Any], ...]:
        """The names around it, the innermost first."""
        cells = getattr(self.run, "__closure__", None)
        if not cells:
            return self.around
        known = zip(self.run.__code__.co_freevars, cells, strict=True)
        own = {name: cell.cell_contents for name, cell in known if name[0] != "." and cell != _UNBOUND}
        return (own, *self.around) if own else self.around

    @property
    def __name__(self) -> str:
        """Its name in the definition."""
        name: str = self.definition.name
        return name

    @property
    def arguments(self) -> list[str]:
        """The names of its arguments."""
        return [*self.definition.parameters]

    @property
    def places(self) -> int:
        """How many arguments it has."""
        return len(self.definition.parameters)

    @property
    def usage(self) -> str:
        """How it is called: f(x, y=2)."""
        made = self.definition
        given = [f"{name}=…" if name in made.defaulted else name for name in made.parameters]
        if made.rest or made.placed < len(made.parameters):
            given.insert(made.placed, f"*{made.rest}")
        return f"{made.name}({', '.join(given)})"

    def bind(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> dict[str, Any]:
        """The parameters with their values; AgradError of kind `arity` where they do not fit."""
        made = self.definition
        parameters, name, placed = made.parameters, made.name, made.placed
        if len(args) > placed and not made.rest:
            count = {0: "no arguments", 1: "1 argument"}.get(placed, f"{placed} arguments")
            facts = OneTooMany() if len(args) == placed + 1 else None
            raise AgradError("arity", f"{name} takes {count}, and got {len(args)}: {self.usage}", facts=facts)
        bound = dict(zip(parameters[:placed], args, strict=False))
        if made.rest:
            bound[made.rest] = args[placed:]
        for key, value in keywords.items():
            if key not in parameters or key in bound:
                told = "got {} twice" if key in parameters else "has no argument {}"
                raise AgradError("arity", f"{name} {told.format(key)}: {self.usage}")
            bound[key] = value
        for key, value in zip(made.defaulted, self.defaults, strict=True):
            bound.setdefault(key, value)
        missing = [key for key in parameters if key not in bound]
        if missing:
            raise AgradError("arity", f"{name} needs {' and '.join(missing)}: {self.usage}")
        return bound

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """Call it from Python, as the engine does to differentiate it."""
        return settled(self.machine.call(self, args, keywords))

    def __str__(self) -> str:
        return f"function {self.usage}"


_PYTHONS = frozenset({type, list, dict, set, frozenset})
_OF_PYTHON = ("__main__", "agrad.grammar.runtime.modules")  # where classes of scripts are, and modules


def is_object(value: Any) -> bool:
    """Whether a value is an object of the engine, or one that Python's reading has made."""
    kind = type(value)
    return kind in _PYTHONS or getattr(kind, "is_object", False) or kind.__module__ in _OF_PYTHON


def as_tensor(value: Any, what: str) -> Tensor:
    """A handle on a value. Raises AgradError of kind `type` for what is neither a number nor an array."""
    if isinstance(value, Tensor):
        return value
    if isinstance(value, int | float):
        return tensor(value)
    if isinstance(value, Table | Texts):
        return as_operand(value)  # type: ignore[no-any-return]
    raise not_a_number(f"{what} needs a number or an array", value)


def taken(x: Any, what: str, read: Callable[[Value], object]) -> float:
    """A value of one entry as a plain number; a guard records that results depend on it."""
    value = as_tensor(x, what)
    choose(value.node, value.item(), read)
    return value.item()


def integral(value: Value) -> object:
    """The result of `int(x)`, also for inf and nan."""
    return math.trunc(float(value)) if math.isfinite(float(value)) else float(value)


@composed("range", "start; stop=None, step=1", family="graph", total=True, example="sum(0) == 0")
def _range(start: Any, stop: Any, step: Any) -> range:
    """Whole numbers for a loop: range(3) is 0, 1, 2; range(1, 7, 2) is 1, 3, 5."""
    ends = (0, start) if stop is None else (start, stop)
    first, last = (_counted(end, "an end of a range") for end in ends)
    stride = _counted(step, "the step of a range")
    if stride == 0:
        raise AgradError("domain", "the step of a range cannot be 0")
    return range(first, last, stride)


def between(first: Any, last: Any) -> range:
    """The whole numbers `first..last`, both included."""
    low, high = (_counted(end, f"the {which} of whole numbers") for which, end in (("first", first), ("last", last)))
    return range(low, high + 1)


def _counted(value: Any, what: str) -> int:
    count = whole(value, what)
    if isinstance(value, Tensor):
        taken(value, what, number)
    if abs(count) > 2**53:
        raise AgradError("limit", f"{what} is at most 2**53: larger whole numbers are not exact")
    return count


@composed("len", "x", family="graph", total=True, example="len([1, 2, 3]) == 3")
def _len(x: Any) -> float:
    """The length of the first axis."""
    has_length = isinstance(x, tuple | str | range | List) or (is_object(x) and hasattr(type(x), "__len__"))
    return float(len(x if has_length else as_tensor(x, "len")))


@composed("float", "x", family="graph", example="float([2]) == 2")
def _float(x: Any) -> float:
    """A value of one entry, or the number in a text such as args[0], as a plain number."""
    return _spelt(x, "float", float) if isinstance(x, str) else taken(x, "float", number)


@composed("int", "x", family="graph", example="int(-2.5) == -2")
def _int(x: Any) -> float:
    """A number without its fraction; of a text, the whole number in it."""
    if isinstance(x, str):
        return _spelt(x, "int", int)
    if getattr(x, "size", 1) != 1:
        message = f"int takes one number, not an array of shape {format_shape(x.shape)}: every number is a float64"
        raise AgradError("shape", message, fixes=[Hint("trunc(x)   cuts fractions off; floor(x) and round(x) round")])
    value = taken(x, "int", integral)
    return float(math.trunc(value)) if math.isfinite(value) else value


@composed("beside", "path", family="files", derivative="none: it is a text", example='beside("data.csv") == "data.csv"')
def _beside(path: Any) -> Any:
    """The path of a file in the folder of the script that calls this: load_csv(beside("data.csv")). Any other path is
    relative to the current folder.
    """
    if not isinstance(path, str):
        raise AgradError("type", f"beside needs the name of a file, not {describe(path)}")
    return agrad.grammar.files.beside(path, current().origin)


def _each_of(value: Any, what: str) -> Iterable[Any]:
    """The entries of a value that a loop can go over."""
    if isinstance(value, range):
        return (float(one) for one in value)  # in Python, where a signal can stop it
    if getattr(value, "shape", None) == ():
        raise AgradError("type", f"{what} needs several values, not a number")
    if isinstance(value, tuple | str | List | Tensor) or hasattr(type(value), "__iter__"):
        found: Iterable[Any] = value
        return found
    raise AgradError("type", f"{what} needs several values, not {describe(value)}")


def _sequence(name: str, form: str, example: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A function of Python's own that goes over values."""
    data = tuple(part.strip().lstrip("*").partition("=")[0] for part in form.partition(";")[2].split(","))
    return composed(name, form, family="python", derivative="that of the entries", example=example, data=data)


@_sequence("enumerate", "xs; start=0", "enumerate([5, 7])[1] == (1, 7)")
def _enumerate(xs: Any, start: Any) -> tuple[Any, ...]:
    """Pairs of a place and an entry: for i, x in enumerate(xs)."""
    first = whole(start, "the first place")
    return tuple((float(place), x) for place, x in enumerate(_each_of(xs, "enumerate"), first))


@_sequence("zip", "; *xs", "zip([1, 2], [3, 4])[0] == (1, 3)")
def _zip(xs: Any) -> tuple[Any, ...]:
    """The first entries together, then the second ones, as far as all have entries: for x, y in zip(xs, ys)."""
    return tuple(zip(*(_each_of(x, "zip") for x in (xs if isinstance(xs, tuple) else [xs])), strict=False))


@_sequence("list", "; xs=()", "list((1, 2)) + [3] == [1, 2, 3]")
def _list(xs: Any) -> List:
    """A list of the entries of something."""
    return List(entries_of(xs) if isinstance(xs, Tensor) else _each_of(xs, "list"), joins=True)


@_sequence("tuple", "; xs=()", "tuple([1, 2]) == (1, 2)")
def _tuple(xs: Any) -> tuple[Any, ...]:
    """A tuple of the entries of something."""
    return tuple(entries_of(xs) if isinstance(xs, Tensor) else _each_of(xs, "tuple"))


@_sequence("sorted", "xs; key=None, reverse=False", "sorted((3, 1, 2)) == [1, 2, 3]")
def _sorted(xs: Any, key: Any, reverse: Any) -> List:
    """A list of the entries in order, or in that of what a function gives for each."""
    return List(sorted_parts(list(_each_of(xs, "sorted")), key, reverse), joins=True)


@_sequence("reversed", "xs", "reversed((1, 2)) == (2, 1)")
def _reversed(xs: Any) -> tuple[Any, ...]:
    """The entries, the last first."""
    return tuple(_each_of(xs, "reversed"))[::-1]


@_sequence("str", "x", 'str(2) == "2"')
def _str(x: Any) -> str:
    """A value as a text."""
    if isinstance(x, Tensor):
        choose(x.node, x.value, entries)
    return text_of(x)


@_sequence("bool", "x", "bool(2) == 1")
def _bool(x: Any) -> bool:
    """Whether a value counts as true: a number that is not 0, a list that is not empty."""
    if isinstance(x, tuple | str | List | range):
        return len(x) > 0
    return bool(tensor(x) if getattr(x, "shape", ()) else x)


@_sequence("map", "f; *xs", "map(sqrt, [4, 9])[1] == 3")
def _map(f: Any, xs: Any) -> tuple[Any, ...]:
    """The value of a function for each entry."""
    if not callable(f):
        raise AgradError("type", f"map needs a function, not {describe(f)}")
    several = xs if isinstance(xs, tuple) else (xs,)
    return tuple(f(*entries) for entries in zip(*(_each_of(x, "map") for x in several), strict=False))


@_sequence("filter", "f, xs", "filter(isnan, [1, nan, 2]) == (nan,) or len(filter(isnan, [1, nan])) == 1")
def _filter(f: Any, xs: Any) -> tuple[Any, ...]:
    """The entries for which a function is true."""
    if f is not None and not callable(f):
        raise AgradError("type", f"filter needs a function, not {describe(f)}")
    return tuple(x for x in _each_of(xs, "filter") if _bool(x if f is None else f(x)))


@_sequence("repr", "x", 'repr("a") == "\'a\'"')
def _repr(x: Any) -> str:
    """A value as a text; a text in quotes."""
    return repr(x) if isinstance(x, str) else _str(x)


def _spelt(text: str, name: str, read: Callable[[str], float]) -> float:
    """The number that a text spells, parsed as Python does."""
    try:
        number = read(text)
    except ValueError:
        what = "whole number" if name == "int" else "number"
        raise AgradError("type", f"{name}: {describe(text)} is not a {what}") from None
    return whole_as_float(number) if isinstance(number, int) else number


def entry_of(function: Callable[..., Any]) -> Entry | None:
    """The entry of the table whose `call` a function is; None for any other function."""
    entry = FUNCTIONS.get(getattr(function, "__name__", ""))
    return entry if entry is not None and entry.call is function else None
