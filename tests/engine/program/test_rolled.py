"""Loops found in traced programs: one operation each, with the values and derivatives of the loop as it was written."""

import random
from importlib import import_module

import numpy as np
import pytest
from backends import USABLE
from compiled import gradient_of
from refused import refuses
from replays import same_bits
from rows import each

import agrad.engine as ag
from agrad.engine.core import graph
from agrad.engine.core.op import OPS
from agrad.engine.program import rolled
from agrad.engine.program.ir import optimised
from agrad.engine.program.trace import trace

X = np.array([0.3, -0.2, 0.5, 0.1])
DATA = np.random.default_rng(0).normal(size=(60, 3))
everywhere = pytest.mark.parametrize("backend", USABLE)


@pytest.fixture(autouse=True)
def _search_short_programs(monkeypatch):
    monkeypatch.setattr(rolled, "LONG", 60)


def logistic_map(x):
    y = x[0]
    for _ in range(40):
        y = x[1] * y * (1 - y) + 0.1
    return y


def array_state(x):
    s = x
    for _ in range(30):
        s = s + 0.1 * ag.sin(s * x) - 0.01 * s[::-1]
    return ag.sum(s * s)


def three_terms(x):
    a, b, c = x[0], x[1], x[2]
    for _ in range(40):
        a, b, c = b, c, 0.5 * a + 0.3 * b * c - 0.1
    return a + b * c


def rows_of_data(x):
    w, total = x[:3], 0.0
    for row in DATA:
        total = total + (ag.sum(w * row) - x[3]) ** 2
        w = w * 0.99
    return total


def rows_of_an_argument(x):
    total = x[0] * 0
    for i in range(4, 40):
        total = total * 0.9 + ag.sin(ag.tensor(DATA[:, 0])[i] * x[i % 1]) + ag.concat([x, x * 2])[i % 8] * 0
    return total


def entries_of_an_argument(x):
    y = ag.concat([x] * 20)
    s = x[0]
    for i in range(60):
        s = s * 0.5 + y[i] * y[79 - i] + ag.reshape(y, (20, 4))[i % 20, 1]
    return s


def columns_of_an_argument(x):
    y = ag.stack([x * i for i in range(30)], axis=1)
    s = x
    for i in range(30):
        s = ag.tanh(s + y[:, i])
    return ag.sum(s)


def counted(x):
    s = x[0]
    for i in range(40):
        s = s + x[1] * (0.1 * i) ** 2 - i
    return s


def states_that_are_stacked(x):
    s, states = x[0], [x[1]]
    for _ in range(40):
        s = s * x[2] + x[3]
        states.append(s)
    y = ag.stack(states)
    return ag.sum(y * y[::-1]) + states[7] * states[-2]


def arrays_that_are_stacked(x):
    s, states = x, []
    for _ in range(25):
        s = ag.cos(s) * x + 0.1
        states.append(s)
    return ag.sum(ag.stack(states) * DATA[:25, :1])


def a_sum_of_results(x):
    s, found = x[0], []
    for _ in range(40):
        s = ag.sin(s + x[1])
        found.append(s * x[2])
    return sum(found[1:], found[0])


def two_loops(x):
    s = x[0]
    for _ in range(40):
        s = s * x[1] + 0.1
    for _ in range(40):
        s = ag.exp(-s * x[2])
    return s


def loops_in_loops(x):
    s = x[0]
    for i in range(12):
        t = s
        for _ in range(6):
            t = t * x[1] + 0.1 * i
        s = ag.sin(t) + s
    return s


def runge_kutta(x):
    def slope(s):
        both = s[0] * s[1]
        return ag.stack([x[0] * s[0] - x[1] * both, x[2] * both - x[3] * s[1]])

    s = ag.tensor([1.0, 0.5])
    for _ in range(20):
        one = slope(s)
        two = slope(s + 0.05 * one)
        s = s + 0.1 / 6 * (one + 2 * two + slope(s + 0.1 * two))
    return ag.sum(s)


def matrices(x):
    m = ag.reshape(x, (2, 2))
    p = m
    for _ in range(30):
        p = p @ m * 0.5 + ag.inv(p + 3 * np.eye(2))
    return ag.sum(p)


def gradient_descent(x):
    w, rate = x[:3], x[3]
    for _ in range(15):
        w = w - rate * ag.grad(lambda w: ag.sum((DATA[:10] @ w - 1.0) ** 2) / 10)(w)
    return ag.sum(w * w)


def gradient_of_scalars(x):
    w = x[0]
    for _ in range(25):
        w = w - 0.1 * ag.grad(lambda w: (w * x[1] - 1.0) ** 2 + w**4)(w)
    return w


def chosen(x):
    s = x[0]
    for i in range(40):
        s = ag.where(s > 0, s * x[1], -s + x[2]) + 0.01 * i
    return s


def guarded(x):
    s = x[0]
    for _ in range(40):
        s = s * x[1] + 0.5 if s > -5 else s
    return s


