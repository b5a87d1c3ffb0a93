"""Whatever is typed gives a result or an AgradError of a known kind: no other exception leaves the language."""

import warnings

import pytest

from agrad.engine.errors import AgradError
from agrad.grammar.session.session import Session

START = """
var x = [1, 2]
var s = 2
y = sum(x**2)
A = ones(2, 3)
E = zeros(0, 2)
def pair(x) = x, x
def gives(x) = sin
"""

# What is typed, and the kind of the error; None where there is a result.
METHODS = [
    ("x.item(1)", "arity"),
    ("x.item()", "shape"),
    ("s.item()", None),
    ("x.zero_(3)", "arity"),
    ("x.backward(foo=1)", "arity"),
    ("y.backward(retain_graph=True)", None),
    ("x.retain_grad(1)", "arity"),
    ("x.detach(1)", "arity"),
    ("x.detach(x=1)", "arity"),
    ("x.add_()", "arity"),
    ("x.add_(1, x=7)", "arity"),
    ("x.add_(sin)", "type"),
    ("x.copy_()", "arity"),
    ('s.copy_("a")', "leaf"),
    ('A.copy_("a")', "type"),
    ("x.size(7)", "shape"),
    ('x.size("a")', "type"),
    ("x.size(-1)", None),
    ("x.size(dim=0)", None),
    ("x.dim(0)", "arity"),
    ("x.numel(0)", "arity"),
    ("x.t(0)", "arity"),
    ("x.view()", "arity"),
    ("x.view(2, 1)", None),
    ("x.view((1, 2))", None),
    ("x.max(0, False, 3)", "arity"),
    ("x.max(axis=0)", None),
    ('x.to("cpu", dtype=None)', None),
    ("x.to(float=3)", "arity"),
    ("x.requires_grad_(False)", None),
    ("x.requires_grad_(1, 2)", "arity"),
    ("x.grad.zero_()", "grad"),
]

DERIVATIVES = [
    ("grad(sin, ())(1)", "arity"),
    ("grad(y, ())", "arity"),
    ("grad(sin, 1)(1)", "arity"),
    ("grad(y)", "arity"),
    ("jacobian(y)", "arity"),
    ("hessian(y)", "arity"),
    ("grad(y, 0)", "type"),
    ("grad(3)", "type"),
    ("grad(pair)(1)", "type"),
    ("jvp(pair, 1, 1)", "type"),
    ("vjp(pair, 1, 1)", "type"),
    ("hvp(pair, 1, 1)", "type"),
    ("jvp(gives, 1, 1)", "type"),
    ("vjp(gives, 1, 1)", "type"),
    ("hvp(gives, 1, 1)", "type"),
    ("jvp(sin, (), ())", "arity"),
]

PYTORCH = [
    ("torch.max()", "arity"),
    ("torch.max(x, n=3)", "arity"),
    ("torch.max(x, dim=0)", None),
    ("torch.max(x, x)", None),
    ("torch.std(x, foo=1)", "arity"),
    ("torch.std(x, 0, False)", None),
    ("torch.autograd.grad()", "arity"),
    ("torch.autograd.grad(y, x, foo=1)", "arity"),
    ("torch.autograd.functional.hessian(sin)", "arity"),
    ("torch.autograd.functional.hessian(sin, 1)", None),
    ("torch.autograd.functional.hessian(1, 1)", "type"),
]

INDEXES = [
    ("x[[1, 2]:3]", "type"),
    ("x[1:sin]", "type"),
    ("x[(1, (2, 3)),]", "type"),
    ("x[::0]", "type"),
    ("x[0:1e30]", None),
    ("x[1e30]", "shape"),
    ("x[[nan]]", "type"),
    ("(1, 2, 3)[::0]", "type"),
    ("range(3)[::0]", "type"),
    ("(1, 2, 3)[::2]", None),
    ("(1, 2, 3)[sin:]", "type"),
    ("range(1e30)[0]", "limit"),
    ("len(range(1e300))", "limit"),
    ("range(2**53)[2**52]", None),
]

TEXTS = [
    ('f"{1e7:c}"', "type"),
    ('f"{55296:c}"', "type"),
    ('f"{65:c}"', None),
    ('f"{1:>9999999999999}"', "limit"),
    ('f"{1:.9999999999999f}"', "limit"),
    ('f"{x:>20}"', None),
    ('f"{sin:>20}"', "type"),
    ("(sin, 1) == (sin, 1)", None),
    ("(x, 1) == (sin, 1)", None),
    ("(x, 1) == (range(2), y.grad_fn)", None),
]

COMMANDS = [
    ('step sgd s lr="x"', "type"),
    ("step sgd s lr=None", "type"),
    ("step sgd s lr=(1, 2)", "type"),
    ("step sgd s lr=sin", "type"),
    ("step sgd s lr=[1, 2]", "type"),
    ("step sgd s lr=0.1", "grad"),
]

MAKERS = [
    ("zeros(0, 1e30)", "limit"),
    ("eye(0, 1e30)", "limit"),
    ("rand(0, 1e30)", "limit"),
    ("zeros(1e30, -1)", "limit"),
    ("zeros(" + "1, " * 65 + ")", "limit"),
    ("full(" + "(1, " * 1 + "1e6, 1e6), 3)", "limit"),
    ("expand(1, 1e6, 1e6)", "limit"),
    ("arange(0, 1e300, 1e-300)", "limit"),
    ("arange(1e12)", "limit"),
    ("split(E, 1e30)", "limit"),
    ("split(E, 1e9)", "limit"),
    ("split(E, 3)", None),
    ("split(x, [1e30])", "limit"),
    ("repeat(E, 1e30)", "limit"),
    ("repeat(x, 1e9)", "limit"),
    ("tile(x, 1e9)", "limit"),
    ("tile(x, -1)", "shape"),
    ("tile(E, 1e30)", "limit"),
    ("permute(x, 1e30)", "limit"),
    ("sort(x, 3)", "shape"),
    ("norm(E, 2)", "shape"),
    ("norm(E, 1)", None),
    ("arange(1, 0)", None),
    ("arange(1e30, 0)", None),
    ("linspace(0, 1, 1e12)", "limit"),
    ("linspace(0, inf, 3)", None),
    ("linspace(0, 1, -1)", "shape"),
    ('load_npy("/dev/null")', "file"),
    (f'load_csv("{"a" * 300}")', "file"),
    ("load_csv(3)", "type"),
    ("cross_entropy([[1, 2]], [-1])", "shape"),
    ("cross_entropy([1, 2], -1)", "shape"),
    ("cross_entropy([1, 2], nan)", "shape"),
    ("cross_entropy([1, 2], 2)", "shape"),
]


@pytest.mark.parametrize(("text", "kind"), [*METHODS, *DERIVATIVES, *PYTORCH, *INDEXES, *TEXTS, *COMMANDS, *MAKERS])
def test_a_result_or_an_error_of_a_known_kind(text, kind):
    session = Session()
    session.run(START)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            session.run(text)
        except AgradError as error:
            assert error.kind == kind, error.message
        else:
            assert kind is None
