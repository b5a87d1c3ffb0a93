"""Every mistake of the table is recognised, said in plain words, and its caret stands where it was made."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from thinned import thinned

import agrad.grammar.commands  # noqa: F401  # which says how each command is written
from agrad.engine.errors import AgradError
from agrad.grammar.diagnostics import Source, Span, render
from agrad.grammar.syntax.errors.messages import CARET, MESSAGES
from agrad.grammar.syntax.keywords import words
from agrad.grammar.syntax.loader import saved
from agrad.grammar.syntax.parser import parse

EXAMPLES = [(mistake, example) for mistake, entry in MESSAGES.items() for example in entry.examples]
# Those that no statement can make, only parse_expression.
WITHOUT_EXAMPLES = {"empty", "not an expression"}


def failure(text: str) -> AgradError:
    with pytest.raises(AgradError) as caught:
        parse(Source("script.ag", text))
    assert caught.value.kind == "syntax"
    assert any(isinstance(label.origin, Span) for label in caught.value.labels)
    return caught.value


@pytest.mark.parametrize(("mistake", "example"), EXAMPLES)
def test_example(mistake: str, example: str) -> None:
    problem = failure(example.replace(CARET, ""))
    place = problem.labels[0].origin
    assert isinstance(place, Span)
    assert problem.facts.name == mistake
    if CARET in example:
        assert place.start == example.index(CARET)


def test_every_mistake_has_examples() -> None:
    assert {mistake for mistake, entry in MESSAGES.items() if not entry.examples} == WITHOUT_EXAMPLES


def test_no_message_shows_a_terminal() -> None:
    names = {name for _, parts, *_ in saved()["rules"] for name, left_out in parts if left_out is not None} | {"$END"}
    pattern = re.compile(rf"\b({'|'.join(sorted(name.strip('_$') for name in names))})\b")
    for _, example in EXAMPLES:
        problem = failure(example.replace(CARET, ""))
        said = " ".join([problem.message, *problem.fixes, *problem.notes, *(label.text for label in problem.labels)])
        assert not pattern.search(said) and "__" not in said.replace("1__0", ""), said


WHOLE = {
    "2*": """\
error[syntax]: a value is missing after `*`
  1 | 2*
    |   ^""",
    "x = 3\ny = 2x + 1": """\
error[syntax]: an operator is missing between `2` and `x`
  2 | y = 2x + 1
    |      ^
  fix: y = 2*x + 1""",
    "y = (1 +\n  [2, 3)": """\
error[syntax]: this `)` does not match the `[` before it
  2 |   [2, 3)
    |   ^ opened here
  2 |   [2, 3)
    |        ^
  fix: close it with ]""",
    "x = [1, 2,\n     3, 4\n     5, 6]": """\
error[syntax]: an operator or a comma is missing between `4` and `5`
  3 |      5, 6]
    |      ^
  fix: 4*5 or 4, 5""",
    "if f(x,\n     y = 2) and z = 3: pass": """\
error[syntax]: `=` gives a value to a name; to compare write `==`
  2 |      y = 2) and z = 3: pass
    |                   ^""",
    "  x = 1\ny = 2": """\
error[syntax]: the first line is indented more than one below it
  1 |   x = 1
    | ^^ this indentation
  2 | y = 2
    | ^ and this one
  fix: begin both in the same column""",
    "x = １２": """\
error[syntax]: agrad does not use the character `１２`
  1 | x = １２
    |     ^^^^ U+FF11
  fix: x = 12
  fix: type 12 instead""",
    "fit n ~ A*exp(-t/tau) + B over A, tau, B weights 1/err**2 from A=1000, tau=5, B=50": """\
error[syntax]: `weights` is not an option of `fit`, which has over, sigma and from
  1 | fit n ~ A*exp(-t/tau) + B over A, tau, B weights 1/err**2 from A=1000, tau=5, B=50
    |                                          ^^^^^^^
  fix: fit n ~ A*exp(-t/tau) + B over A, tau, B sigma 1/sqrt(1/err**2) from A=1000, tau=5, B=50""",
    "fit n ~ A*exp(-t.x/tau) + B": """\
error[syntax]: `fit` needs the names that it changes
  1 | fit n ~ A*exp(-t.x/tau) + B
    |         ^^^^^^^^^^^^^^^^^^^
  fix: over A, tau, B   at the end, without those that are data
  fix: fit … over a, b""",
    "print “hello”": """\
