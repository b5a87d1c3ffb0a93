"""What Python reads and computes, agrad reads and computes: random expressions, evaluated exactly by both."""

from __future__ import annotations

import ast
import re
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agrad.grammar.diagnostics import Source
from agrad.grammar.syntax import ast as s
from agrad.grammar.syntax.parser import parse_expression

NAMES = {"a": Fraction(3), "b": Fraction(-5, 2), "c": Fraction(1, 3)}
OPERATIONS = {
    "+": Fraction.__add__,
    "-": Fraction.__sub__,
    "*": Fraction.__mul__,
    "/": lambda x, y: x / y if y else Fraction(7),
    "//": lambda x, y: Fraction(x // y) if y else Fraction(11),
    "%": lambda x, y: x % y if y else Fraction(13),
    "@": lambda x, y: 2 * x - 3 * y,
    # Neither commutes nor associates, and stays small.
    "**": lambda x, y: (x - 2 * y) / 3,
}
COMPARISONS = {"==": Fraction.__eq__, "!=": Fraction.__ne__, "<": Fraction.__lt__, "<=": Fraction.__le__}
COMPARISONS |= {">": Fraction.__gt__, ">=": Fraction.__ge__}
SIGNS = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.MatMult: "@",
    ast.Pow: "**",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.And: "and",
    ast.Or: "or",
    ast.USub: "-",
    ast.UAdd: "+",
    ast.Not: "not",
}


def unary(op: str, value: Fraction) -> Fraction:
    return Fraction(not value) if op == "not" else -value if op == "-" else value


def chained(first: Fraction, rest: list[tuple[str, Fraction]]) -> Fraction:
    lefts = [first, *(value for _, value in rest)]
    return Fraction(all(COMPARISONS[op](left, right) for left, (op, right) in zip(lefts, rest, strict=False)))


def ours(node: Any) -> Fraction:
    match node:
        case s.Number(value):
            return Fraction(value)
        case s.Name(name):
            return NAMES[name]
        case s.Unary(op, operand):
            return unary(op, ours(operand))
        case s.Binary(op, left, right):
            return OPERATIONS[op](ours(left), ours(right))
        case s.Logic(op, left, right):
            return ours(right) if bool(ours(left)) is (op == "and") else ours(left)
        case s.Compare(first, rest):
            return chained(ours(first), [(op, ours(value)) for op, value in rest])
        case s.Conditional(test, then, other):
            return ours(then) if ours(test) else ours(other)
        case s.Call(s.Name("f"), arguments):
            return sum((ours(argument) for argument in arguments), Fraction(1, 7))
    raise AssertionError(node)


def theirs(node: ast.expr) -> Fraction:
    match node:
        case ast.Constant(value):
            return Fraction(value)
        case ast.Name(name):
            return NAMES[name]
        case ast.UnaryOp(op, operand):
            return unary(SIGNS[type(op)], theirs(operand))
        case ast.BinOp(left, op, right):
            return OPERATIONS[SIGNS[type(op)]](theirs(left), theirs(right))
        case ast.BoolOp(op, values):
            decided = [theirs(value) for value in values]
            return next((value for value in decided if bool(value) is isinstance(op, ast.Or)), decided[-1])
        case ast.Compare(left, ops, values):
            pairs = zip(ops, values, strict=True)
            return chained(theirs(left), [(SIGNS[type(op)], theirs(value)) for op, value in pairs])
        case ast.IfExp(test, then, other):
            return theirs(then) if theirs(test) else theirs(other)
        case ast.Call(_, arguments):
            return sum((theirs(argument) for argument in arguments), Fraction(1, 7))
    raise AssertionError(ast.dump(node))


OPERATORS = [*OPERATIONS, *COMPARISONS, "and", "or"]
SPACE = st.sampled_from(["", " "])


def written(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """An expression of expressions, most often without the brackets that would make its reading plain."""
    operator = st.sampled_from(OPERATORS).map(lambda sign: f" {sign} " if sign.isalpha() else sign)
    return st.one_of(
        st.tuples(inner, SPACE, operator, SPACE, inner).map("".join),
        st.tuples(inner, operator, inner, operator, inner).map("".join),
        st.tuples(st.sampled_from(["-", "+", "not ", "- "]), inner).map("".join),
        st.tuples(inner, inner, inner).map("{0[0]} if {0[1]} else {0[2]}".format),
        st.tuples(st.sampled_from(["({})", "f({})", "f(a, {})"]), inner).map(lambda pair: pair[0].format(pair[1])),
    )


# `a +- b` with spaces around is the one spelling that Python takes and agrad refuses, whatever stands on its sides.
SPACED_TOLERANCE = re.compile(r"\s\+-\s")
EXPRESSIONS = st.recursive(st.sampled_from(["a", "b", "c", "1", "2.5", ".5", "1e1"]), written, max_leaves=12)


@pytest.mark.long
@settings(max_examples=500)
@given(EXPRESSIONS)
def test_an_expression_is_worth_what_python_makes_of_it(text: str) -> None:
    try:
        tree = ast.parse(text, mode="eval").body
    except SyntaxError:
        return
    if SPACED_TOLERANCE.search(text) is None:
        assert ours(parse_expression(Source("expression", text))) == theirs(tree)
