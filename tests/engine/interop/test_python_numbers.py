"""What Python expects of a number, and what NumPy's methods and arrays of objects mean, hold for Tensors."""

import array
import bisect
import copy
import functools
import heapq
import math
import operator
import pickle
import random
import statistics
import struct
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from refused import leaf, refuses
from rows import by_name, each
from transcript import sections

import agrad.engine as ag
from agrad.engine.autodiff.uncertainty import correlate

M = np.arange(24.0).reshape(2, 3, 4) % 7


# Methods that NumPy's arrays have too mean the same with the same arguments. Two axes of transpose are exchanged, as
# in PyTorch.
CALLS = """
    max() max(0) max(-1) max((0,1)) max(1,keepdims=True) min() min(0) min((1,2)) sum(0) sum((0,2)) mean(1) prod(2)
    var(0) any(0) all(1) argmax(0) argmin(1) cumsum(0) cumprod(1) clip(2,3) round(1) repeat(2) repeat(2,1)
    reshape(3,8) reshape((4,6)) transpose() transpose((0,1,2)) transpose((2,0,1)) transpose(2,0,1) transpose([1,0,2])
    swapaxes(0,1) squeeze() ravel() flatten() argsort() argsort(0) take([0,2]) take([0,2],1) diagonal() copy()
    dot(np.ones(4))
""".split()


@each("call", CALLS)
def test_a_method_means_what_it_means_for_an_array(call):
    expected = eval(f"x.{call}", {"x": M, "np": np})
    found = eval(f"x.{call}", {"x": ag.tensor(M), "np": np})
    assert found.shape == np.shape(expected)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-15)


def test_a_matrix_transposed_by_a_tuple_and_by_two_axes():
    x = ag.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert x.transpose((0, 1)).tolist() == x.tolist()
    assert ag.transpose(x, axes=(0, 1)).tolist() == x.tolist()
    assert x.transpose(0, 1).tolist() == x.transpose((1, 0)).tolist() == [[1, 3], [2, 4]]


def test_max_of_another_array_compares():
    x = ag.tensor([[1.0, 5.0], [7.0, 2.0]])
    assert x.max(ag.tensor([[3.0, 3.0], [3.0, 3.0]])).tolist() == [[3, 5], [7, 3]]
    assert ag.max(x, 3).tolist() == [[3, 5], [7, 3]]


@pytest.mark.skipif(not hasattr(np.linalg, "vector_norm"), reason="NumPy 1 does not have it")
@each("axis", [None, 0, -1, (0, 1), (0, 2), (0, 1, 2)])
@each("order", [2, 1, np.inf, -np.inf, 3, 0])
@each("keepdims", [False, True])
def test_a_vector_norm_is_that_of_all_entries_along_its_axes(axis, order, keepdims):
    x = M - 2.5
    expected = np.linalg.vector_norm(x, axis=axis, ord=order, keepdims=keepdims)
    found = np.linalg.vector_norm(leaf(x), axis=axis, ord=order, keepdims=keepdims)
    assert found.requires_grad is (order != 0)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-14, strict=False)
    assert found.shape == np.shape(expected)


# Arrays of objects keep the graphs of their Tensors, or are refused


def objects(s):
    made = np.empty(2, object)
    made[0], made[1] = s, 2 * s
    return made


TEXTS = {name: text for name, (text,) in sections(Path(__file__).with_name("python_numbers.txt")).items()}
KEPT = by_name(TEXTS["kept"], "x, o", globals())


@each("name", KEPT)
def test_an_array_of_tensors_is_stacked(name):
    function, expected = KEPT[name]
    s, x = leaf(3.0), leaf([1.0, 2.0])
    ag.sum(function(x, objects(s))).backward()
    assert s.grad.item() == pytest.approx(expected, rel=1e-14)


REFUSED = by_name(TEXTS["refused"], "x, o", globals())


@each("name", REFUSED)
def test_an_array_of_tensors_is_refused_where_it_would_lose_its_graph(name):
    refuses(lambda: REFUSED[name](leaf([1.0, 2.0]), objects(leaf(3.0))))


NO_NUMBERS = {
    "masked": np.ma.array([1.0, 2.0], mask=[False, True]),
    "dates": np.array(["2020-01-01", "2020-01-02"], "M8[D]"),
    "spans of time": np.array([1, 2], "m8[D]"),
    "a span of time": np.timedelta64(3, "D"),
    "texts": np.array(["1", "2"]),
    "a list of texts": ["1", "2"],
    "bytes": np.array([b"1", b"2"]),
    "complex": np.array([1 + 2j, 1]),
    "complex objects": np.array([1 + 2j, 1], object),
    "complex numbers in a list": [np.complex64(1), 1j],
    "a date": np.datetime64("2020-01-01"),
    "a masked entry in a list": [np.ma.masked, 1.0],
    "a masked entry in a tuple of lists": ([1.0, np.ma.masked], [1.0, 2.0]),
    "a masked number": np.ma.masked,
    "none alone": None,
    "none": [None, 1.0],
    "an array with none": np.array([None, 1.0], object),
    "records": np.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")]),
}


