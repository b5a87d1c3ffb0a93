"""Writing in place: versions, what is refused, what gets a new history, what is stale, and who sees it."""

import operator
import random
from contextlib import nullcontext

import numpy as np
from refused import leaf, lines, named, refusal, refuses
from rows import each

import agrad.engine as ag


def value(y):
    return np.asarray(y.data)


OPERATORS = {
    "+=": operator.iadd, "-=": operator.isub, "*=": operator.imul, "/=": operator.itruediv,
    "**=": operator.ipow, "//=": operator.ifloordiv, "%=": operator.imod,
}  # fmt: skip


@each("sign", OPERATORS)
@each("x", [2.0, [2.0, 3.0]])
def test_a_plain_value_is_written_in_place(sign, x):
    b = ag.tensor(x)
    other = b.detach()
    stamp = b.node.stamp
    assert OPERATORS[sign](b, 1.5) is b
    np.testing.assert_allclose(value(b), OPERATORS[sign](np.array(x), 1.5))
    assert b.node.stamp > stamp
    np.testing.assert_array_equal(value(other), value(b))


@each("sign", OPERATORS)
def test_a_computed_value_gets_a_new_history(sign):
    a = leaf([2.0, 3.0])
    b, c = a * 2, a * 2
    OPERATORS[sign](b, a)
    c = getattr(operator, OPERATORS[sign].__name__[1:])(c, a)  # a new value
    np.testing.assert_allclose(value(ag.grad(ag.sum(b), a)), value(ag.grad(ag.sum(c), a)))


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
    refuses(lambda: ag.grad(ag.sum(c), a), "was written to", kind="stale")


