"""Walking backward: seeds, accumulation, freeing, retaining, gradients of gradients, clearing, and what is not selected."""

import sys
import weakref

import numpy as np
import pytest
from refused import leaf, lines, named, refusal, refuses
from rows import each

import agrad.engine as ag
from agrad.engine.autodiff import optim
from agrad.engine.core.graph import collect
from agrad.engine.core.op import OPS


def test_all_or_nothing_where_it_is_interrupted(monkeypatch):
    q = leaf([2.0, 3.0])
    y = (ag.sin(q) * 7).sum()
    calls = iter(range(9))

    def interrupted(*args):
        if next(calls) == 1:
            raise KeyboardInterrupt
        return step(*args)

    from agrad.engine.autodiff.reverse import Flight

    step = Flight.step
    monkeypatch.setattr(Flight, "step", interrupted)
    with pytest.raises(KeyboardInterrupt):
        y.backward()
    monkeypatch.undo()
    assert q.grad is None
    y.backward()
    assert q.grad.tolist() == (7 * ag.cos(q)).tolist()


# Freeing and retaining


@each("operation", "__neg__ sum mean flatten cumsum trace floor sign clone exp".split())
@each("options", [{}, {"create_graph": True, "retain_graph": False}])
def test_freed_whatever_the_operation(operation, options):
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    y = getattr(x, operation)(*[0] * (operation == "cumsum"))
    seed = np.ones(y.shape) if y.shape else None
    y.backward(seed, **options)
    refuses(lambda: y.backward(seed), "part of its graph was freed", kind="freed")


@each("length", [3, 50_000])
def test_tear_down_needs_no_garbage_collection(length, uncollected):
    y = leaf(1.0) + 1.0
    first = weakref.ref(y.grad_fn)
    for _ in range(length):
        y = y + 1.0
    assert first() is not None
    del y
    assert first() is None


def test_a_seed_that_requires_grad_has_a_derivative_too():
    x, u = leaf([1, 2]), leaf([3, 4])
    g = ag.grad(x**2, x, create_graph=True, gradient=u)
    assert g.tolist() == [6, 16]
    assert ag.grad(g.sum(), u).tolist() == [2, 4]


