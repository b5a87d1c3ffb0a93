"""The commands that write a value or a function as source code, and as a formula."""

from __future__ import annotations

from os.path import splitext

from agrad.engine.compile import export
from agrad.engine.core.graph import collect
from agrad.engine.core.tensor import bare
from agrad.engine.errors import AgradError, Hint, Label
from agrad.engine.program.trace import extract, plain
from agrad.engine.text import printable
from agrad.grammar import session as sessions
from agrad.grammar.commands.operands import EXPRESSION, FILE, has_graph
from agrad.grammar.commands.registry import Call, Operands, Session, command, graphed, wrong
from agrad.grammar.files import beside, write_text
from agrad.grammar.results import Printed, unheard
from agrad.grammar.runtime.builtins import Closure
from agrad.grammar.syntax import ast

_POINT = 0.5  # at which a function is traced
_FORMS = {"text": "in the language; the default", "latex": "in LaTeX"}


@command(operands=Operands(has_graph, others=True), options={"to": FILE})
def _export(session: Session, call: Call) -> None:
    """export d to "d.c" [hessian]

    Writes d, as a function of the leaves behind it, or a function, as source code that needs no agrad: with its
    gradient, and with `hessian` its second derivatives. The extension of the file gives the language: .c (C99), .js,
    .py or .ag; .tex are formulas in LaTeX.

    to: the file, whose extension gives the language: .c, .js, .py, .ag or .tex
    hessian: also the second derivatives
    example: def f(x, y) = x**2*sin(y)
      export f to "f.c"
    """
    operand, path, place = call.operand(0), call.options.get("to", ""), call.option("to")
    language = export.languages.LANGUAGES.get(splitext(path)[1][1:].lower())
    name = operand.id if isinstance(operand, ast.Name) else "f"
    if language is None:
        fix, where = f'export {operand.span.text} to "{name}.c"', place.span if place is not None else call.span
        raise wrong("file", "export writes a file that ends in .c, .js, .py, .ag or .tex", where, fix)
    try:
        text = language(_derived(session, call, 2 if "hessian" in call.options else 1), name, _remark(call))
    except AgradError as problem:
        problem.labels = problem.labels or [Label(operand.span)]
        raise
    write_text(beside(path, place.span if place is not None else None), text)
    session.emit(Printed(f"wrote {printable(path)}"))


def _remark(call: Call) -> str:
    """The text of what is exported, for a comment."""
    value, text = call.values[0], call.operand(0).span.text
    if isinstance(value, Closure):
        return value.definition.span.text.partition("\n")[0]  # type: ignore[no-any-return]
    origin = graphed(call, 0).node.origin
    return f"{text} = {origin.text}" if origin is not None and hasattr(origin, "text") else text


def _derived(session: Session, call: Call, order: int) -> export.derive.Derived:
    value = call.values[0]
    if isinstance(value, Closure):
        names = list(value.definition.parameters)
        examples = [_POINT] * len(names)
        emit, session.emit = session.emit, unheard  # it runs once or more for each path
        try:
            programs = export.derive.paths(value, examples, names)
        finally:
            session.emit = emit
        return export.derive.derived(programs, examples, range(len(names)), order)
    root = graphed(call, 0).node
    leaves = [node for node in reversed(collect([root])) if node.op is None and node.requires_grad]
    if not leaves:
        message = f"{call.operand(0).span.text} depends on no leaf"
        raise AgradError("grad", message, fixes=[Hint("make a leaf with var, and compute it again")])
    given = [bare(node) for node in leaves]
    names = [f"x{place}" if not (node.name or "").isidentifier() else node.name for place, node in enumerate(leaves)]
    program = extract([bare(root)], given, names)
    return export.derive.derived(program, [plain(x) for x in given], range(len(leaves)), order)


@command(operands=EXPRESSION, options={"wrt": Operands(others=True), "as": _FORMS})
def _formula(session: Session, call: Call) -> None:
    """formula y [wrt x] [as latex]

    Writes what y is computed by as one expression of the leaves and of the names that have no value, with like terms
    collected, and its derivatives. `formula grad(y, x)` writes the derivative alone.

    wrt: the names to differentiate by
    as: how it is written
    example: formula x**2*sin(x) wrt x
    """
    form = call.choice("as", "text")
    inner, outer = (str(call.options.get(word, "")).split() for word in ("grad", "wrt"))
    for line in sessions.formulas.formula(session.machine, call.values[0].definition, call.names, inner, outer, form):
        session.emit(Printed(line))
