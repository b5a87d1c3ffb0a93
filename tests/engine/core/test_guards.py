"""Guards: a choice that comes out otherwise stops a replay before anything has changed; one that does not lets it by."""

import gc
import weakref

import numpy as np
import pytest
from refused import leaf, refuses
from replays import same_bits, state
from rows import each, functions

import agrad.engine as ag
from agrad.engine.core.context import current
from agrad.engine.core.guards import chain


@pytest.fixture(autouse=True)
def _no_choices_of_other_tests():
    before, current().guard = current().guard, None
    yield
    current().guard = before


def refused(y, *seen):
    """The error of a replay that is stopped, and changes nothing."""
    before = state(y, *seen)
    caught = refuses(y.forward)
    assert caught.kind == "guard"
    assert caught.fixes == ["compute it again"]
    assert state(y, *seen) == before
    return caught


def halved(x):
    y = x * 1
    while y > 1:
        y = y / 2
    return y


def nested(x):
    if x > 0:
        return x * 2 if x < 10 else x * 3
    return x * 5


def not_taken(x):
    y = x * 2
    if x > 100:
        y = y * 1000
    return y * 3


def under_no_grad(x):
    with ag.no_grad():
        if x * 2 > 3:
            factor = 10.0
        else:
            factor = 1.0
    return x * factor


def of_no_grad(x):
    with ag.no_grad():
        large = x * 2 > 3
    return x * 10 if large else x


def summed(x):
    total = x * 0
    for k in range(int(x)):
        total = total + x * k
    return total


def read_and_freed(x):
    z = x * x
    z.backward()
    x.clear_grad()
    return x * 2 if z > 3 else x * 7


VECTOR = [1.0, 2.0, 3.0]


# A function, the data it is built at, data where its choices come out the same, and data where they do not.
NUMBERS = {
    "if": (lambda x: x * x if x > 0 else -x, 2.0, 5.0, -1.0),
    "if of a value itself": (lambda x: x * x if x else x + 1, 2.0, 5.0, 0.0),
    "while": (halved, 6.0, 5.0, 20.0),
    "while with fewer turns": (halved, 6.0, 7.0, 1.5),
    "for in range": (summed, 3.0, 3.5, 5.0),
    "nested": (nested, 2.0, 3.0, 20.0),
    "the outer of two": (nested, 2.0, 3.0, -1.0),
    "a branch that was not taken": (not_taken, 2.0, 5.0, 200.0),
    "and": (lambda x: x * 2 if x > 0 and x < 10 else x * 3, 2.0, 3.0, 11.0),
    "sorted": (lambda x: sorted([x, x * x])[0] * 2, 2.0, 3.0, 0.5),
    "max of Python": (lambda x: max([x, x * x]) * 2, 2.0, 3.0, 0.5),
    "zeros": (lambda x: ag.sum(ag.zeros(ag.floor(x)) + x), 2.0, 2.5, 3.0),
    "reshape": (lambda x: ag.sum((ag.ones(6) * x).reshape(ag.floor(x), -1)[0]), 2.0, 2.5, 3.0),
    "tile": (lambda x: ag.sum(ag.tile([1.0, 2.0], ag.floor(x)) * x), 2.0, 2.5, 3.0),
    "an axis": (lambda x: ag.sum(np.eye(2) * x, axis=ag.floor(x))[0], 0.5, 0.7, 1.5),
    "an exponent": (lambda x: ag.sum(ag.matrix_power(np.eye(2) * x, ag.floor(x))), 2.0, 2.5, 3.0),
    "an index": (lambda x: ag.tensor(VECTOR)[ag.floor(x)] * x, 1.0, 1.5, 2.0),
}


