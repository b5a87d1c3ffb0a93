"""Machine code: what it computes is what eager computes, to within 4 ulp for each function of the C library."""

import gc
import itertools
import random
import sys
import weakref
from dataclasses import replace

import numpy as np
import pytest
from native import EDGES, ELSEWHERE, VARIANTS, calls, close, inf, nan, program_of, ulps
from rows import each

import agrad.engine as ag
from agrad.engine.compile.llvm import backend, target
from agrad.engine.core.dispatch import compute
from agrad.engine.core.op import OPS
from agrad.engine.program.ir import Input, Program, Step
from agrad.engine.program.trace import trace

pytestmark = pytest.mark.skipif(target.binding() is None, reason="llvmlite is not installed")
Native, supports = backend.Native, backend.supports
LESS = [pytest.param(less, marks=pytest.mark.long) for less in ("4 lanes", "2 lanes", "no libmvec")]


@pytest.fixture(params=["as it is", *LESS])
def machine(request, monkeypatch):
    """This machine, and what it would be with narrower vectors, or without functions for them."""
    here = target.machine()
    narrower = {"4 lanes": (4, "d"), "2 lanes": (2, "b"), "no libmvec": (here.lanes, "")}.get(request.param)
    if narrower is not None:
        if narrower[0] > here.lanes:
            pytest.skip("vectors are narrower here")
        there = replace(here, lanes=narrower[0], letter=narrower[1] if here.letter else "")
        monkeypatch.setattr(target, "machine", lambda: there)
        monkeypatch.setattr(backend, "machine", lambda: there)
    return request.param


def mapped(native, columns, outputs):
    columns = [np.asarray(column, dtype=float) for column in columns]
    outs = [np.full(len(columns[0]), 7.0) for _ in range(outputs)]
    native.map(columns, outs)
    return [out.tolist() for out in outs]


def points(count, rng):
    """Edge values in all combinations (some of them, for three operands), and random ones."""
    edges = [*itertools.product(EDGES, repeat=count)]
    wild = [tuple(rng.uniform(-3, 3) * 10 ** rng.choice((0, 0, 0, 1, 2)) for _ in range(count)) for _ in range(500)]
    return [*rng.sample(edges, min(len(edges), 4000)), *wild]


# Operations


@each("name, count, attrs", VARIANTS, short=4)
def test_an_operation_is_what_eager_computes(name, count, attrs):
    native = Native(program_of([(name, range(count), attrs)], count))
    allowed = calls(name, count, attrs)
    where = points(count, random.Random(0))
    (by_rows,) = mapped(native, zip(*where, strict=True), 1)
    for operands, row in zip(where, by_rows, strict=True):
        eager = compute(OPS[name], operands, attrs)
        (one,) = native.call(*operands)
        assert close(one, eager, allowed, name, operands), (operands, one, eager)
        assert close(row, eager, allowed, name, operands), (operands, row, eager)


@each("name", ["exp", "sin", "tanh", "log", "pow", "erfc", "atan2", "cbrt", "hypot", "expm1"])
def test_functions_are_the_same_on_all_machines(name, machine):
    count = len(OPS[name].signature.operands)
    where = points(count, random.Random(1))
    (by_rows,) = mapped(Native(program_of([(name, range(count), {})], count)), zip(*where, strict=True), 1)
    for operands, row in zip(where, by_rows, strict=True):
        assert ulps(row, compute(OPS[name], operands, {})) <= 4, operands


@each("exponent", [-5, -4, -3, -2, -1, -0.5, 0, 0.5, 1, 1.5, 2, 3, 4, 5, 7, 1e300, inf, -inf, nan])
def test_a_power_by_a_constant_is_what_eager_computes(exponent):
    native = Native(program_of([("pow", (0, 1), {})], 1, (float(exponent),)))
    where = [*EDGES, *(random.Random(2).uniform(-3, 3) * 10.0**i for i in range(-60, 60))]
    (by_rows,) = mapped(native, [where], 1)
    for x, row in zip(where, by_rows, strict=True):
        eager = compute(OPS["pow"], (x, float(exponent)), {})
        assert ulps(row, eager) <= 4 and ulps(native.call(x)[0], eager) <= 4, (x, row, eager)


def test_small_powers_need_no_call():
    for exponent in (2.0, 3.0, -1.0, 0.5):
        assert "@pow" not in Native(program_of([("pow", (0, 1), {})], 1, (exponent,))).source()
    assert "pow" in Native(program_of([("pow", (0, 1), {})], 1, (5.0,))).source()


def test_what_has_no_native_code_is_said():
    for name in ELSEWHERE.split():
        count = len(OPS[name].signature.operands)
        reason = supports(program_of([(name, range(count), dict.fromkeys(OPS[name].signature.attributes, 1))], count))
        assert reason == f"{name} has no machine code"
    assert supports(program_of([("round", (0,), {"digits": 2})], 1)) == "round has no machine code"
    assert supports(program_of([("round", (0,), {"digits": 0})], 1)) is None


# Programs


def test_an_output_may_be_an_input_or_a_constant():
    program = Program((Input("x", ()), Input("y", ())), (2.5,), (), (2, 0, 0, 1), ())
    assert Native(program).call(3.0, -0.0) == (2.5, 3.0, 3.0, -0.0)
    assert mapped(Native(program), [[3.0, 4.0], [5.0, 6.0]], 4) == [[2.5, 2.5], [3.0, 4.0], [3.0, 4.0], [5.0, 6.0]]
    assert Native(Program((), (2.5,), (), (0,), ())).call() == (2.5,)
    assert Native(Program((Input("x", ()),), (), (), (), ())).call(1.0) == ()


