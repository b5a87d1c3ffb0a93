"""The handle, from Python: leaves, detaching, writing in place, and what reads the value."""

import numpy as np
import pytest

import agrad.engine as ag


def leaf(value):
    return ag.tensor(value, requires_grad=True)


def test_a_leaf_and_a_result():
    x = leaf([1, 2])
    y = x * 2
    assert (x.is_leaf, x.requires_grad, x.grad_fn) == (True, True, None)
    assert (y.is_leaf, y.requires_grad) == (False, True)
    assert repr(y.grad_fn) == "<MulBackward>"
    assert ag.tensor(3).is_leaf


def test_next_functions_are_pairs_and_a_leaf_has_one_accumulator():
    x = leaf(2)
    y = x * x + 1
    (product, zero), (constant, _) = y.grad_fn.next_functions
    assert repr(product) == "<MulBackward>"
    assert zero == 0
    assert constant is None
    (first, _), (second, _) = product.next_functions
    assert first is second
    assert repr(first) == "<AccumulateGrad>"
    assert first.next_functions == ()
    assert first.variable.item() == 2


def test_a_comparison_is_recorded_and_requires_no_grad():
    x = leaf(2)
    above = x > 1
    assert not above.requires_grad
    assert above.node.recorded


def test_steps_require_grad_and_have_derivative_zero():
    x = leaf(2.5)
    y = ag.floor(x) + x // 2
    assert y.requires_grad
    y.backward()
    assert x.grad.item() == 0


def test_no_grad_records_nothing():
    x = leaf(2)
    with ag.no_grad():
        y = x * 2
    assert y.is_leaf
    assert not y.requires_grad


def test_detach_shares_storage_and_version():
    x = leaf([1.0, 2.0])
    y = (x * x).sum()
    alias = x.detach()
    assert alias.is_leaf
    assert not alias.requires_grad
    alias[0] = 5
    assert x.tolist() == [5, 2]
    with pytest.raises(ag.AgradError) as caught:
        y.backward()
    assert caught.value.kind == "stale"


def test_detach_of_a_scalar_shares_too():
    x = leaf(2.0)
    x.detach().zero_()
    assert x.item() == 0


@pytest.mark.parametrize(
    "write",
    [
        lambda x: x.zero_(),
        lambda x: x.copy_([1, 2]),
        lambda x: x.__iadd__(1),
        lambda x: x.__setitem__(0, 5),
    ],
    ids=["zero_", "copy_", "+=", "x[0] ="],
)
def test_a_leaf_that_requires_grad_is_written_under_no_grad_only(write):
    x = leaf([3.0, 4.0])
    with pytest.raises(
        ag.AgradError, match="a leaf that requires grad is being used in an in-place operation"
    ) as caught:
        write(x)
    assert caught.value.kind == "leaf"
    assert x.tolist() == [3, 4]
    with ag.no_grad():
        write(x)
    assert x.tolist() != [3, 4]
    assert x.requires_grad
    assert x.is_leaf


def test_a_write_to_a_result_gives_it_a_new_history():
    a = leaf([1.0, 2.0, 3.0])
    b = a * 2
    b += 1
    b[0] = 5
    assert b.tolist() == [5, 5, 7]
    b.sum().backward()
    assert a.grad.tolist() == [0, 2, 2]


def test_a_plain_value_takes_on_a_history():
    a, p = leaf(7.0), ag.zeros(3)
    p[0] = a * 2
    assert p.requires_grad
    p.sum().backward()
    assert a.grad.item() == 2


def test_a_sum_that_grows_in_a_loop():
    x, s = leaf(2.0), ag.tensor(0)
    for power in range(3):
        s += x**power
    s.backward()
    assert s.item() == 7
    assert x.grad.item() == 5


def test_a_constant_that_was_saved_and_then_changed_is_refused():
    x, k = leaf([1.0, 2.0]), ag.tensor([3.0, 4.0])
    y, z = (x * k).sum(), (x + k).sum()
    k[0] = 9
    with pytest.raises(ag.AgradError) as caught:
        y.backward()
    assert caught.value.kind == "stale"
    z.backward()


def test_there_are_no_views():
    x = ag.tensor([[1.0, 2.0], [3.0, 4.0]])
    row, turned, flat = x[0], x.T, x.reshape(4)
    x[0, 0] = 9
    assert (row[0].item(), turned[0, 0].item(), flat[0].item()) == (1, 1, 1)


def test_a_write_keeps_the_shape():
    x = ag.zeros(3)
    with pytest.raises(ag.AgradError) as caught:
        x += ag.ones(2, 3)
    assert caught.value.kind == "shape"
    assert x.shape == (3,)


def test_there_is_no_back_door():
    source = np.array([1.0, 2.0])
    x = ag.tensor(source)
    source[0] = 9
    assert x.tolist() == [1, 2]
    for view in (x.data, x.numpy(), np.asarray(x)):
        with pytest.raises(ValueError, match="read-only"):
            view[0] = 9


def test_an_array_used_as_a_constant_is_kept_as_it_was():
    k = np.array([3.0, 4.0])
    x = leaf([1.0, 2.0])
    y = (x * k).sum()
    k[0] = 100
    y.backward()
    assert x.grad.tolist() == [3, 4]


def test_one_number():
    assert ag.tensor([[3]]).item() == 3
    assert float(ag.tensor(2)) == 2
    with pytest.raises(ag.AgradError, match=r"shape \(2\) is not one number"):
        ag.tensor([1, 2]).item()
    with pytest.raises(ag.AgradError, match="neither true nor false"):
        bool(ag.tensor([1, 2]))
    with pytest.raises(ag.AgradError, match="a scalar has no length"):
        len(ag.tensor(1))


def test_requires_grad_is_for_leaves():
    x = ag.tensor([1.0, 2.0]).requires_grad_()
    x.sum().backward()
    assert x.grad.tolist() == [1, 1]
    with pytest.raises(ag.AgradError, match="only a leaf"):
        (x * 2).requires_grad_(False)


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
    with pytest.raises(ag.AgradError, match="the rows of an array must have the same length"):
        ag.tensor([[1, 2], [3]])
    with pytest.raises(ag.AgradError, match='the text "a"'):
        ag.tensor("a")


def test_numpy_warnings_do_not_reach_the_user():
    assert ag.log(0.0) == float("-inf")
    assert ag.exp(ag.tensor([1000.0])).tolist() == [float("inf")]
    x = leaf([0.0, 1.0])
    ag.log(x).sum().backward()
    assert x.grad.tolist() == [float("inf"), 1]