def cut(x):
    s = x[0]
    for _ in range(40):
        s = s * 0.9 + x[1] * s.detach()
    return s


def several(x):
    s = x[0]
    for _ in range(40):
        s = s * 0.9 + x[1] * s
    return ag.stack([s, x[2], s * s])


FUNCTIONS = [
    globals()[name]
    for name in """logistic_map array_state three_terms rows_of_data rows_of_an_argument entries_of_an_argument columns_of_an_argument counted states_that_are_stacked
        arrays_that_are_stacked a_sum_of_results two_loops loops_in_loops runge_kutta matrices gradient_descent gradient_of_scalars chosen guarded cut""".split()
]


def rolls(program):
    return sum(step.op is OPS["scanned"] for step in program.steps)


@each("f", [*FUNCTIONS, several])
def test_a_loop_is_one_operation_with_the_same_value(f):
    whole = trace(f, (X,))
    short = rolled.rolled(whole, (X,), (0,))
    assert rolls(short) >= 1 + (f is two_loops)
    assert len(optimised(short, again=True).steps) < 0.7 * len(optimised(whole, again=True).steps)
    for x in (X, X * 0.9, -X if f is not guarded else X):
        assert same_bits(short.run(x)[0], whole.run(x)[0])


@each("f", FUNCTIONS)
def test_gradients_of_it_are_those_of_the_loop(f):
    whole = trace(f, (X,))
    short = rolled.rolled(whole, (X,), (0,))
    for x in (X, X * 0.9):
        expected = gradient_of(whole, (x,), (0,)).run(x)[1]
        np.testing.assert_allclose(gradient_of(short, (x,), (0,)).run(x)[1], expected, rtol=1e-11, atol=1e-14)