VECTORS = {
    "an index": (lambda x: x[int(x[0])] * 2, [1.0, 2.0, 3.0], [1.0, 5.0, 6.0], [2.0, 2.0, 3.0]),
    "an index of an operation": (lambda x: x[ag.argmax(x)] * 2, [1.0, 2.0, 3.0], [1.0, 5.0, 6.0], [9.0, 2.0, 3.0]),
    "places": (lambda x: ag.sum(x[ag.argsort(x)[:2]]), [1.0, 2.0, 3.0], [1.0, 5.0, 6.0], [9.0, 2.0, 3.0]),
    "a mask": (lambda x: ag.sum(x[x > 1.5]), [1.0, 2.0, 3.0], [0.5, 4.0, 2.0], [2.0, 2.0, 3.0]),
    "the end of a slice": (lambda x: ag.sum(x[: int(x[0])]), [1.0, 2.0, 3.0], [1.0, 5.0, 6.0], [2.0, 2.0, 3.0]),
    "a step": (lambda x: ag.sum(x[:: int(x[0])]), [1.0, 2.0, 3.0], [1.0, 5.0, 6.0], [2.0, 2.0, 3.0]),
    "in": (lambda x: ag.sum(x) if 2 in x else ag.prod(x), [1.0, 2.0, 3.0], [1.0, 2.0, 4.0], [1.0, 5.0, 3.0]),
    "a class": (
        lambda x: ag.cross_entropy(x, ag.argmax(x)),
        [1.0, 2.0, 3.0],
        [1.0, 5.0, 6.0],
        [9.0, 2.0, 3.0],
    ),
    "classes": (
        lambda x: ag.cross_entropy(ag.stack([x, x * x]), ag.stack([ag.argmax(x), ag.argmin(x)])),
        [1.0, 2.0, 3.0],
        [1.0, 5.0, 6.0],
        [9.0, 2.0, 3.0],
    ),
}


CASES = {**NUMBERS, **{f"{name} of a vector": case for name, case in VECTORS.items()}}


@each("name", CASES)
def test_a_guard_with_another_outcome_stops_a_replay(name):
    function, first, same, other = CASES[name]
    x = leaf(first)
    y = function(x)
    y.backward(retain_graph=True)
    x.set_(same)
    y.forward()
    assert same_bits(y, function(leaf(same)))
    x.set_(other)
    assert "cannot be replayed" in refused(y, x).message
    x.set_(first)
    y.forward()
    assert same_bits(y, function(leaf(first)))
    y.backward(fresh=True)
    fresh = leaf(first)
    function(fresh).backward()
    assert same_bits(x.grad, fresh.grad)


# What is known of a value without recording is only which leaves it came from: any change of these stops.
UNRECORDED = {
    "under no_grad": under_no_grad,
    "of no_grad": of_no_grad,
    "detached": lambda x: x * 2 if x.detach() > 1 else x * 3,
    "detached later": lambda x: x * 2 if (x > 1).detach() else x * 3,
    "of a freed graph": read_and_freed,
}


@each("name", UNRECORDED)
def test_a_guard_on_a_value_without_recording_holds_until_its_leaf_changes(name):
    x, other = leaf(2.0), leaf(1.0)
    y = UNRECORDED[name](x) * other
    other.set_(3.0)
    y.forward()
    assert same_bits(y, UNRECORDED[name](leaf(2.0)) * 3)
    x.set_(-1.0)
    refused(y, x, other)


def test_a_guard_that_was_run_again_by_itself_still_stops():
    x = leaf(1.0)
    positive = x > 0
    y = x * 2 if positive else x * 3
    x.set_(-1.0)
    positive.forward()
    assert positive.item() == 0
    refused(y, x, positive)


def test_a_mask_that_is_not_referenced_is_computed_again_for_its_guard():
    x = leaf([1.0, -2.0, 3.0])
    mask = x > 0
    chosen = ag.sum(mask)
    y = ag.sum(x[mask]) * chosen
    del mask
    x.set_([2.0, -2.0, 5.0])
    y.forward()
    assert y.item() == 14
    x.set_([-1.0, -2.0, 5.0])
    chosen.forward()
    refused(y, x)


def test_a_guard_counts_for_what_is_built_after_it_only():
    x = leaf(2.0)
    before = x * 10
    after = x * 2 if x > 0 else x * 3
    x.set_(-1.0)
    before.forward()
    assert before.item() == -10
    refused(after, x, before)


def test_a_guard_counts_for_all_that_is_built_after_it_also_on_other_leaves():
    x, w = leaf(2.0), leaf(3.0)
    y = w * 2 if x > 0 else w * 3
    x.set_(-1.0)
    refused(y, x, w)


