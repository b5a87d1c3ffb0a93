"""Programs of arrays as loops in machine code: equal to the eager results but for the order of sums; running sums to the bit."""

import subprocess
import sys
from itertools import product
from pathlib import Path

import guarded_loops
import numpy as np
import pytest
from compiled import check_threads, gradient_of, kinds_of, same
from random_programs import of_arrays
from rows import each, functions

import agrad.engine as ag
from agrad.engine.compile.llvm import loops as code
from agrad.engine.compile.llvm import repeated, target
from agrad.engine.compile.llvm.kernel import CHUNK
from agrad.engine.compile.llvm.loops import Loops, reason_against
from agrad.engine.compile.llvm.schedule import Schedule
from agrad.engine.compile.llvm.stages import Alone, Kernel, Library
from agrad.engine.program.ir import optimised
from agrad.engine.program.trace import trace

pytestmark = pytest.mark.skipif(target.binding() is None, reason="llvmlite is not installed")


RNG = np.random.default_rng(3)


LENGTHS = [*range(71), *[CHUNK * i + d for i in (1, 2) for d in (-9, -1, 0, 1, 7, 33)]]


def program_of(f, *examples, gradients=True):
    values = [x if isinstance(x, float) else np.ascontiguousarray(x) for x in examples]
    program = optimised(trace(f, values), again=True)
    return optimised(gradient_of(program, values, range(len(values)))) if gradients else program


def check(f, *examples, gradients=True, rtol=1e-13):
    """The results of a call, and of the next, which uses the buffers again."""
    program = program_of(f, *examples, gradients=gradients)
    loops = Loops(program)
    expected = program.run(*examples)
    for _ in range(2):
        found = loops.call(*examples)
        for one, other in zip(found, expected, strict=True):
            assert np.shape(one) == np.shape(other)
            finite = np.abs(other)[np.isfinite(other)]
            scale = finite.max() if np.size(finite) else 0.0
            np.testing.assert_allclose(one, other, rtol=rtol, atol=rtol * scale)
            if not isinstance(one, float):
                one[...] = np.nan  # nobody else's
    return loops


def stages(loops):
    return [stage.kind if isinstance(stage, Alone) else type(stage) for stage in loops.schedule.stages]


def loss(w, b, x, t):
    return ag.mean((w * x + b - t) ** 2)


@each("length", LENGTHS, short=6)
def test_every_length_is_summed_up(length):
    x, t = RNG.normal(size=(2, length))
    if not length:
        assert reason_against(Schedule(program_of(lambda w, b: loss(w, b, x, t), 0.3, 0.1))) is not None
        return
    check(lambda w, b: loss(w, b, x, t), 0.3, 0.1)
    check(lambda x: ag.sum(ag.sin(x) * x), x)
    check(lambda x: ag.sin(x) * 2, x, gradients=False)


@each("columns", [1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33, 70], short=3)
def test_every_width_of_rows_is_summed_up_along_each_axis(columns):
    m, w = RNG.normal(size=(9, columns)), RNG.normal(size=columns)
    check(lambda m, w: ag.sum(ag.sum(ag.tanh(m * w), axis=1) ** 2), m, w)
    check(lambda m, w: ag.sum(ag.mean(ag.tanh(m * w), axis=0) ** 2), m, w)
    check(lambda m, w: ag.sum(ag.sum(m * w, axis=1, keepdims=True) * m), m, w)
    check(lambda m: ag.sum(ag.exp(m.T - m[:, :1].T) ** 2), m)


def test_a_regression_is_one_loop_in_which_nothing_is_stored():
    x, t = RNG.normal(size=(2, 1000))
    loops = check(lambda w, b: loss(w, b, x, t), 0.3, 0.1)
    (kernel,) = [stage for stage in loops.schedule.stages if isinstance(stage, Kernel)]
    assert not kernel.stores and len(kernel.sums) == 3


