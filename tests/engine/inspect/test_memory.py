"""What a graph holds and who keeps it; and that memory comes back at once, without a garbage collection."""

import sys
import tracemalloc
import weakref
from contextlib import contextmanager

import numpy as np
import pytest
from refused import leaf
from rows import each, table
from samples import function_of, samples

import agrad.engine as ag
from agrad.engine.core.graph import collect
from agrad.engine.inspect.memory import held, holders, live_graphs
from agrad.engine.inspect.nodes import listed
from agrad.grammar.session.session import Session


@contextmanager
def traced():
    """A function that tells how many bytes more there are than at the start, and at most were."""
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    tracemalloc.reset_peak()
    try:
        yield lambda: tuple(size - before for size in tracemalloc.get_traced_memory())
    finally:
        tracemalloc.stop()


@each("f, facts", table("""
a * a | {"bytes": 0, "arrays": 0, "leaves": 24, "nodes": 2}
ag.exp(ag.sin(a)) | {"bytes": 24, "arrays": 1}
# exp reads its own result, sin only the leaf; nobody what is below
(a + 1.0) * 2.0 + 3.0 | {"bytes": 0}
(lambda b: b * b + ag.sin(b) + b**2)(ag.exp(a)) | {"bytes": 24}
a * a.detach() | {"bytes": 0, "leaves": 24}
# the constant holds the result as well, and so it is not the graph's alone
(lambda b: b * b.detach())(ag.exp(a)) | {"bytes": 0, "leaves": 48}
(lambda s: s * s + 3.0)(leaf(2.0)) | {"scalars": 2, "bytes": 16, "leaves": 16}
a * np.array([3.0, 4.0, 5.0]) | {"bytes": 0, "leaves": 48}
a[np.arange(2.0)] | {"bytes": 16}
a | {"bytes": 0, "leaves": 24, "nodes": 1}
ag.grad(ag.sum(ag.exp(a)), a, create_graph=True) | {"bytes": 56}
""", "a", globals()))  # fmt: skip
def test_what_a_graph_holds(f, facts):
    y = f(leaf([1.0, 2.0, 3.0]))
    memory = held(y)
    assert {name: getattr(memory, name) for name in facts} == facts
    assert held(y.node) == memory


def test_what_is_freed_counts_nothing():
    b = ag.exp(leaf([1.0, 2.0, 3.0]))
    d, e = b.sum(), ag.sum(b * b)
    assert held(e).bytes == 24 + 8
    d.backward()
    assert (held(d).bytes, held(d).arrays) == (0, 0)
    assert held(e).bytes == 8  # b is gone, the sum is not


@pytest.mark.long
def test_a_million_operations():
    y = leaf(1.0)
    for _ in range(1_000_000):
        y = y + 1.0
    memory = held(y)
    assert (memory.bytes, memory.nodes) == (8_000_000, 1_000_001)
    assert holders({"y": y}, y.node.inputs[0]) == ["y"]


def test_holders_are_those_whose_graph_contains_the_node():
    a, k = leaf(2.0), leaf(3.0)
    b = a * a
    c, d = b + 1.0, k * 2.0
    names = {"a": a, "b": b, "c": c, "d": d, "n": 5.0, "pair": (d, c), "fn": c.grad_fn, "alias": b.detach()}
    for freed in (False, True):
        assert holders(names, b.node) == ["b", "c", "pair", "fn"]
        assert holders(names, a.node) == ["a", "b", "c", "pair", "fn"]
        assert holders(names, k.node) == ["d", "pair"]
        assert holders({}, a.node) == []
        if not freed:
            c.backward()  # a freed graph still keeps its nodes
    tied = 3.0 * a
    assert holders({"first": ag.grad(tied, a, create_graph=True)}, tied.node) == ["first"]  # to a derivative that is 0


# Memory that comes back


def test_a_backward_returns_the_arrays_of_its_graph_at_once(uncollected):
    a = leaf(np.ones(10_000))
    b = ag.exp(a)
    y = ag.sum(b * b)
    saved = weakref.ref(b.node.value)
    del b
    assert saved() is not None
    y.backward()
    assert saved() is None


def test_deleting_the_last_name_returns_them_at_once(uncollected):
    a = leaf(np.ones(10_000))
    with traced() as grown:
        y = ag.sum(ag.exp(ag.sin(a) * a))
        assert grown()[0] > 2 * 80_000
        assert held(y).bytes > 2 * 80_000
        del y
        assert grown()[0] < 8_000


def test_a_name_that_is_left_keeps_only_its_part(uncollected):
    a = leaf(np.ones(10_000))
    b = ag.exp(a)
    y = ag.sum(ag.exp(b))
    inner = weakref.ref(y.node.inputs[0])
    assert inner() is not None
    del y
    assert inner() is None
    ag.sum(b).backward()


