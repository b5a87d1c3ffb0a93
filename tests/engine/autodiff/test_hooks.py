"""Hooks, Functions of the user, saved values, gradcheck and detect_anomaly, as in PyTorch."""

import pytest
from refused import leaf, refusals, refuses
from rows import each

import agrad.engine as ag
from agrad.engine import autograd
from agrad.engine.core.graph import Node
from agrad.engine.errors import AgradError


def test_a_hook_sees_the_whole_gradient_of_one_backward():
    x, seen = leaf([1.0, 2.0]), []
    y = x * 3
    y.register_hook(lambda g: seen.append(g.tolist()))
    (y.sum() + (y * y).sum()).backward()
    assert seen == [[7, 13]]


@each("value", [3.0, [3.0, 4.0]])
def test_what_a_hook_returns_goes_on(value):
    x = leaf(value)
    y = x * 2
    y.register_hook(lambda g: g * 10)
    y.retain_grad()
    (y * y).sum().backward()
    assert (x.grad / x).detach().numpy().tolist() == (0 * x + 80).tolist()
    assert (y.grad / x).detach().numpy().tolist() == (0 * x + 40).tolist()


def test_hooks_run_in_order_and_can_be_removed():
    x, seen = leaf(2.0), []
    first = x.register_hook(lambda g: g + 1)
    x.register_hook(lambda g: seen.append(g.item()))
    (x * 3).backward()
    first.remove()
    first.remove()
    (x * 3).backward()
    assert seen == [4, 3]
    assert x.grad.item() == 7


def test_the_hook_of_a_leaf_runs_before_the_gradient_is_added():
    x = leaf([1.0])
    x.register_hook(lambda g: g * 2)
    for _ in range(2):
        (x * 5).sum().backward()
    assert x.grad.tolist() == [20]


def test_a_hook_gives_every_entry_also_where_none_was_selected():
    x = leaf([1.0, -1.0])
    y = x * 1
    y.register_hook(lambda g: g + 1)
    ag.relu(y).sum().backward()
    assert x.grad.tolist() == [2, 1]


def test_a_hook_of_a_gradient_that_is_recorded_is_recorded():
    x = leaf(3.0)
    y = x * x
    y.register_hook(lambda g: g * x)
    g = ag.grad(y * 1.0, x, create_graph=True)
    assert g.item() == 18
    g.backward()
    assert x.grad.item() == 12


def test_a_hook_that_raises_leaves_everything_as_it_was():
    x = leaf(3.0)
    y = x * x

    def refuse(g):
        raise ValueError("no")

    y.register_hook(refuse)
    z = y * 2
    with pytest.raises(ValueError, match="no"):
        z.backward()
    assert x.grad is None
    assert z.node.freed is None


def test_a_replay_with_hooks_calls_them_each_time():
    x, seen = leaf(1.0), []
    y = x * x * x
    x.register_hook(lambda g: seen.append(g.item()))
    for number in range(400):
        x.set_(float(number))
        y.forward()
        y.backward(retain_graph=True)
    assert seen == [3.0 * number**2 for number in range(400)]


@each("call, kind, message", refusals("hooks and functions", globals()))
def test_a_mistake_is_named(call, kind, message):
    refuses(call, message, kind=kind)


def hooked(value, hook):
    x = leaf(value)
    x.register_hook(hook)
    (x * 2).sum().backward()


def traced(x):
    y = x * 2
    y.register_hook(print)
    return y


def anomalous():
    x = leaf(0.0)
    with autograd.detect_anomaly():
        (x / x).backward()


def kept(ctx, *saved):
    """Save values; the last."""
    ctx.save_for_backward(*saved)
    return saved[-1]


def function(name, forward, backward=None):
    """A Function of the user of this name."""
    methods = {"forward": forward, "backward": backward} if backward else {"forward": forward}
    return type(name, (autograd.Function,), {key: staticmethod(method) for key, method in methods.items()})


def scaled(ctx, x, factor, y, mode="plain"):
    ctx.factor = factor
    ctx.save_for_backward(x, y)
    return x * factor + y


def scaled_back(ctx, g):
    needs = ctx.needs_input_grad
    return g * ctx.factor if needs[0] else None, None, g if needs[2] else None, None


