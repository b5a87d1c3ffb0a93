"""Small products of matrices, and sums by places, as parts of the loops of machine code."""

from itertools import product

import numpy as np
import pytest
from rows import each
from test_loops import check, stages

import agrad.engine as ag
from agrad.engine.compile.llvm import target
from agrad.engine.compile.llvm.stages import Kernel, Library, Product, Scatter

pytestmark = pytest.mark.skipif(target.binding() is None, reason="llvmlite is not installed")
RNG = np.random.default_rng(5)
LONG = RNG.normal(size=100)


def entries(*shape):
    return RNG.normal(size=shape)


def with_loop(y, x):
    """A number of a matrix, with a loop over many entries."""
    return ag.sum(y * y) + ag.sum(ag.sin(LONG * ag.sum(x)))


@each("rows, columns", list(product([1, 3, 4, 5, 9, 48], [*range(1, 20), 31, 32, 33, 48])), short=9)
def test_every_number_of_rows_and_columns(rows, columns):
    inner = (rows * columns) % 17 + 1
    loops = check(lambda a, b: with_loop(a @ b, a), entries(rows, inner), entries(inner, columns))
    assert Library not in stages(loops)
    assert stages(loops).count(Product) == 3


@each(
    "f",
    [
        lambda a, b: a.T @ b,
        lambda a, b: a @ b.T,
        lambda a, b: a.T @ b.T,
        lambda a, b: a[::-1] @ b[:, ::-1],
        lambda a, b: a[1:4, 2:5] @ b[2:5, 1:2],
        lambda a, b: a[:, [2, 0, 1]] @ b[[0, 5, 5]],
        lambda a, b: (a * b) @ (b + 1.0) @ a,
        lambda a, b: (a @ b) @ (b @ a).T @ a,
        lambda a, b: a @ a,
        lambda a, b: ag.reshape(a, (3, 12)) @ ag.reshape(b, (12, 3)),
        lambda a, b: (a @ b) * ag.sum(a @ b, 0),
        lambda a, b: ag.stack([a @ b, b @ a]),
    ],
)
def test_matrices_are_read_where_they_lie(f):
    loops = check(lambda a, b: with_loop(f(a, b), b), entries(6, 6), entries(6, 6), rtol=1e-12)
    assert Product in stages(loops)


def test_what_is_not_finite_stays_in_its_row_and_column():
    a, b = entries(9, 9), entries(9, 9)
    a[2, 3], b[4, 5] = np.inf, np.nan
    check(lambda a, b: ag.exp(LONG)[:9] * (a @ b), a, b, gradients=False)


def test_a_long_chain_is_computed_without_python():
    def f(a):
        term = total = np.eye(20)
        for k in range(1, 11):
            term = term @ a / k
            total = total + term
        return ag.sum(total * total)

    loops = check(f, 0.3 * entries(20, 20), rtol=1e-12)
    assert Library not in stages(loops)
    assert len(loops.driver.parts) == 1


def test_large_products_are_left_to_the_library():
    loops = check(lambda a: with_loop(a @ a, a), entries(49, 49), rtol=1e-12)
    assert Product not in stages(loops)


@each(
    "index",
    [
        [0, 0, 0],
        [3, 1, 3, 0, 4, 4],
        [-1, 0, -1],
        (slice(None), [0, 1, 1, 0]),
        ([0, 2, 2], [1, 1, 1]),
        ([[0, 1], [1, 0]],),
        (slice(None, None, -1), slice(None, None, 2)),
    ],
)
def test_sums_by_places(index):
    index = (
        tuple(np.array(x) if isinstance(x, list) else x for x in index) if isinstance(index, tuple) else np.array(index)
    )
    loops = check(lambda x: ag.sum(ag.exp(x[index]) * 1.5) + ag.sum(ag.sin(LONG * ag.sum(x))), entries(5, 3))
    assert Library not in stages(loops)


def test_sums_by_places_are_added_in_their_order():
    i, j = np.triu_indices(40, 1)

    def f(x):
        d = x[i] - x[j]
        return ag.sum(ag.exp(-ag.sum(d * d, 1)))

    x = entries(40, 3)
    loops = check(f, x)
    assert stages(loops).count(Scatter) == 2
    assert stages(loops).count(Kernel) >= 1
    g = entries(len(i), 3)
    one = check(lambda g: ag.grad(lambda x: ag.sum(x[i] * g))(x) + ag.sum(ag.sin(LONG)), g, gradients=False)
    expected = np.zeros((40, 3))
    np.add.at(expected, i, g)
    assert (one.call(g)[0] == expected + float(np.sum(np.sin(LONG)))).all()


def test_explain_names_them():
    compiled = ag.compile(lambda a: with_loop(a @ a, a), entries(30, 30), backend="llvm")
    assert "a product of matrices, 30x30 by 30x30" in compiled.explain()


def test_a_number_in_all_entries_of_a_matrix_is_multiplied_like_others():
    check(lambda a, m: ag.sum(ag.sin(LONG) * a) * ag.mean(m @ m.T) * a, 0.5, entries(3, 3), rtol=1e-12)
