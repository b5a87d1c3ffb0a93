"""Programs of small arrays as programs of numbers: values, gradients, Jacobians and Hessians are the eager ones."""

from pathlib import Path

import numpy as np
import pytest
from compiled import kinds_of
from refused import refuses
from rows import by_name, each
from transcript import sections

import agrad.engine as ag
from agrad.engine.compile.llvm import target
from agrad.engine.compile.llvm.backend import Native
from agrad.engine.compile.scalarise import scalarised
from agrad.engine.program.ir import optimised
from agrad.engine.program.trace import trace

native = pytest.mark.skipif(target.binding() is None, reason="llvmlite is not installed")
RNG = np.random.default_rng(7)
MATRIX = RNG.normal(size=(3, 3)) + 2 * np.eye(3)
VECTOR = RNG.normal(size=3)


def determinant(a):
    """By minors, with each computed once."""
    known = {}

    def minor(i, columns):
        if not columns:
            return 1.0
        if columns not in known:
            terms = [a[i, j] * minor(i + 1, columns[:k] + columns[k + 1 :]) for k, j in enumerate(columns)]
            total = terms[0]
            for k, term in enumerate(terms[1:], 1):
                total = total - term if k % 2 else total + term
            known[columns] = total
        return known[columns]

    return minor(0, tuple(range(a.shape[0])))


def arm(q):
    """Where a robot's arm of three joints ends."""
    turned = np.eye(4)
    for i, length in enumerate((0.4, 0.5, 0.3)):
        c, s = ag.cos(q[i]), ag.sin(q[i])
        link = [[c, -s, 0.0, length * c], [s, 0.6 * c, -0.8, length * s], [0.0, 0.8, 0.6, 0.1], [0.0, 0.0, 0.0, 1.0]]
        turned = turned @ ag.stack([ag.stack(row) for row in link])
    return turned[:3, 3]


def filtered(p):
    """The likelihood of some measurements by a Kalman filter, with its inverse, solve, det and swap."""
    q, r = ag.exp(p[0]), ag.exp(p[1])
    move, see = np.array([[1.0, 0.1], [0.0, 0.9]]), np.eye(2)
    x, cov, total = np.zeros(2), np.eye(2), 0.0
    for y in ([0.1, 0.3], [0.4, -0.2], [0.2, 0.5]):
        x, cov = move @ x, move @ cov @ move.T + q * np.eye(2)
        apart, spread = np.array(y) - see @ x, see @ cov @ see.T + r * np.eye(2)
        gain = cov @ see.T @ ag.inv(spread)
        x, cov = x + gain @ apart, cov - gain @ see @ cov
        total = total - 0.5 * (apart @ ag.solve(spread, apart) + ag.log(ag.det(spread)))
    return total


TEXTS = {name: text for name, (text,) in sections(Path(__file__).with_name("scalarise.txt")).items()}
NUMBERS = by_name(TEXTS["numbers"], "x", globals())
ARRAYS = by_name(TEXTS["arrays"], "x", globals())
both = pytest.mark.parametrize("backend", ["python", pytest.param("llvm", marks=native)])


def points(x):
    return x, x * 1.25, x.T.copy() if x.ndim == 2 and x.shape[0] == x.shape[1] else -x


def near(found, expected, backend):
    expected = np.asarray(expected.value if isinstance(expected, ag.Tensor) else expected)
    assert np.shape(found) == expected.shape
    scale = np.abs(expected).max() if expected.size else 0.0
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=0.0 if backend == "python" else 2e-13 * scale)


@both
@each("name", NUMBERS, short=4)
def test_values_and_gradients_are_the_eager_ones(backend, name):
    f, x = NUMBERS[name]
    compiled = ag.compile(f, x, backend=backend)
    for point in points(x):
        value, gradient = compiled.value_and_grad(point)
        near(value, f(ag.tensor(point)), backend)
        near(compiled.value(point), f(ag.tensor(point)), backend)
        near(gradient, ag.grad(f)(point), backend)
        near(compiled.hessian(point), ag.hessian(f)(point), "llvm")
    if backend == "llvm":
        assert not compiled.source("llvm").startswith("# no machine code")


@both
@each("name", [*ARRAYS, *NUMBERS])
def test_jacobians_are_the_eager_ones(backend, name):
    f, x = (ARRAYS | NUMBERS)[name]
    compiled = ag.compile(f, x, backend=backend)
    for point in points(x):
        near(compiled.jacobian(point), ag.jacobian(f)(point), backend)
        near(compiled.value(point), f(ag.tensor(point)), backend)