SQUARE = ag.compile(lambda x: x * x, 2.0)


@each("name", NO_NUMBERS)
@each(
    "use",
    [
        lambda x, v: x * v,
        lambda x, v: ag.tensor(v),
        lambda x, v: ag.sin(v),
        lambda x, v: SQUARE.map(v),
        lambda x, v: SQUARE.value(v),
        lambda x, v: ag.compile(lambda x: x * x, [1.0, 2.0]).value_and_grad(v),
    ],
)
def test_what_is_no_number_is_refused(name, use):
    refuses(lambda: use(leaf([1.0, 2.0]), NO_NUMBERS[name]), kind="type")


def test_exact_numbers_are_numbers():
    for value in (Fraction(1, 2), Decimal("0.5"), np.float32(0.5), np.array([Fraction(1, 2), 0.5], object)):
        assert (leaf([2.0, 4.0]) * value).tolist() == [1, 2]


# Numbers of Python


def test_comparison_with_what_is_no_number_is_that_of_identity():
    x, v = leaf(2.0), leaf([1.0, 2.0])
    for other in (None, "a", object(), 1j):
        assert (x == other) is False
        assert (x != other) is True
        assert (v == other) is False
    assert x in ["a", None, x]
    assert ["a", x].index(x) == 1
    assert (x == 2).item() == 1
    assert (v == [1, 3]).tolist() == [1, 0]
    with pytest.raises(ag.AgradError, match="do not fit"):
        _ = v == [1, 2, 3]


def test_round_and_divmod_are_operations():
    x = leaf(7.625)
    assert (round(x).item(), round(x, 1).item(), round(x, -1).item()) == (8, round(7.625, 1), 10)
    whole, rest = divmod(x, 2)
    assert (whole.item(), rest.item()) == divmod(7.625, 2)
    rest.backward()
    assert x.grad.item() == 1
    assert [y.item() for y in divmod(20, leaf(7.0))] == [2, 6]
    assert math.trunc(x) == 7


class Length:
    """A number of another library, which knows what to do with a Tensor."""

    def __radd__(self, other):
        return "reflected"

    __rsub__ = __rmul__ = __rtruediv__ = __rfloordiv__ = __rmod__ = __rpow__ = __rmatmul__ = __rdivmod__ = __radd__
    __lt__ = __le__ = __gt__ = __ge__ = __radd__


BINARY = "add sub mul truediv floordiv mod pow lt le gt ge".split()


@each("value", [2.5, [1.0, 2.0]])
@each("name", BINARY)
def test_an_operator_gives_way_to_the_reflected_one_of_another_type(name, value):
    x, operate = leaf(value), getattr(operator, name)
    assert operate(x, Length()) == "reflected"
    assert divmod(x, Length()) == "reflected"
    for other in ("a", None, [None], object(), 1j, np.ma.array([1.0, 2.0], mask=[0, 1])):
        with pytest.raises(ag.AgradError) as caught:
            operate(x, other)
        assert caught.value.kind == "type"
    assert isinstance(operate(x, Fraction(1, 2)), ag.Tensor)
    assert isinstance(operate(x, np.float32(0.5)), ag.Tensor)


def test_the_matrix_product_gives_way_too():
    assert leaf([1.0, 2.0]) @ Length() == "reflected"


@each("function", [ag.add, ag.mul, ag.pow, ag.less])
def test_a_function_of_two_numbers_does_not(function):
    refuses(lambda: function(leaf(2.0), Length()))


def test_entries_are_looked_for_in_all_axes_as_in_numpy():
    m = ag.tensor(M)
    assert 3.0 in m
    assert 9.0 not in m
    assert 3.0 in m[0]
    assert "a" not in m
    assert None not in m
    assert [0, 1, 2, 3] in ag.tensor(M)  # a row of it, as NumPy compares
    with pytest.raises(TypeError, match="no length"):
        assert 1.0 in leaf(1.0)


def test_a_scalar_is_not_iterable():
    x = leaf(2.5)
    assert not np.iterable(x)
    assert np.iterable(x * [1.0, 2.0])
    assert operator.length_hint(x) == 0
    for use in (len, iter, list, reversed, set, tuple):
        with pytest.raises(TypeError, match="no length"):
            use(x)


# Of a Tensor, each gives what it gives of its number.
OF_A_FLOAT = TEXTS["of a float"].split()


