"""`compile`: what can be asked of a compiled function, the ways its choices go, columns, Hessians, and refusals."""

import copy
import math
import pickle
from itertools import count, pairwise

import numpy as np
import pytest
from backends import USABLE
from compiled import eagerly
from refused import refusals, refuses
from replays import same_bits
from rows import each

import agrad.engine as ag
from agrad.engine.compile import specializations
from agrad.engine.compile.llvm import target

SAME = np.empty(1)
UNALIGNED = np.zeros(9, np.uint8)[1:].view(np.float64)


everywhere = pytest.mark.parametrize("backend", USABLE)


def seed(x, y):
    return x**2 + y**3 - ag.sin(x * y)


def slopes(x, y):
    return 2 * x - y * math.cos(x * y), 3 * y**2 - x * math.cos(x * y)


def halving(x):
    """As many turns as it takes, and another branch for what is large."""
    s = x * 0
    while x > 1:
        x = x / 2
        s = s + x * x
    return s if s < 3 else ag.sin(s)


@everywhere
def test_value_and_gradients_are_numbers(backend):
    f = ag.compile(seed, 2.0, 3.0, backend=backend)
    value, gradients = f.value_and_grad(1.5, 2.5)
    assert type(value) is float
    assert [type(g) for g in gradients] == [float, float]
    np.testing.assert_allclose([value, *gradients], [seed(1.5, 2.5), *slopes(1.5, 2.5)], rtol=1e-14)
    assert math.isclose(f.value(1.5, 2.5), value, rel_tol=1e-15)