def test_a_written_leaf_forgets_the_guards_on_its_old_data():
    x, w = leaf(2.0), leaf(3.0)
    if x > 0 and w > 0:
        pass
    x.set_(-1.0)
    assert len(chain(current().guard)) == 1
    y = x * 2
    x.set_(5.0)
    y.forward()
    assert y.read_only() == 10
    w.set_(-3.0)
    assert current().guard is None
    refused(y, x, w)


def test_an_alias_can_write_what_its_leaf_decided_after_the_leaf_has_no_name_any_more():
    x = leaf(1.0)
    alias = x.detach()
    y = x * 2 if x > 0 else x * 3
    del x
    with ag.no_grad():
        alias.copy_(-1.0)
    refused(y, alias)


def test_a_guard_on_a_value_that_was_written_is_about_what_it_would_be():
    a = leaf(1.0)
    b = a * 2
    with ag.no_grad():
        b.copy_(-1.0)
    y = a * 10 if b > 0 else a * 20
    a.set_(3.0)
    refused(y, a, b)


def test_a_guard_whose_graph_was_freed_stops_when_its_leaf_has_changed():
    x, w = leaf(2.0), leaf(3.0)
    z = x * x
    positive = z > 1
    y = w * 2 if positive else w * 3
    z.backward()
    w.set_(4.0)
    y.forward()
    assert y.item() == 8
    x.set_(0.5)
    error = refused(y, x, w)
    assert "gone" in error.notes[0]


@pytest.mark.long
def test_a_loop_of_ten_thousand_iterations_is_built_and_replayed_in_a_time_that_grows_with_it():
    x = leaf(1.0)
    y, turns = x * 1, 0
    while y < 1e4:
        y, turns = y + 1, turns + 1
    assert turns == 9999
    x.set_(1.5)
    y.forward()
    assert y.item() == 10000.5
    for other in (0.5, 3.0):
        x.set_(other)
        refused(y, x)


SHOWN = functions(
    "x",
    """
    repr(x); str(x); f"{x:.3f}"; np.array2string(x); np.shape(x); (x.shape, x.size, x.dtype)
""",
    globals(),
)


@each("name", SHOWN)
def test_what_is_shown_of_a_value_is_no_guard(name):
    x = leaf(2.0)
    assert SHOWN[name](x) is not None
    y = x * 2
    x.set_(5.0)
    y.forward()
    assert y.read_only() == 10


def test_a_stale_value_that_was_read_stops_only_when_its_leaf_changes_again():
    x, w = leaf(2.0), leaf(3.0)
    old = x * 2
    x.set_(4.0)
    assert old.item() == 4
    y = w * x
    w.set_(1.0)
    y.forward()
    assert y.read_only() == 4
    x.set_(5.0)
    refused(y, x, w)


def test_choices_about_older_values_are_kept_when_two_chains_are_joined():
    x, w = leaf(2.0), leaf(3.0)
    with ag.no_grad():
        old = x * 2
    by_w = w * 1 if w > 0 else w
    y = w * (by_w.detach() if old > 0 else 0.0)
    x.set_(-1.0)
    refused(y, x, w)


def test_values_that_are_read_in_a_long_loop_keep_nothing():
    gc.disable()
    try:
        x, references = leaf(1.0), []
        for _ in range(300):
            y = x * x
            assert y.item() == 1
            references.append(weakref.ref(y.node))
        del y
        assert not any(reference() is not None for reference in references)
        assert current().guard.length == 1
    finally:
        gc.enable()


# Memory


def built(x):
    """A value with three nodes behind it, made after a choice; a weak reference to a node in the middle."""
    middle = x * x
    y = middle + 1 if middle > 0 else middle - 1
    return y, weakref.ref(middle.node)


@pytest.mark.long
def test_twenty_thousand_choices_about_values_that_are_gone_keep_nothing():
    gc.disable()
    try:
        references = []
        for k in range(20_000):
            y, reference = built(leaf(float(k % 7)))
            y.backward()
            if k % 1000 == 0:
                references.append(reference)
            assert current().guard is None or current().guard.length < 200
        del y
        for _ in range(130):  # as many choices again as are kept before they are looked through
            built(leaf(1.0))
        assert not any(reference() is not None for reference in references)
    finally:
        gc.enable()


