"""Running sums, loops of their own, and arrays that consist of others, as parts of the loops of machine code."""

from itertools import product

import numpy as np
import pytest
from rows import each, functions
from test_loops import LENGTHS, check, program_of, stages

import agrad.engine as ag
from agrad.engine.compile.llvm import repeated, target
from agrad.engine.compile.llvm.loops import Loops
from agrad.engine.compile.llvm.stages import Kernel, Library, Repeat, Running, placed
from agrad.engine.core.op import OPS

pytestmark = pytest.mark.skipif(target.binding() is None, reason="llvmlite is not installed")
RNG = np.random.default_rng(6)


def exactly(f, *examples):
    """The results of machine code, of which each bit is that of the program."""
    program = program_of(f, *examples, gradients=False)
    loops = Loops(program)
    for found, expected in zip(loops.call(*examples), program.run(*examples), strict=True):
        assert np.asarray(found).tobytes() == np.asarray(expected).tobytes()
    return loops


@each("length", [n for n in LENGTHS if n], short=6)
def test_running_sums_and_products_of_every_length(length):
    x = RNG.normal(size=length)
    loops = exactly(lambda x: ag.cumsum(x) + ag.cumprod(x), x)
    assert Library not in stages(loops)
    loops = check(lambda x: ag.sum(ag.cumprod(1.0 + 0.001 * x) * x) + ag.sum(ag.sin(ag.cumsum(x))), x, rtol=1e-12)
    assert Library not in stages(loops)


SHAPES = [(3, 4, 5), (1, 7, 2), (6, 1, 1), (1, 1, 9), (2, 3, 1)]


@each("shape, axis", list(product(SHAPES, [0, 1, 2])), short=4)  # 0, 1, 2 and 0
def test_along_each_axis_of_what_is_read_where_it_lies(shape, axis):
    x = RNG.normal(size=shape)
    places = RNG.integers(0, shape[0], size=4)
    for f in (
        lambda x: ag.cumsum(x, axis),
        lambda x: ag.cumprod(ag.flip(x, axis), axis),
        lambda x: ag.cumsum(x.T, axis),
        lambda x: ag.cumsum(x[places], axis),
        lambda x: ag.cumprod(x[:, None] * 2.0, axis),
        lambda x: ag.cumsum(x[:, ::2, :1], axis),
    ):
        loops = exactly(f, x)
        assert Running in stages(loops)
        check(lambda x, f=f: ag.sum(ag.sin(f(x)) * 1.5) + ag.sum(x * x), x, rtol=1e-12)


@each("bad", [np.nan, np.inf, -np.inf, -0.0, 0.0, 5e-324, 1e308], short=3)
def test_edge_values_come_out_as_without_machine_code(bad):
    x = RNG.normal(size=100)
    for place in (0, 50, 99):
        x[place] = bad
        with np.errstate(all="ignore"):
            exactly(lambda x: ag.cumsum(x), x)
            exactly(lambda x: ag.cumprod(x), x)
            check(lambda x: ag.sum(ag.cumprod(x) * 0.5), x)


def test_an_expanded_number_is_summed_up():
    exactly(lambda a: ag.cumsum(ag.expand(a, (70,))), 0.3)
    check(lambda a: ag.sum(ag.cumsum(ag.expand(a, (70,)) * ag.expand(2.0, (70,))) ** 2), 0.3)


def test_second_derivatives_of_running_products_run_in_machine_code():
    x = 1.0 + 0.1 * RNG.normal(size=80)
    f = ag.compile(lambda x: ag.sum(ag.cumprod(x) ** 2), x, backend="llvm")
    assert np.allclose(f.hvp(x, x * x), ag.hvp(lambda x: ag.sum(ag.cumprod(x) ** 2), x, x * x).value, rtol=1e-12)


