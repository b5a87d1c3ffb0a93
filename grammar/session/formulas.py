"""An expression and its derivatives as formulas, or as a function in another language."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from agrad.engine import units
from agrad.engine.autodiff.transforms import jvp
from agrad.engine.compile.export.derive import derived, paths
from agrad.engine.compile.export.formulas import Calculator, Language, Latex, written
from agrad.engine.compile.export.languages import LANGUAGES
from agrad.engine.core.context import current, scope
from agrad.engine.core.graph import Units, collect
from agrad.engine.core.tensor import Tensor, bare, tensor
from agrad.engine.errors import AgradError, Hint, Label
from agrad.engine.program.ir import Program
from agrad.engine.program.trace import extract, infer_units, plain
from agrad.engine.units import infer, quantity
from agrad.engine.units.quantity import Scale
from agrad.engine.units.unit import si
from agrad.engine.values import Value, format_shape
from agrad.grammar.commands.registry import Session
from agrad.grammar.diagnostics import Source, Span
from agrad.grammar.runtime.builtins import CONSTANTS, FUNCTIONS, RANDOM, Closure, Definition, is_result, meaning
from agrad.grammar.runtime.fixes import listed
from agrad.grammar.runtime.operations import as_array, describe_value
from agrad.grammar.session.inputs import refuse_call
from agrad.grammar.syntax.ast import (
    Binary,
    Call,
    Evaluate,
    Lambda,
    Name,
    Number,
    Parameter,
    String,
    Unary,
    loads,
    nodes,
    replaced,
)
from agrad.grammar.syntax.errors.messages import corrected
from agrad.grammar.syntax.parser import parse_expression

_POINT = 0.5  # at which an expression is computed, where a name has no value


def formula(
    machine: Any,
    definition: Any,
    names: Mapping[str, Any],
    inner: Sequence[str],
    outer: Sequence[str],
    form: str,
    symbols: Sequence[str] = (),
) -> list[str]:
    """The lines of a formula, in the language or in `latex`, and those of its derivatives by the names in `outer`.

    `symbols`: further names that are not to be replaced by their values. With names in `inner`, the formula is that of
    the derivative by the first, by the second, and so on. What is shared has lines of its own where that is shorter.
    Raises AgradError of kind `type` for what has no formula, `shape` for arrays, and `guard` for what holds only for
    some values.
    """
    typed = Language() if machine.session.has_python else Calculator()
    spelling = Latex() if form == "latex" else typed
    made = (one for one in nodes(definition.tree) if isinstance(one, Lambda))
    spelling.last = {*inner, *(one.name for function in made for one in function.parameters)}
    with scope(listener=None):  # a note would be on a point that nobody has named
        value, known = _evaluated(machine, definition, names, [*inner, *outer, *symbols])
        typed.has_e = "e" not in known
        for name in inner:
            value = _derivative(value, known[name])
        written = _lines(value, spelling)
        for name in outer:
            *before, last = _lines(_derivative(value, known[name]), spelling)
            written += [*before, spelling.derivative(name, last)]
    return written


def of_functions(statement: Any, names: Mapping[str, Any]) -> Any:
    """A statement in which `df/dx` is `d/dx f`, and that of a function of several names `d/dx f(x, y)`.

    Where df or dx has a value, it is a quotient. `df/dx(1, 2)` and `∂f/∂x(1, 2)` are its derivative there.
    Raises AgradError for `d/dx f(1, 2)`, which is the derivative of a number.
    """

    def change(node: Any) -> Any:
        span = node.span
        match node:
            case Lambda():
                return node
            case Call(Call(Name(".leibniz"), (Lambda((Parameter(by), *_), Name() as f), _, Number(times), *_))):
                return there(node, f, by, int(times), span)
            case Binary("/", Name(above), Call(Name(below))) if not ({above, below} & names.keys()):
                if (found := re.fullmatch(r"d([23]?)(\w+)/d(\w+?)\1", f"{above}/{below}")) is None:
                    return None
                return there(node.right, Name(found[2], span=node.left.span), found[3], int(found[1] or 1), span)
            case Binary("/", Name(above), Name(below)) if not ({above, below} & names.keys()):
                if not (found := re.fullmatch(r"d([23]?)(\w+)/d(\w+?)\1", f"{above}/{below}")) or found[2] not in names:
                    return None
                order, y, by = found.groups()
                if (by not in names and not isinstance(names[y], Closure)) or getattr(names.get(by), "shape", None):
                    return None
                made = Lambda((Parameter(by, None, span=span),), called(Name(y, span=span), by), span=span)
                at = Span(span.source, span.start, span.start)
                given = made, Name(by, span=span), Number(float(order or 1), span=at), Number(0.0, span=at)
                return Call(Name(".leibniz", span=span), (*given, String("", span=span)), (), span=span)
            case Call(
                Name(".leibniz"), (Lambda((Parameter(by), *_), Call(Name() as f, given, ())), _, Number(times), *_)
            ):
                is_leaf = getattr(names.get(by), "requires_grad", False)  # of which f may be computed elsewhere
                if given and not is_leaf and there(node, f, by, 1, span) and all(is_number(one, by) for one in given):
                    shown = f"{f.id}({', '.join(one.span.text for one in given)})"
                    message = f"{shown} is a number, with no {by} in it: its derivative is 0"
                    order = f"{times:.0f}".replace("1", "")
                    fix = corrected(span, f"d{order}{f.id}/d{by}{order}{shown.removeprefix(f.id)}")
                    raise AgradError("grad", message, labels=[Label(span)], fixes=[fix])
            case Call(Name(".leibniz"), (Lambda((Parameter(by), *_), Name() as f) as made, *rest)):
                whole = Lambda(made.parameters, called(f, by), span=made.span)
                return Call(node.function, (whole, *rest), (), span=span)
        return None

    def is_number(given: Any, by: str) -> bool:
        """Whether an argument is computed from numbers, and from no name without a value, nor this one."""
        found = [names.get(one.id, CONSTANTS.get(one.id)) if one.id != by else None for one in loads(given)]
        return not any(one is None or getattr(one, "requires_grad", False) for one in found)

    def there(call: Any, f: Any, by: str, order: int, span: Span) -> Any:
        """A derivative of a function of the user by a parameter, with these arguments; None of all else."""
        definition, made = getattr(names.get(f.id), "definition", None), f
        if definition is None:
            return None
        given = definition.parameters[: definition.placed]
        # The one parameter may have another name: `df/dx(2)` of f(t), where x means nothing else.
        is_other = len(given) == 1 and not (by in names or by in [one.id for one in loads(definition.tree, True)])
        if not (by in given or is_other):
            return None
        place, named = Number(float(given.index(by) if by in given else 0), span=f.span), dict(call.keywords)
        arguments = [*call.arguments, *(named.pop(one) for one in given[len(call.arguments) :] if one in named)]
        for _ in range(order):
            made = Call(Name(".op grad", span=f.span), (made, place), (), span=f.span)
        return Call(made, tuple(arguments), tuple(named.items()), span=span)

    def called(f: Any, by: str) -> Any:
        """A function of several names with them as its arguments; any other value as it is."""
        definition = getattr(names.get(f.id), "definition", None)
        if definition is None or by not in (given := definition.parameters[: definition.placed]) or len(given) < 2:
            return f
        return Call(f, tuple([Name(one, span=f.span) for one in given]), (), span=f.span)

    return replaced(statement, change) if re.search("/d|∂", statement.span.text) else statement


def without_values(statement: Any, machine: Any) -> list[str] | None:
    """The names without a value in what is shown as its formula: a derivative, as `d/dx x^3`; at a prompt `q + 1`, too.

    Of a function, `f'`, there are none; None for all else.
    """
    names = machine.session.names
    if not isinstance(statement, Evaluate) or statement.silent:
        return None
    match statement.value:
        case Call(Name(".prime"), (Name(name), _)) if isinstance(names.get(name), Closure):
            return []
    calls: list[Any] = [
        one for one in nodes(statement.value) if isinstance(one, Call) and isinstance(one.function, Name)
    ]
    is_derivative = any(one.function.id in (".leibniz", ".prime") for one in calls)
    if not (is_derivative or statement.span.source.is_entry):
        return None
    primed = [one.arguments[0] for one in calls if one.function.id == ".prime"]
    called = {name.id for name in (*primed, *(one.function for one in calls)) if isinstance(name, Name)}
    own = [one.name for made in nodes(statement.value) if isinstance(made, Lambda) for one in made.parameters]
    words = dict.fromkeys([*own, *(one.id for one in loads(statement.value, True))])
    free = [word for word in words if meaning(word, (names,), None) is None]
    is_open = free and called.isdisjoint(free) and not any(is_result(word) or word in ("_", "ans") for word in free)
    if not is_open or is_derivative:
        return free if is_open else None
    return _unknowns(statement.value, free, machine)


def _unknowns(tree: Any, free: Sequence[str], machine: Any) -> list[str] | None:
    """The names of `free` in the formula of an expression; None without one: for what is no arithmetic, or misspelt.

    A number that is drawn, or that is uncertain and has no name, has no sign of its own in a formula.
    """
    if isinstance(tree, Name) or not all(isinstance(one, Number | Name | Unary | Binary | Call) for one in nodes(tree)):
        return None
    unknown = (machine.unknown(one.id, one.span) for one in loads(tree, True) if one.id in free)
    if RANDOM.search(tree.span.text) or any(getattr(problem.facts, "close", True) for problem in unknown):
        return None
    definition = Definition(tree.span.text, (), (), tree, tree.span)
    try:
        with scope(listener=None):
            value, _ = _evaluated(machine, definition, machine.session.names, [])
        _lines(value, Calculator())
    except (AgradError, ValueError):  # as of an array
        return None
    work = collect([value.node]) if isinstance(value, Tensor) else []
    leaves = {node.name for node in work if node.op is None and node.requires_grad}
    return None if None in leaves else [name for name in free if name in leaves] or None


def in_latex(machine: Any, names: Mapping[str, Any], text: str, symbols: Sequence[str], by: Sequence[str]) -> str:
    """An expression in LaTeX, or its derivative by one name after another; nothing where it has no formula."""
    tree = parse_expression(Source("expression", text))
    definition = Definition(text, (), (), tree, Span(Source("expression", text), 0, len(text)))
    try:
        (line,) = formula(machine, definition, names, by, (), "latex", symbols)
    except (AgradError, ValueError):  # as of an array; or of several lines
        return ""
    return line


def _evaluated(machine: Any, definition: Any, names: Mapping[str, Any], wrt: list[str]) -> tuple[Any, dict[str, Any]]:
    """The value of an expression, with leaves for names that have no value and those in `wrt`."""
    known: dict[str, Any] = dict(names)
    bound = {one.name for made in nodes(definition.tree) if isinstance(made, Lambda) for one in made.parameters}
    found = {one.id: one.span for one in loads(definition.tree, True) if one.id not in bound}
    found |= {one.id: one.span for one in loads(definition.tree)}
    for word in [*found, *wrt]:
        value = known.get(word)
        is_symbol = word in wrt or (word in bound and isinstance(value, float))  # as the x of d/dx, after x = 1
        if isinstance(value, Tensor) and value.requires_grad if is_symbol else word in known:
            continue
        if is_symbol or meaning(word, (), None) is None:
            if word in found and word not in bound:
                refuse_call(word, found[word], names)
            sample = value.value if isinstance(value, Tensor) else value
            known[word] = tensor(_POINT if sample is None else sample, requires_grad=True)
            known[word].node.name = word
    function = Closure(definition, (), machine, (known,))
    value = function()
    if callable(value) and (given := _parameters(value, definition.tree, names)):  # its formula is that of its value
        known |= {name: tensor(_POINT, requires_grad=True) for name in given}
        for name in given:
            known[name].node.name = name
        value = value(*map(known.__getitem__, given))
    return as_array(value), known


def _parameters(value: Any, tree: Any, names: Mapping[str, Any]) -> Sequence[str]:
    """The parameters of a function that is the value of an expression: f, f', or a `lambda`."""
    while isinstance(tree, Call) and isinstance(tree.function, Name) and tree.function.id == ".prime":
        tree = tree.arguments[0]
        value = names.get(tree.id) if isinstance(tree, Name) else value
    return value.definition.parameters if isinstance(value, Closure) else ()