def test_a_long_loop_of_choices_about_one_leaf_that_is_written_each_time_keeps_nothing():
    gc.disable()
    try:
        x, references = leaf(1.0), []
        for k in range(2000):
            y, reference = built(x)
            y.backward(fresh=True)
            references.append(reference)
            with ag.no_grad():
                x -= 0.0001 * k
            assert current().guard is None
        del y
        assert sum(reference() is not None for reference in references) == 0
    finally:
        gc.enable()


def test_a_replay_leaves_no_cycle_behind():
    gc.disable()
    try:
        x = leaf([1.0, 2.0])
        y = ag.sum(x[x > 0] * x.detach()) if ag.sum(x) > 0 else ag.sum(x)
        x.set_([2.0, 3.0])
        y.forward()
        reference = weakref.ref(y.node)
        x.set_([1.0, 1.0])
        del y
        assert reference() is None
    finally:
        gc.enable()


READS = functions(
    "v",
    """
    v.item() > 0; float(v) > 0; int(v) > 0; bool(v > 0); v > 0 or False; v.data > 0; v.value > 0; v.numpy() > 0
    v.tolist() > 0; operator.mod("%.1f", v) == "1.0"; complex(v).real > 0; math.isclose(v, 1.0); math.copysign(1, v) > 0
    math.fsum([v, v]) > 0; bool(np.isclose(v, 1.0)); np.allclose(v, 1.0); np.array_equal(v, 1.0); assert_close(v)
    np.float64(v) > 0; v in [1.0, 2.0]; v.item() in {1.0}; bool(v == 1.0); [1.0, 2.0].count(v) > 0; max(v, 0.5) is v
    min(v, 0.5) is not v; sorted([v, 0.5])[1] is v; sorted([1, 2], key=lambda k: k * v)[0] == 1; bool(sum([v, v]) > 0)
    len([0] * operator.index(v.detach())) > 0; len(range(int(v))) > 0; round(v).item() > 0; math.floor(v) > 0
    math.ceil(v) > 0; math.trunc(v) > 0; (v.item() / 2 + 0.5).is_integer() and v.item() > 0
    pickle.loads(pickle.dumps(v.detach())).item() > 0; copy.copy(v.detach()).item() > 0
    copy.deepcopy(v.detach()).item() > 0; struct.pack(">d", v)[0] < 128; array.array("d", [v])[0] > 0
    "-" not in json.dumps(v.tolist()); np.frombuffer(v.numpy().tobytes())[0] > 0; np.array(v.detach()) > 0
    np.sort(np.array([v.detach().numpy(), 0.5]))[0] == 0.5; bool(np.any(v > 0))
    int(ag.argmax(ag.stack([v, ag.tensor(0.5)]))) == 0; ag.tensor(v).item() > 0; ag.stack([v, v])[0].item() > 0
    [*ag.stack([v, v])][1].item() > 0; bool(next(iter(ag.stack([v, v]))) > 0)
""",
    globals(),
)


def assert_close(v):
    try:
        np.testing.assert_allclose(v.detach(), 1.0)
    except AssertionError:
        return False
    return True


def unrecorded(x):
    with ag.no_grad():
        return x * 1


def collected(x):
    x.clear_grad()
    (x * x * 0.5).backward()
    return x.grad


def collected_twice(x):
    x.clear_grad()
    (x * x * 0.5).backward()
    (x * 0).backward()
    return x.grad


def of_an_array(x):
    w = ag.tensor([1.0, 1.0], requires_grad=True)
    ag.sum(w * x).backward()
    return w.grad[0]


def through_a_constant(x):
    w = ag.tensor(1.0, requires_grad=True)
    (w * x.detach()).backward()
    return w.grad


def retained(x):
    y = x * 1
    y.retain_grad()
    (y * y * 0.5).backward()
    return y.grad


def replayed(x):
    x.clear_grad()
    y = x * x * 0.5
    y.backward(retain_graph=True)
    for _ in range(40):
        x.set_(x.detach())
        y.forward()
        x.clear_grad()
        y.backward(retain_graph=True)
    return x.grad


