"""`check` in the language: the derivatives of an expression, compared with finite differences."""

from __future__ import annotations

from collections.abc import Sequence

from agrad.engine.autodiff.gradcheck import Report, claimed, compare
from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError, Hint, Label, NotOneNumber
from agrad.engine.values import Value
from agrad.grammar.commands.registry import Session, wrong
from agrad.grammar.results import Checked, unheard
from agrad.grammar.runtime.compiler import compile_expression
from agrad.grammar.runtime.operations import describe_value
from agrad.grammar.syntax import ast
from agrad.grammar.values.lists import settled


def check(
    session: Session, expression: ast.Expr, leaves: Sequence[Tensor] = (), claims: Sequence[Value | None] | None = None
) -> None:
    """Emit the derivatives of an expression beside differences: by the leaves given, or all that it reads.

    Raises AgradError of kind `assert` where they disagree; of another kind where there is nothing to compare.
    """
    code = compile_expression(expression)
    emit, last, precision = session.emit, session.last, session.settings.precision
    session.emit = unheard
    try:
        report = compare(lambda: settled(session.machine.evaluate(code)), leaves or None, claims)
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


def claimed_value(session: Session, text: str, leaf: Tensor) -> Value:
    """The value of an expression that is claimed to be the derivative by a leaf. Raises AgradError."""
    return claimed(session.evaluate(text), leaf)


def leaf_to_check(value: object, operand: ast.Expr) -> Tensor:
    """A name after `wrt`: a leaf that requires grad; AgradError of kind `leaf` for anything else."""
    name = operand.span.text
    if isinstance(value, Tensor) and value.node.op is None and value.requires_grad:
        return value
    computed = isinstance(value, Tensor) and value.node.op is not None
    what = "was computed" if computed else f"is {describe_value(value)}, which does not require grad"
    fix = "name the leaves it was computed from, or leave out wrt" if computed else f"var {name} = …   makes a leaf"
    raise wrong("leaf", f"check varies leaves that require grad, and {name} {what}", operand.span, Hint(fix))


def _disagreement(report: Report, expression: ast.Expr) -> AgradError:
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