Cube = function("Cube", lambda ctx, x: kept(ctx, x) ** 3, lambda ctx, g: g * 3 * ctx.saved_tensors[0] ** 2)
Exp = function("Exp", lambda ctx, x: kept(ctx, ag.exp(x)), lambda ctx, g: g * ctx.saved_tensors[0])
Scaled = function("Scaled", scaled, scaled_back)
Wrong = function("Wrong", lambda ctx, x: kept(ctx, x) ** 3, lambda ctx, g: g * 2 * ctx.saved_tensors[0] ** 2)
Half = function("Half", lambda ctx, x: x * 2)
Two = function("Two", lambda ctx, x: (x, x))
Short = function("Short", lambda ctx, x, n: x * n, lambda ctx, g: g)
Wide = function("Wide", lambda ctx, x: x * 2, lambda ctx, g: ag.ones(2))


@each("function", [Cube, Exp])
@each("value", [1.5, [0.5, 1.5]])
def test_a_function_has_derivatives_of_every_order(function, value):
    plain = {Cube: lambda x: x * x * x, Exp: ag.exp}[function]
    x = leaf(value)
    found = []
    for f in (function.apply, plain):
        first = ag.grad((f(x * 1.0)).sum(), x, create_graph=True)
        second = ag.grad(first.sum(), x, create_graph=True)
        third = ag.grad(second.sum(), x)
        found.append([n for g in (first, second, third) for n in (g.tolist() if g.shape else [g.item()])])
    assert found[0] == pytest.approx(found[1], rel=1e-12)
    assert autograd.gradcheck(function.apply, (x,))


def test_other_arguments_get_no_gradient():
    x, y = leaf([1.0, 2.0]), ag.tensor([3.0, 4.0])
    z = Scaled.apply(x, 5.0, y)
    z.sum().backward()
    assert z.tolist() == [8, 14]
    assert x.grad.tolist() == [5, 5]
    assert repr(z.grad_fn) == "<ScaledBackward>"


def test_a_function_is_computed_again_by_a_replay():
    x = leaf([1.0, 2.0])
    y = Exp.apply(Cube.apply(x)).sum()
    x.set_([0.5, 1.0])
    y.forward()
    y.backward()
    assert x.grad.tolist() == pytest.approx((3 * x**2 * ag.exp(x**3)).tolist())


def test_a_write_into_what_was_saved_is_refused():
    x = leaf([1.0, 2.0])
    y = x * 1
    z = Cube.apply(y).sum()
    y *= 2
    refuses(z.backward, kind="stale")


def test_what_a_node_saved_has_pytorchs_names():
    x, y = leaf(2.0), leaf(3.0)
    product, power, root = x * y, x**3, ag.sqrt(x)
    assert [product.grad_fn._saved_self.item(), product.grad_fn._saved_other.item()] == [2, 3]
    assert [power.grad_fn._saved_self.item(), power.grad_fn._saved_exponent.item()] == [2, 3]
    assert root.grad_fn._saved_result.item() == root.item()
    assert not hasattr((x + y).grad_fn, "_saved_self")
    with pytest.raises(AttributeError, match="<AddBackward> saved nothing"):
        (x + y).grad_fn._saved_self  # noqa: B018
    product.backward()
    with pytest.raises(AgradError) as error:
        product.grad_fn._saved_self  # noqa: B018
    assert error.value.kind == "freed"


def test_attributes_of_nodes_and_values_are_read_from_their_slots():
    """With a `__getattr__`, Python looks each of them up: graphs of numbers took a third longer."""
    for kind in (Node, ag.Tensor):
        assert not hasattr(kind, "__getattr__")
        assert kind.__getattribute__ is object.__getattribute__


def test_the_graph_is_walked_by_next_functions():
    x, y = leaf(2.0), leaf(3.0)
    z = (x * y).sin()
    ((times, _),) = z.grad_fn.next_functions
    assert repr(times) == "<MulBackward>"
    assert [node.variable is one for (node, _), one in zip(times.next_functions, (x, y), strict=True)] == [True, True]
    assert times.next_functions[0][0].next_functions == ()


def test_gradcheck_can_answer_without_an_error():
    assert autograd.gradcheck(Wrong.apply, (leaf([2.0, 3.0]),), raise_exception=False) is False
    assert autograd.gradcheck(lambda x, y: (x * y, x + y), (leaf([1.0, 2.0]), leaf(3.0)))


def test_detect_anomaly_ends_with_its_block():
    x = leaf(0.0)
    with autograd.detect_anomaly():
        (x * 2).backward()
    (x / x).backward()
    assert x.grad.item() != x.grad.item()
