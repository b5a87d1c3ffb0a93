"""Writing in place: what counts as a version, what is refused, what gets a new history, and what is stale."""

import numpy as np
import pytest
from refused import leaf, lines, named, refusal

import agrad.engine as ag
from agrad.engine.autodiff.optim import step

IN_PLACE = {
    "+=": lambda x: x.__iadd__(1),
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
STALE = {
    "3*a": lambda a: 3 * a,
    "exp": ag.exp,
    "sin": ag.sin,
    "a + 1": lambda a: a + 1,
    "a chain": lambda a: (a + 1) / 2 - 3,
    "where": lambda a: ag.where(a > 1, a, 0.0),
    "floor": ag.floor,
}


# Versions


@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize("requires_grad", [False, True])
def test_versions_every_write_counts_once_for_all_aliases(name, requires_grad):
    x = ag.tensor([1, 2], requires_grad=requires_grad)
    alias = x.detach()
    with ag.no_grad():
        WRITES[name](x)
        assert (x.version, alias.version) == (1, 1)
        WRITES[name](x)
    assert (x.version, alias.version) == (2, 2)
    assert x.tolist() == alias.tolist()


def test_versions_count_a_step():
    w = leaf([1, 2])
    w.sum().backward()
    step("sgd", [w], lr=0.5)
    assert w.version == 1
    assert w.tolist() == [0.5, 1.5]


def test_versions_of_a_computed_value():
    b = leaf([1, 2]) * 2
    b += 1
    b[0] = 5
    with ag.no_grad():
        b -= 1
    assert b.version == 3


# A leaf that requires grad


@pytest.mark.parametrize("name", IN_PLACE)
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


# Other values: a new history


def test_history_is_rewritten():
    a = leaf(2)
    b = a * 2
    b += 1
    b *= a
    b.backward()
    assert a.grad.item() == 9


def test_history_of_an_entry_that_was_overwritten_ends():
    a = leaf([1, 2])
    b = a * 2
    b[0] = 5
    assert ag.grad(b.sum(), a).tolist() == [0, 2]


def test_history_of_a_plain_value_begins():
    a = leaf(2)
    p, s = ag.zeros(3), ag.tensor(0.0)
    p[0] = a * 2
    assert p.requires_grad
    assert ag.grad(p.sum(), a).item() == 2
    for power in range(3):
        s += a**power
    assert ag.grad(s, a).item() == 5


def test_history_stays_under_no_grad():
    a = leaf(2)
    b = a * 3
    with ag.no_grad():
        b += 1
    assert repr(b.grad_fn) == "<MulBackward>"
    assert b.item() == 7
    b.backward()
    assert a.grad.item() == 3


def test_history_of_a_value_times_itself_is_refused():
    a = leaf(3)
    b = named("b", a * 2)
    b *= b
    assert refusal(b.backward) == lines(
        "stale: b cannot be differentiated: b was written to, and the derivative of b reads it",
        "written by an earlier *=",
        "fix: write to a new value: b2 = …",
    )
    for write in (lambda b: b.__imul__(a), lambda b: b.__iadd__(b)):
        b = a * 2
        write(b).backward()


# A saved value that changed


def test_saved_value_that_changed_is_refused_before_anything_changes():
    a = leaf(2)
    b = named("b", a * 3)
    y = named("y", b * b + a)
    y.node.inputs[0].name = "r"
    b += 1
    assert refusal(y.backward) == lines(
        "stale: y cannot be differentiated: b was written to, and the derivative of r reads it",
        "written by an earlier +=",
        "fix: write to a new value: b2 = …",
    )
    assert a.grad is None


def test_saved_result_that_changed():
    x = leaf([1.0, 2.0])
    b = named("b", ag.exp(x))
    with ag.no_grad():
        b[0] = 1
    y = named("y", b.sum())
    assert refusal(y.backward) == lines(
        "stale: y cannot be differentiated: b was written to, and its own derivative reads it",
        "written by an earlier x[…] =",
        "fix: write to a new value: b2 = …",
    )


@pytest.mark.parametrize(
    ("build", "write"),
    [
        (lambda k, b: (k * b).sum(), "b"),
        (lambda k, b: (k + b).sum(), "b"),
        (lambda k, b: b.sum(), "b"),
        (lambda k, b: (k + b).sum(), "k"),
    ],
    ids=["k*b, b", "k+b, b", "sum", "k+b, k"],
)
def test_saved_per_operand_what_no_rule_reads_may_change(build, write):
    k, b = ag.tensor([3.0, 4.0]), leaf([1.0, 2.0]) * 1
    y = build(k, b)
    (k if write == "k" else b)[0] = 9
    y.backward()


def test_saved_per_operand_what_a_rule_reads_may_not():
    k, x = named("k", ag.tensor([3.0, 4.0])), leaf([1.0, 2.0])
    y = named("y", k * x)
    k[0] = 9
    assert refusal(lambda: y.backward([1, 1])) == lines(
        "stale: y cannot be differentiated: k was written to, and the derivative of y reads it",
        "written by an earlier x[…] =",
        "fix: write to a new value: k2 = …",
    )


# No back door


def test_no_back_door_views_are_read_only():
    for x in (leaf([1.0, 2.0]), ag.tensor([1.0, 2.0]), leaf([1.0, 2.0]) * 1):
        for view in (x.data, x.numpy() if not x.requires_grad else x.detach().numpy()):
            with pytest.raises(ValueError, match="read-only"):
                view[0] = 9
        assert x.tolist() == [1, 2]


def test_tensor_copies():
    given = np.array([1.0, 2.0])
    x = ag.tensor(given)
    given[0] = 9
    assert x.tolist() == [1, 2]


def test_data_is_set():
    a = leaf([1.0, 2.0], "a")
    y = named("y", a**2)
    a.data = [3, 4]
    assert a.version == 1
    assert refusal(lambda: y.backward([1, 1])) == lines(
        "stale: y is stale: a was changed after y was computed from it",
        "changed by an earlier set",
        "fix: y.forward(), to replay its graph on the new data",
    )
    assert refusal(lambda: setattr(a, "data", 3)) == "shape: set: a has shape (2), not ()"


# Stale


@pytest.mark.parametrize("name", STALE)
def test_stale_is_everything_built_before(name):
    a = leaf(2.0, "a")
    y = STALE[name](a)
    z = (y * 2).sum()
    old = z.item()
    a.set_(5)
    with pytest.raises(ag.AgradError, match="is stale: a was changed after") as caught:
        z.backward()
    assert caught.value.kind == "stale"
    assert a.grad is None
    assert z.item() == old
    z.forward()
    z.backward()
    assert a.grad is not None


@pytest.mark.parametrize(
    ("write", "by"),
    [
        (lambda a: a.set_(5), "set"),
        (lambda a: a.copy_(5), "copy_"),
        (lambda a: a.zero_(), "copy_"),
        (lambda a: a.__imul__(2), "*="),
        (lambda a: a.detach().__iadd__(1), "+="),
    ],
    ids=["set_", "copy_", "zero_", "*=", "alias"],
)
def test_stale_says_who_changed_it(write, by):
    a = leaf(2.0, "a")
    y = named("y", a**2)
    with ag.no_grad():
        write(a)
    assert refusal(y.backward) == lines(
        "stale: y is stale: a was changed after y was computed from it",
        f"changed by an earlier {by}",
        "fix: y.forward(), to replay its graph on the new data",
    )


def test_stale_without_a_name():
    a = leaf(2.0, "a")
    y = a**2
    a.set_(3)
    assert refusal(y.backward).endswith("fix: its forward(), to replay its graph on the new data")


def test_only_a_leaf_can_be_set():
    y = named("y", leaf(2) ** 2)
    assert refusal(lambda: y.set_(3)) == "leaf: y was computed: only a leaf can be set"
