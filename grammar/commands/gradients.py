"""The commands that compute gradients, show them, and use them, as for uncertainties."""

from __future__ import annotations

from collections.abc import Sequence
from os.path import splitext
from typing import Any

from agrad.engine import autodiff, inspect, ops, units
from agrad.engine.autodiff.backward import backward
from agrad.engine.autodiff.optim import OPTIONS, step
from agrad.engine.core.arguments import number_of, small
from agrad.engine.core.context import scope
from agrad.engine.core.graph import Units
from agrad.engine.core.graph_errors import no_grad_error, unrecorded_behind
from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError, Hint, Label, NotOneNumber
from agrad.engine.text import printable
from agrad.grammar.commands.operands import CALLED, COMPUTED, EXPRESSION, FILE, GRADIENTS, LEAVES, REQUIRING, VALUE
from agrad.grammar.commands.registry import Call, Session, all_graphed, command, graphed, wrong
from agrad.grammar.diagnostics import Span, suggest
from agrad.grammar.files import beside, write_text
from agrad.grammar.results import LINES, Checked, Curve, Estimated, Gradient, Plot, Printed, Table, text_of, unheard
from agrad.grammar.runtime.operations import as_array, describe_value
from agrad.grammar.syntax import ast, keywords
from agrad.grammar.syntax.errors.messages import corrected
from agrad.grammar.values.lists import parts_of, settled


@command(changes="graph", operands=EXPRESSION, options={"seed": VALUE})
def _backward(session: Session, call: Call) -> None:
    """backward d [retain] [create_graph] [fresh] [trace] [seed [1, 2]]

    Adds the derivative of d to the gradient of every leaf it depends on, and frees the graph unless `retain` is given.
    `trace` shows every step.

    retain: keeps the graph for another backward
    create_graph: makes the gradients differentiable
    fresh: overwrites gradients instead of adding to them
    trace: shows the steps, node by node
    seed: the gradient of d itself, for a d that is not one number
    as typed: backward d [retain] [create_graph] [fresh] [trace] [seed v]
    example: var a = 3; d = a**2; backward d; grad a
    """
    options = call.options
    create, fresh = "create_graph" in options, "fresh" in options
    trace = inspect.backward_trace.BackwardTrace(fresh=fresh) if "trace" in options else None
    seed, retain = as_array(options.get("seed")), "retain" in options or create
    try:
        backward(graphed(call, 0), seed, retain_graph=retain, create_graph=create, fresh=fresh, watch=trace)
    except AgradError:
        if trace is not None and trace.root is not None:  # a pass that found an anomaly: its steps show why
            trace.sign = "would be" if trace.sign == "=" else "would get"
            session.emit(Table(trace.text(session.settings.precision, session.settings.columns), True))
        raise
    if trace is not None:
        session.emit(Table(trace.text(session.settings.precision, session.settings.columns), True))


@command(changes="graph", operands=COMPUTED)
def _retain(session: Session, call: Call) -> None:
    """retain b …

    Keeps the gradient of a value that is not a leaf, in later backward passes.

    as typed: retain b
    example: var a = 3; b = a**2; c = 2*b; retain b; backward c; grad b
    """
    for value, written in zip(all_graphed(call), call.node.operands, strict=True):
        if not value.requires_grad:
            message = f"{written.span.text} has no gradient to retain: it does not require grad"
            raise wrong("grad", message, written.span)
        value.retain_grad()


@command(changes="graph", operands=REQUIRING)
def _watch(session: Session, call: Call) -> None:
    """watch b [as f]

    Prints the gradient of b in each backward that reaches it; `as f` passes on f of it instead. `watch b off` ends
    that.

    off: no longer
    as typed: watch b, watch b as f, or watch b off
    example: var a = 3; b = a**2; watch b; backward 2*b
    """
    value, name = graphed(call, 0), call.operand(0).span.text
    if not value.requires_grad:
        raise no_grad_error(value.node)
    if "off" in call.options:
        autodiff.reverse.clear_hooks(value)
        return
    change = call.options.get("as")
    if change is not None and not callable(change):
        fix = f"watch {name} as lambda g: 2*g   passes on twice the gradient g"
        raise AgradError("type", f"watch {name} as needs a function, not {describe_value(change)}", fixes=[fix])

    def show(gradient: Tensor) -> Any:
        found = None if change is None else as_array(change(gradient))
        shown = text_of(gradient, session.settings)
        passed = units.quantity.like(found.value, gradient) if Units.exist and isinstance(found, Tensor) else found
        then = "" if found is None else f"   ->   {text_of(passed, session.settings)}"
        session.emit(Printed(f"gradient of {name} = {shown}{then}"))
        return found

    autodiff.reverse.register_hook(value, show)


