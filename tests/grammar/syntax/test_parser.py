"""What is read, and as what: the tree is compared in a short notation that shows every bracket."""

from __future__ import annotations

import ast
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from thinned import thinned

from agrad.engine.errors import AgradError
from agrad.grammar.diagnostics import Source
from agrad.grammar.syntax import ast as s
from agrad.grammar.syntax.keywords import words
from agrad.grammar.syntax.parser import needs_more, parse, parse_expression, tokens


def shape(node: object) -> str:
    """A node as text, fully bracketed. Recursive: for the small trees of these tests only."""
    match node:
        case None:
            return ""
        case tuple():
            return " ".join(shape(part) for part in node)
        case s.Number(value):
            return f"{value:g}"
        case s.String(value):
            return repr(value)
        case s.Name(name):
            return name
        case s.NoneLiteral():
            return "None"
        case s.EllipsisLiteral():
            return "..."
        case s.FString(parts):
            return "f<" + "|".join(part if isinstance(part, str) else shape(part) for part in parts) + ">"
        case s.Formatted(value, _, spec, text, debug):
            return f"{{{shape(value)}:{spec}{':' + text if debug else ''}}}"
        case s.List(items):
            return f"[{shape(items)}]"
        case s.Tuple(items):
            return f"<{shape(items)}>"
        case s.Unary(op, operand):
            return f"({op} {shape(operand)})"
        case s.Binary(op, left, right) | s.Logic(op, left, right):
            return f"({shape(left)} {op} {shape(right)})"
        case s.Compare(first, rest):
            return f"({shape(first)}" + "".join(f" {op} {shape(value)}" for op, value in rest) + ")"
        case s.Near(left, right, tolerance):
            return f"({shape(left)} ~= {shape(right)}{f' +- {shape(tolerance)}' if tolerance else ''})"
        case s.IsNone(operand, negated):
            return f"({shape(operand)} is {'not ' if negated else ''}None)"
        case s.Conditional(test, then, other):
            return f"({shape(then)} if {shape(test)} else {shape(other)})"
        case s.Call(function, arguments, keywords):
            named = [f"{name}={shape(value)}" for name, value in keywords]
            return f"{shape(function)}({', '.join([shape(a) for a in arguments] + named)})"
        case s.Attribute(value, name):
            return f"{shape(value)}.{name}"
        case s.Index(value, index):
            return f"{shape(value)}[{shape(index)}]"
        case s.Slice(start, stop, step):
            return f"{shape(start)}:{shape(stop)}:{shape(step)}"
    return statement_shape(node)


def statement_shape(node: object) -> str:
    match node:
        case s.Evaluate(value, silent):
            return shape(value) + (";" if silent else "")
        case s.Assign(targets, value):
            return "".join(f"{shape(target)} = " for target in targets) + shape(value)
        case s.Augment(target, op, value):
            return f"{shape(target)} {op}= {shape(value)}"
        case s.Variable(name, value):
            return f"var {shape(name)} = {shape(value)}"
        case s.For(target, iterable, body):
            return f"for {shape(target)} in {shape(iterable)} {block(body)}"
        case s.While(test, body):
            return f"while {shape(test)} {block(body)}"
        case s.If(branches, otherwise):
            text = " el".join(f"if {shape(test)} {block(body)}" for test, body in branches)
            return text + (f" else {block(otherwise)}" if otherwise else "")
        case s.Define(name, parameters, body):
            listed = ", ".join(p.name + (f"={shape(p.default)}" if p.default else "") for p in parameters)
            return f"def {name}({listed}) {block(body)}"
        case s.Return(value):
            return f"return {shape(value)}".strip()
        case s.NoGrad(body):
            return f"no_grad {block(body)}"
        case s.Time(body):
            return f"time {block(body)}"
        case s.Fails(kind, body):
            return f"fails {kind} {block(body)}"
        case s.Print(arguments, options):
            listed = " ".join(f"{name}={shape(value)}" for name, value in options)
            return f"print {shape(arguments)} {listed}".strip()
        case s.Assert(test, message):
            return f"assert {shape(test)} {shape(message)}".strip()
        case s.Delete(names):
            return f"del {shape(names)}"
        case s.Import(text):
            return f"import <{text}>"
        case s.Command(word, operands, options):
            listed = " ".join(f"{name}={shape(value)}" for name, value in options)
            return f"!{word} {shape(operands)} {listed}".replace("  ", " ").strip()
    return type(node).__name__.lower()


