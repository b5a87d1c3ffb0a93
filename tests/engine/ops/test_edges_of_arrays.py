"""Edges and kinks of reductions, linear algebra and special functions; accuracy far out."""

import math
import subprocess
import sys
from decimal import Decimal, localcontext
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
from differences import error_of
from points import derivatives, gradient, hessian, same, value
from refused import refuses
from rows import each, table
from test_edges import TEXTS, inf, nan, pi

import agrad.engine as ag
from agrad.engine import values
from agrad.engine.core.op import OPS
from agrad.engine.ops.linalg.determinant import _by_minors, _by_singular_values
from agrad.engine.ops.scalar import special

# Reductions


@each("f, x, expected", table(TEXTS["gradients"], "x", globals()))
def test_gradient_of_a_reduction(f, x, expected):
    same(gradient(f, np.array(x, dtype=float)), expected)


@each("f, x, expected", table(TEXTS["hessians"], "x", globals()))
def test_hessian_of_a_reduction(f, x, expected):
    same(hessian(f, np.array(x, dtype=float)), expected, rtol=1e-9)


@each("f, x, expected", table(TEXTS["values"], "x", globals()))
def test_value_of_a_reduction(f, x, expected):
    same(value(f(ag.tensor(x))), expected)


def test_third_order_of_a_product_with_zeros():
    x = ag.tensor([0.0, 0.0, 4.0], requires_grad=True)
    g = ag.grad(ag.prod(x), x, create_graph=True)
    h = ag.grad(g[0], x, create_graph=True)
    same(value(ag.grad(h[1], x)), [0, 0, 1])


# Far out: full relative accuracy


@each("x", [-30.0, -3.0, 0.5, 10.0, 20.0, 30.0, 300.0])
def test_slopes_of_tanh_and_sigmoid_in_the_tails(x):
    with localcontext(prec=400):
        up, down = Decimal(x).exp(), Decimal(-x).exp()
        sech_squared, tanh, sigmoid = 4 / (up + down) ** 2, (up - down) / (up + down), 1 / (1 + down)
        slope = sigmoid * (1 - sigmoid)
        exact = {ag.tanh: (sech_squared, -2 * sech_squared * tanh), ag.sigmoid: (slope, slope * (1 - 2 * sigmoid))}
    for f, (first, second) in exact.items():
        same(derivatives(f, x), [float(first)], rtol=2e-15)
        same(derivatives(f, x, order=2), [float(second)], rtol=5e-15)


def test_third_derivative_of_tanh_at_0():
    same(derivatives(ag.tanh, 0.0, order=3), [-2])


def pi_to(digits):
    """Machin's formula."""

    def arctan_of_inverse(n):
        power, total, k = Decimal(1) / n, Decimal(0), 1
        while abs(power) > Decimal(10) ** -digits:
            total, power, k = total + power / k, -power / (n * n), k + 2
        return total

    return 4 * (4 * arctan_of_inverse(5) - arctan_of_inverse(239))