@command(operands=GRADIENTS)
def _grad(session: Session, call: Call) -> None:
    """grad a …

    Shows gradients and the terms of their sums, or why there is none.

    as typed: grad a b
    example: var a = 3; backward a**2; grad a
    """
    for written, value in zip(call.node.operands, call.values, strict=True):
        session.emit(gradient_of(written.span.text, value, session))


def gradient_of(name: str, value: Any, session: Session) -> Gradient:
    """The gradient of a name, with its terms, or why it is none."""
    if not isinstance(value, Tensor):
        reason = f"{name} is {describe_value(value)}"
        if name.isidentifier():
            reason += f"; var {name} = … makes a leaf that requires grad"
        return Gradient(name, None, reason)
    kept = value.node.grad
    if kept is None or kept.value is None:
        return Gradient(name, None, why_none(name, value))
    remark = ""
    if kept.calls > 1:
        calls = f"{kept.calls} backward calls"
        texts = [text_of(part, session.settings) for part in kept.parts]
        full = len(texts) == kept.calls and kept.value.item() == sum(kept.parts)  # else it was written in place since
        remark = f"{' + '.join(texts).replace('+ -', '- ')}, {calls}" if full else calls
    return Gradient(name, kept.value, remark)


def why_none(name: str, value: Tensor) -> str:
    """Why a value has no gradient, and what to do."""
    node = value.node
    if node.grad is not None and node.grad.cleared is not None:
        cleared = node.grad.cleared
        return f"cleared {cleared if isinstance(cleared, str) else f'at {cleared.where}'}"  # type: ignore[attr-defined]
    if not node.requires_grad:
        cut = node.op is not None or unrecorded_behind(node) is not None
        return no_grad_error(value.node).message if cut else f"{name} does not require grad"
    if node.op is not None and not node.keeps_grad:
        return f"{name} was computed, and only leaves keep a gradient; to keep it, type retain {name} before backward"
    return f"no backward has reached {name} yet"


@command(changes="graph", operands=REQUIRING)
def _zero_grad(session: Session, call: Call) -> None:
    """zero_grad [a …]

    Clears gradients: they are none then. By default those of all names.

    as typed: zero_grad, or zero_grad a b
    example: var a = 3; backward a**2; zero_grad; grad a
    """
    for target in all_graphed(call) or parts_of(session.names.values()):
        if isinstance(target, Tensor):
            target.clear_grad()


def _check_step(call: Call) -> None:
    """Refuse an unknown optimiser, or an unknown option of one."""
    options = dict(call.options)
    method = options.pop("method")
    if method not in OPTIONS:
        near = suggest(str(method), OPTIONS, 2)
        fixes = [call.node.span.text.replace(f" {method}", f" {known}", 1) for known in near]
        fixes = fixes or [Hint(f"step {known} …") for known in OPTIONS]
        raise call.wrong("name", f"there is no optimiser {method}", *fixes)
    known = OPTIONS[method]
    for name in options:
        if name not in known:
            raise _no_option(call, str(method), name, list(known))


@command(
    changes="graph",
    operands=LEAVES,
    choices=dict.fromkeys(OPTIONS, "optimiser"),
    after={
        method: {f"{name}=": f"{default:g} by default" for name, default in options.items()}
        for method, options in OPTIONS.items()
    },
    check=_check_step,
)
def _step(session: Session, call: Call) -> None:
    """step sgd w b lr=0.1 [momentum=0.9] [nesterov=1]
    step adam w b lr=0.01 [beta1=0.9] [beta2=0.999] [eps=1e-8]
    step adamw w b [weight_decay=0.01]
    step rmsprop w b [alpha=0.99]

    One optimiser update of the given leaves, from their gradients: that of optim.SGD, Adam, AdamW or RMSprop. Running
    means are kept with each leaf.

    lr=0.1: rate
    as typed: step sgd w b lr=0.1
    example: var w = 3; backward w**2; step sgd w lr=0.1; w
    """
    options = dict(call.options)
    method = options.pop("method")
    leaves = all_graphed(call)
    units.quantity.plain_only(leaves, "step")
    rates = {name: number_of(f"step {method}", name, value) for name, value in options.items()}
    step(method, leaves, **rates)