def block(body: tuple[s.Statement, ...]) -> str:
    return "{" + "; ".join(shape(statement) for statement in body) + "}"


def read(text: str) -> str:
    return "; ".join(shape(statement) for statement in parse(Source("session", text)))


EXPRESSIONS = {
    # numbers
    "2.": "2",
    ".5": "0.5",
    "1e-3": "0.001",
    "1_000": "1000",
    "1e400": "inf",
    "True": "1",
    "False": "0",
    "007": "7",
    "5+-0.1": "(5 + (- 0.1))",
    "5 +-0.1": "(5 + (- 0.1))",
    # precedence
    "-2**2": "(- (2 ** 2))",
    "2**-1": "(2 ** (- 1))",
    "2**3**2": "(2 ** (3 ** 2))",
    "2^3^2": "(2 ** (3 ** 2))",
    "-x.T[0]**2": "(- (x.T[0] ** 2))",
    "a - b - c": "((a - b) - c)",
    "a/b*c": "((a / b) * c)",
    "a + b*c @ d // e % f": "(a + ((((b * c) @ d) // e) % f))",
    "not a == b": "(not (a == b))",
    "not a and not b or c": "(((not a) and (not b)) or c)",
    "a or b and c": "(a or (b and c))",
    "a < b + 1 == c": "(a < (b + 1) == c)",
    "(a < b) < c": "((a < b) < c)",
    "a if b else c if d else e": "(a if b else (c if d else e))",
    "a or b if c and d else not e": "((a or b) if (c and d) else (not e))",
    "x is None": "(x is None)",
    "not x is not None": "(not (x is not None))",
    # tolerance
    "a ~= b": "(a ~= b)",
    "a ~= b +- 1e-9": "(a ~= b +- 1e-09)",
    "a ~= 2*b+-t": "(a ~= (2 * b) +- t)",
    "a ~= f(5+-1) +- t": "(a ~= f((5 + (- 1))) +- t)",
    "a ~= b +- t and c+-d": "((a ~= b +- t) and (c + (- d)))",
    "f(a ~= b, 5+-1)": "f((a ~= b), (5 + (- 1)))",
    # calls, indices, attributes
    "f(x, axis=0,)": "f(x, axis=0)",
    "x.sum(axis=0).T": "x.sum(axis=0).T",
    "grad(f, (0, 1))(2, 3)": "grad(f, <0 1>)(2, 3)",
    "x[0]": "x[0]",
    "A[0, 1:]": "A[<0 1::>]",
    "A[:, -1]": "A[<:: (- 1)>]",
    "x[0,]": "x[<0>]",
    "x[a:b:c]": "x[a:b:c]",
    "x[::2]": "x[::2]",
    "x[...]": "x[...]",
    "d.backward(retain_graph=True)": "d.backward(retain_graph=1)",
    "x.retain": "x.retain",
    "x.print": "x.print",
    "(1)(2)": "1(2)",
    "[[1, 2], [3, x],]": "[[1 2] [3 x]]",
    "[]": "[]",
    "()": "<>",
    "(1,)": "<1>",
    "(1)": "1",
    "1, 2": "<1 2>",
    "1,": "<1>",
    "((1, 2), 3)": "<<1 2> 3>",
    "(1 +\n 2)": "(1 + 2)",
    "[1,\n\n  # two\n  2]": "[1 2]",
    # soft words are names
    "grad(y, x)": "grad(y, x)",
    "step + 1": "(step + 1)",
    "grad if grad else set": "(grad if grad else set)",
    "seed*to*time": "((seed * to) * time)",
    "var(x)": "var(x)",
    "graph.retain": "graph.retain",
    "f(step=1)": "f(step=1)",
    # strings
    '"a\\n\\"b\\u00e9\\x41\\q"': r"""'a\n"béA\\q'""",
    "''": "''",
    'f"loss {loss:.4f}"': "f<loss |{loss:.4f}>",
    'f"{x + y[0]}{z}"': "f<{(x + y[0]):}|{z:}>",
    'f"{{x}} {x=} {y = :.2f}"': "f<{x} |{x::x=}| |{y:.2f:y = }>",
    "f'{f(\"a\")}'": "f<{f('a'):}>",
    'f"{a[1:2]} {(lambda_, 1)}"': "f<{a[1:2:]:}| |{<lambda_ 1>:}>",
    "F\"{f'{x}'}\"": "f<{f<{x:}>:}>",
    "print(x) + 1": "(print(x) + 1)",
    "naïve*ρ": "(naïve * ρ)",
    "µ": "μ",
}


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_expressions(text: str) -> None:
    assert shape(parse_expression(Source("expression", text))) == EXPRESSIONS[text]


