"""Building a graph: what is a leaf, what reads a value, the short ways through an operation, and the copies of the arrays of the caller that nodes keep."""

import gc
import warnings
import weakref

import numpy as np
import pytest
from refused import leaf, refuses
from rows import each, functions

import agrad.engine as ag
from agrad.engine.core import dispatch
from agrad.engine.core.dispatch import record
from agrad.engine.core.graph import collect
from agrad.engine.core.op import FUNCTIONS, OPS
from agrad.engine.core.versions import check_walkable, walkable
from agrad.engine.inspect.memory import held


def test_recorded_only_if_an_operand_is_and_a_clone_has_a_version_of_its_own():
    x, k = leaf([1, 2]), ag.tensor([1, 2])
    assert not (k * 2).node.recorded
    assert not (k > 1).node.recorded
    c = x.clone()
    assert c.requires_grad
    c[0] = 5
    assert (x.version, c.version, x.tolist()) == (0, 1, [1, 2])
    with ag.no_grad():
        x -= 0.5
    (x * x).sum().backward()  # it was written before the graph was built, which is no older
    assert x.grad.tolist() == [1, 3]


def test_grad_fn_prints_as_its_operation():
    x = leaf(2)
    assert [repr(y.grad_fn) for y in (x + 1, x * 3, x**2, ag.sin(x), -x)] == [
        "<AddBackward>", "<MulBackward>", "<PowBackward>", "<SinBackward>", "<NegBackward>"
    ]  # fmt: skip
    assert repr(x + 1) == "tensor(3, grad_fn=<AddBackward>)"


def test_there_is_no_back_door():
    source = np.array([1.0, 2.0])
    x = ag.tensor(source)
    source[0] = 9
    assert x.tolist() == [1, 2]
    for view in (x.data, x.numpy(), np.asarray(x)):
        with pytest.raises(ValueError, match="read-only"):
            view[0] = 9


def test_a_leaf_is_made_to_require_grad_and_its_gradient_assigned():
    x = ag.tensor([1.0, 2.0]).requires_grad_()
    x.sum().backward()
    assert x.grad.tolist() == [1, 1]
    refuses(lambda: (x * 2).requires_grad_(False), "only a leaf")
    x.grad = [3, 4]
    assert x.grad.tolist() == [3, 4]
    with pytest.raises(ag.AgradError, match="a gradient has the shape of its value"):
        x.grad = [1, 2, 3]
    x.grad = None
    assert x.grad is None


def test_numbers_of_any_kind_are_one_of_two():
    assert type(ag.tensor(3).value) is float
    assert type(ag.tensor(np.float32(3)).value) is float
    assert ag.tensor([1, 2]).value.dtype == np.float64
    assert type(ag.sum([1.0, 2.0])) is float
    assert (ag.tensor([[3]]).item(), float(ag.tensor(2))) == (3, 2)
    for call, message in (
        (lambda: ag.tensor([[1, 2], [3]]), "the rows of an array must have the same length"),
        (lambda: ag.tensor("a"), 'the text "a"'),
        (ag.tensor([1, 2]).item, r"shape \(2\) is not one number"),
        (lambda: bool(ag.tensor([1, 2])), "neither true nor false"),
        (lambda: len(ag.tensor(1)), "a scalar has no length"),
    ):
        refuses(call, message)


VALUES = [2.0, 3, np.array([1.0, 2.0]), np.array([[1.0], [3.0]]), np.array([-0.0, np.inf])]


SIMPLE = sorted(name for name, op in OPS.items() if op.rules_of_scalars is not None and len(op.rules) == 2)


@each("name", SIMPLE)
def test_an_operation_on_two_values_is_the_same_on_the_general_path(name):
    op = OPS[name]
    for x in VALUES:
        for y in VALUES:
            a, b = leaf(x), leaf(y)
            short, long = op.call(a, b), record(op, (a, b), {})
            np.testing.assert_array_equal(short.value, long.value)
            for slot in ("op", "inputs", "attrs", "shape", "requires_grad", "recorded", "keeps_grad"):
                assert getattr(short.node, slot) == getattr(long.node, slot)
            assert (short.node.value is None) == (long.node.value is None)


