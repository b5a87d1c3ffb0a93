"""A derivative of a function says so where the function has lost its graph; and it leaves none where none is needed."""

import math

import numpy as np
import pytest
from refused import refuses
from rows import each

import agrad.engine as ag

LOST = {
    "math.sin": math.sin,
    "x.item()": lambda x: 2 * x.item(),
    "a tensor of it": lambda x: ag.tensor(2 * x.item()),
    "x.numpy()": lambda x: np.sum(x.numpy() ** 2),
    "x.data": lambda x: 3 * x.data,
    "float(x)": lambda x: float(x) ** 2,
    "math.floor": math.floor,
    "np.float64": lambda x: np.float64(x) * 2,
    "one that decides": lambda x: 1.0 if x.item() > 0 else 2.0,
    "a constant of it": lambda x: ag.tensor(x) * 2,
    "np.full": lambda x: ag.sum(ag.tensor(np.full(3, x.item()))),
    "np.vectorize": lambda x: ag.tensor(np.vectorize(math.sin)(x.detach())),
    "a compiled function": lambda x: ag.compile(lambda z: z * z, 1.0).value(x),
    "a compiled gradient": lambda x: ag.compile(lambda z: z * z, 1.0).value_and_grad(x)[1],
    "compiled columns": lambda x: ag.sum(ag.tensor(ag.compile(lambda z: z * z, 1.0).map(x)[0])),
    "ag.grad": lambda x: ag.grad(x**3, x),
    "ag.jacobian": lambda x: ag.jacobian(x**3, x),
    "ag.hessian": lambda x: ag.hessian(x**3, x),
    "ag.vjp": lambda x: ag.vjp(x**3, x, 1.0),
    "ag.jvp": lambda x: ag.jvp(x**3, x, 1.0),
    "ag.hvp": lambda x: ag.hvp(x**3, x, 1.0),
    "a gradient": lambda x: gradient_in(x),
    "read inside another": lambda x: ag.grad(lambda z: z * x.item())(2.0),
}


def gradient_in(x):
    y = x * 1
    y.retain_grad()
    (y**3).backward()
    return y.grad


# A program of these is refused: a constant was computed from an argument.
UNTRACED = {name for name in LOST if name.startswith("ag.")} | {"a constant of it", "a gradient"}


WAYS = {
    "grad": lambda f: ag.grad(f)(0.5),
    "jacobian": lambda f: ag.jacobian(f)(0.5),
    "hessian": lambda f: ag.hessian(f)(0.5),
    "grad of a leaf": lambda f: ag.grad(f)(ag.tensor(0.5, requires_grad=True)),
    "jvp": lambda f: ag.jvp(f, 0.5, 1.0),
    "vjp": lambda f: ag.vjp(f, 0.5, 1.0),
    "hvp": lambda f: ag.hvp(f, 0.5, 1.0),
    "compiled": lambda f: ag.compile(f, 0.5).value_and_grad(0.5),
    "compiled elsewhere": lambda f: ag.compile(f, 0.25).value_and_grad(0.5),
    "compiled columns": lambda f: ag.compile(f, 0.5).map([0.5, 0.75]),
    "compiled hessian": lambda f: ag.compile(f, 0.5).hessian(0.5),
}


@each("way", WAYS)
@each("name", LOST)
def test_a_function_that_loses_its_graph_has_no_derivative(way, name):
    if name in UNTRACED and way.startswith("compiled"):
        refuses(lambda: WAYS[way](LOST[name]), "cannot be compiled")
        return
    caught = refuses(lambda: WAYS[way](LOST[name]), "its result has no graph")
    assert caught.kind == "grad"
    direct = name in ("math.sin", "math.floor")
    assert caught.message.startswith(f"{way.split()[0].replace('compiled', 'compile')} of ")
    assert (f"{__file__}:" in caught.message) is not direct


@each("name", sorted(LOST.keys() - UNTRACED))
def test_the_value_of_such_a_function_can_be_compiled(name):
    compiled = ag.compile(LOST[name], 0.25)
    for x in (0.25, 0.5, 0.75):
        y = LOST[name](ag.tensor(x))
        assert compiled.value(x) == (y.item() if isinstance(y, ag.Tensor) else y)


def test_only_what_is_asked_for_has_to_have_a_graph():
    compiled = ag.compile(lambda x, y: x * y.item(), 2.0, 3.0, wrt=0)
    assert compiled.value_and_grad(5.0, 7.0) == (35.0, 7.0)
    refuses(lambda: ag.compile(lambda x, y: x * y.item(), 2.0, 3.0).value_and_grad(5.0, 7.0), "argument 1 was read")