def test_a_retained_graph_is_returned_by_the_backward_that_does_not_retain(uncollected):
    a = leaf(np.ones(10_000))
    y = ag.sum(ag.exp(a) ** 2)
    y.backward(retain_graph=True)
    assert held(y).bytes > 80_000
    y.backward()
    assert held(y).bytes == 0


def test_del_in_the_language_returns_them_at_once(uncollected):
    session = Session()
    session.run("var a = ones(10_000)\ny = sum(exp(sin(a)*a))")
    saved = weakref.ref(session.names["y"].node.inputs[0].value)
    assert saved() is not None
    session.run("del y")
    assert saved() is None


TURNS = 20_000


def turns_in_python(count, entries=(1.0, 2.0, 3.0), retain=False):
    a = leaf(entries)
    for _ in range(count):
        y = ag.sum(a**2)
        y.backward(retain_graph=retain)


def turns_in_the_language(count, entries=(1.0, 2.0, 3.0), backward="backward y"):
    session = Session()
    session.names["a"] = leaf(entries)
    session.run(f"for i in range({count}):\n  y = sum(a**2)\n  {backward}\ndel a, y")


@pytest.mark.parametrize(
    "turns",
    [
        pytest.param(turns_in_python, marks=pytest.mark.long),
        pytest.param(lambda count: turns_in_python(count, retain=True), marks=pytest.mark.long),
        turns_in_the_language,
        pytest.param(lambda count: turns_in_the_language(count, backward="backward y retain"), marks=pytest.mark.long),
    ],
    ids=["python", "python, retained", "language", "language, retained"],
)
def test_a_long_loop_holds_constant_memory(turns, uncollected):
    turns(TURNS)  # what compiles a loop of this length is loaded now
    before = sys.getallocatedblocks()
    turns(TURNS)
    assert sys.getallocatedblocks() - before < TURNS // 4  # Python keeps some thousand freed tuples for later


@pytest.mark.parametrize("turns", [turns_in_python, turns_in_the_language])
def test_a_long_loop_over_large_arrays_holds_that_of_one_iteration(turns, uncollected):
    entries = np.ones(100_000)
    turns(2, entries)
    with traced() as grown:
        turns(100, entries)
        after, most = grown()
    assert after < 100_000
    assert most < 6 * entries.nbytes


def test_a_freed_graph_of_uncertain_values_says_what_it_keeps():
    x = ag.uncertain([1.0, 2.0, 3.0], 0.1)
    y = ag.sum(ag.exp(x))
    before = held(y)
    y.backward()
    assert (held(y).arrays, held(y).leaves) == (before.arrays, before.leaves) == (1, 24)
    certain = leaf([1.0, 2.0, 3.0])
    z = ag.sum(ag.exp(certain))
    z.backward()
    assert (held(z).arrays, held(z).bytes) == (0, 0)


def nodes(*values):
    return [value.node for value in values]


def test_a_shared_operation_connects_and_a_shared_leaf_does_not():
    a = ag.tensor(2.0, requires_grad=True)
    b = a * a
    c, d, e = b + 1, b * 2, a * 3
    found = live_graphs([("c", nodes(c)), ("d", nodes(d)), ("e", nodes(e)), ("a", nodes(a)), ("b", nodes(b))])
    assert [(graph.ends, graph.operations, graph.holders) for graph in found] == [
        ((c.node, d.node), 3, ("c", "d", "b")),
        ((e.node,), 1, ("e",)),
    ]


def test_what_nothing_refers_to_is_not_listed():
    a = ag.tensor(2.0, requires_grad=True)
    b = a * a
    (b + 1).backward()
    (found,) = live_graphs([("b", nodes(b))])
    assert (found.ends, found.freed) == ((b.node,), 1)
    assert live_graphs([("a", nodes(a)), ("nothing", [])]) == []


def test_a_long_chain():
    x = ag.tensor(1.0, requires_grad=True)
    for _ in range(20_000):
        x = x + 1
    (found,) = live_graphs([("x", nodes(x))])
    assert found.operations == 20_000


HIDDEN = {"own", "stop", "depends"}


@each("entry, sample", samples())
def test_each_operation_behind_a_value_is_listed(entry, sample):
    function, xs = function_of(entry, sample)
    y = function(*[ag.tensor(x, requires_grad=True) for x in xs])
    for part in y if isinstance(y, tuple) else (y,):
        node = getattr(part, "node", None)
        recorded = [one for one in collect([node]) if one.op is not None] if node is not None and node.recorded else []
        shown = {id(one) for one in listed(node)} if recorded else set()
        assert {one.op.name for one in recorded if id(one) not in shown} <= HIDDEN