@both
def test_a_jacobian_by_several_arguments_has_a_part_for_each(backend):
    def f(x, y, z):
        return x * y[:2] + z @ y

    given = np.array([1.0, 2.0]), np.array([3.0, 4.0, 5.0]), np.arange(6.0).reshape(2, 3)
    compiled = ag.compile(f, *given, wrt=("z", "x"), backend=backend)
    found = compiled.jacobian(*given)
    for one, expected in zip(found, ag.jacobian(f, (2, 0))(*given), strict=True):
        near(one, expected, backend)
    assert ag.compile(lambda x, y: x**2 * y, 2.0, 3.0, wrt="y").jacobian(2.0, 3.0) == 4.0


@native
def test_a_singular_matrix_is_the_error_that_it_is_without_compilation():
    singular = np.array([[1.0, 2.0], [2.0, 4.0]])
    for f in (ag.inv, lambda x: ag.solve(x, [1.0, 2.0]), lambda x: ag.cholesky(x - 3 * np.eye(2))):
        compiled = ag.compile(f, np.eye(2) * 4, backend="llvm")
        near(compiled.value(np.eye(2) * 5), f(ag.tensor(np.eye(2) * 5)), "llvm")
        with pytest.raises(ag.AgradError) as caught:
            compiled.value(singular)
        with pytest.raises(ag.AgradError) as expected:
            f(ag.tensor(singular))
        assert caught.value.message == expected.value.message
        near(compiled.value(np.eye(2) * 5), f(ag.tensor(np.eye(2) * 5)), "llvm")


@native
@each("bad", [np.inf, -np.inf, np.nan, 1e308, 5e-324, -0.0])
def test_edge_values_come_out_as_without_compilation(bad):
    for name, (f, x) in NUMBERS.items():
        point = x.copy()
        point.flat[1] = bad
        compiled = ag.compile(f, x, backend="llvm")
        try:
            expected = f(ag.tensor(point)).item()
        except ag.AgradError as error:
            with pytest.raises(ag.AgradError, match=error.message[:20]):
                compiled.value(point)
            continue
        assert np.isclose(compiled.value(point), expected, rtol=1e-12, equal_nan=True), name


@native
def test_any_kind_of_array_may_be_given():
    f, x = NUMBERS["determinant"]
    compiled = ag.compile(f, x, backend="llvm")
    compiled.value_and_grad(x * 2)
    expected = compiled.value_and_grad(x)
    for given in [*kinds_of(x), x.tolist()]:
        value, gradient = compiled.value_and_grad(given)
        assert value == expected[0] and np.array_equal(gradient, expected[1])
        gradient[:] = 7.0  # is nobody else's
    whole = (x * 10).round()
    for kind in (np.float32, np.int64, np.int8):
        near(compiled.value(whole.astype(kind)), f(ag.tensor(whole)), "llvm")
    refuses(lambda: compiled.value(np.ones((2, 2))), "shape")


@native
def test_small_arrays_change_to_machine_code_when_that_pays():
    f, x = NUMBERS["rosenbrock"]
    compiled = ag.compile(f, x)
    for _ in range(20_000):
        compiled.value_and_grad(x * 1.5)
        if isinstance(compiled._gradient.known[0].native, Native):
            break
    else:
        pytest.fail("no machine code")
    near(compiled.value_and_grad(x)[1], ag.grad(f)(x), "llvm")


def test_a_long_program_is_left_as_it_is():
    program = optimised(trace(lambda x: ag.sum(x @ x), (np.ones((40, 40)),)))
    assert scalarised(program, 5_000) is None
    assert scalarised(optimised(trace(lambda x: ag.sum(x * x), (np.ones(100),))), 5_000) is not None


@native
def test_a_column_of_matrices_is_mapped_by_machine_code():
    f = ag.compile(lambda x: ag.inv([[x, 1.0], [1.0, 2.0 * x]])[0, 0], 3.0, backend="llvm")
    x = np.linspace(1.0, 5.0, 50)
    values, (slopes,) = f.map(x)
    np.testing.assert_allclose(values, 2 * x / (2 * x * x - 1), rtol=1e-13)
    np.testing.assert_allclose(slopes, ag.grad(lambda x: ag.sum(2 * x / (2 * x * x - 1)))(x), rtol=1e-12)
    with pytest.raises(ag.AgradError):
        ag.compile(lambda x: ag.inv([[x, 1.0], [1.0, x]])[0, 0], 3.0, backend="llvm").map(np.array([3.0, 1.0, 2.0]))


@native
def test_a_mask_stays_one():
    for size in (3, 300):
        x = np.linspace(-1.0, 2.0, size)
        mask = ag.compile(lambda x: (x > 0) * (x < 1), x, backend="llvm").value(x)
        assert np.array_equal(ag.tensor(x)[mask].value, x[(x > 0) & (x < 1)])