@everywhere
@each("f", [logistic_map, array_state, rows_of_data, gradient_descent, guarded, three_terms, cut], short=4)
def test_compiled_it_is_the_function(f, backend):
    compiled = ag.compile(f, X, backend=backend)
    assert rolls(compiled._trace)
    for x in (X, 1.1 * X):
        value, slope = compiled.value_and_grad(x)
        leaf = ag.tensor(x, requires_grad=True)
        y = f(leaf)
        y.backward()
        assert backend != "python" or same_bits(value, y.item())
        np.testing.assert_allclose(value, y.item(), rtol=1e-12)
        np.testing.assert_allclose(slope, leaf.grad.value, rtol=1e-10, atol=1e-13)
        np.testing.assert_allclose(compiled.hvp(x, X), ag.hvp(f, x, X), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(compiled.jvp(x, X), ag.jvp(f, x, X), rtol=1e-10)


@everywhere
def test_a_guard_of_the_iterations_is_checked_in_each(backend):
    compiled = ag.compile(guarded, X, backend=backend)
    assert len(compiled._trace.checks) < 5
    for x in (X, np.array([-20.0, 0.5, 0.0, 0.0]), np.array([3.0, -3.0, 0.0, 0.0]), X):
        leaf = ag.tensor(x, requires_grad=True)
        y = guarded(leaf)
        y.backward()
        value, slope = compiled.value_and_grad(x)
        np.testing.assert_allclose([value, *slope], [y.item(), *leaf.grad.value], rtol=1e-10)


def test_jacobians_and_hessians_are_those_of_the_loop():
    np.testing.assert_allclose(ag.compile(several, X).jacobian(X), ag.jacobian(several)(X), rtol=1e-12)
    np.testing.assert_allclose(
        ag.compile(logistic_map, X).hessian(X), ag.hessian(logistic_map)(X), rtol=1e-10, atol=1e-14
    )


def test_what_does_not_repeat_is_left_alone():
    rng = random.Random(1)
    operations = [rng.choice([ag.sin, ag.cos, ag.tanh, lambda x: x * 2, lambda x: x + X]) for _ in range(300)]

    def f(x):
        for operation in operations:
            x = operation(x)
        return ag.sum(x)

    program = trace(f, (X,))
    assert rolled.rolled(program, (X,), (0,)) is program


@each("seed", range(40), short=4)
def test_random_loops_have_the_values_of_the_loop(seed):
    rng = random.Random(seed)
    kinds = [ag.sin, ag.tanh, lambda x: x * 0.5, lambda x: x + 0.1]
    plan = [
        (rng.randrange(6), rng.randrange(6), rng.choice(kinds), rng.choice("+*-")) for _ in range(rng.randrange(2, 9))
    ]
    count, lag = rng.randrange(20, 60), rng.randrange(1, 4)
    is_array = rng.random() < 0.5

    def f(x):
        past = [x * (1 + k) if is_array else x[k] for k in range(lag)]
        results = []
        for i in range(count):
            known = [past[-1], past[-lag], x if is_array else x[2], past[0], DATA[i, 0], past[-1]]
            for a, b, kind, sign in plan:
                one, other = known[a % len(known)], known[b % len(known)]
                made = one + other if sign == "+" else one - other if sign == "-" else one * other
                known.append(kind(ag.tensor(made) if not isinstance(made, ag.Tensor) else made))
                known.pop(0)
            past = [*past[1:], ag.tanh(known[-1]) + 0.5 * past[0]]
            results.append(past[-1])
        return ag.sum(ag.stack(results[rng_start:]))

    rng_start = rng.randrange(0, 5)
    whole = trace(f, (X,))
    short = rolled.rolled(whole, (X,), (0,))
    assert rolls(short)
    for x in (X, 0.7 * X):
        assert same_bits(short.run(x)[0], whole.run(x)[0])
        expected = gradient_of(whole, (x,), (0,)).run(x)[1]
        np.testing.assert_allclose(gradient_of(short, (x,), (0,)).run(x)[1], expected, rtol=1e-9, atol=1e-12)


@everywhere
def test_columns_are_mapped_without_the_loop(backend):
    def f(x, y):
        for _ in range(40):
            x = y * x * (1 - x) + 0.1
        return x

    x, y = np.linspace(0.1, 0.6, 50), np.linspace(2.0, 2.5, 50)
    compiled = ag.compile(f, 0.5, 2.0, backend=backend)
    assert rolls(compiled._trace)
    values, (by_x, by_y) = compiled.map(x, y)
    for row in (0, 20, 49):
        value, slopes = compiled.value_and_grad(x[row], y[row])
        np.testing.assert_allclose([values[row], by_x[row], by_y[row]], [value, *slopes], rtol=1e-11)


def test_a_gradient_within_a_trace_costs_its_own_part_of_the_graph():
    visited = []

    def f(w):
        for _ in range(30):
            y = ag.sum((w * X - 1.0) ** 2)
            visited.append(len(graph.reachable(y.node, graph.oldest([w.node]))))
            w = w - 0.1 * ag.grad(y, w, create_graph=True)
        return ag.sum(w)

    ag.compile(f, X)
    assert len({*visited[1:]}) == 1


def test_a_rolled_function_is_held_against_its_operations_and_not_its_rounding(monkeypatch):
    """A chaotic loop rounds differently when it is rolled; whether the function is pure does not depend on that."""
    monkeypatch.setattr(import_module("agrad.engine.compile.function"), "_same", lambda x, y, but_for_rounding: False)
    factor = [3.0]

    def f(x):
        for _ in range(600):
            x = ag.sin(factor[0] * x) * 1.1 + 0.1 * x[::-1]
            x = x / ag.sqrt(ag.mean(x * x))
        return ag.sum(x)

    at, other = np.linspace(0.1, 1.0, 7), np.linspace(0.3, 0.8, 7)
    compiled = ag.compile(f, at, backend="python")
    assert compiled._unrolled is not None
    assert np.isfinite(compiled.value(other))
    impure = ag.compile(f, at, backend="python")
    factor[0] = 2.9
    refuses(lambda: impure.value(other), "depends on more than its arguments")


ALL, PART = slice(None), slice(1, 3)
PLACES = [
    [(0,), (1,), (2,)],
    [(3, ALL), (1, ALL), (1, ALL)],
    [(-2, ALL), (-1, ALL)],
    [(1, 2), (2, 2)],
    [(1, 2), (3, 2)],
]
PLACES += [[(2, PART), (3, PART)], [(1, 2), (2, 1)], [(PART, 1), (PART, 2)], [(2, 1)], [1, 2]]
PLACES += [[(np.array([0, 1]),), (np.array([1, 2]),)], [(1, np.array([0, 2])), (2, np.array([0, 2]))]]


@each("indices", PLACES)
def test_indices_that_differ_in_the_first_whole_number_are_one(indices):
    x = np.arange(20.0).reshape(5, 4)
    found = rolled._gathered(indices)
    differ = {str(index[1:]) for index in indices if isinstance(index, tuple)}
    simple = [
        isinstance(x, tuple) and all(type(part) in (int, slice) for part in x) and type(x[0]) is int for x in indices
    ]
    wanted = all(simple) and len(differ) == 1 and indices != [(1, 2), (3, 2)]  # numpy would move the axis
    assert (found is not None) == wanted
    if found is not None:
        assert x[found].tolist() == [x[index].tolist() for index in indices]


def test_of_what_an_iteration_selects_from_only_the_entry_is_taken():
    def polynomial(x, terms):
        total = terms[0]
        for place in range(1, 300):
            total = total * x + terms[place]
        return total

    made = optimised(
        rolled.rolled(trace(polynomial, [0.9, np.arange(300.0)], ["x", "terms"]), [0.9, np.arange(300.0)], (0, 1))
    )
    (body,) = [step.attrs["body"] for step in made.steps if step.op.role == "loop"]
    assert (body.sizes.row, body.sizes.same, body.reverse.sizes.sums) == (1, 1, 1)
