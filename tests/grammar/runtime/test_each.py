"""An expression for each of some values: `sum(1/k**2 for k in 1..1000)`, at once where that is the same."""

import time

import pytest
from rows import divided

from agrad.grammar.diagnostics import Source
from agrad.grammar.lint.lint import problems
from agrad.grammar.session import analysis
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
AT_ONCE = divided("""1/k**2 for k in 1..30; a*k + n for k in 0..n; log(k, 3) + log(k + 1) for k in range(1, 60, 2)
mod(k, 3) + comb(30, k) for k in 0..30; g(k)/f(2) for k in 1..30; w[k]*k - w[-1] for k in range(40)
where(k > 5, a, -k) for k in 1..30; 2 for k in 1..30; a for k in 1..30; -x*(x < 2) for x in w""")
ONE_BY_ONE = divided("""k for k in 1..3; h(k) for k in 1..30; k if k % 2 == 0 else a for k in 1..30
sum([k, a]) for k in 1..30; A*k for k in 1..30; k**2 for k in (1, 2, a); row @ row for row in A
sum(i*k*a for i in 1..k) for k in 1..30; len([k, k]) for k in 1..30; grad(f)(k)*a for k in 1..20""")


def session():
    made = Session()
    made.run(START)
    return made


@pytest.mark.parametrize("text", AT_ONCE + ONE_BY_ONE)
def test_what_is_computed_at_once(text, monkeypatch):
    found, at_once = [], analysis.at_once

    def watched(*given):
        found.append(at_once(*given) is not None)
        return

    monkeypatch.setattr("agrad.grammar.session.analysis.at_once", watched)
    session().run(f"found = [{text}]")
    assert found[0] == (text in AT_ONCE)


def test_the_variable_is_its_own():
    here = session()
    here.run("k = 7; s = sum(k for k in 1..20); assert k == 7")
    here.run("def p(m) = sum(m**k for k in 0..m); assert p(3) == 40 and p(2) == 7")
    assert open_names("sum(x*k for k in 1..3) + sum(1 for y in range(z))") == ["x", "z"]


def test_names_in_it_are_looked_up_by_lint():
    assert not problems(Source("session", "x = 2; s = sum(x*k for k in 1..x)"))
    assert [one.kind for one in problems(Source("session", "s = sum(x*k for k in 1..3)"))] == ["name"]


def test_it_takes_little_time():
    here = session()
    began = time.process_time()
    here.run("s = sum(a/k**2 for k in 1..1e6); backward s; assert a.grad ~= 1.644933 +- 1e-5")
    assert time.process_time() - began < 10
