"""An expression for each of some values: `sum(1/k**2 for k in 1..1000)`, at once where that is the same."""

import math
import time

import pytest

from agrad.engine.errors import AgradError
from agrad.grammar.diagnostics import Source
from agrad.grammar.lint.lint import problems
from agrad.grammar.runtime import analysis
from agrad.grammar.session.inputs import open_names
from agrad.grammar.session.session import Session

START = """
var a = 1.5; n = 20; w = arange(40)/7; A = ones(3, 3)
def f(x) = x**2 + a
def g(x):
    y = f(x)
    return y*sin(x)
def h(x) = x if x > 5 else -x
def noisy(x):
    print x
    return x
"""
AT_ONCE = [
    "1/k**2 for k in 1..30",
    "a*k + n for k in 0..n",
    "log(k, 3) + log(k + 1) for k in range(1, 60, 2)",
    "mod(k, 3) + comb(30, k) for k in 0..30",
    "g(k)/f(2) for k in 1..30",
    "w[k]*k - w[-1] for k in range(40)",
    "where(k > 5, a, -k) for k in 1..30",
    "2 for k in 1..30",
    "a for k in 1..30",
    "-x*(x < 2) for x in w",
]
ONE_BY_ONE = [
    "k for k in 1..3",
    "h(k) for k in 1..30",
    "k if k % 2 == 0 else a for k in 1..30",
    "sum([k, a]) for k in 1..30",
    "A*k for k in 1..30",
    "k**2 for k in (1, 2, a)",
    "row @ row for row in A",
    "sum(i*k*a for i in 1..k) for k in 1..30",
    "len([k, k]) for k in 1..30",
    "grad(f)(k)*a for k in 1..20",
]


def session():
    made = Session()
    made.run(START)
    return made


def one_by_one(text):
    """The same by a loop."""
    value, _, rest = text.rpartition(" for ")
    name, _, values = rest.partition(" in ")
    if ".." in values:
        low, high = values.split("..")
        values = f"range({low}, {high} + 1)"
    return f"total = 0\nfor {name} in {values}: total = total + ({value})\n"


@pytest.mark.parametrize("text", AT_ONCE + ONE_BY_ONE)
def test_the_sum_is_that_of_a_loop_with_its_derivatives(text):
    here = session()
    here.run(f"{one_by_one(text)}found = sum({text})")
    here.run("assert found ~= total")
    if getattr(here.names["total"], "requires_grad", False):
        here.run("assert grad(found, a) ~= grad(total, a)")
        here.run("forward found with a=2.5; assert found != total; forward total; assert found ~= total")


@pytest.mark.parametrize("text", AT_ONCE + ONE_BY_ONE)
def test_what_is_computed_at_once(text, monkeypatch):
    found = []

    def watched(*given):
        found.append(analysis.at_once(*given) is not None)
        return

    monkeypatch.setattr("agrad.grammar.runtime.calls.at_once", watched)
    session().run(f"found = [{text}]")
    assert found[0] == (text in AT_ONCE)


def test_a_list_and_several_values():
    here = session()
    for claim in (
        "[k**2 for k in 1..4] == [1, 4, 9, 16]",
        "[[i*j for j in 1..2] for i in 1..2] == [[1, 2], [2, 4]]",
        "concat([k, -k] for k in 1..2) == [1, -1, 2, -2]",
        "stack(k*[1, 2] for k in 1..2) == [[1, 2], [2, 4]]",
        "sum(k for k in 1..0) == 0",
        "prod(k for k in 1..5) == 120",
        "max(k % 4 for k in 1..9) == 3",
        "norm(k for k in [3, 4]) == 5",
        "sum(k for k in sum(j for j in 1..2)..4) == 7",
    ):
        here.run(f"assert {claim}")


def test_the_variable_is_its_own():
    here = session()
    here.run("k = 7; s = sum(k for k in 1..20); assert k == 7")
    here.run("def p(m) = sum(m**k for k in 0..m); assert p(3) == 40 and p(2) == 7")
    assert open_names("sum(x*k for k in 1..3) + sum(1 for y in range(z))") == ["x", "z"]


def test_what_has_an_effect_happens_for_each():
    shown = []
    here = session()
    here.run("s = sum(noisy(k) for k in 1..20); assert s == 210", shown.append)
    assert len(shown) == 20
    here.run("manual_seed(1); x = [rand() for k in 1..20]; assert std(x) > 0.1")


@pytest.mark.parametrize(
    "text",
    [
        "sum(i*j for i in 1..3 for j in 1..3) == 36",
        "sum(k for k in 1..9 if k > 2) == 42",
        "[k for k in 1..9 if k > 2 if k < 5] == [3, 4]",
        "[i*j for i in 1..3 for j in 1..i if i != j] == [2, 3, 6]",
        "[a + b for (a, b) in ((1, 2), (3, 4))] == [3, 7]",
        "sum(a*b for a, b in zip([1, 2], [3, 4])) == 11",
        "[x for i, x in enumerate([5, 6]) if i] == [6]",
        "[k if k > 1 else 0 for k in 1..3] == [0, 2, 3]",
        "len([k for k in 1..3 if k > 5]) == 0",
    ],
)
def test_several_loops_names_and_conditions(text):
    session().run(f"assert {text}")


def test_names_in_it_are_looked_up_by_lint():
    assert not problems(Source("session", "x = 2; s = sum(x*k for k in 1..x)"))
    assert [one.kind for one in problems(Source("session", "s = sum(x*k for k in 1..3)"))] == ["name"]


def test_the_gradient_and_the_hessian():
    here = session()
    here.run("var x = 0.5; e = sum(x**k/gamma(k + 1) for k in 0..30); backward e create_graph")
    here.run(
        f"assert e ~= {math.exp(0.5)!r} and x.grad ~= {math.exp(0.5)!r} and grad(grad(sum(x**k for k in 0..3), x), x) ~= 5"
    )


def test_a_count_that_has_a_gradient_is_a_choice():
    here = session()
    here.run("var m = 20; s = sum(k*m for k in 1..m); assert s == 4200")
    with pytest.raises(AgradError) as caught:
        here.run("forward s with m=21")
    assert caught.value.kind == "guard"


def test_it_takes_little_time():
    here = session()
    began = time.process_time()
    here.run("s = sum(a/k**2 for k in 1..1e6); backward s; assert a.grad ~= 1.644933 +- 1e-5")
    assert time.process_time() - began < 10


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("sum(k for k in 1..2.5)", "type"),
        ("sum(k for k in 5)", "type"),
        ("sum(q*k for k in 1..30)", "name"),
        ("sum(w[k] for k in 1..40)", "shape"),
        ("sum(k for k in 1..1e13)", "limit"),
        ("2*[k*[1, 2][:k] for k in 1..2]", "shape"),
        ("sum(k for k in 1..3, axis=0)", "syntax"),
    ],
)
def test_refusals(text, kind):
    here = session()
    before = dict(here.names)
    with pytest.raises(AgradError) as caught:
        here.run(f"y = {text}")
    assert caught.value.kind == kind
    assert here.names.keys() == before.keys()