def test_what_was_computed_at_some_expense_is_kept_for_the_next_loop():
    loops = check(lambda x: ag.sum((ag.exp(x) - ag.mean(ag.exp(x))) ** 2), RNG.normal(size=200))
    assert "call" in loops.source()
    first, *rest = [stage for stage in loops.schedule.stages if isinstance(stage, Kernel)]
    calls = {slot for slot in first.steps if loops.schedule.step(slot).op.name == "exp"}
    assert calls and not any(calls & set(stage.steps) for stage in rest)


def test_slices_transposes_and_gathers_are_read_where_they_lie():
    places = RNG.integers(0, 100, size=100)
    x = RNG.normal(size=100)
    loops = check(lambda x: ag.sum(x[1:] * x[:-1]) + ag.sum(ag.sin(x[places] + x[::-1])), x, gradients=False)
    assert Library not in stages(loops)
    check(lambda x: ag.sum(x[1:] * x[:-1]) + ag.sum(ag.sin(x[places] + x[::-1])), x)


@each("index", [
        slice(1, None), slice(None, -1), slice(0, 80, 2), slice(None, None, -1), 5, [3, 1, 3], np.arange(40), slice(7, 8),
        np.arange(20)[:, None] + np.arange(5), np.arange(0, 100, 2).reshape(10, 5), np.arange(60).reshape(6, 10),
        (None, slice(2, 50)), np.arange(100) % 2 == 0,
    ])  # fmt: skip
def test_what_is_added_at_an_index_is_the_transpose_of_taking_it(index):
    check(lambda x: ag.sum(ag.sin(x[index]) ** 2 * 1.5) + ag.sum(x * x), RNG.normal(size=100))


def test_parts_of_a_matrix_are_added_where_they_were_taken():
    m = RNG.normal(size=(12, 15))
    for index in (
        (slice(1, 9), slice(2, 11)),
        (slice(None), 3),
        4,
        (slice(None, None, 3), slice(5, None)),
        (..., [1, 1]),
    ):
        check(lambda m, index=index: ag.sum(ag.sin(m[index]) ** 2) + ag.sum(m * m), m)
    f = check(lambda x: ag.sum((x[1:] - x[:-1] ** 2) ** 2), RNG.normal(size=500))
    assert Library not in stages(f)


def test_products_of_matrices_are_left_to_the_library():
    b, y, w = RNG.normal(size=(200, 5)), RNG.normal(size=200), RNG.normal(size=5)
    loops = check(lambda w: ag.mean(ag.softplus(b @ w) - y * (b @ w)), w)
    assert stages(loops) == [Library, Kernel, Library]


@each("bad", [np.nan, np.inf, -np.inf, -0.0, 0.0, 5e-324, 1e308], short=3)
def test_edge_values_come_out_as_without_compilation(bad):
    x = RNG.normal(size=100)
    for place in (0, 50, 99):
        x[place] = bad
        for one in (
            lambda x: ag.sin(x) / x,
            lambda x: x + x * -0.0,
            lambda x: ag.maximum(x, x[::-1]),
            lambda x: ag.where(x > 0, ag.log(x), 0.0),
            lambda x: ag.sign(x) + ag.floor(x),
        ):
            program = program_of(one, x, gradients=False)
            (found,), (expected,) = Loops(program).call(x), program.run(x)
            np.testing.assert_allclose(found, expected, rtol=1e-14)
            assert np.array_equal(np.signbit(found), np.signbit(expected)) or np.isnan(expected).any()
        with np.errstate(all="ignore"):
            check(lambda x: ag.sum(ag.where(x > 0, ag.log(x), x)), x)
            exactly(lambda x: ag.cumsum(x), x)
            exactly(lambda x: ag.cumprod(x), x)
            check(lambda x: ag.sum(ag.cumprod(x) * 0.5), x)


