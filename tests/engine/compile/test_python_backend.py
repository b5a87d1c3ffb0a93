"""The Python backend: bit for bit what eager gives, of values and gradients, on ordinary data and at the edges."""

import math
import random
from itertools import product

import numpy as np
import pytest
from compiled import gradient_program
from differences import eager, weights
from random_programs import matrix_function, on_numbers
from refused import refuses
from replays import same_bits
from rows import each
from samples import samples_of

import agrad.engine as ag
from agrad.engine.compile.python_backend import Compiled
from agrad.engine.core.numpy_warnings import quiet
from agrad.engine.core.op import OPS
from agrad.engine.program.ir import Diverged, optimised
from agrad.engine.program.trace import extract, trace

EDGES = (0.0, -0.0, 1.0, -1.0, 2.0, 0.5, -2.5, math.inf, -math.inf, math.nan, 5e-324, 1e308, -1e308, 30.0)


def same(found, expected, text):
    for number, (a, b) in enumerate(zip(found, expected, strict=True)):
        assert same_bits(a, b), (text, number, a, b)


@each("name, attrs", [*on_numbers()])
def test_every_operation_on_numbers_is_bit_for_bit_the_same_at_the_edges(name, attrs):
    op = OPS[name]
    count = len(op.signature.operands)

    def f(*xs):
        return op.call(*xs, **attrs) * 1.7

    code = Compiled(optimised(gradient_program(f, [0.7] * count)))
    points = product(EDGES, repeat=count) if count < 3 else product(EDGES[::2], repeat=count)
    for point in points:
        expected = eager(f, point)
        found = code.call(*point)
        assert {type(x) for x in found} == {float}
        same(found, expected, point)
        same(code.careful(*point), expected, point)


def total(results):
    """One number from one result or several. The weights differ: BLAS has another way with equal entries."""
    results = results if isinstance(results, tuple | list) else [results]
    terms = [ag.sum(y * weights(y.shape, place)) for place, y in enumerate(results) if isinstance(y, ag.Tensor)]
    return sum(terms, 0.0)


def at_samples(name):
    """A function at its samples: what it gives of its operands that are no texts, and those."""
    entry, together = ag.FUNCTIONS[name], name in ("concat", "stack")
    for sample in samples_of(entry):
        attrs = sample[-1] if isinstance(sample[-1], dict) else {}
        operands = sample[: len(sample) - bool(attrs)]
        texts = [x for x in operands if isinstance(x, str)]

        def f(*xs, attrs=attrs, texts=texts):
            return entry.call(list(xs), **attrs) if together else entry.call(*texts, *xs, **attrs)

        yield f, [ag.tensor(x).value for x in operands if not isinstance(x, str)]


@each("name", sorted({*ag.FUNCTIONS} - {"detach"}))
def test_every_function_is_bit_for_bit_the_same_at_its_samples_and_each_result_an_array_of_its_own(name):
    """No other result, of this call or one before, no input, and no constant of the program."""

    def first(result):
        return result[0] if isinstance(result, tuple | list) else result

    for f, values in at_samples(name):

        def summed(*xs, f=f):
            return total(f(*xs))

        slopes, expected = gradient_program(summed, values), eager(summed, values)
        for program in (trace(lambda *xs, f=f: first(f(*xs)), values), slopes):
            code = Compiled(optimised(program))
            taken = [x for x in (*values, *code.program.constants) if isinstance(x, np.ndarray)]
            for _ in range(3):  # the first time without buffers
                results = code.call(*values)
                for found in results:
                    if isinstance(found, np.ndarray):
                        assert not any(np.shares_memory(found, other) for other in taken), values
                        taken.append(found)
                if program is slopes:
                    same(results, expected, values)
        with quiet():
            same(code.careful(*values), expected, values)


WEIGHTS = np.cos(np.arange(9.0)).reshape(3, 3)