PARTS = functions(
    "x, m",
    """
    ag.concat([x, x[::-1], 2.0 * x[3:5]]); ag.concat([x, x]) + ag.concat([x, x])[::-1]; ag.concat([m, m[:2], ag.abs(m)])
    ag.concat([m, m[:, :1], m[:, ::-1]], 1); ag.stack([x, ag.sqrt(ag.abs(x)), x[::-1]])
    ag.stack([x, ag.sqrt(ag.abs(x)), x * 2.0], 1); ag.concat([ag.flip(m, 0).T, m.T], 1)
    ag.concat([ag.reshape(ag.flip(ag.abs(m), 0), (-1,)), x, ag.reshape(m.T, (-1,))]); ag.concat([x[[2, 0, 2]], x])
    ag.stack([x[5] * x[6], x[3], 2.0 * x[0]]); ag.concat([ag.concat([x, x]), ag.concat([x[:1], 0.5 * x])])
    ag.concat([x[:0], x, x[5:5]])
""",
    globals(),
)


@each("which", PARTS)
def test_an_array_of_others_is_stored_part_by_part(which):
    x, m = RNG.normal(size=70), RNG.normal(size=(7, 9))
    exactly(PARTS[which], x, m)
    loops = check(lambda x, m: ag.sum(ag.sin(PARTS[which](x, m)) ** 2) + ag.sum(m) + ag.sum(x), x, m, rtol=1e-12)
    assert Library not in stages(loops)


@each("length", [n for n in LENGTHS if n > 1], short=10)
def test_parts_of_every_length(length):
    x = RNG.normal(size=length)
    exactly(lambda x: ag.concat([x[1:], x[:1] + 1.0]), x)
    exactly(lambda x: ag.stack([x, x * 2.0], 1), x)


def test_only_what_consists_of_its_operands_is_stored_so():
    both = placed(OPS["concat"], [(2,), (3,)], (5,), {"axis": 0, "ends": (0, 2, 5)})
    assert [one.tolist() for one in both] == [[0, 1], [2, 3, 4]]
    assert placed(OPS["add"], [(2,), (2,)], (2,), {}) is None
    assert placed(OPS["cumsum"], [(2,)], (2,), {"axis": 0}) is None
    assert placed(OPS["getitem"], [(4,)], (2,), {"index": (slice(2),), "shape": (4,)}) is None


def spiral(a, b, rows):
    def step(state, row):
        x, y = state
        return (x + 0.01 * (a * x - x * y) + row, y + 0.01 * (x * y - b * y)), (x, x * y)

    (x, y), (xs, products) = ag.scan(step, (1.0, 0.5), rows)
    return x * y + ag.sum(xs**2) + ag.mean(products)


def test_a_loop_of_numbers_is_called_by_the_loops_around_it():
    rows = 0.01 * RNG.normal(size=200)
    loops = check(lambda a, b: spiral(a, b, rows), 1.1, 0.4, rtol=1e-12)
    assert Library not in stages(loops) and stages(loops).count(Repeat) == 2
    assert len(loops.driver.parts) == 1
    check(lambda r: spiral(1.1, 0.4, r * 2.0), rows, rtol=1e-12)
    f = ag.compile(lambda r: spiral(1.1, 0.4, r), rows, backend="llvm")
    expected = ag.hvp(lambda r: spiral(1.1, 0.4, r), rows, rows).value
    np.testing.assert_allclose(f.hvp(rows, rows), expected, rtol=1e-9, atol=1e-12)


def test_a_loop_that_runs_for_long_can_be_interrupted(monkeypatch):
    rows = 0.01 * RNG.normal(size=repeated.PIECE + 5)
    loops = check(lambda a: ag.scan(lambda s, row: (0.5 * s + row, ()), a, rows)[0], 1.0)
    assert Repeat not in stages(loops) and Library in stages(loops)


def test_explain_names_them():
    x = RNG.normal(size=500)
    told = ag.compile(lambda x: ag.sum(ag.cumsum(ag.sin(x))), x, backend="llvm").explain()
    assert "cumsum, an entry from the one before, over (500)" in told
    told = ag.compile(lambda x: ag.scan(lambda s, r: (s + r * s, ()), 1.0, x)[0], x, backend="llvm").explain()
    assert "scanned, 500 iterations of " in told


def test_stores_of_parts_share_the_loop_that_computes_them():
    loops = exactly(lambda x: ag.concat([ag.abs(x), x * 2.0]), RNG.normal(size=100))
    (kernel,) = [stage for stage in loops.schedule.stages if isinstance(stage, Kernel)]
    assert len(kernel.joins) == 2 and not kernel.stores