STATEMENTS = {
    "": "",
    "# nothing\n\n": "",
    "#!/usr/bin/env agrad\nx": "x",
    "\ufeffx = 1": "x = 1",
    "  x = 1\n  y = 2": "x = 1; y = 2",
    "x = 1\r\ny = 2\rz": "x = 1; y = 2; z",
    "x; y": "x;; y",
    "x; y;": "x;; y;",
    "x = 1; y": "x = 1; y",
    "a = b = 3": "a = b = 3",
    "q, r = qr(A)": "<q r> = qr(A)",
    "(a, (b, c)), d = x": "<<a <b c>> d> = x",
    "(x) = 2": "x = 2",
    "x[0] = 5": "x[0] = 5",
    "x.grad = None": "x.grad = None",
    "x += 1": "x += 1",
    "x //= 2; x **= 3; x ^= 4; x @= A": "x //= 2; x **= 3; x **= 4; x @= A",
    "var x = 2": "var x = 2",
    "var grad = 2": "var grad = 2",
    "set = 3": "set = 3",
    "grad = step = 3": "grad = step = 3",
    "del x, y": "del x y",
    "def f(x, y=2) = x**y": "def f(x, y=2) {return (x ** y)}",
    "def f() = 1": "def f() {return 1}",
    "def f(x):\n    def g(y) = y\n    return g(x), 1": "def f(x) {def g(y) {return y}; return <g(x) 1>}",
    "def f(x): return": "def f(x) {return}",
    "if a: b = 1; c = 2": "if a {b = 1; c = 2}",
    "if a: b\nelif c:\n  d\n  e\nelse: f": "if a {b} elif c {d; e} else {f}",
    "if a:\n  if b:\n    c\nelse:\n  d": "if a {if b {c}} else {d}",
    "for i in range(3): backward loss": "for i in range(3) {!backward loss}",
    "for i, v in x: pass": "for <i v> in x {pass}",
    "for i in 1, 2:\n  if i: break\n  continue": "for i in <1 2> {if i {break}; continue}",
    "while a < 3:\n\n  # note\n  a += 1\n# end\nb": "while (a < 3) {a += 1}; b",
    'if c: print f"{x}"': "if c {print f<{x:}>}",
    "no_grad: w -= 1": "no_grad {w -= 1}",
    "no_grad:\n  w -= 1\n  v": "no_grad {w -= 1; v}",
    "with no_grad(): x": "no_grad {x}",
    "with torch.no_grad():\n\tx": "no_grad {x}",
    "no_grad = 3": "no_grad = 3",
    'print "epoch", i, loss': "print 'epoch' i loss",
    "print": "print",
    "print()": "print",
    "print(a, b)": "print a b",
    "print (a + b)/2": "print ((a + b) / 2)",
    "print(a, end=b)": "print a end=b",
    "assert y == 12": "assert (y == 12)",
    'assert y ~= 12 +- 1e-9, "message"': "assert (y ~= 12 +- 1e-09) 'message'",
    "fails freed: backward e": "fails freed {!backward e}",
    "fails assert: assert 0": "fails assert {assert 0}",
    "fails grad: x; y": "fails grad {x;; y}",
    "fails = 3": "fails = 3",
    "import torch": "import <import torch>",
    "import numpy as np, math": "import <import numpy as np, math>",
    "import torch.nn.functional as F": "import <import torch.nn.functional as F>",
    "from torch.autograd import Variable": "import <from torch.autograd import Variable>",
    "from torch.nn import functional as F, nn": "import <from torch.nn import functional as F, nn>",
    "from math import *": "import <from math import *>",
    # commands
    "backward d": "!backward d",
    "backward mse(x)/4 retain create_graph fresh": "!backward (mse(x) / 4) retain= create_graph= fresh=",
    "backward y retain seed [1, 2]": "!backward y retain= seed=[1 2]",
    "backward y seed v*2 fresh": "!backward y seed=(v * 2) fresh=",
    "backward retain retain": "!backward retain retain=",
    "backward(y) retain": "!backward y retain=",
    "backward fresh*retain": "!backward (fresh * retain)",
    "retain b": "!retain b",
    "retain a, b.grad w[0]": "!retain a b.grad w[0]",
    "grad a.grad": "!grad a.grad",
    "if x: grad a": "if x {!grad a}",
    "zero_grad": "!zero_grad",
    "zero_grad; zero_grad a b": "!zero_grad; !zero_grad a b",
    "graph d": "!graph d",
    'graph d as dot to "d.svg"': "!graph d as='dot' to='d.svg'",
    'graph to to "a"': "!graph to to='a'",
    "set x = rand(3, 3)": "!set x rand(3, 3)",
    "step sgd w b.grad w[0] lr=0.1": "!step w b.grad w[0] method='sgd' lr=0.1",
    "step adam w, b, lr=0.1 beta=(1, 2)": "!step w b method='adam' lr=0.1 beta=<1 2>",
    "vars; quit": "!vars; !quit",
    "quit()": "!quit",
    "help": "!help",
    "help sin": "!help word='sin'",
    "help(sin)": "!help word='sin'",
    "help **  # power": "!help word='**'",
    "help if; x": "!help word='if'; x",
}