@each("name", LOST)
def test_the_check_of_such_a_function_fails(name):
    assert not ag.check(LOST[name], 0.5).ok or name in ("math.floor", "one that decides")


def test_the_argument_that_was_read_is_named():
    def f(x, y):
        return x * y.item()

    assert ag.grad(f)(2.0, ag.tensor(3.0)).item() == 3
    caught = refuses(lambda: ag.grad(f, (0, 1))(2.0, 3.0), "argument 1 was read")
    assert f"{__file__}:{f.__code__.co_firstlineno + 1}" in caught.message


CONSTANT = {
    "a number": lambda x: 5.0,
    "detached": lambda x: x.detach() * 2,
    "a choice": lambda x: 1.0 if x > 0 else 2.0,
    "shown": lambda x: len(f"{x:.3f}{x}"),
    "of another": lambda x: np.float64(3.0),
}


@each("name", CONSTANT)
def test_the_derivative_of_a_constant_is_0(name):
    assert ag.grad(CONSTANT[name])(0.5) == 0


@each(
    "function",
    [
        lambda a: a * ag.grad(lambda b: a * b)(2.0),
        lambda a: ag.grad(lambda b: a * b * b)(2.0) * ag.sin(a),
        lambda a: ag.jvp(lambda b: a * b * b, 2.0, 1.0),
        lambda a: ag.vjp(lambda b: a * b * b, 2.0, 1.0),
        lambda a: ag.hessian(lambda b: a * b**3)(2.0),
        lambda a: ag.hvp(lambda b: a * b**3, 2.0, 1.0),
        lambda a: ag.sum(ag.jacobian(lambda b: a * b * b)(np.ones(2))),
    ],
)
def test_a_derivative_inside_a_derivative_leaves_no_graph(function):
    first, second = [ag.grad(one)(ag.tensor(1.5)) for one in (function, ag.grad(function))]
    assert (first.requires_grad, second.requires_grad) == (False, False)
    h = 1e-5
    values = [float(function(ag.tensor(1.5 + k * h))) for k in (-1, 1)]
    assert first.item() == pytest.approx((values[1] - values[0]) / (2 * h), rel=1e-8)
    w = ag.tensor(3.0, requires_grad=True)
    outer = ag.grad(lambda a: w * function(a))(1.5)
    outer.backward()
    assert w.grad.item() == pytest.approx(first.item(), rel=1e-12)


@each("change", [lambda b: b.__setitem__(0, 5.0), lambda b: b.__iadd__(1.0), lambda b: b.__imul__(2)])
@each("make", [lambda a, c: a / c, lambda a, c: ag.stack([ag.var(a), ag.var(c)]) * a])
def test_a_result_that_no_rule_reads_may_be_written(make, change):
    a, c = (ag.tensor(x, requires_grad=True) for x in ([1.0, 2.0], [3.0, 5.0]))
    b = make(a, c)
    change(b)
    b.sum().backward()
    assert np.isfinite(a.grad.numpy()).all()


@each("subscripts", ["i->", "ij->", "ij->i", "ij->j", "i,i->", "ij,jk->ik", "i,j->ij"])
@each("shape", [(0,), (0, 2), (2, 0), (0, 0)])
def test_a_sum_over_nothing_has_a_gradient(subscripts, shape):
    terms = subscripts.split("->")[0].split(",")
    if len(terms[0]) != len(shape):
        return
    others = [np.ones([*reversed(shape)][: len(term)]) for term in terms[1:]]
    gradient = ag.grad(lambda x: ag.sum(ag.einsum(subscripts, x, *others)))(np.zeros(shape))
    assert gradient.shape == shape


def written(v):
    b = v * 1.0
    b[0] = v[0] ** 2
    return ag.sum(b * b)


def written_twice(v):
    b = v * 3.0
    b[0] = v[1] * b[1]
    b[-1] = b[0] * v[0]
    return ag.sum(b * v)


def written_matrix(v):
    b = ag.outer(v, v)
    b[0, 1] = ag.sum(v)
    b[1] = v * 2
    return ag.sum(b * b)


@each("function", [written, written_twice, written_matrix])
def test_the_compiled_hessian_of_a_function_that_writes_entries(function):
    x = np.array([1.5, 2.0])
    expected = ag.hessian(function)(x)
    np.testing.assert_allclose(ag.compile(function, x).hessian(x), expected, rtol=1e-12)
    assert x.tolist() == [1.5, 2.0]