def test_rows_do_not_depend_on_where_they_stand():
    native = Native(trace(lambda x, y: ag.tanh(x) ** y + ag.cos(x * y), (0.3, 0.7)))
    rng = np.random.default_rng(6)
    x, y = rng.normal(size=(2, 100_003))
    out = np.empty_like(x)
    native.map([x, y], [out], threads=2)
    for first in (1, 7, 70_000, 99_990):
        part = np.empty(13)
        native.map([x[first : first + 13], y[first : first + 13]], [part], threads=1)
        assert part.tobytes() == out[first : first + 13].tobytes()


def test_the_two_grades_of_code_give_the_same_bits(monkeypatch):
    native = Native(trace(lambda x, y: ag.exp(x) ** y + ag.sigmoid(x * y), (0.3, 0.7)))
    x, y = np.random.default_rng(7).normal(size=(2, 1001))
    quick, full = np.empty_like(x), np.empty_like(x)
    native.map([x, y], [quick])
    monkeypatch.setattr(backend, "_MANY", 0)
    native.map([x, y], [full])
    assert quick.tobytes() == full.tobytes()
    other = Native(native.program)
    other.fast = False
    assert other.call(0.4, 0.6) == native.call(0.4, 0.6)


@pytest.mark.long
def test_a_program_of_thousands_of_steps():
    steps = [("add" if i % 3 else "mul", (i, i + 1), {}) for i in range(5000)]
    program = program_of(steps, 2)
    expected = [0.5, 0.25]
    for name, slots, _ in steps:
        expected.append(compute(OPS[name], tuple(expected[i] for i in slots), {}))
    native = Native(program)
    native.fast = False
    assert native.call(0.5, 0.25) == tuple(expected[2:])


def test_the_source_is_that_of_the_loop():
    native = Native(trace(lambda x: ag.sin(x), (0.3,)))
    assert "define void @rows(" in native.source()
    assert "sin" in native.source()


def test_as_many_inputs_as_would_not_fit_on_the_stack_are_refused():
    many = program_of([("add", (0, 1), {})], backend._PASSED, ())
    assert supports(many) == "it has 100001 inputs and outputs, and machine code is for at most 100000"


@pytest.mark.long
def test_a_program_at_the_limit_of_length_runs_and_one_beyond_it_is_refused():
    rng = random.Random(8)
    steps = []
    for slot in range(3, 3 + backend._MOST, 2):  # half of the difference from any number before
        steps += [("sub", (slot - 1, rng.randrange(slot)), {}), ("mul", (slot, 2), {})]
    program, longer = (program_of(some, 2, (0.5,)) for some in (steps, [*steps, ("add", (0, 1), {})]))
    assert supports(longer) == "it has 50001 instructions, and machine code is for at most 50000"
    slots = [0.3, -0.7, 0.5]
    for name, (left, right), _ in steps:
        slots.append(compute(OPS[name], (slots[left], slots[right]), {}))
    (found,) = mapped(Native(replace(program, outputs=program.outputs[-1:])), [[0.3] * 11, [-0.7] * 11], 1)
    assert found == [slots[-1]] * 11


# Calls


def test_a_call_takes_numbers_as_python_has_them():
    call = Native(trace(lambda x, y: x / y, (0.3, 0.7))).call
    assert call(1, 4) == call(np.float64(1), True * 4) == (0.25,)


def test_a_function_keeps_its_code_alive_and_no_longer():
    native = Native(trace(lambda x: x * x + 1, (0.3,)))
    call, program = native.call, weakref.ref(native)
    engine = weakref.ref(native._engine)
    del native
    gc.collect()
    assert program() is None
    assert [call(float(i)) for i in range(3)] == [(1.0,), (2.0,), (5.0,)]
    del call
    gc.collect()
    assert engine() is None


def test_results_are_counted_as_others_are():
    call = Native(trace(lambda x: x * 3, (0.3,))).call
    x = 0.1234
    before = sys.getrefcount(x)
    results = [call(x) for _ in range(1000)]
    after, of_a_result = sys.getrefcount(x), sys.getrefcount(results[0][0])
    made = [(x * 3,)]
    of_another = sys.getrefcount(made[0][0])
    assert (after, of_a_result) == (before, of_another)


# What cannot be compiled


def test_arrays_of_few_entries_are_left_to_python():
    step = Step(OPS["sum"], (0,), {"axis": (0,), "keepdims": False, "wide": (1,)}, ())
    wide = Step(OPS["mul"], (0, 0), {}, (3,))
    for program in (
        Program((Input("x", (3,)),), (), (step,), (1,), ()),
        Program((), (np.ones(3),), (step,), (1,), ()),
        Program((Input("x", ()),), (), (wide,), (1,), ()),
    ):
        assert supports(program) == "there is no loop over many entries in it"


def test_a_function_that_the_c_library_lacks_is_said(monkeypatch):
    real = target.llvmlite()

    class Lacking:
        def address_of_symbol(self, name):
            return None if name == "exp2" else real.address_of_symbol(name)

        def __getattr__(self, name):
            return getattr(real, name)

    monkeypatch.setattr(target, "llvmlite", Lacking)
    assert supports(trace(lambda x: ag.exp2(x), (0.3,))) == "the C library has no exp2"
    assert supports(trace(lambda x: ag.exp(x), (0.3,))) is None


@each("shape", [(0,), (2, 0)])
@each("rows", [0, 3])
def test_rows_without_entries(shape, rows):
    compiled = ag.compile(lambda x, y: ag.sum(x * y) + 1, np.zeros(shape), np.zeros(shape), backend="llvm")
    table = np.zeros((rows, *shape))
    values, slopes = compiled.map(table, table)
    assert values.tolist() == [1.0] * rows
    assert [slope.shape for slope in slopes] == [table.shape] * 2