@pytest.mark.parametrize("text", STATEMENTS)
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


# Python's tree of the same text, in the notation of `shape`.
_OPERATORS = {
    "Add": "+", "Sub": "-", "Mult": "*", "Div": "/", "FloorDiv": "//", "Mod": "%", "Pow": "**",
    "MatMult": "@", "USub": "-", "UAdd": "+", "Not": "not", "And": "and", "Or": "or",
    "Eq": "==", "NotEq": "!=", "Lt": "<", "LtE": "<=", "Gt": ">", "GtE": ">=",
}  # fmt: skip


def python_shape(node: ast.expr) -> str:
    match node:
        case ast.Constant(value):
            return f"{value:g}"
        case ast.Name(name):
            return name
        case ast.UnaryOp(op, operand):
            return f"({_OPERATORS[type(op).__name__]} {python_shape(operand)})"
        case ast.BinOp(left, op, right):
            return f"({python_shape(left)} {_OPERATORS[type(op).__name__]} {python_shape(right)})"
        case ast.BoolOp(op, values):
            text = python_shape(values[0])
            for value in values[1:]:
                text = f"({text} {_OPERATORS[type(op).__name__]} {python_shape(value)})"
            return text
        case ast.Compare(left, ops, comparators):
            pairs = zip(ops, comparators, strict=True)
            rest = "".join(f" {_OPERATORS[type(op).__name__]} {python_shape(value)}" for op, value in pairs)
            return f"({python_shape(left)}{rest})"
        case ast.IfExp(test, body, orelse):
            return f"({python_shape(body)} if {python_shape(test)} else {python_shape(orelse)})"
        case ast.Call(function, arguments):
            return f"{python_shape(function)}({', '.join(map(python_shape, arguments))})"
        case ast.Subscript(value, index):
            return f"{python_shape(value)}[{python_shape(index)}]"
        case ast.Attribute(value, name):
            return f"{python_shape(value)}.{name}"
        case ast.Tuple(items):
            return f"<{' '.join(map(python_shape, items))}>"
        case ast.List(items):
            return f"[{' '.join(map(python_shape, items))}]"
    raise AssertionError(ast.dump(node))