def _no_option(call: Call, method: str, name: str, known: list[str]) -> AgradError:
    value = call.option(name)
    assert value is not None
    text, start = value.span.source.text, value.span.start
    place = Span(value.span.source, text.rindex(name, 0, start), value.span.end)
    fixes = [corrected(place, f"{option}={value.span.text}") for option in keywords.near(name, known)]
    message = f"step {method} has no option {name}; its options are {', '.join(known)}"
    return wrong("arity", message, place, *fixes)


@command(operands=CALLED, options={"wrt": LEAVES})
def _check(session: Session, call: Call) -> None:
    """check f(x) [wrt x y]

    Compares exact derivatives with differences, entry by entry; a mismatch is an error.

    wrt: only for these leaves
    as typed: check f(x), or check f(x, y) wrt x
    example: var x = 3; check x**2*sin(x)
    """
    expression, *operands = call.node.operands
    leaves = [_leaf_to_check(value, operand) for value, operand in zip(call.values, operands, strict=True)]
    check(session, expression, leaves)


def check(
    session: Session, expression: ast.Expr, leaves: Sequence[Tensor] = (), claims: Sequence[Tensor | None] | None = None
) -> None:
    """Emit the derivatives of an expression beside finite differences: by the leaves given, or all that it reads.

    Raises AgradError of kind `assert` where they disagree; of another kind where there is nothing to compare.
    """
    code = session.machine.expression(expression)
    emit, last, precision = session.emit, session.last, session.settings.precision
    session.emit = unheard
    try:
        report = autodiff.gradcheck.compare(lambda: settled(session.machine.evaluate(code)), leaves or None, claims)
    except AgradError as error:
        if isinstance(error.facts, NotOneNumber):
            error.fixes = [f"check sum({expression.span.text})"]
        if not error.labels:
            error.labels.append(Label(expression.span))
        raise
    finally:
        session.emit, session.last, session.settings.precision = emit, last, precision
    session.emit(Checked(report))
    if not report.ok:
        raise _disagreement(report, expression)


def claimed_value(session: Session, text: str, leaf: Tensor) -> Tensor:
    """The value of an expression that is claimed to be the derivative by a leaf. Raises AgradError."""
    return autodiff.gradcheck.claimed(session.evaluate(text), leaf)


def _leaf_to_check(value: object, operand: ast.Expr) -> Tensor:
    """A name after `wrt`: a leaf that requires grad; AgradError of kind `leaf` for anything else."""
    name = operand.span.text
    if isinstance(value, Tensor) and value.node.op is None and value.requires_grad:
        return value
    computed = isinstance(value, Tensor) and value.node.op is not None
    what = "was computed" if computed else f"is {describe_value(value)}, which does not require grad"
    fix = "name the leaves it was computed from, or leave out wrt" if computed else f"var {name} = …   makes a leaf"
    raise wrong("leaf", f"check varies leaves that require grad, and {name} {what}", operand.span, Hint(fix))


def _disagreement(report: autodiff.gradcheck.Report, expression: ast.Expr) -> AgradError:
    """The error for a mismatch."""
    found = report.mismatches
    names = ", ".join(finding.entry for finding in found[:5]) + (", …" if len(found) > 5 else "")
    one = len(found) == 1
    which, verb = ("the derivative", "does") if one else (f"{len(found)} derivatives", "do")
    claims_only = all(finding.remark == "the claim" for finding in found)
    other = "the differences" if not claims_only else "the claim" if one else "the claims"
    problem = wrong("assert", f"{which} with respect to {names} {verb} not match {other}", expression.span)
    problem.notes = [] if claims_only else ["detach and no_grad do not affect the differences"]
    return problem


@command(operands=EXPRESSION, options={"wrt": LEAVES})
def _explain(session: Session, call: Call) -> None:
    """explain d [wrt a b]

    The chain rule with numbers: what each path from a leaf to d contributes, the largest first.

    wrt: only from these leaves
    as typed: explain d, or explain d wrt a b
    example: var a = 3; d = a**2*2; explain d
    """
    root, *leaves = all_graphed(call)
    with scope(anomalies=False):  # it shows where they are
        found = inspect.explain.explain(root, leaves or None, name=call.operand(0).span.text)
    session.emit(Table(found.text(session.settings.precision, session.settings.columns)))


# Uncertain values, whose uncertainties are computed with gradients

_ENDINGS = {".txt": "text", ".json": "json", ".csv": "csv", ".tex": "latex"}
_FORMS = {"text": "a table", "json": "one object", "csv": "a line for each source", "latex": "a table for a paper"}


