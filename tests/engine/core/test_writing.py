"""Writing in place through operators and indices: versions, leaves, new histories."""

import numpy as np
import pytest

import agrad.engine as ag


def leaf(x):
    return ag.tensor(x, requires_grad=True)


def value(y):
    return np.asarray(y.data)


OPERATORS = {
    "+=": lambda b, x: b.__iadd__(x),
    "-=": lambda b, x: b.__isub__(x),
    "*=": lambda b, x: b.__imul__(x),
    "/=": lambda b, x: b.__itruediv__(x),
    "**=": lambda b, x: b.__ipow__(x),
    "//=": lambda b, x: b.__ifloordiv__(x),
    "%=": lambda b, x: b.__imod__(x),
}
PLAIN = {
    "+=": np.add,
    "-=": np.subtract,
    "*=": np.multiply,
    "/=": np.divide,
    "**=": np.power,
    "//=": np.floor_divide,
    "%=": np.mod,
}


@pytest.mark.parametrize("sign", OPERATORS)
@pytest.mark.parametrize("x", [2.0, [2.0, 3.0]], ids=["number", "vector"])
def test_a_plain_value_is_written_in_place(sign, x):
    b = ag.tensor(x)
    other = b.detach()
    stamp = b.node.stamp
    assert OPERATORS[sign](b, 1.5) is b
    np.testing.assert_allclose(value(b), PLAIN[sign](x, 1.5))
    assert b.node.stamp > stamp
    np.testing.assert_array_equal(value(other), value(b))


@pytest.mark.parametrize("sign", OPERATORS)
def test_a_leaf_that_requires_grad_is_refused_outside_no_grad(sign):
    w = leaf([2.0, 3.0])
    with pytest.raises(ag.AgradError, match="a leaf that requires grad") as caught:
        OPERATORS[sign](w, 1.5)
    assert caught.value.kind == "leaf"
    with pytest.raises(ag.AgradError, match="a leaf that requires grad"):
        w[0] = 1.0
    np.testing.assert_array_equal(value(w), [2, 3])
    with ag.no_grad():
        OPERATORS[sign](w, 1.5)
        w[1] = 7.0
    assert w.is_leaf
    assert w.requires_grad
    assert value(w)[1] == 7


@pytest.mark.parametrize("sign", OPERATORS)
def test_a_computed_value_gets_a_new_history(sign):
    a = leaf([2.0, 3.0])
    b = a * 2
    OPERATORS[sign](b, a)
    expected = ag.grad(
        ag.sum(
            ag.FUNCTIONS["mul"].call(
                1.0,
                {
                    "+=": lambda x: 2 * x + x,
                    "-=": lambda x: 2 * x - x,
                    "*=": lambda x: 2 * x * x,
                    "/=": lambda x: 2 * x / x,
                    "**=": lambda x: (2 * x) ** x,
                    "//=": lambda x: 2 * x // x,
                    "%=": lambda x: 2 * x % x,
                }[sign](a),
            )
        ),
        a,
    )
    np.testing.assert_allclose(value(ag.grad(ag.sum(b), a)), value(expected))


def test_entries_of_a_computed_value():
    a = leaf([2.0, 3.0, 4.0])
    b = a * 2
    c = b * b  # saves the old b
    d = b * 3  # saves nothing of it
    b[0] = 5
    b[1:] += a[:2] * 10
    np.testing.assert_array_equal(value(b), [5, 26, 38])
    np.testing.assert_array_equal(value(ag.grad(ag.sum(b), a)), [10, 12, 2])
    np.testing.assert_array_equal(value(ag.grad(ag.sum(d), a)), [6, 6, 6])
    with pytest.raises(ag.AgradError, match="was written to") as caught:
        ag.grad(ag.sum(c), a)
    assert caught.value.kind == "stale"


def test_a_plain_value_that_receives_a_recorded_one_requires_grad():
    a = leaf(2.0)
    p = ag.zeros(3)
    p[0] = a * 2
    p[2] = a
    assert p.requires_grad
    np.testing.assert_array_equal(value(p), [4, 0, 2])
    assert ag.grad(ag.sum(p * [1, 10, 100]), a).item() == 102
    s = ag.tensor(0.0)
    for k in range(4):
        s += a**k
    assert s.item() == 15
    assert ag.grad(s, a).item() == 17