def _derivative(y: Any, x: Any) -> Any:
    """The derivative in forward mode, whose sums and products stand in the order in which y has them."""
    return jvp(y, x, 1.0, True) if isinstance(y, Tensor) and y.requires_grad else 0.0


def _explained() -> list[str]:
    """What shows the derivatives of arrays, with numbers, for the `formula` that is running."""
    statement = current().statement
    asked = re.match(r"formula[ \t]+(.+?)(?:[ \t]+(?:wrt|as)\b.*)?$", statement.text) if statement is not None else None
    return [f"explain {asked[1]}"] if asked is not None else [Hint("explain y")]


def _lines(value: Any, spelling: Language) -> list[str]:
    """The formula of a value by the leaves behind it: one line, or more where it shares parts."""
    if not isinstance(value, Tensor):
        if not isinstance(value, int | float):
            raise AgradError("type", f"a formula is of a number, not of {describe_value(value)}")
        value = tensor(float(value))
    quantity.plain_only([value], "formula")
    leaves = [node for node in reversed(collect([value.node])) if node.op is None and node.requires_grad]
    for node in (*leaves, value.node):
        if node.shape:
            what = f"{node.spell()} has shape {format_shape(node.shape)}"
            raise AgradError("shape", f"a formula has numbers only, and {what}", fixes=_explained())
    names = [node.name or f"x{place}" for place, node in enumerate(leaves)]
    program = extract([bare(value.node)], [bare(node) for node in leaves], names, current().guard)
    for check in program.checks:
        raise AgradError("guard", f"the formula would hold only where {check.text}")
    found = written(program, spelling)
    return [*[f"{name} = {text}" for name, text in found.parts], *found.results]