@command(
    operands=EXPRESSION,
    options={"order": VALUE, "samples": VALUE, "coverage": VALUE, "k": VALUE, "as": _FORMS, "to": FILE},
)
def _budget(session: Session, call: Call) -> None:
    """budget y [order 2] [samples 1e6 [shortest]] [coverage 0.95 | k 2] [as json|csv|latex] [to "b.tex"] | budget x, y

    Shows what each uncertain value contributes to the uncertainty of y; of several results, or of an array, how they
    are correlated, and the regions in which they are together.

    order: 2 adds the terms of the second order, and the bias
    samples: so many random samples check the result (JCGM 101)
    shortest: of these, the shortest interval
    coverage: of the expanded uncertainty: 0.95
    k: the factor of the expanded uncertainty, in place of its coverage
    as: text, json, csv or latex
    to: into a file: .txt, .json, .csv or .tex
    as typed: budget y [order 2] [samples 1e6] [k 2] [as latex] [to "b.tex"], or budget x, y
    example: m = 2.0 ± 0.1; h = 3.00(5); budget 9.81*m*h
    """
    options, form = call.options, _form(call)
    coverage = number_of("budget", "coverage", options.get("coverage", 0.95))
    samples = small("budget", "samples", options.get("samples", 0))
    values = [as_array(value) for value in call.values]
    if len(values) > 1 or getattr(values[0], "size", 1) > 1:
        if alone := [*options.keys() & {"order", "shortest", "k"}]:
            raise call.wrong("arity", f"budget: {alone[0]} is for one result, and these are several")
        results, names = _each(call, values)
        several = inspect.budget.joint(results, names, coverage)
        if samples:
            several = inspect.budget.sampled_joint(several, results, samples, ops.creation.generator())
        _show_budget(session, call, several, form)
        return
    if "k" in options and "coverage" in options:
        raise call.wrong("arity", "budget: k and coverage exclude each other", Hint("leave out coverage"))
    k = number_of("budget", "k", options["k"]) if "k" in options else None
    order = small("budget", "order", options.get("order", 1))
    if "shortest" in options and not samples:
        raise call.wrong("arity", "budget: shortest is of samples", f"{call.node.span.text} samples 1e6")
    value = values[0] if isinstance(values[0], int | float) else graphed(call, 0)
    found, curves = inspect.budget.budget(value, coverage, order, k), []
    if samples:
        generator = ops.creation.generator()
        found, curves = inspect.budget.sampled(found, value, samples, generator, "shortest" in options)
    _show_budget(session, call, found, form)
    if curves and form == "text" and "to" not in options:
        drawn = [Curve(name, x, y, style) for (name, x, y), style in zip(curves, LINES, strict=False)]
        session.emit(Plot(tuple(drawn), f"{found.name} ({found.unit})" if found.unit else found.name))


def _each(call: Call, values: list[Any]) -> tuple[list[Any], list[str]]:
    """The results, those in brackets one by one, with their names."""
    found, names = [], []
    for operand, value in zip(call.node.operands, values, strict=True):
        items = operand.items if isinstance(operand, ast.List) else ()
        apart = len(items) == len(value) if items else False
        found += [*value] if apart else [value]
        names += [item.span.text for item in items] if apart else [operand.span.text]
    return found, names


def _form(call: Call) -> str:
    """The form of a budget: as asked for, or by the ending of its file. Raises AgradError of kind `file`."""
    path, form = call.options.get("to"), call.choice("as", "text") if "as" in call.options else ""
    if path is None:
        return form or "text"
    told = _ENDINGS.get(splitext(path)[1].lower())
    if told is None and not form:
        fixes = [f"{call.node.span.text} as {one}" for one in _FORMS]
        raise AgradError("file", f"budget: {path} does not say its form: {' '.join(_ENDINGS)} do", fixes=fixes)
    if form and told and form != told:
        raise AgradError("file", f"budget: {path} means {told} by its ending, and {form} by `as`")
    return form or told or "text"


def _show_budget(session: Session, call: Call, found: Any, form: str) -> None:
    path = call.options.get("to")
    if path is None:
        session.emit(Estimated(found, form))
        return
    write_text(beside(path, None), f"{getattr(found, form)()}\n")
    session.emit(Printed(f"wrote {printable(path)}"))


@command(changes="graph", operands=REQUIRING)
def _correlate(session: Session, call: Call) -> None:
    """correlate a b 0.8

    Sets the correlation of two uncertain numbers.

    example: a = 1 ± 0.1; b = 2 ± 0.1; correlate a b 0.8; a - b
    """
    correlation = number_of("correlate", "the correlation", call.values[2])
    autodiff.uncertainty.correlate(graphed(call, 0), graphed(call, 1), correlation)
