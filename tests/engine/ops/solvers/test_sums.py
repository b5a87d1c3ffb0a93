"""The sums of least squares: of parts of the data, joined in a tree."""

import gc
import os
import subprocess
import sys

import numpy as np
import pytest
from rows import each

from agrad.engine.ops.solvers.sums import Ask, Sums, joined, summed


def parts(count, size=3, seed=0):
    """Tables of parts of different lengths, one of them empty, with measurements and uncertainties."""
    rng = np.random.default_rng(seed)
    lengths = [0 if place == 2 else int(rng.integers(1, 400)) for place in range(count)]
    return [(rng.normal(size=(size + 1, n)), rng.normal(size=n) + 5.0, rng.uniform(0.5, 2.0, n)) for n in lengths]


def sums_of(part, by_pieces):
    table, y, sigma = part
    return summed(Ask(np.zeros(len(table) - 1), by_pieces), [(table.copy(), y, sigma)])


def test_a_tree_keeps_few_sums_at_a_time():
    def each():
        for count, part in enumerate(parts(300)):
            if count in (127, 255, 299):
                assert sum(type(one) is Sums for one in gc.get_objects()) <= 9
            yield sums_of(part, False)

    gc.collect()
    joined(each())


@each("by_pieces", [False, True])
def test_the_sums_of_parts_are_those_of_all_points(by_pieces):
    each = parts(20)
    table, y, sigma = (np.concatenate([part[place] for part in each], axis=-1) for place in range(3))
    found = joined(sums_of(part, by_pieces) for part in each)
    rows = table.copy()
    rows[-1] -= y
    assert found.rss == pytest.approx(float(rows[-1] @ rows[-1]))
    rows /= sigma
    products = found.table.T @ found.table if by_pieces else np.triu(found.table) + np.triu(found.table, 1).T
    np.testing.assert_allclose(products, rows @ rows.T, rtol=1e-12)
    assert (found.count, found.is_weighted) == (len(y), True)
    assert found.mean == pytest.approx(float(np.mean(y)))
    assert found.spread == pytest.approx(float(np.sum((y - np.mean(y)) ** 2)))
    factor = found.factor()
    np.testing.assert_allclose(factor.T @ factor, rows @ rows.T, rtol=1e-10)


def test_r_by_pieces_keeps_digits_that_products_lose():
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(3, 50_000))
    rows[1] = rows[0] + 1e-9 * rows[1]
    each = [(part.copy(), np.zeros(part.shape[1]), None) for part in np.array_split(rows, 7, axis=1)]
    lengths = np.linalg.svd(rows[:2], compute_uv=False)
    asked = Ask(np.zeros(2), True)
    factor = joined(summed(asked, [part]) for part in each).factor()
    np.testing.assert_allclose(np.linalg.svd(factor[:2, :2], compute_uv=False), lengths, rtol=1e-6)
    products = joined(summed(asked._replace(by_pieces=False), [part]) for part in each)
    assert products.factor() is None


def test_what_is_not_finite_in_one_part_is_so_in_all():
    each = [sums_of(part, by_pieces=True) for part in parts(3)]
    each[1].take(np.full((4, 2), np.inf), np.zeros(2), None)
    assert not np.isfinite(joined(each).factor()).all()


_PROGRAM = """
import hashlib, numpy as np
from agrad.engine.ops.solvers.sums import Ask, Sums
for size in (1, 3, 8, 40):
    for by_pieces in (False, True):
        rng = np.random.default_rng(size)
        sums = Sums(Ask(np.zeros(size), by_pieces))
        sums.take(rng.normal(size=(size + 1, 20_000)), rng.normal(size=20_000), None)
        print(hashlib.sha256(sums.table.tobytes()).hexdigest())
"""


def test_the_number_of_blas_threads_does_not_show():
    found = set()
    for count in ("1", "2", "8"):
        threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), count)
        done = subprocess.run(
            [sys.executable, "-c", _PROGRAM], env=os.environ | threads, capture_output=True, text=True, check=True
        )
        found.add(done.stdout)
    assert len(found) == 1


def test_a_part_without_points_changes_nothing():
    sums = Sums(Ask(np.zeros(2), False))
    sums.take(np.empty((3, 0)), np.empty(0), None)
    assert (sums.count, sums.rss) == (0, 0.0)
    assert not sums.table.any()


def test_parts_without_points_count_nothing():
    none = Sums(Ask(np.zeros(2), False))
    assert none.joined(Sums(Ask(np.zeros(2), False))).count == 0
