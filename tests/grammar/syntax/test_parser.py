"""What is read, and as what: the tree is compared in a short notation that shows every bracket."""

from __future__ import annotations

import ast
import itertools
from pathlib import Path

import pytest
from answers import answers
from hypothesis import given
from hypothesis import strategies as st
from rows import each

from agrad.engine.errors import AgradError
from agrad.grammar.diagnostics import Source
from agrad.grammar.syntax import ast as s
from agrad.grammar.syntax.keywords import words
from agrad.grammar.syntax.parser import needs_more, parse, parse_expression, tokens

# How nodes are written, from their fields; the others are in `shape`, or are a word alone. Expressions are Python's.
FORMS = {
    s.Name: "{id}",
    s.NoneLiteral: "None",
    s.EllipsisLiteral: "...",
    s.Formatted: "{{{value}:{spec}}}",
    s.Starred: "*{value}",
    s.Unary: "({op} {operand})",
    s.Binary: "({left} {op} {right})",
    s.Logic: "({left} {op} {right})",
    s.Conditional: "({then} if {test} else {other})",
    s.Attribute: "{value}.{name}",
    s.Index: "{value}[{index}]",
    s.Slice: "{start}:{stop}:{step}",
    s.Augment: "{target} {op}= {value}",
    s.Variable: "var {name} = {value}",
    s.For: "for {target} in {iterable} {body}",
    s.While: "while {test} {body}",
    s.Return: "return {value}",
    s.NoGrad: "no_grad {body}",
    s.Time: "time {body}",
    s.Fails: "fails {kind} {body}",
    s.Print: "print {arguments} {options}",
    s.Assert: "assert {test} {message}",
    s.Delete: "del {targets}",
    s.Command: "!{word} {operands} {options}",
}


def shape(node: object) -> str:
    """A node as text, fully bracketed. Recursive: for the small trees of these tests only."""
    match node:
        case None:
            return ""
        case bool() | str():
            return str(node)
        case (s.Statement(), *_):
            return "{" + "; ".join(map(shape, node)) + "}"
        case (str(name), value):
            return f"{name}={shape(value)}"
        case tuple():
            return " ".join(map(shape, node))
        case s.Number(value):
            return f"{value:g}"
        case s.String(value):
            return repr(value)
        case s.FString(parts):
            return f"f<{'|'.join(map(shape, parts))}>"
        case s.Formatted(debug=True):
            return f"{{{shape(node.value)}:{node.spec}:{node.text}}}"
        case s.List(items):
            return f"[{', '.join(map(shape, items))}]"
        case s.Tuple(items):
            return f"({''.join(f'{shape(item)}, ' for item in items)})"
        case s.Compare(first, rest):
            return f"({shape(first)}" + "".join(f" {op} {shape(value)}" for op, value in rest) + ")"
        case s.Near(left, right, tolerance):
            return f"({shape(left)} ~= {shape(right)}{f' +- {shape(tolerance)}' if tolerance else ''})"
        case s.IsNone(operand, negated):
            return f"({shape(operand)} is {'not ' if negated else ''}None)"
        case s.Call(function, arguments, keywords):
            return f"{shape(function)}({', '.join(map(shape, arguments + keywords))})"
        case s.Evaluate(value, silent):
            return shape(value) + (";" if silent else "")
        case s.Assign(targets, value):
            return "".join(f"{shape(target)} = " for target in targets) + shape(value)
        case s.If(branches, otherwise):
            text = " el".join(f"if {shape(test)} {shape(body)}" for test, body in branches)
            return text + (f" else {shape(otherwise)}" if otherwise else "")
        case s.Define(name, parameters, body):
            listed = ", ".join(p.name + (f"={shape(p.default)}" if p.default else "") for p in parameters)
            return f"def {name}({listed}) {shape(body)}"
    fields = {name: shape(getattr(node, name)) for name in node.fields if name not in ("span", "sign")}
    return FORMS.get(type(node), type(node).__name__.lower()).format(**fields).replace("  ", " ").strip()


def read(text: str) -> str:
    return "; ".join(shape(statement) for statement in parse(Source("session", text)))


EXPRESSIONS = answers(Path(__file__).with_name("expressions.txt"))


@each("text", EXPRESSIONS)
def test_expressions(text: str) -> None:
    assert shape(parse_expression(Source("expression", text))) == EXPRESSIONS[text]


STATEMENTS = answers(Path(__file__).with_name("statements.txt"))


@each("text", STATEMENTS)
def test_statements(text: str) -> None:
    assert read(text) == STATEMENTS[text]