NAMES = {m.__name__: m for m in (array, bisect, functools, heapq, math, operator, random, statistics, struct)}
NAMES |= {"np": np, "Fraction": Fraction}


def plainly(value):
    if isinstance(value, ag.Tensor):
        return value.item()
    return type(value)(map(plainly, value)) if isinstance(value, tuple | list) else value


@each("number", [2.625, -1.5, 7.0, 0.25])
@each("use", OF_A_FLOAT)
def test_a_tensor_is_used_as_its_number(use, number):
    if number < 0 and ("sqrt" in use or "log" in use or use == "2**x"):
        number = -number
    found, expected = plainly(eval(use, NAMES, {"x": leaf(number)})), eval(use, NAMES, {"x": number})
    assert found == expected
    if isinstance(expected, str | bytes | bool):
        assert type(found) is type(expected) or use[1] in "<>=!"


def test_formats_and_parts():
    x = leaf([1.0, 2.0])
    assert f"{x}" == str(x)
    assert (x.dtype, x.real is x, x.conjugate() is x, x.imag.tolist()) == (np.dtype(float), True, True, [0, 0])
    refuses(lambda: f"{leaf([1.0, 2.0]):.3f}", "no format")


@each("data", [2.5, [1.0, -0.0], [[]]])
@each("requires_grad", [False, True])
def test_a_leaf_is_pickled_and_copied(data, requires_grad):
    x = ag.tensor(data, requires_grad)
    x.name = "x"
    for made in (pickle.loads(pickle.dumps(x)), copy.copy(x), copy.deepcopy(x), copy.deepcopy({"x": [x]})["x"][0]):
        assert repr(made) == repr(x)
        assert (made.requires_grad, made.is_leaf, made.name) == (requires_grad, True, "x")
        with ag.no_grad():
            made += 1
        assert x.tolist() == data


def test_a_copy_has_the_gradient():
    x = leaf(3.0)
    (x * x).backward()
    made = copy.deepcopy(x)
    x.clear_grad()
    assert made.grad.item() == 6


MADE = [lambda x: pickle.loads(pickle.dumps(x)), copy.copy, copy.deepcopy]


@each("make", MADE)
def test_a_copy_of_a_measured_value_is_measured_likewise_and_independent(make):
    for x in (ag.normal(3.0, 0.1), ag.normal([1.0, 2.0], [0.1, 0.2], dof=4), ag.uniform(2.0, 3.0)):
        made, known = make(x), x.node.uncertainty
        assert np.array_equal(made.node.uncertainty.u, known.u)
        assert (made.node.uncertainty.dof, made.node.uncertainty.distribution) == (known.dof, known.distribution)
        assert np.allclose(ag.uncertainty(made - x), math.sqrt(2.0) * np.asarray(known.u))
    correlated = ag.correlated([1.0, 2.0], [[0.01, 0.005], [0.005, 0.01]])
    made = make(correlated)
    assert ag.uncertainty(made[0] - made[1]) == pytest.approx(0.1)
    assert ag.uncertainty(ag.sum(made) - ag.sum(correlated)) == pytest.approx(math.sqrt(2 * 0.03))
    x, y = ag.normal(1.0, 0.1), ag.normal(2.0, 0.1)
    correlate(x, y, 0.5)
    with pytest.raises(ag.AgradError, match="correlated"):
        make(x)


@each("make", [pickle.dumps, copy.copy, copy.deepcopy])
def test_what_was_computed_is_neither_pickled_nor_copied(make):
    refuses(lambda: make(leaf(2.0) * 2), "was computed")


@each("dtype", "float16 float32 longdouble int8 int64 uint16 bool >f4 >i8".split())
def test_numbers_of_other_sizes_are_converted_and_have_gradients_in_float64(dtype):
    given = np.array([1, 0, 1]).astype(dtype)
    plain = given.astype(float)

    def f(x):
        return ag.sum(x**3 * given)

    x = ag.tensor(given, requires_grad=True)
    y = f(x)
    y.backward()
    found = [x, y, x.grad, ag.grad(f)(given), ag.hessian(f)(given), ag.jacobian(lambda x: x * given)(given)]
    found += [ag.hvp(f, given, given), ag.jvp(f, given, given), np.multiply(given, x), given * x]
    assert [np.asarray(one.detach() if type(one) is ag.Tensor else one).dtype for one in found] == [float] * len(found)
    np.testing.assert_array_equal(x.grad.numpy(), 3.0 * plain**3)
    value, gradient = ag.compile(f, given).value_and_grad(given)
    assert type(value) is float
    assert gradient.dtype == np.float64
    assert ag.exp(given).tolist() == np.exp(plain).tolist()