_PIECES = words("a b 1 2.5 + - * / // % ** @ == < not and or if else ( ) [ ] , f( .T")


@given(st.lists(st.sampled_from(sorted(_PIECES)), min_size=1, max_size=14))
def test_precedence_is_python_s(pieces: list[str]) -> None:
    text = " ".join(pieces)
    try:
        expected = python_shape(ast.parse(text, mode="eval").body)
        found = shape(parse_expression(Source("expression", text)))
    except (SyntaxError, AgradError):
        return
    assert found == expected


_BINARY = words("+ - * / // % ** @ == < <= and or")


@pytest.mark.parametrize(("first", "second"), thinned(itertools.product(sorted(_BINARY), repeat=2), 4))
def test_each_pair_of_operators_binds_as_in_python(first: str, second: str) -> None:
    for text in (f"a {first} b {second} c", f"-a {first} -b {second} not_"):
        found = shape(parse_expression(Source("expression", text)))
        assert found == python_shape(ast.parse(text, mode="eval").body)


@pytest.mark.parametrize(
    "text", ["", " ", "x = 3", "x; y", "x;", "x\ny", "grad a", "print(x)", "var x = 2", "def f(x) = x", "# x"]
)
def test_one_expression_is_neither_nothing_nor_a_statement(text: str) -> None:
    with pytest.raises(AgradError) as caught:
        parse_expression(Source("expression", text))
    assert caught.value.kind == "syntax"


WAITING = """\
(
f(1,\\n
x = [1,\\n\\n
if x:
def f(x):  # f
if x:\\n  y
if x:\\n  y  # z
if x:\\n  y\\nelse:
if x:\\n  for i in y:
if x:\\n  y = (\\n
no_grad:
time:
time:\\n  y
for i in x:\\n  # c\\n  i"""

COMPLETE = """\
x
x = 3\\n
if x: y
def f(x) = x
if x:\\n  y\\n
if x:\\n  y\\n\\t
if x:\\n
2 3 (
(2 3
print "a
x \\\\
x =
2)
# c
if x:\\n  y\\nz
print f"{x"""


def unfolded(lines: str) -> list[str]:
    return [line.encode().decode("unicode_escape") for line in lines.split("\n")]


@pytest.mark.parametrize("text", unfolded(WAITING))
def test_a_session_waits(text: str) -> None:
    assert needs_more(text)


@pytest.mark.parametrize("text", unfolded(COMPLETE))
def test_a_session_does_not_wait(text: str) -> None:
    assert not needs_more(text)


def colours(text: str) -> list[str]:
    return [f"{kind} {text[start:end]}" for kind, start, end in tokens(text)]


def test_tokens_for_highlighting() -> None:
    assert colours("var x = 2.5 # c\nif not grad: grad x") == [
        "command var", "name x", "operator =", "number 2.5", "comment # c",
        "keyword if", "keyword not", "name grad", "operator :", "command grad", "name x",
    ]  # fmt: skip
    assert colours('f"a{x:.2f}"') == [
        'string f"', "string a", "operator {", "name x", "string :.2f", "operator }", 'string "',
    ]  # fmt: skip
    assert colours("backward d retain; (2 + 2x $ “") == [
        "command backward", "name d", "command retain", "operator ;",
        "operator (", "number 2", "operator +", "number 2", "error x", "error $", "error “",
    ]  # fmt: skip


@given(st.text(alphabet="if x:\n\t ()[]{}'\"f=+-~.,;#12eE_²é\\\ud800\x00", max_size=40))
def test_tokens_are_in_order_for_any_text(text: str) -> None:
    places = [place for _, *place in tokens(text)]
    assert all(start < end for start, end in places)
    assert all(end <= start for (_, end), (start, _) in itertools.pairwise(places))
    needs_more(text)