@each("name", ["cumsum", "max", "mean", "prod", "sort", "sum", "var"])
def test_a_function_of_one_value_is_the_same_with_its_defaults_written_out(name):
    x = leaf([[3.0, 1.0], [2.0, 5.0]])
    short, long = FUNCTIONS[name].call(x), FUNCTIONS[name].call(x, **FUNCTIONS[name].signature.attributes)
    assert short.tolist() == long.tolist()
    assert short.node.attrs == long.node.attrs


def test_numpy_warns_of_nothing_and_goes_on_as_it_was():
    before = np.geterr()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x = leaf([0.0, -1.0])
        y = (1 / x + ag.log(x) + x**-2.5).sum()
        y.backward()
        ag.grad(ag.grad((x * ag.log(x)).sum(), x, create_graph=True).sum(), x)
    assert np.geterr() == before
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        np.ones(1) / np.zeros(1)


def test_a_graph_is_collected_and_checked_in_one_pass_as_in_two():
    x, k = leaf(2.0), ag.tensor([1.0, 2.0])
    y = ((x * k).sin() * x).sum()
    assert walkable(y.node)[0] == collect([y.node])
    k.copy_([3.0, 4.0])
    one = refuses(lambda: walkable(y.node))
    assert str(one) == str(refuses(lambda: check_walkable(collect([y.node]), y.node)))


ARRAY = np.array([[3.0, 1.0, 4.0], [1.0, 5.0, 9.0]])


SHORT = functions(
    "x",
    """
    x @ x.T; ARRAY.T @ x; x[1]; x[::-1, 1:]; x[-1, 2]; x[:1, :1].reshape(()) * 2; x.sum(axis=1); x.mean(0, True)
    x.max(axis=-1, keepdims=True); ag.stack([x, 2 * x, ARRAY]); ag.stack([x[0, 0], 2.0, x[1, 1]])
    ag.concat((x, ARRAY), 1); ag.where(x > 2, x, 0.0); ag.where(x[0, 0] > 2, x[1, 1], 0.0); ag.solve(x @ x.T, ARRAY)
""",
    globals(),
)


@each("name", SHORT)
def test_a_call_with_simple_arguments_is_the_same_on_the_general_path(name, monkeypatch):
    def run():
        x = leaf(ARRAY)
        y = SHORT[name](x)
        return y, ag.grad(y.sum() if y.shape else y, x)

    short, first = run()
    for test in ("_is_simple", "_is_value"):
        monkeypatch.setattr(dispatch, test, lambda value: False)
    long, second = run()
    assert type(short.value) is type(long.value)
    assert np.asarray(short.value).tobytes() == np.asarray(long.value).tobytes()
    assert (short.shape, short.node.attrs) == (long.shape, long.node.attrs)
    assert first.value.tobytes() == second.value.tobytes()


MANY = dispatch._SHARED


@pytest.fixture(autouse=True, scope="module")
def nothing_from_other_tests():
    gc.collect()
    gc.freeze()  # so that the collections of each test take no time


def numbers(*shape):
    return np.random.default_rng(1).normal(size=shape)


def constant_of(y):
    return next(x for x in y.node.inputs if isinstance(x, np.ndarray))


def test_graphs_that_use_an_array_many_times_hold_it_once_and_nobody_writes_it():
    data, x = numbers(MANY), leaf(2.0)
    first, second = x * data, ag.exp(x) / data
    assert constant_of(first) is constant_of(second)
    assert held((first + second).sum()).leaves == data.nbytes + 8
    with pytest.raises(ValueError, match="read-only"):
        constant_of(first)[0] = 1.0


