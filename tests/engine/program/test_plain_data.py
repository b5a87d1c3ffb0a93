"""Plain data that a traced function takes out of a value are a choice: another value is traced anew."""

import math

import numpy as np
import pytest
from backends import USABLE
from rows import each, functions

import agrad.engine as ag
from agrad.engine.compile import specializations
from agrad.engine.core.context import current
from agrad.engine.program.trace import trace

everywhere = pytest.mark.parametrize("backend", USABLE)


def without_record(x):
    with ag.no_grad():
        return (x * 2).item()


def walked(x):
    leaf = x.detach()
    leaf.requires_grad_(True)
    (leaf**3).backward()
    return leaf.grad.item() - 1.0


def walked_from_a_copy(x):
    leaf = ag.tensor(x, requires_grad=True)
    (leaf * leaf).backward()
    return float(leaf.grad)


WAYS = functions(
    "x",
    """
    float(x); x.item(); x.data; x.value; x.numpy(); x.tolist(); np.float64(x); np.asarray(x.detach()); complex(x).real
    math.floor(x); (x + 0.5).item(); x.detach().item(); float(x.detach() * 2); without_record(x); ag.tensor(x).item()
    ag.tensor(x.item(), requires_grad=True).item(); ag.grad(x * x, x).item(); walked_from_a_copy(x); walked(x)
    doubled.value(x); ag.compile(lambda z: z * x, 1.0).value(1.0); float(doubled.map(x)[0][0])
""",
    globals(),
)
doubled = ag.compile(lambda x: x * 2, 1.0)


def eager(f, value):
    x = ag.tensor(value, requires_grad=True)
    y = f(x)
    return y.item(), ag.grad(y, x).item()


def check_rows(compiled, f, xs):
    values, (slopes,) = compiled.map(xs)
    assert [*zip(values.tolist(), slopes.tolist(), strict=True)] == [eager(f, x) for x in xs]


@each("taken", WAYS.values())
@everywhere
def test_a_choice_by_a_number_that_was_taken_out_and_what_is_computed_with_it_are_those_of_each_number(backend, taken):
    for f, example, points in (
        (lambda x: x if taken(x) > 0.25 else -x, 2.0, (3.0, -1.0, 2.0, -0.5, 3.0, 0.0)),
        (lambda x: x * taken(x), 2.5, (2.7, 3.5, -0.0, -1.5, 2.7)),
    ):
        compiled = ag.compile(f, example, backend=backend)
        for x in points:
            assert compiled.value(x) == eager(f, x)[0]
            assert compiled.value_and_grad(x) == eager(f, x)
        check_rows(compiled, f, [2.0, -1.0, 0.0, 3.0, 2.0])


@everywhere
def test_a_number_that_rounds_the_same_at_first_is_noticed_later(backend):
    compiled = ag.compile(lambda x: x * math.floor(float(x)), 2.5, backend=backend)
    assert [compiled.value(x) for x in (2.5, 2.7, 3.5, 4.5)] == [5.0, 5.4, 10.5, 18.0]
    assert [ag.compile(math.floor, 2.5, backend=backend).value(x) for x in (2.7, 3.5)] == [2.0, 3.0]


@everywhere
def test_numbers_differ_in_every_bit_and_nan_is_one(backend):
    calls = []

    def f(x):
        calls.append(x)
        return x * 0 + math.copysign(1.0, float(x))

    compiled = ag.compile(f, 0.0, backend=backend)
    assert [compiled.value(x) for x in (0.0, -0.0, 0.0, -0.0)] == [1.0, -1.0, 1.0, -1.0]
    compiled.value(math.nan)
    before = len(calls)
    compiled.value(math.nan)
    assert len(calls) == before


@everywhere
def test_entries_are_taken_out_as_one(backend):
    def f(x):
        return ag.sum(x * x) if x.numpy()[0] > 0 else ag.sum(x) * x[0].item()

    compiled = ag.compile(f, np.ones(3), backend=backend)
    for x in (np.ones(3), 2 * np.ones(3), -np.ones(3), np.array([-2.0, 1.0, 0.0])):
        leaf = ag.tensor(x, requires_grad=True)
        y = f(leaf)
        value, slopes = compiled.value_and_grad(x)
        assert (value, slopes.tolist()) == (y.item(), ag.grad(y, leaf).tolist())


def test_the_second_derivatives_are_those_of_each_number():
    compiled = ag.compile(lambda x, y: x * y * float(ag.sin(x)), 1.0, 2.0)
    for x in (2.0, 3.0):
        assert compiled.hessian(x, 5.0).tolist() == [[0.0, math.sin(x)], [math.sin(x), 0.0]]
    of_array = ag.compile(lambda x: ag.sum(x * x) * x[0].item(), np.ones(2))
    for x in (3.0, 4.0):
        assert of_array.hessian([x, 1.0]).tolist() == [[2 * x, 0.0], [0.0, 2 * x]]


def test_there_is_no_machine_code_for_one_number():
    compiled = ag.compile(lambda x: x * float(x), 2.0, backend="llvm" if "llvm" in USABLE else "auto")
    for x in range(2 * specializations.MOST):
        assert compiled.value_and_grad(float(x)) == (x * x, x)
    assert all(way.native is None for way in compiled._gradient.known)
    if "llvm" in USABLE:
        assert compiled.source().startswith("# no machine code: a number was read")


def test_a_whole_number_is_still_a_guard_on_that_alone():
    calls = []

    def f(x, n):
        calls.append(n)
        return x ** int(n)

    compiled = ag.compile(f, 2.0, 3.0, wrt=0)
    compiled.value(2.0, 3.5)
    before = len(calls)
    assert [compiled.value(2.0, n) for n in (3.25, 3.75)] == [8.0, 8.0]
    assert len(calls) == before


def test_what_is_printed_of_a_value_is_no_guard():
    program = trace(lambda x: x * 2 if repr(x) and str(x) else x, (1.0,))
    assert program.checks == ()


def test_what_was_built_before_plain_data_were_taken_is_run_again():
    ag.compile(lambda x: x * float(x), 2.0).value(3.0)
    assert current().tracing is None
    with pytest.raises(ZeroDivisionError):
        ag.compile(lambda x: x * (1 // int(float(x) - 2)), 2.0)
    assert current().tracing is None
    x = ag.tensor(2.0, requires_grad=True)
    y = x * x
    for taken in WAYS.values():
        taken(y)
    x.set_(3.0)
    y.forward()
    assert y.item() == 9.0