@each("group", range(10), short=5)
def test_random_expressions_of_matrices_are_bit_for_bit_the_same(group):
    for number in range(30 * group, 30 * group + 30):
        rng, generator = random.Random(number), np.random.default_rng(number)
        inner, text = matrix_function(rng, rng.choice([1, 2, 2, 3]))

        def f(x, y, inner=inner):
            return ag.sum(inner(x, y) * WEIGHTS)

        compiled = ag.compile(f, *generator.normal(size=(2, 3, 3)), backend="python")
        for _ in range(3):
            values = generator.normal(size=(2, 3, 3))
            value, gradients = compiled.value_and_grad(*values)
            same([value, *gradients], eager(f, values), text)


# The source


def source(f, *examples):
    return Compiled(optimised(trace(f, examples, ("x", "y")[: len(examples)]))).source()


def test_arithmetic_stands_in_the_source_and_functions_by_name():
    assert source(lambda x, y: x * ag.sin(y) + 1, 2.0, 3.0) == "def compiled(x, y):\n    return (((x*sin(y)) + 1.0),)\n"


def test_what_is_used_twice_is_computed_once():
    assert source(lambda x: ag.exp(x) * ag.exp(x), 2.0) == "def compiled(x):\n    t1 = exp(x)\n    return ((t1*t1),)\n"


def test_the_source_says_what_it_calls_as_it_is():
    assert source(ag.sigmoid, 2.0).startswith("# sigmoid is a function on floats, called directly\n")
    assert "# det_ is computed as without compilation\n" in source(ag.det, np.eye(2))


def test_a_choice_stands_in_the_source():
    text = source(lambda x: x * 2 if x > 3 else x, 5.0)
    assert "raise Diverged(0)" in text
    assert "is true" in text


@each("name", ["x\nraise SystemExit", "\r1/0", "a\x00b", "\ud800", "\x0c# "])
def test_no_name_gets_out_of_its_comment(name):
    def f(x):
        y = x * 2
        y.node.name = name
        return y if y > 3 and y else x

    assert Compiled(optimised(trace(f, (5.0,), (name,)))).call(6.0) == (12.0,)


def test_names_that_mean_something_else_are_replaced():
    for name in ("sin", "t1", "lambda", "nan", "take", "np_add", "not a name", "c0", "compiled"):
        program = optimised(trace(lambda x: ag.sin(x) + math.nan * ag.exp(x) * ag.exp(x), (2.0,), (name,)))
        assert math.isnan(Compiled(program).call(1.0)[0])


def test_formulas_do_not_nest_without_end():
    def f(x):
        for _ in range(3000):
            x = ag.sin(x + 1.0)
        return x

    program = optimised(trace(f, (1.0,)))
    assert same_bits(Compiled(program).call(2.0), program.run(2.0))


# Buffers


def test_what_comes_out_is_never_a_buffer_a_constant_or_an_argument():
    def f(x, w):
        return ag.exp(x * w) + x

    compiled = ag.compile(lambda x: x, [1.0, 2.0], backend="python")
    given = np.array([3.0, 4.0])
    first = compiled.value(given)
    first[:] = 0.0
    assert given.tolist() == [3.0, 4.0]
    constant = ag.compile(lambda x: ag.sum(x * np.array([2.0, 3.0])), [1.0, 2.0], backend="python")
    constant.value_and_grad(given)[1][:] = 99.0
    assert constant.value_and_grad(given)[1].tolist() == [2.0, 3.0]
    code = Compiled(optimised(trace(f, ([1.0, 2.0], [1.0, 1.0]))))
    results = [code.call(np.array([x, 1.0]), np.ones(2))[0] for x in (1.0, 2.0, 3.0)]
    for x, result in zip((1.0, 2.0, 3.0), results, strict=True):
        assert same_bits(result, f(np.array([x, 1.0]), np.ones(2)))


def test_no_two_results_are_one_array():
    def alike(x, y):
        return ag.sum((x + y) ** 2)

    ones = np.ones(3)
    _, (by_x, by_y) = ag.compile(alike, ones, ones, backend="python").value_and_grad(ones, ones)
    by_x[:] = 9.0
    assert by_y.tolist() == [4.0, 4.0, 4.0]
    twice = ag.compile(lambda x: ag.sum(x * 3), ones, wrt=(0, 0), backend="python").value_and_grad(ones)[1]
    assert not np.shares_memory(*twice)