SOURCES = {
    "a value": lambda x: x * 1,
    "detached": lambda x: (x * 1).detach(),
    "unrecorded": unrecorded,
    "a gradient": collected,
    "a sum of gradients": collected_twice,
    "computed from a gradient": lambda x: collected(x) * 2 - collected(x),
    "a gradient of an array": of_an_array,
    "a gradient through a constant": through_a_constant,
    "a retained gradient": retained,
    "a gradient after replays": replayed,
    "ag.grad": lambda x: ag.grad(x * x * 0.5, x),
    "ag.grad of a function": lambda x: ag.grad(lambda z: z * z * 0.5)(x.detach()),
    "vjp": lambda x: ag.vjp(x * x * 0.5, x, 1.0),
    "jvp": lambda x: ag.jvp(x * x * 0.5, x, 1.0),
    "hvp": lambda x: ag.hvp(x * x * (x + 1) * 0.125, x, 1.0),
    "jacobian": lambda x: ag.jacobian(ag.stack([x * x * 0.5]), x)[0],
    "hessian": lambda x: ag.hessian(x * x * (x + 1) * 0.125, x),
}


def chosen(x, read, source):
    value = source(x)
    return 2 * x if read(value) else -x


@each("source", SOURCES)
@each("read", READS)
def test_a_choice_by_what_was_read_is_a_guard(read, source):
    x = ag.tensor(1.0, requires_grad=True)
    y = chosen(x, READS[read], SOURCES[source])
    assert y.item() == 2
    x.set_(-1.0)
    refuses(y.forward, kind="guard")
    assert y.item() == 2


@each("source", SOURCES)
def test_a_constant_of_the_data_of_a_leaf_is_not_replayed(source):
    x = ag.tensor(1.0, requires_grad=True)
    y = x * SOURCES[source](x).detach()
    x.set_(-1.0)
    refuses(y.forward, kind="guard")


@each("source", SOURCES)
def test_another_leaf_may_change(source):
    x, w = ag.tensor(1.0, requires_grad=True), ag.tensor(3.0, requires_grad=True)
    y = w * 2 if SOURCES[source](x).item() > 0 else -w
    w.set_(5.0)
    y.forward()
    assert y.item() == 10


@each("source", ["a gradient", "a sum of gradients", "a gradient of an array"])
def test_what_is_built_after_a_write_is_under_no_guard(source):
    x = ag.tensor(1.0, requires_grad=True)
    for value in (1.0, 2.0, -1.0):
        x.set_(value)
        y = chosen(x, lambda v: v.item() > 0, SOURCES[source])
        assert y.item() == (2 * value if value > 0 else -value)
        assert y.node.guard is not None
    x.set_(4.0)
    z = x * x
    x.set_(5.0)
    z.forward()
    assert z.item() == 25


def test_a_gradient_that_a_user_has_set_is_plain_data():
    x = ag.tensor(1.0, requires_grad=True)
    x.grad = 3.0
    y = 2 * x if x.grad.item() > 0 else -x
    x.set_(-1.0)
    y.forward()
    assert y.item() == -2


@each("shape", [(), (3,)])
def test_a_descent_that_looks_at_its_gradient_keeps_no_graph(shape):
    x = ag.tensor(np.ones(shape) if shape else 1.0, requires_grad=True)
    for _ in range(200):
        y = ag.sum(x * x)
        y.backward(fresh=True)
        if ag.max(abs(x.grad)).item() < 1e-12:
            break
        with ag.no_grad():
            x -= 0.1 * x.grad
    roots = x.grad.node.storage.roots
    assert len(roots) == 1
    z = x * 3
    ag.sum(z).backward()
    assert z.node.guard is None or z.node.guard.length < 5


def test_a_value_cut_off_from_a_leaf_that_is_gone_is_read_like_any_other():
    def cut():
        return ag.tensor(2.0, requires_grad=True).detach()

    x = ag.tensor(3.0, requires_grad=True)
    assert (x * cut()).item() == 6.0
    assert (x * cut() * cut()).item() == 12.0
    with ag.no_grad():
        assert float(x * cut()) == 6.0
    y = x * cut()
    assert y > 5
    y.forward()