@each("shape", [(5,), (MANY,), (MANY // 8, 8)])
def test_a_write_between_two_uses_is_seen_by_the_second_alone(shape):
    data, x = numbers(*shape), leaf(np.ones(shape))
    first = (x * data).sum()
    old = data.copy()
    data[(-1,) * len(shape)] += 1
    second = (x * data).sum()
    np.testing.assert_array_equal(ag.grad(first, x).value, old)
    np.testing.assert_array_equal(ag.grad(second, x).value, data)


@each("of", [lambda data: data, lambda data: data[::2], lambda data: data.T, lambda data: data[:-1]])
def test_a_write_through_any_view_is_seen(of):
    data = numbers(MANY // 4, 16)
    seen = of(data)
    x = leaf(np.ones(seen.shape))
    first = (x * seen).sum()
    old = seen.copy()
    data.reshape(-1)[::3] = 0
    np.testing.assert_array_equal(ag.grad((x * seen).sum(), x).value, seen)
    np.testing.assert_array_equal(ag.grad(first, x).value, old)


@each("before, after", [(0.0, -0.0), (1.0, np.nan), (np.nan, -np.nan)])
def test_the_comparison_is_of_bits(before, after):
    data, x = np.ones(MANY), leaf(2.0)
    data[-1] = before
    first = x * data
    data[-1] = after
    second = x * data
    for y, last in ((first, before), (second, after)):
        assert constant_of(y)[-1].tobytes() == np.float64(last).tobytes()


def test_an_array_that_got_another_shape_is_another_constant():
    data, x = numbers(MANY // 4, 4), leaf(np.ones(4))
    first = data @ x
    before = constant_of(first)
    data.resize((MANY // 8, 8), refcheck=False)
    second = data @ leaf(np.ones(8))
    assert constant_of(second).shape == (MANY // 8, 8)
    assert before.shape == (MANY // 4, 4)


def test_a_list_and_whole_numbers_are_constants_by_value():
    whole, rows, x = np.arange(MANY), [1.0, 2.0], leaf(1.0)
    first, second = x * whole, x * rows
    whole[0], rows[0] = 7, 7.0
    assert constant_of(first)[0] == 0
    assert constant_of(second).tolist() == [1, 2]
    column = np.asfortranarray(np.arange(6).reshape(2, 3))
    assert constant_of(x * column).flags.c_contiguous


def test_a_copy_exists_no_longer_than_a_node_has_it():
    data, x = numbers(MANY), leaf(2.0)
    y = (x * data).sum()
    copy = weakref.ref(y.node.inputs[0].inputs[1])
    y.backward()
    gc.collect()
    assert copy() is None


def test_a_large_copy_lasts_as_long_as_the_array_of_the_caller():
    data, x = numbers(dispatch._LASTING), leaf(2.0)
    y = (x * data).sum()
    copy = weakref.ref(y.node.inputs[0].inputs[1])
    y.backward()
    del y
    gc.collect()
    assert (x * data).node.inputs[1] is copy()
    del data
    gc.collect()
    assert copy() is None


def test_only_so_much_is_kept_that_no_node_has(monkeypatch):
    monkeypatch.setattr(dispatch, "_MOST", 3 * 8 * dispatch._LASTING)
    x, arrays = leaf(2.0), [numbers(dispatch._LASTING) for _ in range(5)]
    copies = [weakref.ref((x * one).node.inputs[1]) for one in arrays]
    gc.collect()
    assert [copy() is not None for copy in copies] == [False, False, True, True, True]
    arrays[4][0] = 9.0
    assert (x * arrays[4]).node.inputs[1][0] == 9
    gc.collect()
    assert copies[4]() is None  # it was replaced


def test_a_replay_sees_what_the_operation_saw():
    data, x = numbers(MANY), leaf(2.0)
    y = (x * data).sum()
    before = data.sum()
    data[:] = 0
    x.set_(3.0)
    y.forward()
    assert y.item() == pytest.approx(3 * before)


def test_the_class_makes_a_leaf_as_tensor_does():
    for value in (2.0, 3, [1.0, 2.0], [[1, 2], [3, 4]], np.arange(3.0), True, ag.tensor([1.0, 5.0])):
        made, other = ag.Tensor(value), ag.tensor(value)
        assert (type(made), made.tolist(), made.shape) == (ag.Tensor, other.tolist(), other.shape)
        assert made.is_leaf
        assert not made.requires_grad
    x = ag.Tensor([1.0, 2.0], requires_grad=True)
    (x * x).sum().backward()
    assert x.grad.tolist() == [2, 4]
    assert isinstance(x * x, ag.Tensor)
    refuses(lambda: ag.Tensor("a"), "not the text")
    with pytest.raises(TypeError, match="'value'"):
        ag.Tensor()


def test_the_class_of_a_user_is_kept_where_it_is_made():
    class Named(ag.Tensor):
        """A tensor with attributes."""

    x = Named([1.0, 2.0], True)
    x.title = "rates"
    (x * 3).sum().backward()
    assert (type(x), x.title, x.grad.tolist()) == (Named, "rates", [3, 3])