@everywhere
def test_numbers_of_all_kinds_are_taken(backend):
    f = ag.compile(lambda x, y: x // y, 2, 3, backend=backend)
    for _ in range(3):
        for x, y in ((7, 2), (7.0, np.float64(2.0)), (ag.tensor(7.0), np.int64(2)), (np.array(7.0), True + 1)):
            value, gradients = f.value_and_grad(x, y)
            assert (value, type(value), gradients) == (3.0, float, (0.0, 0.0))


@everywhere
@each("wrt, expected", [(0, 9.0), ("y", 2.0), (-1, 2.0), (("y", 0), (2.0, 9.0)), ((0,), (9.0,)), ((), ())])
def test_it_is_differentiated_by_what_was_asked_for(backend, wrt, expected):
    f = ag.compile(lambda x, y: x * y + x, 1.0, 1.0, wrt=wrt, backend=backend)
    for _ in range(4):
        assert f.value_and_grad(2.0, 8.0) == (18.0, expected)


def test_one_argument_has_one_gradient_and_one_that_is_not_used_0():
    assert ag.compile(lambda x: x * x, 1.0).value_and_grad(3.0) == (9.0, 6.0)
    assert ag.compile(lambda x: x * x, 1.0).hessian(3.0) == 2.0
    value, (by_x, by_y) = ag.compile(lambda x, y: x * 2, 1.0, [1.0, 2.0]).value_and_grad(3.0, [5.0, 5.0])
    assert (value, by_x, by_y.tolist()) == (6.0, 2.0, [0.0, 0.0])
    values, (by_x,) = ag.compile(lambda x: ag.sum(x) * 2 + ag.mean(x) + ag.max(x), 1.0).map(
        [1.0, 2.0]
    )  # a row is the unit
    assert (values.tolist(), by_x.tolist()) == ([4.0, 8.0], [4.0, 4.0])


@everywhere
def test_each_way_that_a_choice_goes_is_traced_when_it_is_met(backend):
    f = ag.compile(halving, 3.0, backend=backend)
    for x in (0.5, 1.5, 7.0, 100.0, 1.5, 0.5, -2.0):
        value, slope = eagerly(halving, (x,))
        found = f.value_and_grad(x)
        assert math.isclose(found[0], value, rel_tol=1e-14)
        assert math.isclose(found[1], slope[0], rel_tol=1e-13)
        assert math.isclose(f.value(x), value, rel_tol=1e-14)
        if backend == "python":
            assert same_bits(found[0], value)
            assert same_bits(found[1], slope[0])


def test_a_way_is_traced_once():
    calls = []

    def f(x):
        calls.append(x)
        return x * 2 if x > 0 else x * 3

    compiled = ag.compile(f, 1.0, backend="python")
    for x in (2.0, -2.0, 3.0, -3.0):
        compiled.value_and_grad(x)
    before = len(calls)
    assert [compiled.value_and_grad(x)[0] for x in (4.0, -4.0, 5.0, -5.0)] == [8.0, -12.0, 10.0, -15.0]
    assert len(calls) == before


def test_of_very_many_ways_the_latest_are_kept(monkeypatch):
    monkeypatch.setattr(specializations, "MOST", 8)
    monkeypatch.setattr(specializations, "_FEW", 8)
    monkeypatch.setattr(specializations, "_RARE", 0)
    f = ag.compile(lambda x, n: x ** int(n), 1.0, 1.0, wrt=0, backend="python")
    for n in [*range(20), 0, 1]:
        assert f.value_and_grad(2.0, n) == (2.0**n, n * 2.0 ** (n - 1))
    assert len(f._gradient.known) == 8


def test_where_nearly_every_call_would_be_traced_most_are_computed_eagerly():
    traced = []

    def f(x, n):
        traced.append(n)
        return x ** int(n) if n else ag.stack([x, x])[0]

    compiled = ag.compile(f, 1.0, 1.0, wrt=0, backend="python")
    for n in range(400):
        assert compiled.value_and_grad(2.0, n) == (2.0**n, n * 2.0 ** (n - 1) if n else 1.0) or n == 0
        assert compiled.value(2.0, n) == f(2.0, n)
    assert len(compiled._gradient.known) < 100
    before = len(compiled._gradient.known)
    for _ in range(3000):  # a path that is taken again and again is traced, and the others are left
        compiled.value_and_grad(2.0, 401)
    assert compiled._gradient.known[0].exact.checks[0].holds(401.0)
    assert len(compiled._gradient.known) == before + 1


def branching(x, y, z):
    total = 0.01 * (x + y + z)
    for _ in range(4):
        if x > y:
            x, y = y * 0.5 + z, ag.sin(x)
        elif y > z:
            y = y * z - 0.1 * x
        else:
            z = z * 0.9 + x * y
        total = total + x * y
    return total


@everywhere
def test_a_guard_that_does_not_hold_leads_to_the_specialisation_that_does(backend, monkeypatch):
    compiled = ag.compile(branching, 0.1, 0.2, 0.3, backend=backend)
    rng = np.random.default_rng(0)
    points = [tuple(map(float, rng.normal(size=3))) for _ in range(120)]
    for _ in range(2):
        for point in points:
            value, slopes = eagerly(branching, point)
            found, gradients = compiled.value_and_grad(*point)
            assert math.isclose(found, value, rel_tol=1e-13, abs_tol=1e-300)
            assert np.allclose(gradients, slopes, rtol=1e-12, atol=1e-13)
    tried = []
    call = specializations.Specialization.call
    monkeypatch.setattr(
        specializations.Specialization, "call", lambda self, values: tried.append(1) or call(self, values)
    )
    for point in points:
        compiled.value_and_grad(*point)
    assert len(compiled._gradient.known) > 15
    assert len(tried) < 4 * len(points)


def test_the_automatic_backend_begins_in_python_and_changes():
    f = ag.compile(seed, 2.0, 3.0)
    first = f.value_and_grad(1.5, 2.5)
    assert f._gradient.known[0].native is None
    for _ in range(100_000):
        found = f.value_and_grad(1.5, 2.5)
        if f._gradient.known[0].native is not None or not target.binding():
            break
    np.testing.assert_allclose(found[1], first[1], rtol=1e-14)
    assert target.binding() is None or f.source().startswith(("declare", "define", "@", ";", "target"))


def test_what_there_is_no_machine_code_for_falls_back_and_says_so():
    if not target.binding():
        pytest.skip("needs llvmlite")
    f = ag.compile(lambda x: ag.sum(ag.expm(ag.stack([x, x])) * 2), [1.0, 2.0], backend="llvm")
    assert f.value_and_grad([0.0, 0.0])[0] == 4.0
    assert f.source().startswith("# no machine code: there is no loop over many entries in it")


def test_what_is_no_function_of_its_arguments_is_noticed():
    turns = count()
    f = ag.compile(lambda x: x * next(turns), 1.0)
    refuses(lambda: f.value_and_grad(2.0), "depends on more than its arguments", kind="guard")


@pytest.mark.long
@everywhere
def test_a_choice_by_what_rounds_is_that_of_the_function(backend):
    """Machine code, and numpy's functions of arrays, may round otherwise: then the choice is still made."""

    def f(x):
        s = ag.exp(ag.sin(x)) * ag.tanh(x)
        return x * 2 if s > threshold else x * 3

    rng = np.random.default_rng(4)
    for x in rng.normal(size=50):
        threshold = ag.exp(ag.sin(x)) * ag.tanh(x)
        compiled = ag.compile(f, float(x), backend=backend)
        for way in (x, -x, math.nextafter(x, 9.0)):
            assert compiled.value(way) in (2 * way, 3 * way)
        assert set(compiled.map([x, x])[0].tolist()) <= {2 * x, 3 * x}


def test_a_choice_by_nan_is_one_way():
    f = ag.compile(lambda x, slope: ag.leaky_relu(x, slope=slope), -1.0, 0.1, wrt=0, backend="python")
    assert math.isnan(f.value(-2.0, math.nan))
    assert f.value(-2.0, 0.5) == -1.0


@each("call, kind, message", refusals("compiled functions", globals()))
def test_mistakes_are_said(call, kind, message):
    refuses(call, message, kind=kind)


def test_an_argument_that_is_an_index_is_called_by_its_name():
    def power(x, n):
        for _ in range(n):
            x = x * 2
        return x

    caught = refuses(lambda: ag.compile(power, 2.0, 3), "n requires grad: as an index it has no derivative")
    assert caught.fixes == ["int(n)", 'wrt="x"']
    assert ag.compile(power, 2.0, 3, wrt="x").value_and_grad(2.0, 4) == (32.0, 16.0)
    caught = refuses(lambda: ag.compile(lambda x, n: power(x, n + 1), 2.0, 3), "a result of Add requires grad")
    assert caught.fixes == ["int(x)"]


@everywhere
def test_a_copy_is_compiled_anew(backend):
    f = ag.compile(seed, 2.0, 3.0, wrt=("y", 0), backend=backend)
    for _ in range(2):
        expected = f.value_and_grad(1.5, 2.5)
    for again in (copy.copy(f), copy.deepcopy(f), pickle.loads(pickle.dumps(f))):
        assert repr(again) == repr(f)
        assert again.value_and_grad(1.5, 2.5) == expected
    with pytest.raises((pickle.PicklingError, AttributeError), match="lambda"):  # of a module's function it can
        pickle.dumps(ag.compile(lambda x: x * 2, 1.0))


def test_it_says_what_it_is():
    assert repr(ag.compile(seed, 1.0, 2.0)) == "<compiled seed of x, y>"
    assert (
        repr(ag.compile(lambda *xs: xs[0] + ag.sum(xs[1]), 1.0, [1.0, 2.0]))
        == "<compiled <lambda> of x0, x1 of shape (2)>"
    )


def test_an_array_that_changes_later_does_not_change_what_was_compiled():
    example, w = np.array([1.0, 2.0]), ag.tensor([3.0, 4.0], requires_grad=True)
    f = ag.compile(lambda x: ag.sum(x * w), example)
    example[:] = 100.0
    w.set_([0.0, 0.0])
    assert f.value([1.0, 2.0]) == 11.0
    assert f.value_and_grad([1.0, 2.0])[1].tolist() == [3.0, 4.0]


def test_compiling_leaves_no_trace():
    x = ag.tensor(2.0, requires_grad=True)
    with ag.no_grad():
        f = ag.compile(lambda y: y * y if y > 0 else y, 3.0)
        assert f.value_and_grad(3.0) == (9.0, 6.0)
        assert not (x * 2).requires_grad
    y = x * 5
    x.set_(3.0)
    y.forward()
    assert y.value == 15.0


# Columns


@everywhere
@each("rows", [0, 1, 5, 63, 64, 65, 1000, 8191, 8192, 8193, 20_000])
def test_each_row_has_its_value_and_gradients(backend, rows):
    x, y = np.random.default_rng(rows).normal(size=(2, rows))
    values, (by_x, by_y) = ag.compile(seed, 2.0, 3.0, backend=backend).map(x, y)
    np.testing.assert_allclose(values, x**2 + y**3 - np.sin(x * y), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(by_x, 2 * x - y * np.cos(x * y), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(by_y, 3 * y**2 - x * np.cos(x * y), rtol=1e-12, atol=1e-14)


def test_python_computes_of_columns_what_operations_compute_of_arrays():
    x, y = np.random.default_rng(3).normal(size=(2, 10_000))
    leaves = [ag.tensor(x, requires_grad=True), ag.tensor(y, requires_grad=True)]
    results = seed(*leaves)
    ag.sum(results).backward()
    values, gradients = ag.compile(seed, 2.0, 3.0, backend="python").map(x, y)
    assert same_bits(values, results)
    assert all(same_bits(g, leaf.grad) for g, leaf in zip(gradients, leaves, strict=True))


@everywhere
def test_rows_go_their_own_ways(backend):
    x = np.linspace(-5.0, 300.0, 30_000)
    values, (by_x,) = ag.compile(halving, 3.0, backend=backend).map(x)
    for row in range(0, len(x), 997):
        value, slope = eagerly(halving, (x[row],))
        assert math.isclose(values[row], value, rel_tol=1e-13, abs_tol=1e-300)
        assert math.isclose(by_x[row], slope[0], rel_tol=1e-12, abs_tol=1e-300)


@pytest.mark.long
@everywhere
def test_more_ways_than_are_kept(backend):
    n = np.arange(200.0)
    f = ag.compile(lambda x, n: x * int(n), 1.0, 1.0, wrt=0, backend=backend)
    values, (by_x,) = f.map(np.full(len(n), 2.0), n)
    assert values.tolist() == (2 * n).tolist()
    assert by_x.tolist() == n.tolist()


@everywhere
def test_what_is_no_operation_by_entries_goes_row_by_row(backend):
    def f(x, y):
        return ag.sum(ag.sort(ag.stack([x, y, x * y])) * np.array([1.0, 2.0, 3.0])) + ag.norm(ag.stack([x, y]))

    x, y = np.random.default_rng(5).normal(size=(2, 50))
    values, (by_x, by_y) = ag.compile(f, 1.0, 2.0, backend=backend).map(x, y)
    for row in range(50):
        value, (a, b) = eagerly(f, (x[row], y[row]))
        assert (values[row], by_x[row], by_y[row]) == (value, a, b)


@everywhere
def test_columns_of_all_kinds_are_taken_and_left_alone(backend):
    table = np.arange(60_000.0).reshape(20_000, 3) / 1e4
    table.setflags(write=False)
    f = ag.compile(lambda x, y, z: x * y + z, 1.0, 1.0, 1.0, backend=backend)
    values, (by_x, by_y, by_z) = f.map(table[:, 0], table[::-1, 1], 2)
    assert same_bits(values, table[:, 0] * table[::-1, 1] + 2.0)
    assert same_bits(by_x, table[::-1, 1])
    assert same_bits(by_y, table[:, 0])
    assert by_z.tolist() == [1.0] * 20_000
    assert f.map([1, 2], np.array([3, 4], dtype=np.int32), np.float32(1.0))[0].tolist() == [4.0, 9.0]


@everywhere
def test_results_are_written_where_they_are_wanted(backend):
    x = np.linspace(0.1, 1.0, 100)
    out = np.empty(100), [np.empty(100)]
    values, gradients = ag.compile(ag.log, 1.0, backend=backend).map(x, out=out, threads=1)
    assert values is out[0]
    assert gradients[0] is out[1][0]
    np.testing.assert_allclose(out[0], np.log(x), rtol=1e-14)
    np.testing.assert_allclose(out[1][0], 1 / x, rtol=1e-14)


@everywhere
def test_a_column_may_be_written_over(backend):
    x = np.linspace(-2.0, 2.0, 20_001)
    expected = np.sin(x[:-1]), np.cos(x[:-1])
    compiled = ag.compile(ag.sin, 1.0, backend=backend)
    compiled.map(x[:-1], out=(x[1:], [np.empty(20_000)]))
    np.testing.assert_allclose(x[1:], expected[0], rtol=1e-14)


# Hessians


def rosenbrock(x):
    return ag.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def rosenbrock_of_numbers(*xs):
    return sum((100 * (b - a**2) ** 2 + (1 - a) ** 2 for a, b in pairwise(xs)), 0.0)


@everywhere
def test_the_hessian_of_a_chain_is_that_of_the_graph_and_costs_a_chain(backend):
    x = np.random.default_rng(7).normal(size=30)
    expected = ag.hessian(rosenbrock)(x)
    by_array = ag.compile(rosenbrock, np.ones(30), backend=backend)
    by_numbers = ag.compile(rosenbrock_of_numbers, *np.ones(30), backend=backend)
    np.testing.assert_allclose(by_array.hessian(x), expected, rtol=1e-12)
    np.testing.assert_allclose(by_numbers.hessian(*x), expected, rtol=1e-12)
    for compiled in (by_array, by_numbers):
        way = compiled._hessian.specializations.known[0]
        assert len(way.exact.outputs) <= 2 * 30
        assert len(way.exact.steps) <= 16 * 30


@each("f, values", [
        (lambda x, y: x * x * y + y, (2.0, 3.0)),
        (lambda x: ag.sum(x @ x) + ag.prod(x), (np.array([[1.0, 2.0], [3.0, 4.0]]),)),
        (lambda x, y: ag.sum(ag.exp(x) * y) + y**3, (np.array([1.0, 2.0]), 3.0)),
        (lambda x, y: ag.mean((x @ y - 1) ** 2), (np.array([[1.0, 2.0], [0.5, -1.0]]), np.array([1.0, 2.0]))),
        (lambda x: ag.det(x) + ag.norm(x), (np.array([[1.0, 2.0], [3.0, 4.5]]),)),
        (lambda x: ag.sum(ag.where(x > 1, x**3, x)) + ag.mse_loss(x, [1.0, 1.0]), (np.array([0.5, 2.0]),)),
        (lambda x: ag.sum(x) * 2, (np.array([0.5, 2.0]),)),
        (lambda x, y: y * 2, (1.0, 2.0)),
    ])  # fmt: skip
def test_the_hessian_is_shaped_as_that_of_the_graph(f, values):
    examples = [np.ones(np.shape(x)) + np.eye(2) if np.ndim(x) == 2 else np.ones(np.shape(x)) for x in values]
    found = ag.compile(f, *examples).hessian(*values)
    expected = ag.hessian(f, tuple(range(len(values))) if len(values) > 1 else 0)(*values)
    flat = [(found, expected)]
    if isinstance(expected, tuple):
        flat = [pair for rows in zip(found, expected, strict=True) for pair in zip(*rows, strict=True)]
    for a, b in flat:
        assert np.shape(a) == np.shape(b)
        assert isinstance(a, type(b))
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


def test_the_hessian_goes_its_ways_too_and_is_not_shared_between_calls():
    f = ag.compile(lambda x, y: x**3 * y if x > y else x * y**2, 1.0, 2.0, backend="python")
    assert f.hessian(1.0, 2.0).tolist() == [[0.0, 4.0], [4.0, 2.0]]
    assert f.hessian(3.0, 2.0).tolist() == [[36.0, 27.0], [27.0, 0.0]]
    f.hessian(1.0, 3.0)[:] = 99.0
    assert f.hessian(1.0, 3.0).tolist() == [[0.0, 6.0], [6.0, 2.0]]
    by_some = ag.compile(lambda x, y, z: x**2 * y * z, 1.0, 1.0, 1.0, wrt=("z", "x"))
    assert by_some.hessian(2.0, 3.0, 5.0).tolist() == [[0.0, 12.0], [12.0, 30.0]]


def test_of_the_code_of_many_programs_the_latest_is_kept(monkeypatch):
    monkeypatch.setattr(specializations, "_KEPT", 1_000)
    held = {}
    monkeypatch.setattr(specializations, "_COMPILED", held)
    for number in range(30):
        ag.compile(lambda x, number=number: x * x + float(number), 2.0).value(3.0)
    assert sum(size for _, size in held.values()) <= 1_000
    assert 10 < len(held) < 20
    before = dict(held)
    ag.compile(lambda x: x * x + 29.0, 2.0).value(3.0)  # the same structure
    assert held == before