# An expression as a function in another language, with its derivatives.


def exported(session: Session, text: str, wrt: Sequence[str], order: int, language: str, name: str) -> str:
    """The source of a function of that name: the value of an expression, and its derivatives up to an order.

    Its arguments are the names in the expression that have no value, which are numbers, and those in `wrt`, which may
    have one that shows their shape; without `wrt`, it is differentiated by all arguments. Other names keep the values
    that they have. Raises AgradError.
    """
    tree = parse_expression(Source("expression", text))
    code = session.machine.expression(tree)
    names: dict[str, None] = {}
    for one in loads(tree):
        word = one.id
        if (word in session.names and word not in wrt) or word in FUNCTIONS:
            continue
        if word in wrt or word not in CONSTANTS:
            refuse_call(word, one.span, session.names)
            names[word] = None
    names |= dict.fromkeys(wrt)
    if not names and order:
        raise AgradError("name", "there is no name to differentiate by", fixes=[Hint("use a name that has no value")])
    given = [session.names.get(word) for word in names]
    places = [list(names).index(word) for word in wrt] or range(len(names))

    def function(*values: Any) -> Any:
        session.names.update(zip(names, values, strict=True))
        return as_array(session.machine.run(code))

    before = dict(session.names)
    try:
        made, told = programs(function, dict(zip(names, given, strict=True)), places, '--wrt {0} {0}="1 m"')
    except AgradError as problem:
        if problem.kind == "type" and (free := [word for word in names if word not in before]):
            told = f"{', '.join(free)} may be any number, such as {_POINT} here; a name with a value is a constant"
            problem.notes.append(told)
        raise
    finally:
        session.names.clear()
        session.names.update(before)
    return LANGUAGES[language](derived(*made, places, order), name, text + told)


