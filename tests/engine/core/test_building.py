"""Building a graph: what is a leaf, what is recorded, what requires grad, what is cut off, and what reads a value."""

import numpy as np
import pytest
from refused import leaf, refuses

import agrad.engine as ag


def test_recorded_only_if_an_operand_is():
    k = ag.tensor([1, 2])
    assert not (k * 2).node.recorded
    assert not (k > 1).node.recorded


def test_grad_fn_prints_as_its_operation():
    x = leaf(2)
    assert [repr(y.grad_fn) for y in (x + 1, x * 3, x**2, ag.sin(x), -x)] == [
        "<AddBackward>", "<MulBackward>", "<PowBackward>", "<SinBackward>", "<NegBackward>"
    ]  # fmt: skip
    assert repr(x + 1) == "tensor(3, grad_fn=<AddBackward>)"


def test_clone_is_part_of_the_graph_with_a_version_of_its_own():
    x = leaf([1, 2])
    c = x.clone()
    assert c.requires_grad
    c[0] = 5
    assert (x.version, c.version) == (0, 1)
    assert x.tolist() == [1, 2]


def test_there_is_no_back_door():
    source = np.array([1.0, 2.0])
    x = ag.tensor(source)
    source[0] = 9
    assert x.tolist() == [1, 2]
    for view in (x.data, x.numpy(), np.asarray(x)):
        with pytest.raises(ValueError, match="read-only"):
            view[0] = 9


def test_one_number():
    assert ag.tensor([[3]]).item() == 3
    assert float(ag.tensor(2)) == 2
    refuses(ag.tensor([1, 2]).item, r"shape \(2\) is not one number")
    refuses(lambda: bool(ag.tensor([1, 2])), "neither true nor false")
    refuses(lambda: len(ag.tensor(1)), "a scalar has no length")


def test_requires_grad_is_for_leaves():
    x = ag.tensor([1.0, 2.0]).requires_grad_()
    x.sum().backward()
    assert x.grad.tolist() == [1, 1]
    refuses(lambda: (x * 2).requires_grad_(False), "only a leaf")


def test_assigning_a_gradient():
    x = leaf([1.0, 2.0])
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
    refuses(lambda: ag.tensor([[1, 2], [3]]), "the rows of an array must have the same length")
    refuses(lambda: ag.tensor("a"), 'the text "a"')