error[syntax]: agrad does not use the character `“`
  1 | print “hello”
    |       ^ U+201C
  fix: print "hello"
  fix: type " instead""",
    "y = x[(x > 1) & (x – 3 < 0)]": """\
error[syntax]: agrad does not use the character `&`
  1 | y = x[(x > 1) & (x – 3 < 0)]
    |               ^
  fix: y = x[(x > 1) * (x - 3 < 0)]
  fix: type and, or * of arrays, instead""",
    "x << 2": """\
error[syntax]: `<<` is not an operator
  1 | x << 2
    |   ^^""",
    "fails fred: backward e": """\
error[syntax]: there is no kind of error called fred
  1 | fails fred: backward e
    |       ^^^^
  fix: fails freed: backward e""",
    'dislay "az"': """\
error[syntax]: agrad has no command `dislay`
  1 | dislay "az"
    | ^^^^^^
  note: the commands are again, backward, budget, check, contour, correlate, explain, export, fit, formula, forward, grad, graph, graphs, help, histogram, \
history, info, limit, load, maximize, minimize, plot, print, quit, redo, reset, retain, save, set, solve, step, time, undo, var, vars, \
watch, zero_grad""",
    "no_gard: w -= 1": """\
error[syntax]: agrad has no command `no_gard`
  1 | no_gard: w -= 1
    | ^^^^^^^
  fix: no_grad: w -= 1""",
    "graph d as dot depth": """\
error[syntax]: `graph` is written `graph d [vs e] [as text|tree|boxes|dot|mermaid|program|svg|tikz|page|json] [depth 3] [from a b] [to "d.gv"]`
  1 | graph d as dot depth
    |                     ^""",
    "forward d with x": """\
error[syntax]: `forward` is written `forward d, or forward d with x=3, y=4`
  1 | forward d with x
    |                 ^""",
    "var y = 2\nbackward y retian trace": """\
error[syntax]: `retian` is not an option of `backward`
  2 | backward y retian trace
    |            ^^^^^^
  fix: backward y retain trace""",
    "forward y wiht x=3": """\
error[syntax]: `wiht` is not an option of `forward`
  1 | forward y wiht x=3
    |           ^^^^
  fix: forward y with x=3""",
    "graph d dpeth 3": """\
error[syntax]: `dpeth` is not an option of `graph`
  1 | graph d dpeth 3
    |         ^^^^^
  fix: graph d depth 3""",
    "explain d wtr a": """\
error[syntax]: `wtr` is not an option of `explain`
  1 | explain d wtr a
    |           ^^^
  fix: explain d wrt a""",
    "f(x) := x^2": """\
error[syntax]: agrad has no `:=`
  1 | f(x) := x^2
    |      ^^
  fix: def f(x) = x^2""",
    "sqrt 4  # two": """\
error[syntax]: the argument of `sqrt` must be in brackets
  1 | sqrt 4  # two
    |      ^
  fix: sqrt(4)""",
    "x: int": """\
error[syntax]: an annotation alone does nothing: it needs a value
  1 | x: int
    |  ^
  fix: x = …""",
    "import torch.nn.functional as G\nG.relu(x)": """\
error[syntax]: an import does not define names in agrad: `torch.nn.functional` cannot be called `G`
  1 | import torch.nn.functional as G
    |                               ^
  fix: write F. where it says G.""",
    "import torch, torch.linalg as LA": """\
error[syntax]: an import does not define names in agrad: `torch.linalg` cannot be called `LA`
  1 | import torch, torch.linalg as LA
    |                               ^^
  fix: write torch.linalg. where it says LA.""",
    "from torch import exp, sin as s": """\
error[syntax]: an import does not define names in agrad: `sin` cannot be called `s`
  1 | from torch import exp, sin as s
    |                               ^
  fix: s = sin   on its own line""",
    "time x = 3": """\
error[syntax]: `time` is written `time: y = f(x)`
  1 | time x = 3
    |      ^""",
    "bakward loss": """\
error[syntax]: agrad has no command `bakward`
  1 | bakward loss
    | ^^^^^^^
  fix: backward loss""",
    "if x = 3: y": """\
error[syntax]: `=` gives a value to a name; to compare write `==`
  1 | if x = 3: y
    |      ^
  fix: if x == 3: y""",
    "backward = 3": """\
error[syntax]: `backward` is a reserved word of agrad, so it cannot be a name
  1 | backward = 3
    | ^^^^^^^^
  fix: choose another name""",
    "retain a*2": """\
error[syntax]: `retain` is written `retain b`
  1 | retain a*2
    |         ^
  note: it acts on names, such as a, a.grad or w[0]""",
    'print "loss" x': """\
error[syntax]: an operator or a comma is missing between `"loss"` and `x`
  1 | print "loss" x
    |              ^
  fix: print "loss", x""",
    "f(x) = x**2": """\
error[syntax]: `f(x)` is a call, which cannot be given a value
  1 | f(x) = x**2
    | ^^^^
  fix: def f(x) = x**2""",
}


