"""The commands: a word, how it is typed, one line of help, an example, and what it does.

`help`, completion and the tests of the documentation read this table. A command hands its results to the session; only
the terminal prints.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agrad.engine.backward import backward
from agrad.engine.dump import dump
from agrad.engine.errors import AgradError, Label
from agrad.engine.ops.axes import number_of
from agrad.engine.optim import STEPS
from agrad.engine.tensor import Tensor
from agrad.engine.values import format_shape
from agrad.grammar import syntax
from agrad.grammar.diagnostics import Span
from agrad.grammar.functions import Closure
from agrad.grammar.help import help_on, overview
from agrad.grammar.results import Gradient, Quit, Table, text_of
from agrad.grammar.semantics import as_array, describe_value

if TYPE_CHECKING:
    from agrad.grammar.session import Session


@dataclass(frozen=True, slots=True)
class Call:
    """A command as typed, with the values of its operands and options."""

    node: syntax.Command
    values: list[Any]
    options: dict[str, Any]
    names: dict[str, Any]
    span: Span

    def operand(self, position: int) -> syntax.Expr:
        """An operand as written."""
        return self.node.operands[position]


@dataclass(frozen=True, slots=True)
class Command:
    """One command."""

    word: str
    usage: str
    help: str
    example: str
    run: Callable[[Session, Call], None]


COMMANDS: dict[str, Command] = {}

Handler = Callable[["Session", Call], None]


def command(word: str, usage: str, help: str, example: str) -> Callable[[Handler], Handler]:
    """Decorator: put a command into the table."""

    def register(run: Handler) -> Handler:
        COMMANDS[word] = Command(word, usage, help, example, run)
        return run

    return register


def _graphed(call: Call, position: int, verb: str) -> Tensor:
    """An operand that has to be a value of the engine."""
    value = call.values[position]
    if isinstance(value, Tensor):
        return value
    operand = call.operand(position)
    raise AgradError(
        "grad",
        f"{verb}: {operand.span.text} is {describe_value(value)}, with no graph and no gradient",
        labels=[Label(operand.span)],
        fixes=[f"var {operand.span.text} = …   makes a leaf that requires grad"]
        if isinstance(operand, syntax.Name)
        else [],
    )


@command(
    "backward",
    "backward d [retain] [create_graph] [fresh] [seed [1, 2]]",
    "Adds the derivative of d to the gradient of every leaf behind it; frees the graph unless `retain`.",
    "var a = 3; d = a**2; backward d; grad a",
)
def _backward(session: Session, call: Call) -> None:
    root = _graphed(call, 0, "backward")
    options = call.options
    create = "create_graph" in options
    backward(
        root,
        as_array(options.get("seed")),
        retain_graph="retain" in options or create,
        create_graph=create,
        fresh="fresh" in options,
    )


@command(
    "retain",
    "retain b …",
    "Keeps the gradient of a value that is not a leaf, at the backwards to come.",
    "var a = 3; b = a**2; c = 2*b; retain b; backward c; grad b",
)
def _retain(session: Session, call: Call) -> None:
    for position in range(len(call.values)):
        value = _graphed(call, position, "retain")
        if not value.requires_grad:
            name = call.operand(position).span.text
            raise AgradError(
                "grad",
                f"{name} has no gradient to retain: it does not require grad",
                labels=[Label(call.operand(position).span)],
            )
        value.retain_grad()


@command(
    "grad",
    "grad a …",
    "Shows gradients, how they came about, or why there is none.",
    "var a = 3; backward a**2; grad a",
)
def _grad(session: Session, call: Call) -> None:
    for position, value in enumerate(call.values):
        name = call.operand(position).span.text
        session.emit(gradient_of(name, value, session))


def gradient_of(name: str, value: Any, session: Session) -> Gradient:
    """The gradient of a name, with where it came from or why it is none."""
    if not isinstance(value, Tensor):
        reason = f"{name} is {describe_value(value)}; var {name} = … makes a leaf that requires grad"
        return Gradient(name, None, reason)
    kept = value.node.grad
    if kept is None or kept.value is None:
        return Gradient(name, None, why_none(name, value))
    remark = ""
    if kept.calls > 1:
        calls = f"{kept.calls} backward calls"
        texts = [text_of(part, session.settings) for part in kept.parts]
        full = len(texts) == kept.calls and kept.value.item() == sum(kept.parts)  # else it was written to since
        remark = f"{' + '.join(texts).replace('+ -', '- ')}, {calls}" if full else calls
    return Gradient(name, kept.value, remark)


def why_none(name: str, value: Tensor) -> str:
    """Why a value has no gradient, and what to do."""
    node = value.node
    if node.grad is not None and node.grad.cleared is not None:
        cleared = node.grad.cleared
        return f"cleared {cleared if isinstance(cleared, str) else f'at {cleared.where}'}"  # type: ignore[attr-defined]
    if not node.requires_grad:
        return f"{name} does not require grad"
    if node.op is not None and not node.keeps_grad:
        return f"{name} was computed, and only leaves keep a gradient; retain {name} before backward keeps it"
    return f"no backward has reached {name} yet"


@command(
    "zero_grad",
    "zero_grad [a …]",
    "Clears gradients to none: of all names by default.",
    "var a = 3; backward a**2; zero_grad; grad a",
)
def _zero_grad(session: Session, call: Call) -> None:
    if call.values:
        targets = [_graphed(call, position, "zero_grad") for position in range(len(call.values))]
    else:
        targets = [value for value in session.names.values() if isinstance(value, Tensor)]
    for target in targets:
        target.clear_grad()


@command(
    "graph",
    "graph d [as text]",
    "Shows the graph behind d: what was computed from what, what is saved, held or freed.",
    "var a = 3; d = a**2*2; graph d",
)
def _graph(session: Session, call: Call) -> None:
    form = call.options.get("as", "text")
    if form != "text" or "to" in call.options:
        wanted = f"graph as {form}" if form != "text" else "graph … to a file"
        raise AgradError("arity", f"{wanted} is not there yet", labels=[Label(call.span)], fixes=["graph d as text"])
    value = _graphed(call, 0, "graph")
    session.emit(Table(dump(value, call.operand(0).span.text).text(session.settings.precision)))


@command(
    "set",
    "set x = 5",
    "New data for a leaf: same shape, and every graph that used the old data is stale from then on.",
    "var x = 2; y = x**2; set x = 5; x",
)
def _set(session: Session, call: Call) -> None:
    name = call.operand(0)
    target = call.names.get(name.span.text, session.names.get(name.span.text))
    if target is None:
        raise session.machine.unknown(name.span.text, name.span)
    if not isinstance(target, Tensor) or target.node.op is not None:
        what = "was computed" if isinstance(target, Tensor) else f"is {describe_value(target)}"
        raise AgradError(
            "leaf",
            f"set writes into a leaf, and {name.span.text} {what}",
            labels=[Label(name.span)],
            fixes=[f"{name.span.text} = …   binds a new value"],
        )
    target.set_(as_array(call.values[0]))


@command(
    "step",
    "step sgd w b lr=0.1",
    "One optimiser update of the leaves named, by the gradients they have.",
    "var w = 3; backward w**2; step sgd w lr=0.1; w",
)
def _step(session: Session, call: Call) -> None:
    options = dict(call.options)
    method = options.pop("method")
    if method not in STEPS:
        fixes = [f"step {known} …" for known in STEPS]
        raise AgradError("name", f"there is no optimiser {method}", labels=[Label(call.span)], fixes=fixes)
    leaves = [_graphed(call, position, "step") for position in range(len(call.values))]
    unknown = [name for name in options if name != "lr"]
    if unknown:
        raise AgradError("arity", f"step {method} has no option {unknown[0]}", fixes=["lr=0.1"])
    rates = {name: number_of(f"step {method}", name, value) for name, value in options.items()}
    STEPS[method](leaves, **rates)


@command(
    "check",
    "check f(x) [wrt x y]",
    "Compares exact derivatives with differences, entry by entry; a mismatch is an error.",
    "var x = 3; check x**2*sin(x)",
)
def _check(session: Session, call: Call) -> None:
    from agrad.grammar.checking import check, leaf_to_check  # here, since few sessions check anything

    expression, *operands = call.node.operands
    leaves = [leaf_to_check(value, operand) for value, operand in zip(call.values, operands, strict=True)]
    check(session, expression, leaves)


@command("vars", "vars", "Lists the names there are, with shape and what they are.", "var a = 3; k = 2; vars")
def _vars(session: Session, call: Call) -> None:
    rows = [(name, *_describe(value, session)) for name, value in session.names.items()]
    if not rows:
        session.emit(Table("no names yet"))
        return
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    session.emit(Table("\n".join(lines)))


def _describe(value: Any, session: Session) -> tuple[str, str]:
    """What a name stands for, and its value."""
    if isinstance(value, Closure):
        return "function", value.usage
    if not isinstance(value, Tensor):
        return "number" if isinstance(value, float) else type(value).__name__, text_of(value, session.settings)
    node = value.node
    kind = "leaf" if node.op is None and node.requires_grad else "value"
    if node.op is not None:
        kind = f"{node.title}, {'freed' if node.freed is not None else 'held'}"
    shape = f" {format_shape(value.shape)}" if value.shape else ""
    shown = text_of(value, session.settings).replace("\n", "")
    text = shown if len(shown) <= 60 else shown[:59] + "…"
    gradient = value.grad
    return kind + shape, text if gradient is None else f"{text}   grad {_short(gradient, session)}"


def _short(value: Tensor, session: Session) -> str:
    shown = text_of(value, session.settings).replace("\n", "")
    return shown if len(shown) <= 40 else format_shape(value.shape)


@command("help", "help [word]", "Explains a command or a function; alone, lists what there is.", "help backward")
def _help(session: Session, call: Call) -> None:
    word = call.options.get("word")
    session.emit(Table(overview(COMMANDS) if word is None else help_on(str(word), COMMANDS)))


@command("quit", "quit", "Ends the session.", "quit")
def _quit(session: Session, call: Call) -> None:
    raise Quit