def test_two_calls_at_a_time_have_buffers_of_their_own():
    def f(x):
        return ag.sum(ag.exp(x * 2.0) * ag.sin(x * 3.0))

    code = Compiled(optimised(trace(f, (np.ones(1000),))))
    values = [np.linspace(0.0, 1.0 + k, 1000) for k in range(8)]
    expected = [code.call(x) for x in values]
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(4) as pool:
        for found in [list(pool.map(code.quick, values)) for _ in range(20)]:
            assert all(same_bits(a, b) for a, b in zip(found, expected, strict=True))


def test_buffers_are_used_again():
    def f(x):
        for _ in range(50):
            x = x * 0.5 + 1.0
        return ag.sum(x)

    text = Compiled(optimised(trace(f, (np.ones(4),)))).source()
    assert "b0, = take()" in text


def test_a_buffer_lies_in_memory_as_the_array_that_it_stands_for():
    """A sum rounds by where its entries lie: that of a transposed array goes down the columns."""

    def f(x):
        return ag.sum(ag.expand(x, 300, 100) * 1.1) + ag.sum(ag.transpose(ag.reshape(x, 10, 10)) * 1.3, axis=0)[3]

    x = np.random.default_rng(1).normal(size=100)
    code = Compiled(optimised(gradient_program(f, (x,))))
    for _ in range(3):
        same(code.call(x), eager(f, (x,)), "layout")


def test_what_shows_the_entries_of_a_buffer_outlives_none():
    """The rules of linear algebra turn a matrix without a copy: as long as that is read, its buffer is not free."""

    def f(x):
        squares = ag.exp(x) * 2.0
        turned = OPS["swap"].call(squares)
        other = ag.sin(x * 3.0) + 1.0
        return turned * 1.0 + ag.sum(other * 2.0), turned, other

    x = ag.tensor(np.arange(6.0).reshape(2, 3), requires_grad=True)
    code = Compiled(optimised(extract(f(x), [x])))
    expected = [np.asarray(y.value) for y in f(x)]
    results = [code.call(x.value) for _ in range(4)]
    for result in results:
        same(result, expected, "views")
        assert all(y.base is None for y in result)


def test_products_of_matrices_round_as_those_of_a_plain_backward():
    rng = np.random.default_rng(0)
    for _ in range(10):
        n, k, m = rng.integers(1, 120, 3)

        def f(x, w, b):
            return ag.mean(ag.tanh(x @ w + b) ** 2) + ag.sum(ag.softmax(x @ w) * ag.sigmoid(b))

        values = rng.normal(size=(n, k)), rng.normal(size=(k, m)), rng.normal(size=m)
        code = Compiled(optimised(gradient_program(f, values)))
        for _ in range(3):
            same(code.call(*values), eager(f, values), (n, k, m))


# Checks


def test_a_choice_that_comes_out_otherwise_is_said_before_anything_is_computed_by_it():
    def f(x):
        return ag.cholesky(x)[0, 0] if x[0, 0] > 0 else x[0, 0]

    code = Compiled(optimised(trace(f, (np.eye(2),))))
    with pytest.raises(Diverged):
        code.call(-np.eye(2))


def test_what_an_operation_refuses_is_refused_in_its_words():
    compiled = ag.compile(lambda x: ag.sum(ag.inv(x)), np.eye(2), backend="python")
    refuses(lambda: compiled.value(np.zeros((2, 2))), "singular")


MANY = [f"{letter}{number}" for letter in "tcbk" for number in (0, 17, 22, 30, 40)]
FEW = [[f"{letter}{number}", f"{letter}{number + 1}"] for letter in "tcbk" for number in range(8)]


@each("names", [MANY, *FEW])
def test_arguments_may_be_called_as_what_the_code_has_names_for(names):
    given = [1.0 + 0.1 * place for place in range(len(names))]
    f = eval(f"lambda {', '.join(names)}: ag.sin({names[0]})*2.5 + {' + '.join(f'ag.exp({x})*{x}' for x in names)}")
    value, slopes = ag.compile(f, *given, backend="python").value_and_grad(*given)
    assert value == f(*given)
    assert slopes == tuple(map(float, ag.grad(f, tuple(range(len(names))))(*given)))
