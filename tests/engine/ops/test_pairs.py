"""Complex numbers as pairs: values and derivatives against NumPy's and PyTorch's complex numbers."""

import numpy as np
import pytest
from rows import each

import agrad.engine as ag
from agrad.engine.errors import AgradError
from agrad.grammar.session.session import Session

RANDOM = np.random.default_rng(5)


def whole(pairs):
    """As numpy has them."""
    found = np.asarray(getattr(pairs, "value", pairs))
    return found[..., 0] + 1j * found[..., 1]


def pairs(z):
    return np.stack([z.real, z.imag], -1)


def some(*shape):
    return RANDOM.normal(size=shape)


@each("shape", [(1,), (2,), (3,), (8,), (9,), (2, 5), (3, 2, 6), (2, 1)])
def test_spectra_are_those_of_numpy(shape):
    x = some(*shape)
    found = ag.rfft(x)
    np.testing.assert_allclose(whole(found), np.fft.rfft(x), atol=1e-14)
    np.testing.assert_allclose(np.asarray(ag.irfft(found, shape[-1])), x, atol=1e-14)


@each("shape", [(2,), (4, 2), (3, 1, 2)])
def test_products_and_quotients_are_those_of_numpy(shape):
    x, y = some(*shape), some(*shape)
    np.testing.assert_allclose(whole(ag.cmul(x, y)), whole(x) * whole(y), rtol=1e-14)
    np.testing.assert_allclose(whole(ag.cdiv(x, y)), whole(x) / whole(y), rtol=1e-14)
    np.testing.assert_allclose(whole(ag.cdiv(x * 1e200, y * 1e200)), whole(x) / whole(y), rtol=1e-14)
    r, phi = np.abs(x), y
    np.testing.assert_allclose(whole(ag.polar(r, phi)), r * np.exp(1j * phi), rtol=1e-13)


@each("degree", range(1, 13))
def test_roots_are_those_of_numpy(degree):
    c = some(degree + 1)
    known = np.roots(c)
    known = known[np.lexsort((known.imag, known.real))]
    found = whole(ag.roots(c))
    np.testing.assert_allclose(found, known, rtol=1e-8)
    assert np.all(np.abs(np.polyval(c, found)) <= np.abs(np.polyval(c, known)) + 1e-13)
    assert [*found.real] == sorted(found.real)


def test_a_polynomial_of_a_lower_degree_has_no_roots_here():
    assert np.isnan(ag.roots([0.0, 1.0, 2.0])).all()
    assert np.asarray(ag.roots([1.0, 0.0, 0.0])).tolist() == [[0, 0], [0, 0]]


def of_torch(torch):
    """The same functions in PyTorch, whose numbers are complex."""
    complex_of, real_of = torch.view_as_complex, torch.view_as_real

    def roots(c):
        n = len(c) - 1
        companion = torch.cat([torch.cat([-c[1:][None] / c[0]], 0), torch.eye(n - 1, n, dtype=torch.float64)], 0)
        z = torch.linalg.eigvals(companion)
        order = np.lexsort((z.detach().numpy().imag, z.detach().numpy().real))
        return real_of(z[torch.tensor(order)])

    return {
        "rfft": lambda x: real_of(torch.fft.rfft(x)),
        "irfft": lambda x: torch.fft.irfft(complex_of(x), 5),
        "cmul": lambda x, y: real_of(complex_of(x) * complex_of(y)),
        "cdiv": lambda x, y: real_of(complex_of(x) / complex_of(y)),
        "polar": lambda x, y: real_of(torch.polar(x, y)),
        "roots": roots,
    }


CASES = {
    "rfft": [some(6)],
    "irfft": [some(3, 2)],
    "cmul": [some(3, 2), some(3, 2)],
    "cdiv": [some(3, 2), some(3, 2)],
    "polar": [np.abs(some(4)), some(4)],
    "roots": [np.array([1.0, -3.0, 2.5, 0.7, -1.0])],
}


@each("name, operands", CASES.items())
def test_gradients_of_both_orders_are_those_of_pytorch(name, operands):
    torch = pytest.importorskip("torch")
    theirs = [torch.tensor(x, requires_grad=True) for x in operands]
    first = of_torch(torch)[name](*theirs)
    weights = some(*first.shape)
    # PyTorch's irfft has its derivatives by imaginary parts that do not matter, too.
    slopes = torch.autograd.grad((first**2 * torch.tensor(weights)).sum(), theirs, create_graph=True)
    curved = torch.autograd.grad(sum((slope**2).sum() for slope in slopes), theirs)

    function, places = (lambda x: ag.irfft(x, 5)) if name == "irfft" else getattr(ag, name), tuple(range(len(operands)))
    slopes_of = ag.grad(lambda *xs: ag.sum(function(*xs) ** 2 * weights), places)
    firsts = slopes_of(*operands)
    seconds = ag.grad(lambda *xs: sum(ag.sum(slope**2) for slope in slopes_of(*xs)), places)(*operands)
    for found, known in zip([*firsts, *seconds], [*slopes, *curved], strict=True):
        np.testing.assert_allclose(np.asarray(found), known.detach().numpy(), rtol=1e-8, atol=1e-10)


SHOWN = {
    "y = rfft([1, 2, 0.5] V); y[0]": "[3.5, 0] V",
    "irfft(rfft([1, 2, 3] mm), 3)": "[1, 2, 3] mm",
    "cdiv([3, 4] V, [1, 2] A)": "[2.2, -0.4] Ω",
    "cmul([3, 4] A, [1, 2] Ω)": "[-5, 10] V",
    "polar(2 m, 0)": "[2, 0] m",
    "roots([1, 2, -3] m)": "[[-3, 0], [1, 0]]",
    "R = 40.0 ± 0.5 Ω; Z = stack([R, 30 Ω]); I = cdiv([10, 0] V, Z); hypot(I[0], I[1])": "0.2000 ± 0.0016 A",
    "a = 2.0 ± 0.1; roots([1, -3, a])": "[[1.00 ± 0.10, 0 ± 0], [2.00 ± 0.10, 0 ± 0]]",
}


@each("text, expected", SHOWN.items())
def test_units_and_uncertainties(text, expected):
    session, shown = Session(), []
    session.run(text, lambda result: shown.append(result.text(session.settings)))
    assert shown[-1] == expected


@each(
    "text",
    """rfft(3); cmul(3, [1, 2]); cmul([1, 2, 3], [1, 2]); irfft([1, 2]); irfft([[1, 2]], 4); roots([1]);
    roots([[1, 2]]); irfft([[1, 2]], 0)""".split(";"),
)
def test_other_shapes_are_refused(text):
    with pytest.raises(AgradError) as problem:
        Session().run(text.strip())
    assert problem.value.kind in ("shape", "type")
