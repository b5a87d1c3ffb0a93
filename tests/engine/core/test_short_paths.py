"""The short ways through an operation, a walk and a write: they give what the long ones give."""

import warnings

import numpy as np
import pytest
from refused import leaf
from rows import each, functions

import agrad.engine as ag
from agrad.engine.core import dispatch
from agrad.engine.core.dispatch import record
from agrad.engine.core.graph import collect
from agrad.engine.core.op import FUNCTIONS, OPS
from agrad.engine.core.versions import check_walkable, walkable

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
    assert np.geterr() == before
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        np.ones(1) / np.zeros(1)


def test_an_operation_inside_another_is_quiet_too():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x = leaf([0.0, 1.0])
        ag.grad(ag.grad((x * ag.log(x)).sum(), x, create_graph=True).sum(), x)


def test_a_graph_is_collected_and_checked_in_one_pass_as_in_two():
    x, k = leaf(2.0), ag.tensor([1.0, 2.0])
    y = ((x * k).sin() * x).sum()
    assert walkable(y.node)[0] == collect([y.node])
    k.copy_([3.0, 4.0])
    with pytest.raises(ag.AgradError) as one:
        walkable(y.node)
    with pytest.raises(ag.AgradError) as two:
        check_walkable(collect([y.node]), y.node)
    assert str(one.value) == str(two.value)


def test_a_leaf_that_was_written_before_the_graph_was_built_makes_it_no_older():
    x = leaf(2.0)
    with ag.no_grad():
        x -= 0.5
    y = x * x
    y.backward()
    assert x.grad.item() == 3.0


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
