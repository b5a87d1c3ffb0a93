"""Commands that find values for names: `fit`, `solve`, `minimize`, `maximize`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from math import inf
from typing import Any

from agrad.engine import units
from agrad.engine.autodiff.uncertainty import follow, sources
from agrad.engine.core.arguments import number_of
from agrad.engine.core.graph import Units, collect
from agrad.engine.core.op import OPS
from agrad.engine.core.tensor import Tensor, tensor
from agrad.engine.errors import AgradError, Hint, Note
from agrad.engine.ops.solvers.function import function_of
from agrad.engine.ops.solvers.functions import root_of, zeros_of
from agrad.engine.ops.solvers.implicit import METHODS, Minimum
from agrad.engine.program.closed import flat, joined, settled, split, vector_of
from agrad.engine.program.replay import forward
from agrad.engine.program.trace import extract, inlined
from agrad.engine.text import docstring
from agrad.engine.values import Value, format_number
from agrad.grammar import syntax
from agrad.grammar.commands.operands import EXPRESSION, LEAVES, VALUE
from agrad.grammar.commands.registry import Call, Session, command, graphed
from agrad.grammar.results import Noted, Printed, text_of
from agrad.grammar.runtime.builtins import Closure, Definition, is_result, meaning
from agrad.grammar.runtime.operations import as_array
from agrad.grammar.syntax import ast
from agrad.grammar.syntax.ast import loads

TIED = 2000  # measured values with which parameters are correlated, at most: it takes the cube of their number


def plain(call: Call, what: str, value: Any) -> Value:
    """A number or an array of an option, without its graph. Raises AgradError of kind `type` for anything else."""
    value = as_array(value)
    return value.value if isinstance(value, Tensor) else number_of(call.node.word, what, value)


@command(changes="session", operands=EXPRESSION, options={"from": VALUE})
def _solve(session: Session, call: Call) -> None:
    """solve f(x) = c [for x] | for x in 0..2 | for x from 1 | solve f(x, y) = c, g(x, y) = d for x, y from 1, 2

    Finds where equations hold: the unknowns become values of the graph. Of one equation, all real roots.

    from: where to start: a number for each unknown
    as typed: solve f(x) = c for x
    example: var a = 2; solve x**2 = a for x in 0..9; grad(x, a)
    """
    function = _equation(call, session)
    names = function.definition.parameters
    word, given = next(iter(call.options.items()), ("", ()))
    where, is_system = [plain(call, "where to start", value) for value in given], len(names) > 1
    if word != "from":
        _solve_everywhere(session, call, function, list(map(as_array, given)))
        return
    if len(where) != len(names):
        starts = f"{len(where)} starting point{'s' if len(where) > 1 else ''}"
        raise call.wrong("arity", f"solve: {starts} for {len(names)} unknowns")
    begins = [*map(as_array, given)]
    begin = begins if is_system else begins[0]
    found, problem = root_of(lambda *xs: as_array(function(*xs)), begin, "solve", is_system)
    for name, value in zip(names, found if is_system else [found], strict=True):
        value = value if isinstance(value, Tensor) else tensor(value)
        session.machine.bind(call.names, name, value)
        session.emit(Printed(f"{name} = {text_of(value, session.settings)}"))
    last = problem.last
    if last is not None:
        session.emit(Printed(_account("residual", last.residual, 1e-12, last.iterations)))


def _equation(call: Call, session: Session) -> Closure:
    """The difference of the sides as a function of the unknowns: as they are given, or the one without a value."""
    function: Closure = call.values[0]
    definition, scopes = function.definition, (call.names, session.names)
    if definition.parameters:
        return function
    names = dict.fromkeys(one.id for one in loads(definition.tree))
    unknown = [name for name in names if not is_result(name) and meaning(name, scopes, None) is None]
    left = getattr(definition.tree, "left", None)
    if not unknown and not any(loads(left)):  # `solve 3 t = 6`: t is no ton
        measured = [one for one in ast.nodes(left) if isinstance(one, ast.Quantity)]
        unknown = list(dict.fromkeys(syntax.units.names_in(one.unit)[0] for one in measured))
        syntax.units.bound(definition.tree, unknown)
    valued = [name for name in names if name in session.names and not callable(session.names[name])]
    if isinstance(definition.tree, ast.List):
        count = len(definition.tree.items)
        all_of = next(
            (some for some in (unknown, [x for x in names if x in unknown + valued]) if len(some) == count), ()
        )
        fixes = [f"{call.node.span.text} for {', '.join(all_of)} from {', '.join('1' * count)}"] * bool(all_of)
        raise AgradError(
            "arity", "solve: several equations need their unknowns, and numbers to start from", fixes=fixes
        )
    if len(unknown) != 1 or call.names is not session.names:
        other = unknown or valued
        message = "solve: an equation has one unknown" if unknown else "solve: no name in the equation is unknown"
        raise AgradError("name", message, fixes=[f"{call.node.span.text} for {name}" for name in other])
    found = Definition(definition.name, (unknown[0],), (), definition.tree, definition.span)
    return Closure(found, (), session.machine, function.scopes)


def _solve_everywhere(session: Session, call: Call, function: Closure, ends: Sequence[Any]) -> None:
    """All roots of an equation, as a list, or as a number where there is one."""
    names, typed = function.definition.parameters, call.operand(0).span.text
    if len(names) > 1 or isinstance(function.definition.tree, ast.List):
        fixes = [f"solve {typed} for {', '.join(names)} from {', '.join('1' * len(names))}"]
        raise AgradError("arity", "solve: several equations need numbers to start from", fixes=fixes)
    found, zeros = zeros_of(lambda *xs: as_array(function(*xs)), ends)
    if zeros.is_all:
        raise AgradError("domain", f"solve: each {names[0]} is a root of {typed}")
    if not found:
        within = "".join(f" in {value.span.text}" for _, value in call.node.options if value is not None)
        message = f"{typed} has no real root{within}" if zeros.is_sure else f"{zeros.how} finds no root of {typed}"
        raise AgradError("domain", f"solve: {message}")
    value = found[0] if len(found) == 1 else OPS["stack"].call(found)
    value = value if isinstance(value, Tensor) else tensor(value)
    session.machine.bind(call.names, names[0], value)
    session.emit(Printed(f"{names[0]} = {text_of(value, session.settings)}"))
    places = [units.shown(x) for x, is_repeated in zip(found, zeros.repeated, strict=True) if is_repeated]
    repeated = [f"{format_number(float(x), 6)} {unit}".rstrip() for x, _, unit in places]
    how = zeros.how if zeros.is_sure else f"found by {zeros.how}"
    session.emit(Printed(how + f"; no simple root: {', '.join(repeated)}" * bool(repeated)))


def _account(what: str, number: float, noise: float, iterations: int) -> str:
    """How a search has ended: with a number that should be 0, and below `noise` only tells how numbers were rounded."""
    size = format_number(number, 2) if number >= noise else f"below {noise:.0e}"
    return f"{what} {size}, {iterations} iteration{'s' if iterations != 1 else ''}"


@contextmanager
def _watched(session: Session, remark: Callable[[float], str]) -> Iterator[Callable[[float], object]]:
    """A function to be called after each iteration, with a number: it shows the progress, where that is wanted."""
    last, is_running = 0.0, True
    turns: Iterator[Any] = iter(lambda: is_running, False)
    if session.progress is not None:
        turns = session.progress(turns, None, lambda: remark(last))

    def watch(number: float) -> None:
        nonlocal last
        last = number
        next(turns)

    try:
        next(turns)
        yield watch
    finally:
        is_running = False
        next(turns, None)


def _leaves_behind(x: Tensor, name: str) -> list[str]:
    """The leaves that move a value, by name; of a leaf, which has the name given, itself."""
    if x.is_leaf and x.requires_grad:
        return [name]
    return [one.name for one in collect([x.node]) if one.op is None and one.requires_grad and one.name][::-1]


def _moved(call: Call) -> list[Tensor]:
    """The values that a command moves. Raises AgradError for a plain number."""
    for place in range(1, len(call.values)):
        if isinstance(call.values[place], float):
            name = call.operand(place).span.text
            message = f"{call.node.word}: {name} is a plain number, and no leaf that requires grad"
            raise AgradError("leaf", message, fixes=[_made_leaf(name)])
    return [graphed(call, place) for place in range(1, len(call.values))]


def _made_leaf(name: str) -> str:
    """What makes a leaf of a value that has a name."""
    return f"var {name} = {name}" if name.isidentifier() else Hint("var w = 1   makes one")


def _descend(session: Session, call: Call) -> None:
    """{word} y over w, b [in 0..1] [method lbfgs] [until 1e-9]

    Moves leaves to where a value is {extreme}, with exact derivatives.

    over: the leaves that change
    method: newton, krylov, bfgs, lbfgs or cg
    until: the slope at which to stop, relative to that at the start
    as typed: {word} y over w
    example: {example}
    """
    word, leaves = call.node.word, _moved(call)
    loss = graphed(call, 0)
    sign = -1.0 if word == "maximize" else 1.0
    if loss.size != 1:
        raise call.wrong("shape", f"{word}: {loss.node.spell()} is an array, not one number")
    places = [call.operand(place).span for place in range(1, len(call.values))]
    names = [place.text for place in places]
    behind = [*map(_leaves_behind, leaves, names)]
    for name, found_there in zip(names, behind, strict=True):
        if found_there != [name]:
            whole, text = call.node.span, call.node.span.source.text
            others = ", ".join(dict.fromkeys(chain(*behind)))
            fix = text[whole.start : places[0].start] + others + text[places[-1].end : whole.end]
            message = f"{word}: {name} is no leaf that requires grad"
            raise AgradError("leaf", message, fixes=[fix if all(behind) else _made_leaf(name)])
    measured = sources(loss, leaves)
    program = settled(word, extract([loss], [*leaves, *measured]))
    given = [*map(units.infer.bare, measured)]
    shapes, start = [leaf.shape for leaf in leaves], vector_of(joined([flat(leaf.value) for leaf in leaves]))

    def function(*xs: Any) -> Any:
        return sign * OPS["sum"].call(inlined(program, [*xs, *given])[0])

    body, same, _ = function_of(word, function, shapes, start)
    method = call.choice("method", "newton") if "method" in call.options else None
    until = number_of(word, "until", call.options.get("until", 1e-9))
    if not until > 0:
        raise call.wrong("domain", f"{word}: until is a positive number")
    ends = call.options.get("in", (-inf, inf))
    if "in" in call.options:
        units.common([*leaves, *ends])
    low, high = (number_of(word, "an end of the interval", end, of_unit=True) for end in ends)
    if not low < high:
        raise call.wrong("domain", f"{word}: the interval ends before it begins")
    what = f"{'least' if sign > 0 else 'largest'} {loss.node.spell()} ="
    with _watched(session, lambda least: f"{what} {format_number(sign * least, 6)}") as watch:
        problem = Minimum(body, start, word, (low, high), method)
        if Units.exist:
            every = [units.unit_of(leaf) or units.unit.ONE for leaf in leaves for _ in range(leaf.size)]
            problem.units = units.unit.of_entries(every), units.unit_of(loss)
        found = problem.descend(body.example[2], until, watch)
    gain = problem.gain(body.example[2], found.x) if 0 < len(body.example[2]) <= TIED else None
    if measured and gain is None:
        why = "so many values are uncertain" if len(body.example[2]) > TIED else "it is not at a single point"
        session.emit(Noted(Note(f"{word}: there is no uncertainty of where the {what[:-2]} is: {why}")))
    for leaf, value in zip(leaves, split(found.x, shapes), strict=True):
        leaf.set_(units.quantity.like(value, leaf))
    follow(leaves, same if gain is not None else None, gain)
    forward(loss)
    for leaf, name in zip(leaves, names, strict=True):
        shown = leaf.detach() if leaf.node.uncertainty is None else leaf
        session.emit(Printed(f"{name} = {text_of(shown, session.settings)}"))
    account = _account("slope", found.residual, 1e-10, found.iterations)
    value, _, unit = units.shown(units.quantity.like(sign * found.value, loss))
    session.emit(Printed(f"{what} {format_number(value)} {unit}".rstrip() + f", {account}"))


_METHODS = {word: f"the method {name} of SciPy" for word, name in METHODS.items()}
for _word, _extreme, _example in (
    ("minimize", "least", "var w = 1; y = (w - 3)**2; minimize y over w"),
    ("maximize", "largest", "var w = 1; y = 5 - (w - 3)**2; maximize y over w"),
):
    _text = docstring(_descend).format(word=_word, extreme=_extreme, example=_example)
    command(_word, _text, {"over": LEAVES, "method": _METHODS, "until": VALUE}, changes="graph", operands=EXPRESSION)(
        _descend
    )