def test_the_sum_of_negative_zeros_is_what_it_is_without_compilation():
    zeros = np.full(100, -0.0)
    program = program_of(lambda x: ag.sum(x * 1.5), zeros, gradients=False)
    assert repr(Loops(program).call(zeros)) == repr(program.run(zeros))


def test_a_sum_keeps_its_digits_over_many_entries():
    x = RNG.uniform(size=1_000_003)
    program = program_of(lambda x: ag.sum(x * 1.0 + 0.0), x, gradients=False)
    assert abs(Loops(program).call(x)[0] / program.run(x)[0] - 1) < 1e-14


def test_any_kind_of_array_may_be_given():
    f = ag.compile(lambda x, m: ag.sum(ag.sin(x) * m), np.ones(90), np.ones((80, 90)), backend="llvm")
    x, m = (RNG.normal(size=90) * 20).round(), (RNG.normal(size=(80, 90)) * 20).round()
    expected = f.value_and_grad(x, m)
    assert isinstance(f._gradient.known[0].native, Loops)
    unaligned = np.zeros(8 * m.size + 1, np.uint8)[1:].view(np.float64).reshape(m.shape)
    unaligned[...] = m
    for given in [*kinds_of(m), unaligned, *[m.astype(kind) for kind in (np.float32, np.int64, np.int8)]]:
        value, gradients = f.value_and_grad(x, given)
        assert value == expected[0]
        assert all(np.array_equal(a, b) for a, b in zip(gradients, expected[1], strict=True))


def test_a_call_takes_the_arrays_that_fit_and_asks_the_function_about_all_else():
    def f(s, x):
        return ag.sum(ag.sin(x) * x) * s

    x = RNG.normal(size=(9, 11))
    compiled, reference = [ag.compile(f, 2.0, x, backend=name) for name in ("llvm", "python")]
    for _ in range(3):
        compiled.value_and_grad(2.5, x)
    given = [(2.5, x), (np.float64(2.5), x), (2, x), (np.array(2.5), x), (2.5, x.tolist()), (2.5, x.astype("f4"))]
    given += [(2.5, x[::-1]), (2.5, np.asfortranarray(x)), (2.5, x.astype(">f8")), (2.5, ag.tensor(x))]
    x.setflags(write=False)
    for s, y in given:
        value, (by_s, by_y) = compiled.value_and_grad(s, y)
        expected, (one, other) = reference.value_and_grad(s, y)
        np.testing.assert_allclose([value, by_s], [expected, one], rtol=1e-13)
        np.testing.assert_allclose(by_y, other, rtol=1e-13)
        assert by_y.base is None
    for wrong in ((2.5, x[:4]), (2.5, x.T), (x, 2.5), (2.5,)):
        with pytest.raises(ag.AgradError):
            compiled.value_and_grad(*wrong)


@each("name", ["any", "all"])
def test_truths_of_arrays_are_found_in_loops(name):
    truth = getattr(ag, name)
    for fill in (0.0, -0.0, 1.0, np.nan, 5e-324):
        x = np.full((70, 9), fill)
        x[5], x[:, 3], x[6, 4] = 2.0, 0.0, np.nan
        for axis in (None, 0, 1):
            loops = check(lambda x, axis=axis: ag.sin(x) * truth(x, axis, True), x, gradients=False)
            assert Library not in stages(loops)


@each("seed", range(40), short=20)
def test_random_functions_of_arrays_are_the_eager_ones(seed):
    f = of_arrays(seed)
    exact, fast = (ag.compile(f, *f.examples, backend=backend) for backend in ("python", "llvm"))
    for point in f.points(2):
        value, slopes = exact.value_and_grad(*point)
        same(fast.value_and_grad(*point), (value, slopes), 1e-11)
        assert fast.value(*point) == pytest.approx(value, rel=1e-11, abs=1e-11)


def test_threads_may_call_the_same_loops():
    loops = Loops(program_of(lambda x: ag.sum(ag.exp(x - ag.mean(x))), np.ones(3000)))
    check_threads(loops.call, [(RNG.normal(size=3000),) for _ in range(20)] * 3)