def test_a_tree_knows_where_it_stands() -> None:
    source = Source("session", 'y = (a + b)*c\nprint f"{x + 1:.2f}"')
    first, second = parse(source)
    assert isinstance(first, s.Assign) and isinstance(second, s.Print)
    assert isinstance(first.value, s.Binary)
    assert [first.span.text, first.value.span.text] == ["y = (a + b)*c", "(a + b)*c"]
    assert [first.value.left.span.text, first.value.right.span.text] == ["(a + b)", "c"]
    (formatted,) = second.arguments[0].parts  # type: ignore[union-attr]
    assert isinstance(formatted, s.Formatted)
    assert [formatted.span.text, formatted.value.span.text] == ["{x + 1:.2f}", "x + 1"]
    assert second.span.where == "line 2"
    total, system = parse(Source("session", "a = (k for k in xs); solve a + b == 1, a == b for a, b from 1"))
    assert total.value.span.text == "(k for k in xs)"
    assert system.operands[0].span.text == "a + b == 1, a == b"
    assert repr(first.value) == "Binary('(a + b)*c')"


DEEP = {
    "terms": " + ".join(["x*2"] * 50_000),
    "parentheses": "(" * 3_000 + "x" + ")" * 3_000,
    "lists": "[" * 3_000 + "x" + "]" * 3_000,
    "calls": "f(" * 3_000 + "x" + ")" * 3_000,
    "minus": "-" * 50_000 + "x",
    "powers": "2**" * 50_000 + "x",
    "conditions": "a if b else " * 20_000 + "c",
    "attributes": "x" + ".a" * 50_000,
    "statements": "y = sin(x)\n" * 20_000,
    "targets": "(" * 3_000 + "a" + ",)" * 3_000 + " = x",
    "blocks": "".join(" " * depth + "if x:\n" for depth in range(1_000)) + " " * 1_000 + "y",
}


SLOW = {"terms", "powers", "conditions", "attributes", "statements"}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.long) if name in SLOW else name for name in DEEP]
)
def test_neither_length_nor_depth_recurses(name: str) -> None:
    assert parse(Source("session", DEEP[name]))


class Nested(ast.NodeTransformer):
    """`a and b and c` as `(a and b) and c`, which it is."""

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        left, *rest = [self.visit(value) for value in node.values]
        for right in rest:
            left = ast.BoolOp(node.op, [left, right])
        return left


def python_tree(text: str) -> str:
    return ast.dump(Nested().visit(ast.parse(text, mode="eval")))


def bracketed(text: str) -> str:
    """An expression as it is read, in Python, which takes attributes of `1` behind a blank."""
    return shape(parse_expression(Source("expression", text))).replace(".T", " .T")


_PIECES = words("a b 1 2.5 + - * / // % ** @ == < not and or if else ( ) [ ] , f( .T")


@given(st.lists(st.sampled_from(sorted(_PIECES)), min_size=1, max_size=14))
def test_precedence_is_python_s(pieces: list[str]) -> None:
    text = " ".join(pieces)
    try:
        expected, found = python_tree(text), bracketed(text)
    except (SyntaxError, AgradError):
        return
    assert python_tree(found) == expected


_BINARY = words("+ - * / // % ** @ == < <= and or")


@each("first, second", itertools.product(sorted(_BINARY), repeat=2), short=4)
def test_each_pair_of_operators_binds_as_in_python(first: str, second: str) -> None:
    for text in (f"a {first} b {second} c", f"-a {first} -b {second} not_"):
        assert python_tree(bracketed(text)) == python_tree(text)


@each("text", ["", " ", "x = 3", "x; y", "x;", "x\ny", "grad a", "print(x)", "var x = 2", "def f(x) = x", "# x"])
def test_one_expression_is_neither_nothing_nor_a_statement(text: str) -> None:
    with pytest.raises(AgradError) as caught:
        parse_expression(Source("expression", text))
    assert caught.value.kind == "syntax"


WAITING = answers(Path(__file__).with_name("waiting.txt"))


@each("text", WAITING)
def test_a_session_waits_until_a_text_is_complete(text: str) -> None:
    assert needs_more(text) == (WAITING[text] == "waits")


TOKENS = answers(Path(__file__).with_name("tokens.txt"))


@each("text", TOKENS)
def test_tokens_for_highlighting(text: str) -> None:
    assert "\n".join(f"{kind} {text[start:end]}" for kind, start, end in tokens(text)) == TOKENS[text]


@given(st.text(alphabet="if x:\n\t ()[]{}'\"f=+-~.,;#12eE_²é\\\ud800\x00", max_size=40))
def test_tokens_are_in_order_for_any_text(text: str) -> None:
    places = [place for _, *place in tokens(text)]
    assert all(start < end for start, end in places)
    assert all(end <= start for (_, end), (start, _) in itertools.pairwise(places))
    needs_more(text)