@pytest.fixture
def recursion_limit():
    """Python's own, which sessions in threads raise for all of them."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(1_000)
    yield
    sys.setrecursionlimit(before)


@pytest.mark.parametrize("length", [100_000, pytest.param(1_000_000, marks=pytest.mark.long)])
def test_a_chain_of_a_million_operations(length, recursion_limit):
    x = leaf(1.0)
    y = x
    for _ in range(length):
        y = y + 1.0
    assert length > sys.getrecursionlimit()
    y.backward(retain_graph=True)
    y.forward()
    assert (x.grad.item(), y.item()) == (1, length + 1)
    assert len(collect([y.node])) == length + 1
    del y


def test_stale_through_a_comparison_and_not_through_a_detached_value():
    x, y = leaf(2.0), leaf(3.0)
    z, h = ag.where(x > 1, y, 0.0), (x * 3).detach()
    x.data = 0.0
    refuses(z.backward, kind="stale")
    (x * h).backward()
    assert x.grad.item() == 6


SAVE_NOTHING = "x + 1; 3 - x; -x; x*2; x/2; x.sum(); x.mean(); x.exp(); ag.sqrt(x); x[0]; ag.cumsum(x); x + x"
SAVE_X = "x*x; ag.tanh(x); x**2; ag.sin(x); ag.log(x); x*y; ag.norm(x); 1/x*y"
WRITES = {
    "x += 1.0": False,
    "x[0] = 7.0": False,
    "x.copy_(y)": False,
    "optim.SGD([x], lr=0.5).step()": False,
    "x.set_([5.0, 6.0])": True,
    "x.data = [5.0, 6.0]": True,
    "step('sgd', [x], lr=0.5)": True,
}  # and whether all that was computed from x is stale, whatever was saved


@each("text", [*SAVE_NOTHING.split("; "), *SAVE_X.split("; ")])
@each("write", WRITES)
def test_a_write_makes_stale_what_has_saved_the_value_and_new_data_all(text, write):
    x, y = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    names = {"x": x, "y": y, "ag": ag, "optim": ag.optim, "step": optim.step}
    x.sum().backward()
    result, once = ((eval(text, names) * 2.0).sum() for _ in range(2))
    want = ag.grad(once, x)
    with ag.no_grad():
        exec(write, names)
    if WRITES[write] or text in SAVE_X.split("; "):
        refuses(result.backward, kind="stale")
        return
    x.grad = None
    result.backward()
    assert x.grad.tolist() == want.tolist()


def test_a_value_keeps_its_gradient_when_it_is_freed_and_is_freed_when_its_gradient_is_cleared():
    x = ag.tensor(3.0, requires_grad=True)
    y = x * x
    y.retain_grad()
    (y * 2.0).backward()
    assert (y.grad.item(), y.node.freed is not None, x.node.freed) == (2.0, True, None)
    y.grad = None
    assert (y.grad, y.node.freed is not None, x.grad.item()) == (None, True, 12.0)


def test_a_retained_gradient_stays_where_the_value_is_written():
    x = leaf([1.0, 2.0])
    y = x * 3
    y.retain_grad()
    y.sum().backward(retain_graph=True)
    y[0] = 5.0
    assert y.grad.tolist() == [1, 1]
    y.sum().backward()
    assert (y.grad.tolist(), x.grad.tolist()) == ([2, 2], [3, 6])


def test_a_constant_has_the_graph_of_what_is_copied_into_it():
    x = leaf([1.0, 2.0])
    mask = (x > 0) * 2.0
    mask.copy_(x)
    (mask * mask).sum().backward()
    assert x.grad.tolist() == [2, 4]


def test_what_is_not_selected_has_a_gradient_without_a_sign():
    x = leaf([1.0, 2.0, 3.0])
    (-x)[1].backward()
    assert str(x.grad.tolist()) == "[0.0, -1.0, 0.0]"
    x = leaf([-1.0, 2.0])
    ag.relu(-x * ag.tensor([-1.0, -1.0])).sum().backward()
    assert str(x.grad.tolist()) == "[0.0, 1.0]"


def test_the_gradients_of_two_leaves_are_separate_arrays():
    x, y = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    (x + y).sum().backward()
    x.grad.copy_(0.0)
    assert y.grad.tolist() == [1.0, 1.0]
    c = ag.tensor([[2.0, 0.0], [0.0, 3.0]])
    x, y = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    for _ in range(2):
        ((c @ x) + (c @ y)).sum().backward()
    y.grad.copy_(0.0)
    assert x.grad.tolist() == [4.0, 6.0]


@each("name, shape, attrs", [("stack", (2, 3), {"axis": 1}), ("concat", (3, 2), {"axis": 0})])
def test_the_parts_of_a_gradient_are_what_the_rule_gives_for_each_operand(name, shape, attrs):
    op = OPS[name]
    given = [np.arange(6.0).reshape(shape) + k for k in range(3)]
    prepared = op.prepare(*given, **attrs)
    out = op.array(*given, **prepared)
    g = np.random.default_rng(0).normal(size=out.shape)
    for which, part in enumerate(op.parts(g, **prepared)):
        np.testing.assert_array_equal(part, op.rule(which)(g, out, *given, **prepared, which=which))


def test_the_parts_of_the_gradient_of_numbers_are_numbers():
    a, b = leaf(2.0), leaf(3.0)
    ag.stack([a, b, a])[ag.tensor([0, 1, 2, 2])].sum().backward()
    assert (a.grad.item(), b.grad.item()) == (3.0, 1.0)


def test_unused_of_a_long_path_shows_the_ends():
    x, w = leaf(2, "x"), leaf(3, "w")
    y = named("k", x.detach())
    for step in range(9):
        y = named(f"y{step}", w * y)
    note = refusal(lambda: ag.grad(y, x)).split("\n")[1]
    assert note == "  note: y8 <- y7 <- y6 <- … <- y0 <- k"


def test_no_grad_at_all_when_the_leaf_is_gone():
    x = leaf(2)
    with ag.no_grad():
        h = named("h", x * 2)
    del x
    assert refusal(h.backward) == lines(
        "grad: h does not require grad: it was computed from a leaf that no longer exists without recording",
        "fix: compute h from a leaf, without detach and outside no_grad",
    )