def programs(
    function: Callable[..., Any], given: Mapping[str, Any], wrt: Sequence[int], how: str = "def f({0}=1 m) = …"
) -> tuple[tuple[list[Program], list[Value]], str]:
    """The `paths` of a function, and the numbers that they were traced at; and in which units all numbers are, if any.

    `given`: a value for each argument, of which it has the shape and the unit; None for a number, which is in SI units
    if it has any. Raises AgradError of kind `unit` where it does not follow from the function which: `how` to say it.
    """
    at: list[Value] = [plain(_POINT if x is None else units.shown(x)[0]) for x in given.values()]
    if not Units.exist:
        return (paths(function, at, [*given], wrt), at), ""
    known = infer.Function(*[[] if x is None else as_array(x) for x in given.values()])

    def numbers(*xs: Any) -> Any:
        found = as_array(function(*[axis.of(x) for axis, x in zip(axes, xs, strict=True)]))
        quantity.checked(quantity.conditions(current().guard), ())
        return infer.bare(up.numbers(found))

    examples = [_POINT if x is None else plain(x) for x in given.values()]
    infer_units(known, lambda *xs: as_array(function(*xs)), examples, [*given])
    found, work = [*known.arguments, known.result], known.work
    free = [name for name, of in zip(given, found, strict=False) if not work.is_known(of)]
    if free and any(work.solid(part) for one in found for part in one.apart):
        message = f"nothing says the unit of {listed(free)}"
        raise AgradError("unit", message, fixes=[Hint(f"{how.format(free[0])}   says it")])
    for name in free:
        work.equal(found[[*given].index(name)].dim, {})
    if any(work.solid(part) != work.solid(known.result.apart[0]) for part in known.result.apart):
        raise AgradError("unit", "the entries of the value are in different units", fixes=[Hint("export one of them")])
    shown = [quantity.unit_of(x) or si(work.solid(of)) for x, of in zip(given.values(), found, strict=False)]
    axes, up = [*map(Scale, shown)], Scale(quantity.unit_of(known.y, work))
    texts = [one.named(name) for name, one in zip(given, axes, strict=True)] + [up.named("value")]
    texts += [up.named(f"d/d{name}", axes[place]) for place, name in enumerate(given) if place in wrt]
    told = f"; numbers are {', '.join(texts)}" if any(one.text() for one in (up, *axes)) else ""
    return (paths(numbers, at, [*given], wrt), at), told


def constant(value: Any) -> Any:
    """A value without its graph: a number where it is one."""
    if not isinstance(value, Tensor):
        return value
    return value.detach() if value.shape or quantity.unit_of(value) is not None else value.item()
