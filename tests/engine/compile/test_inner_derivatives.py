"""Derivatives within a compiled function, by arguments that it is, or is not, itself differentiated by."""

import pytest
from rows import each

import agrad.engine as ag
from agrad.engine.values import np

DATA = np.linspace(0.0, 1.0, 7)
INNER = {
    "grad": lambda f, w, b: ag.grad(f)(w, b),
    "grad by the second": lambda f, w, b: ag.grad(f, 1)(w, b) * w,
    "grad by both": lambda f, w, b: sum(ag.grad(f, (0, 1))(w, b)),
    "grad of grad": lambda f, w, b: ag.grad(ag.grad(f, 1))(w, b),
    "hessian": lambda f, w, b: ag.sum(ag.hessian(f, (0, 1))(w, b)),
    "jacobian": lambda f, w, b: ag.sum(ag.jacobian(lambda w: w * DATA * b)(w)),
    "jvp": lambda f, w, b: ag.jvp(lambda w: f(w, b), w, 2.0),
    "vjp": lambda f, w, b: ag.vjp(lambda w: f(w, b), w, 2.0),
    "hvp": lambda f, w, b: ag.hvp(lambda w: f(w, b), w, 2.0),
    "grad at what was computed": lambda f, w, b: ag.grad(f)(w * b, b + 1.0),
}


def loss(w, b):
    return ag.mean(ag.sin(w * DATA + b) ** 2)


@each("backend", ["python", "llvm"])
@each("wrt", [(), (0,), (1,), (0, 1)])
@each("name", INNER)
def test_a_derivative_within_a_compiled_function(name, wrt, backend):
    if backend == "llvm":
        pytest.importorskip("llvmlite")

    def f(w, b):
        return INNER[name](loss, w, b) * w + b

    compiled = ag.compile(f, 0.1, 0.2, wrt=wrt, backend=backend)
    w, b = (ag.tensor(x, requires_grad=True) for x in (0.3, -0.4))
    y = f(w, b)
    by = [float(x) for x in ag.grad(y, [w, b])]
    assert compiled.value(0.3, -0.4) == pytest.approx(float(y), rel=1e-13)
    if wrt:
        value, gradients = compiled.value_and_grad(0.3, -0.4)
        assert value == pytest.approx(float(y), rel=1e-13)
        assert gradients == pytest.approx([by[place] for place in wrt], rel=1e-12)


@each("wrt", [(), (1,), (0, 1)])
def test_a_training_loop(wrt):
    def trained(w, b):
        for _ in range(200):
            by_w, by_b = ag.grad(loss, (0, 1))(w, b)
            w, b = w - 0.1 * by_w, b - 0.1 * by_b
        return w + b

    compiled = ag.compile(trained, 0.1, 0.2, wrt=wrt, backend="python")
    assert compiled.value(0.5, 0.6) == float(trained(ag.tensor(0.5), ag.tensor(0.6)))


def test_what_an_argument_without_a_derivative_gives_requires_none():
    kinds = []

    def f(w, b):
        g = ag.grad(loss)(w, b)
        kinds.append(g.requires_grad)
        return g

    ag.compile(f, 0.1, 0.2, wrt=())
    ag.compile(f, 0.1, 0.2, wrt=(1,))
    assert kinds == [False, True]


def test_a_loop_with_matrix_products_that_is_one_operation():
    rng = np.random.default_rng(0)
    matrix, start = rng.normal(size=(5, 5)), rng.normal(size=5)

    def f(x):
        for _ in range(1000):
            x = ag.sin(matrix @ x) + 0.1 * x  # where the last digit of a product grows to all digits
        return ag.sum(x * x)

    assert ag.compile(f, start, backend="python").value(start) == float(f(ag.tensor(start)))