@each("x", [0.0, 1e-12, 1e-3, 0.3, 1.0, 2.5, 40.0])
def test_derivatives_of_sinc(x):
    for n in range(7):
        with localcontext(prec=200):
            circle = pi_to(190)
            z, total, term = circle * Decimal(x), Decimal(0), Decimal(1)
            for k in range(500):  # term: z**k/k!
                if (k + n) % 2 == 0:
                    total += (-1) ** ((k + n) // 2) * term / (k + n + 1)
                term = term * z / (k + 1)
            expected = float(circle**n * total)
        assert abs(OPS["sinc_derivative"].call(x, n) - expected) < 1e-14 * pi**n
        assert abs(OPS["sinc_derivative"].call(np.array([x]), n)[0] - expected) < 1e-14 * pi**n


# Linear algebra


@each("f, a, cofactors", table(TEXTS["cofactors"], "x", globals()))
def test_cofactors(f, a, cofactors):
    np.testing.assert_allclose(gradient(f, np.array(a, dtype=float)), cofactors, rtol=1e-13, atol=1e-210)


@each("rank", range(5))
def test_derivatives_of_det_of_any_rank(rank):
    rng = np.random.default_rng(rank)
    a = rng.normal(size=(4, rank)) @ rng.normal(size=(rank, 4))
    for order in (1, 2, 3):
        assert error_of(ag.det, (a,), order) < 1e-8


def test_both_ways_to_the_derivatives_of_det_agree():
    rng = np.random.default_rng(7)
    for size, rank in ((3, 3), (4, 2), (5, 4), (6, 6)):
        a = rng.normal(size=(size, rank)) @ rng.normal(size=(rank, size))
        for count in range(4):
            directions = rng.normal(size=(count, size, size))
            one, two = _by_minors(a, *directions), _by_singular_values(a, *directions)
            np.testing.assert_allclose(one, two, rtol=0, atol=1e-12 * (1 + np.abs(one).max()))


def test_eigenvalues_that_repeat():
    same(gradient(lambda a: ag.sum(ag.eigh(a)[0] * [1, 1]), np.eye(2)), np.eye(2))
    assert np.isnan(gradient(lambda a: ag.sum(ag.eigh(a)[1]), np.eye(2))).any()
    same(gradient(lambda a: ag.sum(ag.svd(a)[1]), np.eye(2)), np.eye(2))


def test_the_pseudo_inverse_of_a_singular_matrix_has_finite_derivatives():
    a = np.array([[1.0, 2.0], [2.0, 4.0]])
    assert np.isfinite(gradient(lambda x: ag.sum(ag.pinv(x)), a)).all()
    assert np.isfinite(hessian(lambda x: ag.sum(ag.pinv(x)), a)).all()


@each("f", [ag.inv, lambda a: ag.solve(a, [1, 2])])
def test_a_singular_matrix_is_an_error_that_names_it(f):
    refuses(lambda: f([[1, 2], [2, 4]]), r"of shape \(2, 2\).*singular", kind="domain")


def test_cholesky_of_an_indefinite_matrix_is_an_error():
    refuses(lambda: ag.cholesky([[1, 2], [2, 1]]), "positive definite", kind="domain")


# Special functions

SPECIAL = [
    ("erfinv", 1, inf, inf),
    ("lgamma", 0, inf, -inf),
    ("lgamma", -1, inf, nan),
    ("digamma", 0, -inf, inf),
    ("gamma", 0, inf, None),
    ("gamma", -1, nan, nan),
    ("i0", 0, 1, 0),
    ("j0", 0, 1, 0),
    ("j1", 0, 0, 0.5),
    ("i1", 0, 0, 0.5),
]


@each("name, x, y, slope", SPECIAL)
def test_special_function_at_its_edge(name, x, y, slope):
    pytest.importorskip("scipy")
    f = getattr(ag, name)
    same(derivatives(f, float(x), order=0), [y])
    if slope is not None:
        same(derivatives(f, float(x)), [slope])


def test_without_scipy_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setattr(special, "scipy_special", lambda: None)
    monkeypatch.setitem(sys.modules, "scipy.special", None)
    caught = refuses(lambda: ag.erfinv(0.5), "erfinv needs SciPy, which is not installed")
    assert caught.fixes == ['pip install "agrad[science]"']
    same(value(ag.erf([0.5, 1.0])), [math.erf(0.5), math.erf(1.0)])
    same(value(ag.gamma([5, 0, -1])), [24, inf, nan])
    same(value(ag.lgamma([5, 0])), [math.log(24), inf])


@each("axis", [(0, 1), (1, 0), (2, 0), (-1, 1), (1, 2)])
@each("order", [1, -1, inf, 2, "fro", "nuc"])
@each("keepdims", [False, True])
def test_the_norm_of_a_matrix_goes_by_the_order_of_the_axes(axis, order, keepdims):
    x = np.arange(24.0).reshape(2, 3, 4) ** 1.5
    same(ag.norm(ag.tensor(x), order, axis, keepdims), np.linalg.norm(x, order, axis, keepdims))


@each(
    "subscripts, a, b",
    [("ii,i->", [[2.0]], [1.0, 2.0, 3.0]), ("ij,i->", [[1.0, 2.0]], [1.0, 2.0, 3.0]), ("ii,i->i", [[2.0]], [1.0, 4.0])],
)
def test_einsum_spreads_lengths_of_1_and_sums_their_gradients(subscripts, a, b):
    assert error_of(lambda a, b: ag.einsum(subscripts, a, b) ** 2, (np.array(a), np.array(b)), 1) < 1e-9


def test_a_plain_mask_and_a_mask_with_a_handle_are_a_mask():
    x = ag.tensor([1.0, 2.0, 3.0])
    plain, handled = ag.greater([1.0, 2.0, 3.0], 1.0), x < 3
    for mask in (plain * handled, handled * plain, ag.minimum(plain, handled), (plain & plain) * handled):
        assert x[mask].tolist() == [2]


@each("call", [ag.svd, ag.pinv, lambda a: ag.lstsq(a, np.ones(2)), lambda a: ag.norm(a, 2)])
@each("bad", [math.nan, math.inf, -math.inf])
def test_lapack_is_not_asked_for_what_it_prints_its_own_words_of(call, bad, capfd):
    refuses(lambda: call(np.array([[bad, 1.0], [2.0, 3.0]])), r"not all of its entries are finite", kind="domain")
    assert capfd.readouterr() == ("", "")


LAPACK = [*map("ag.{}(a)".format, "svd pinv qr eigh inv det slogdet cholesky".split())]
LAPACK += ["ag.lstsq(a, a[0])", "ag.solve(a, a[0])", "ag.solve_sylvester(a, a, a)", "ag.matmul(a, a)"]


@each("call", LAPACK)
def test_there_is_room_for_the_work_of_lapack_or_the_limit_is_told(call, monkeypatch):
    given = {"ag": ag, "a": np.eye(70) + 1.0}
    eval(call, given)  # what it imports is there
    with monkeypatch.context() as changed:
        changed.setattr(values, "mmap", Mock(side_effect=OSError))
        refuses(lambda: eval(call, given), "not enough memory", kind="limit")


AT_THE_LIMIT = Path(__file__).with_name("at_the_limit.txt").read_text()


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="the system tells no addresses")
@pytest.mark.parametrize("call", LAPACK)
def test_at_the_limit_of_memory_the_process_goes_on_in_silence(call):
    for room in (0, 2**18, 2**19, 2**20, 2**21, 3 * 2**20, 2**22, 6 * 2**20, 2**23, 12 * 2**20, 2**24, 20 * 2**20):
        code = AT_THE_LIMIT.format(call=call, room=room)
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
        assert (done.stdout, done.stderr, done.returncode) == ("done\n", "", 0), room