@each(
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


@each(
    "write, kind, message",
    [
        (lambda b: b.__iadd__([1, 2]), "shape", "shape"),
        (lambda b: b.__iadd__([[1, 2, 3]]), "shape", r"from \(3\) to \(1, 3\)"),
        (lambda b: b.__setitem__(3, 1), "shape", "-3 to 2"),
        (lambda b: b.__setitem__(slice(0, 2), [1, 2, 3]), "shape", r"\(3\).*\(2\)"),
        (lambda b: b.__setitem__(0.5, 1), "type", "whole number"),
        (lambda b: b.__setitem__("a", 1), "type", "whole number"),
    ],
)
@each("recorded", [False, True])
def test_a_write_that_does_not_fit_changes_nothing(write, kind, message, recorded):
    b = leaf([1.0, 2.0, 3.0]) * 1 if recorded else ag.tensor([1.0, 2.0, 3.0])
    stamp = b.node.stamp
    refuses(lambda: write(b), message, kind=kind)
    assert b.node.stamp == stamp
    np.testing.assert_array_equal(value(b), [1, 2, 3])


IN_PLACE = {
    **{sign: lambda x, operate=operate: operate(x, 3) for sign, operate in OPERATORS.items()},
    "[0] =": lambda x: x.__setitem__(0, 5),
    "[:] =": lambda x: x.__setitem__(slice(None), 0),
    "[mask] =": lambda x: x.__setitem__(x > 1, 0),
    "zero_": lambda x: x.zero_(),
    "copy_": lambda x: x.copy_([3, 4]),
}


WRITES = {
    **IN_PLACE,
    "the same value": lambda x: x.__setitem__(0, x.value[0]),
    "+= 0": lambda x: x.__iadd__(0),
    "set_": lambda x: x.set_([1, 2]),
    "data": lambda x: setattr(x, "data", [1, 2]),
    "through an alias": lambda x: x.detach().__iadd__(1),
    "through an alias of an alias": lambda x: x.detach().detach().zero_(),
}


# Versions


@each("name", WRITES)
@each("requires_grad", [False, True])
def test_versions_every_write_counts_once_for_all_aliases(name, requires_grad):
    x = ag.tensor([1, 2], requires_grad=requires_grad)
    alias = x.detach()
    with ag.no_grad():
        WRITES[name](x)
        assert (x.version, alias.version) == (1, 1)
        WRITES[name](x)
    assert (x.version, alias.version) == (2, 2)
    assert x.tolist() == alias.tolist()


# A leaf that requires grad


@each("name", IN_PLACE)
def test_leaf_is_not_written_outside_no_grad(name):
    w = leaf([1, 2], "w")
    assert refusal(lambda: IN_PLACE[name](w)) == lines(
        "leaf: a leaf that requires grad is being used in an in-place operation: w",
        "fix: inside no_grad, to update the leaf",
        "fix: w2 = …, to make a new value",
    )
    assert w.tolist() == [1, 2]
    assert w.version == 0
    with ag.no_grad():
        IN_PLACE[name](w)
    assert w.is_leaf and w.requires_grad


def test_stale_without_a_name():
    a = leaf(2.0, "a")
    y = a**2
    a.set_(3)
    assert refusal(y.backward).endswith("fix: its forward(), to replay its graph on the new data")


def test_only_a_leaf_can_be_set():
    y = named("y", leaf(2) ** 2)
    assert refusal(lambda: y.set_(3)) == "leaf: y was computed: only a leaf can be set"


def shown(values):
    return [np.array(x.read_only()) for x in values]


@each("data", [2.0, [1.0, 2.0]])
def test_a_value_that_its_own_derivative_reads_is_refused_when_an_alias_was_written(data):
    a = ag.tensor(data, requires_grad=True)
    b = ag.exp(a)
    d = b.detach()
    d += a
    refuses(ag.sum(b).backward, "was written to")


OPERATIONS = {
    "+= leaf": lambda x, a: x.__iadd__(a),
    "*= 2": lambda x, a: x.__imul__(2),
    "-= value": lambda x, a: x.__isub__(a * 0.5),
    "[0] = 9": lambda x, a: x.__setitem__(0, 9.0),
    "[1] = leaf": lambda x, a: x.__setitem__(1, a[0] * 3),
    "copy_": lambda x, a: x.detach().copy_(5.0),
    "copy_ of a value": lambda x, a: x.detach().copy_(a * 2),
}


@each("seed", range(200))
def test_aliases_show_the_same_after_any_writes_and_backwards(seed):
    dice = random.Random(seed)
    a = ag.tensor([1.0, 2.0], requires_grad=True)
    groups = [[a * k] for k in (1, 2)]
    for _ in range(dice.randrange(1, 12)):
        group = dice.choice(groups)
        x = dice.choice(group)
        if dice.random() < 0.4:
            group.append(x.detach())
            continue
        name = dice.choice(sorted(OPERATIONS))
        others = [shown(other) for other in groups if other is not group]
        OPERATIONS[name](x, a)
        for one in shown(group):
            np.testing.assert_array_equal(one, shown([x])[0], name)
        assert str(others) == str([shown(other) for other in groups if other is not group])
        if x.requires_grad and dice.random() < 0.3:
            before = str([shown(other) for other in groups])
            try:
                x.sum().backward()
            except ag.AgradError as error:
                assert error.kind in ("freed", "stale"), error
            assert str([shown(other) for other in groups]) == before


@each("v", [[7.0], [[7.0]], 7.0])
@each("index, y", [(0, [1.0, 2.0]), ((1, 0), [[1.0], [2.0]]), ((), 5.0), (slice(0, 1), [1.0, 2.0])])
@each("how", [ag.no_grad, nullcontext])
def test_a_value_of_one_entry_is_written_into_one(v, index, y, how):
    x, y = ag.tensor(v, requires_grad=True), ag.tensor(y)
    with how():
        y[index] = x
    assert ag.sum(y[index]) == 7.0
    if how is nullcontext:
        ag.sum(y).backward()
        np.testing.assert_array_equal(x.grad, np.ones(np.shape(v)))