@pytest.mark.parametrize(
    "index",
    [
        1,
        -1,
        slice(1, 3),
        slice(None, None, -2),
        (1, slice(None)),
        (Ellipsis, 0),
        [0, 2],
        ([0, 2], [1, 0]),
        (None, 1),
        np.array([True, False, True]),
        (slice(None), np.array([True, False])),
    ],
    ids=str,
)
def test_reading_and_writing_through_every_kind_of_index(index):
    x = np.arange(6.0).reshape(3, 2)
    t = leaf(x)
    y = t[index]
    np.testing.assert_array_equal(value(y), x[index])
    taken = np.zeros((3, 2))
    np.add.at(taken, index, 1.0)
    np.testing.assert_array_equal(value(ag.grad(ag.sum(y), t)), taken)
    plain, after = ag.tensor(x), x.copy()
    plain[index] = 7.0
    after[index] = 7.0
    np.testing.assert_array_equal(value(plain), after)
    b = t * 1
    v = leaf(np.full(x[index].shape, 7.0))
    b[index] = v
    np.testing.assert_array_equal(value(b), after)
    np.testing.assert_array_equal(value(ag.grad(ag.sum(b), t)), taken == 0)
    np.testing.assert_array_equal(value(ag.grad(ag.sum(b), v)), np.ones(v.shape))


def test_a_mask_is_an_index_and_places_are_another():
    x = ag.tensor([5.0, 7.0])
    np.testing.assert_array_equal(value(x[[1, 0]]), [7, 5])
    np.testing.assert_array_equal(value(x[x < 6]), [5])
    np.testing.assert_array_equal(value(x[(x > 4) * (x < 6)]), [5])
    np.testing.assert_array_equal(value(x[ag.isfinite(x)]), [5, 7])
    np.testing.assert_array_equal(value(x[ag.tensor([1.0, 0.0])]), [7, 5])
    np.testing.assert_array_equal(value(x[ag.tensor([[1.0, 9.0]])[0] > 2]), [7])
    np.testing.assert_array_equal(value(x[(x > 6)[[0, 1]]]), [7])
    np.testing.assert_array_equal(value(x[ag.argsort(x < 6)]), [7, 5])
    np.testing.assert_array_equal(value(x[ag.topk(x < 6, 2)[1]]), [5, 7])
    assert type((x > 4).value * 1.0) is np.ndarray


def test_of_entries_put_twice_the_last_counts():
    v = leaf([1.0, 2.0, 3.0])
    b = leaf([0.0, 0.0]) * 1
    b[[0, 1, 0]] = v
    np.testing.assert_array_equal(value(b), [3, 2])
    np.testing.assert_array_equal(value(ag.grad(ag.sum(b), v)), [0, 1, 1])


def test_one_by_one_the_gradients_of_entries_make_one_buffer():
    x = leaf(np.arange(1000.0))
    y = x[0]
    for k in range(1, 1000):
        y = y + x[k] * k
    y.backward()
    np.testing.assert_array_equal(value(x.grad), [1, *range(1, 1000)])


@pytest.mark.parametrize(
    ("write", "kind", "message"),
    [
        (lambda b: b.__iadd__([1, 2]), "shape", "shape"),
        (lambda b: b.__iadd__([[1, 2, 3]]), "shape", r"from \(3\) to \(1, 3\)"),
        (lambda b: b.__setitem__(3, 1), "shape", "-3 to 2"),
        (lambda b: b.__setitem__(slice(0, 2), [1, 2, 3]), "shape", r"\(3\).*\(2\)"),
        (lambda b: b.__setitem__(0.5, 1), "type", "whole number"),
        (lambda b: b.__setitem__("a", 1), "type", "whole number"),
    ],
)
@pytest.mark.parametrize("recorded", [False, True])
def test_a_write_that_does_not_fit_changes_nothing(write, kind, message, recorded):
    b = leaf([1.0, 2.0, 3.0]) * 1 if recorded else ag.tensor([1.0, 2.0, 3.0])
    stamp = b.node.stamp
    with pytest.raises(ag.AgradError, match=message) as caught:
        write(b)
    assert caught.value.kind == kind
    assert b.node.stamp == stamp
    np.testing.assert_array_equal(value(b), [1, 2, 3])