def read_special_values():
    for line in Path(__file__).with_name("special_values.txt").read_text().splitlines():
        name, operands, found = line.split(" | ")
        yield name, [*map(float, operands.split(", "))], [*map(float, found.split(", "))]


@each("name, operands, expected", [*read_special_values()])
def test_special_functions_and_their_derivatives_are_those_of_mpmath(name, operands, expected):
    pytest.importorskip("scipy")
    xs = [ag.tensor(x, requires_grad=True) for x in operands]
    y = getattr(ag, name)(*xs)
    first = ag.grad(y, xs, create_graph=True)
    second = [value(g) for slope in first for g in ag.vjp(slope, xs, 1.0)]
    count = len(xs) + 1
    np.testing.assert_allclose([y.item(), *[g.item() for g in first]], expected[:count], rtol=1e-12)
    largest = max(map(abs, expected[count:]))
    np.testing.assert_allclose(second, expected[count:], rtol=1e-12, atol=1e-13 * largest)


def test_one_truth_value_is_no_index_since_it_is_a_new_axis_elsewhere():
    x = ag.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x * 1
    bare, mask = ag.tensor([1.0, 2.0, 3.0]), ag.tensor([True, False, True])
    unrecorded = (bare[0] > 0, bare[0] != 2, bare[1] > 1, ag.isnan(bare[0]), mask[0], (bare > 0)[1], (x > 0)[0])
    for truth in (True, False, np.True_, np.array(True), x[0] > 0, *unrecorded):
        refuses(lambda truth=truth: x[truth], "one truth value", kind="type")
        refuses(lambda truth=truth: x[..., truth], "one truth value", kind="type")
        refuses(lambda truth=truth: y.__setitem__(truth, 9.0), "one truth value", kind="type")
    assert x[[True, False, True]].tolist() == x[x != 2].tolist() == [1, 3]
    assert x[[one != 2 for one in x]].tolist() == x[[x[0] < 5, x[1] < 0, True]].tolist() == [1, 3]
    assert x[[bare[0] > 5, bare[1] > 0, False]].tolist() == [2]
    assert x[int(x[0] > 0)].item() == x[ag.argmax(x) - 1].item() == 2


def test_the_derivative_of_logit_is_nan_where_it_is():
    outside = [-0.5, 1.5, -inf, inf, -1e-310]
    x = ag.tensor([*outside, 0.25, 0.0, 1.0], requires_grad=True)
    ag.sum(ag.logit(x)).backward()
    assert np.isnan(x.grad.numpy()[: len(outside)]).all()
    assert x.grad.tolist()[len(outside) :] == [1 / 0.1875, inf, inf]
    assert all(np.isnan(ag.grad(ag.logit)(at)) for at in outside)


def test_the_slope_by_a_shape_beyond_the_range_of_lgamma_is_nan():
    for x in (30.0, 1e308):
        assert np.isnan(ag.grad(ag.gammainc)(1e308, x))
