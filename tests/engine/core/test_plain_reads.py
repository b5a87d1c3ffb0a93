"""A choice by a value, a constant, or a gradient that was read as plain data is seen by a replay, whatever the reading."""

import array
import copy
import json
import math
import operator
import pickle
import struct

import numpy as np
import pytest
from thinned import thinned

import agrad.engine as ag

READS = {
    "item": lambda v: v.item() > 0,
    "float": lambda v: float(v) > 0,
    "int": lambda v: int(v) > 0,
    "bool": lambda v: bool(v > 0),
    "if": lambda v: v > 0 or False,
    "data": lambda v: v.data > 0,
    "value": lambda v: v.value > 0,
    "numpy": lambda v: v.numpy() > 0,
    "tolist": lambda v: v.tolist() > 0,
    "percent": lambda v: operator.mod("%.1f", v) == "1.0",
    "complex": lambda v: complex(v).real > 0,
    "isclose": lambda v: math.isclose(v, 1.0),
    "copysign": lambda v: math.copysign(1, v) > 0,
    "fsum": lambda v: math.fsum([v, v]) > 0,
    "np.isclose": lambda v: bool(np.isclose(v, 1.0)),
    "np.allclose": lambda v: np.allclose(v, 1.0),
    "np.array_equal": lambda v: np.array_equal(v, 1.0),
    "np.testing": lambda v: assert_close(v),
    "np.float64": lambda v: np.float64(v) > 0,
    "in a list": lambda v: v in [1.0, 2.0],
    "in a set": lambda v: v.item() in {1.0},
    "equal": lambda v: bool(v == 1.0),
    "count": lambda v: [1.0, 2.0].count(v) > 0,
    "max": lambda v: max(v, 0.5) is v,
    "min": lambda v: min(v, 0.5) is not v,
    "sorted": lambda v: sorted([v, 0.5])[1] is v,
    "sort by a key": lambda v: sorted([1, 2], key=lambda k: k * v)[0] == 1,
    "sum": lambda v: bool(sum([v, v]) > 0),
    "index": lambda v: len([0] * operator.index(v.detach())) > 0,
    "range": lambda v: len(range(int(v))) > 0,
    "round": lambda v: round(v).item() > 0,
    "floor": lambda v: math.floor(v) > 0,
    "ceil": lambda v: math.ceil(v) > 0,
    "trunc": lambda v: math.trunc(v) > 0,
    "is_integer of a half": lambda v: (v.item() / 2 + 0.5).is_integer() and v.item() > 0,
    "pickle": lambda v: pickle.loads(pickle.dumps(v.detach())).item() > 0,
    "copy": lambda v: copy.copy(v.detach()).item() > 0,
    "deepcopy": lambda v: copy.deepcopy(v.detach()).item() > 0,
    "struct": lambda v: struct.pack(">d", v)[0] < 128,
    "array": lambda v: array.array("d", [v])[0] > 0,
    "json": lambda v: "-" not in json.dumps(v.tolist()),
    "bytes": lambda v: np.frombuffer(v.numpy().tobytes())[0] > 0,
    "np.array": lambda v: np.array(v.detach()) > 0,
    "np.sort": lambda v: np.sort(np.array([v.detach().numpy(), 0.5]))[0] == 0.5,
    "np.any": lambda v: bool(np.any(v > 0)),
    "argmax": lambda v: int(ag.argmax(ag.stack([v, ag.tensor(0.5)]))) == 0,
    "an entry": lambda v: ag.stack([v, v])[0].item() > 0,
    "the entries": lambda v: [*ag.stack([v, v])][1].item() > 0,
    "unpacked": lambda v: bool(next(iter(ag.stack([v, v]))) > 0),
}


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


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("read", thinned(READS, 4))
def test_a_choice_by_what_was_read_is_a_guard(read, source):
    x = ag.tensor(1.0, requires_grad=True)
    y = chosen(x, READS[read], SOURCES[source])
    assert y.item() == 2
    x.set_(-1.0)
    with pytest.raises(ag.AgradError) as caught:
        y.forward()
    assert caught.value.kind == "guard"
    assert y.item() == 2


@pytest.mark.parametrize("source", SOURCES)
def test_a_constant_of_the_data_of_a_leaf_is_not_replayed(source):
    x = ag.tensor(1.0, requires_grad=True)
    y = x * SOURCES[source](x).detach()
    x.set_(-1.0)
    with pytest.raises(ag.AgradError) as caught:
        y.forward()
    assert caught.value.kind == "guard"


@pytest.mark.parametrize("source", SOURCES)
def test_another_leaf_may_change(source):
    x, w = ag.tensor(1.0, requires_grad=True), ag.tensor(3.0, requires_grad=True)
    y = w * 2 if SOURCES[source](x).item() > 0 else -w
    w.set_(5.0)
    y.forward()
    assert y.item() == 10


@pytest.mark.parametrize("source", ["a gradient", "a sum of gradients", "a gradient of an array"])
def test_what_is_built_after_a_write_is_under_no_guard(source):
    x = ag.tensor(1.0, requires_grad=True)
    for value in (1.0, 2.0, -1.0):
        x.set_(value)
        y = chosen(x, READS["item"], SOURCES[source])
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


@pytest.mark.parametrize("shape", [(), (3,)])
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
