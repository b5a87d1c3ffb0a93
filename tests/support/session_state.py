"""All that a session holds, as data that can be compared: before a statement and after it."""

import weakref

import numpy as np

from agrad.engine.core.context import Context, current, scope
from agrad.engine.core.graph import Gradient, Node, Storage
from agrad.engine.core.tensor import Tensor
from agrad.grammar.results import Noted, Plot


def deep(session):
    """All that a failing statement must leave alone, by identity and value."""
    state = {}
    for name, value in session.names.items():
        state[name] = id(value)
        if isinstance(value, Tensor):
            node = value.node
            gradient = None if value.grad is None else repr(value.grad.tolist())
            state[name] = (id(value), id(node), repr(value.tolist()), gradient, node.stamp, node.freed, node.keeps_grad)
    return state


def plotted(text, session):
    """The plot that a text draws, and the notes before it."""
    results = []
    session.run(text, results.append)
    *notes, plot = results
    assert isinstance(plot, Plot)
    return plot, [note.note.message for note in notes if isinstance(note, Noted)]


class Same:
    """Equal to what stands for the same object: a Tensor would compare its entries."""

    def __init__(self, thing):
        self.thing = thing

    def __eq__(self, other):
        return type(other) is Same and self.thing is other.thing

    def __repr__(self):
        return repr(self.thing)


def picture(session):
    """All that a session holds, by identity and value, and the switches; the nodes in it stay alive with it."""
    switches = {slot: getattr(current(), slot) for slot in Context.__slots__}
    with scope(guard=current().guard):  # reading a value as plain data leaves a guard
        return {"switches": switches} | contents(session)


def contents(session):
    nodes, handles = {}, {}
    names = {name: seen(value, nodes, handles) for name, value in session.names.items()}
    answer = seen(session.answer, nodes, handles)
    stack = list(nodes)
    while stack:
        node = stack.pop()
        for other in linked(node):
            if other not in nodes:
                nodes[other] = None
                stack.append(other)
    for node in nodes:
        nodes[node] = state_of(node)
    generator = session.context.random.generator
    return {
        "names": names,
        "nodes": nodes,
        "handles": handles,
        "answer": answer,
        "precision": session.settings.precision,
        "chosen": dict(session.chosen),
        "random": generator.bit_generator.state if generator else None,
        "machine": (session.machine.depth, session.emit),  # `expecting` begins anew with each statement
        "numpy": np.geterr(),
    }


def seen(value, nodes, handles):
    """A value of a name; its nodes and handles are added to those known."""
    if isinstance(value, tuple):
        return tuple(seen(part, nodes, handles) for part in value)
    if not isinstance(value, Tensor):
        return value
    nodes[value.node] = None
    handles[id(value)] = Same(value), value.node, bits(value.value)
    return Same(value)


def linked(node):
    """The nodes that a node leads to: operands, the gradient's, aliases."""
    yield from (operand for operand in node.inputs if isinstance(operand, Node))
    if node.grad is not None and node.grad.value is not None:
        yield node.grad.value.node
    if node.storage is not None:
        yield from (other for other in (reference() for reference in node.storage.nodes) if other is not None)


def state_of(node):
    """Everything of a node. Whether an array is kept for a rule is no matter: the handle has the same array."""
    return (
        node.seq,
        node.stamp,
        node.name,
        node.freed,
        node.keeps_grad,
        node.requires_grad,
        node.guard,
        tuple(x if isinstance(x, Node) else bits(x) for x in node.inputs),
        bits(node.value) if node.op is None or type(node.value) is float else None,
        gradient(node.grad),
        storage(node.storage),
    )


def gradient(kept: Gradient | None):
    if kept is None:
        return None
    value = kept.value
    entries = None if value is None else (value.node, bits(value.value))
    return Same(value), entries, kept.parts, kept.calls, kept.cleared


def storage(kept: Storage | None):
    if kept is None:
        return 0, None, 0, 0, ()
    alive = [node for node in map(weakref.ref.__call__, kept.nodes) if node is not None]
    return kept.count, kept.by, kept.stamp, kept.successor, tuple(alive)


def bits(value):
    """A number or array so that two are equal only if all their bits are."""
    return value.hex() if type(value) is float else value if value is None else (value.shape, value.tobytes())


def assert_same(before, after):
    for part, content in before.items():
        if content != after[part]:
            raise AssertionError(f"{part} changed: {difference(content, after[part])}")
    assert list(before["names"]) == list(after["names"])


def difference(before, after):
    """The first of what differs."""
    if not isinstance(before, dict):
        return before, after
    keys = [key for key in {**before, **after} if before.get(key) != after.get(key)]
    return keys[0], before.get(keys[0]), after.get(keys[0])


def plain(session):
    """The values and gradients of the names, to the last bit."""
    return {
        name: (bits(value.value), value.version, value.grad is not None and bits(value.grad.value))
        for name, value in session.names.items()
        if isinstance(value, Tensor)
    }