@pytest.mark.parametrize("text", WHOLE)
def test_whole_message(text: str) -> None:
    assert render(failure(text)) == WHOLE[text]


def test_a_list_of_targets_is_unpacked_into() -> None:
    for text in ("[a, b] = 3, 4", "for [a, b] in x: a", "[a] = b = x", "[a[0], b.data] = x"):
        parse(Source("script.ag", text))


HOSTILE = {
    "a mistake in a bracket, then much": "x = (1\n2" + "\n(3)" * 30_000,
    "brackets that close, after a mistake": "[\n" * 30_000 + "1 2" + "]" * 30_000,
    "open brackets": "(" * 100_000,
    "open brackets, then a mistake": "[" * 100_000 + "* 3",
    "open calls": "f(" * 50_000,
    "garbage": "%$#@!^&*()_+{}|:\"<>?'" * 500,
    "nothing but NUL": "\0" * 10_000,
    "half a surrogate pair": "x = '\ud800' \udfff",
    "quotes": '"' * 10_001,
    "f-strings in f-strings": "f'{" * 10_000,
    "margins": "".join(" " * (width % 7) + "x\n" for width in range(10_000)),
    "bare keywords": "if " * 10_000,
    "commas": "," * 10_000,
}


@pytest.mark.parametrize("name", thinned(HOSTILE, 3))
def test_hostile_text_is_refused_quickly(name: str) -> None:
    problem = failure(HOSTILE[name])
    assert len(render(problem)) < 2_000


_WORDS = words(
    """if else elif for in while def return break pass and or not is None True backward grad
    retain graph set step var x y f 1 2.5 1e 0x ( ) [ ] { } , : ; = == += + - * ** ^ ~= +- . ... "a"
    f"{x}" f"{ ' \\ # ² \N{MULTIPLICATION SIGN} lambda import torch class help print fails freed
    as to seed no_grad with forward info time explain wrt depth trace"""
)

_lines = st.lists(st.sampled_from([*sorted(_WORDS), "\n", "\n  ", "\n\t", "\n    "]), max_size=20).map(" ".join)


@given(st.one_of(st.text(max_size=60), _lines))
def test_any_text_parses_or_is_a_syntax_error(text: str) -> None:
    try:
        parse(Source("session", text))
    except AgradError as problem:
        assert problem.kind == "syntax"
        assert render(problem)
        for label in problem.labels:
            assert isinstance(label.origin, Span)
            assert 0 <= label.origin.start <= label.origin.end <= len(text)


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ("plot t n", "plot t, n"),
        ("for i in 1..3: i", "for i in range(1, 4): i"),
        ("y = sum(1..10) # all", "y = sum(arange(1, 11))"),
        ("x = 1.2.3", "write numbers as 2, 2.5, .5 or 1e-3"),
        ("x = 1; plot t n r # all", "x = 1; plot t, n, r"),
        ("plot n vs t", "plot t, n"),
        ('plot d.n vs d["time (s)"]', 'plot d["time (s)"], d.n'),
        ('plot "a;b.csv" using 1:3 with lines', 't = load_csv("a;b.csv"); plot t[0], t[2]'),
        ("fit y ~ a*x + b from a=1, b=2", "fit y ~ a*x + b over a, b from a=1, b=2"),
        ("fit y ~ a*x over a yerr s", "fit y ~ a*x over a sigma s"),
        ("fit y ~ a*x over a with yerr=s", "fit y ~ a*x over a with sigma s"),
        ("fit y ~ a*x over a with weights=w", "fit y ~ a*x over a with sigma 1/sqrt(w)"),
        ("fit y ~ a*x over a guess a=2", "fit y ~ a*x over a from a=2"),
        ("fit y ~ a*x over a with a=2", "fit y ~ a*x over a from a=2"),
        ("fit y ~ a*x via a", "fit y ~ a*x over a"),
    ],
)
def test_what_other_programs_write_is_written_as_here(text: str, fix: str) -> None:
    assert failure(text).fixes[0] == fix