@pytest.mark.long
def test_without_vectors_of_functions_loops_are_made_silently(monkeypatch, capfd):
    monkeypatch.setattr(target.Machine, "vector_names", lambda *_: {})
    check(lambda x: ag.sum(ag.exp(x) * ag.hypot(x, 2.0)), RNG.normal(size=100))
    check(lambda x: ag.sum(ag.sqrt(x) * x), RNG.uniform(size=100))
    assert capfd.readouterr() == ("", "")


def test_nothing_outside_the_arrays_is_read_or_written():
    done = subprocess.run(
        [sys.executable, Path(guarded_loops.__file__)], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr


def test_a_program_without_long_loops_is_left_to_python():
    assert "no loop" in reason_against(Schedule(program_of(lambda x: ag.sum(x * x), np.ones(10))))
    assert code._FEWEST == 64
    assert Schedule(program_of(lambda x: ag.sum(ag.sort(x)), np.ones(100))).stages


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
        assert "running" in stages(loops)
        check(lambda x, f=f: ag.sum(ag.sin(f(x)) * 1.5) + ag.sum(x * x), x, rtol=1e-12)


def test_an_expanded_number_is_summed_up():
    exactly(lambda a: ag.cumsum(ag.expand(a, (70,))), 0.3)
    check(lambda a: ag.sum(ag.cumsum(ag.expand(a, (70,)) * ag.expand(2.0, (70,))) ** 2), 0.3)


def test_second_derivatives_of_running_products_run_in_machine_code():
    x = 1.0 + 0.1 * RNG.normal(size=80)
    f = ag.compile(lambda x: ag.sum(ag.cumprod(x) ** 2), x, backend="llvm")
    assert np.allclose(f.hvp(x, x * x), ag.hvp(lambda x: ag.sum(ag.cumprod(x) ** 2), x, x * x), rtol=1e-12)


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


def spiral(a, b, rows):
    def step(state, row):
        x, y = state
        return (x + 0.01 * (a * x - x * y) + row, y + 0.01 * (x * y - b * y)), (x, x * y)

    (x, y), (xs, products) = ag.scan(step, (1.0, 0.5), rows)
    return x * y + ag.sum(xs**2) + ag.mean(products)


def test_a_loop_of_numbers_is_called_by_the_loops_around_it():
    rows = 0.01 * RNG.normal(size=200)
    loops = check(lambda a, b: spiral(a, b, rows), 1.1, 0.4, rtol=1e-12)
    assert Library not in stages(loops) and stages(loops).count("repeat") == 2
    assert len(loops.driver.parts) == 1
    check(lambda r: spiral(1.1, 0.4, r * 2.0), rows, rtol=1e-12)
    f = ag.compile(lambda r: spiral(1.1, 0.4, r), rows, backend="llvm")
    expected = ag.hvp(lambda r: spiral(1.1, 0.4, r), rows, rows)
    np.testing.assert_allclose(f.hvp(rows, rows), expected, rtol=1e-9, atol=1e-12)


def test_a_loop_that_runs_for_long_can_be_interrupted(monkeypatch):
    rows = 0.01 * RNG.normal(size=repeated.PIECE + 5)
    loops = check(lambda a: ag.scan(lambda s, row: (0.5 * s + row, ()), a, rows)[0], 1.0)
    assert "repeat" not in stages(loops) and Library in stages(loops)


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


@each("length", [*range(64, 97), 4097], short=6)
def test_equal_entries_have_equal_functions_wherever_they_are(length):
    loops = Loops(program_of(lambda x: ag.sin(x) + ag.exp(x), np.ones(length), gradients=False))
    for entry in np.linspace(-3, 3, 50):
        assert len({*loops.call(np.full(length, entry))[0].tolist()}) == 1, entry
