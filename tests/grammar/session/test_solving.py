"""`fit`, `solve`, `minimize` and `maximize`: what they find, what they leave behind, and what they refuse."""

import math

import numpy as np
import pytest
from rows import each
from sessions import error, said

from agrad.grammar.session.session import Session

pytest.importorskip("scipy")


def test_parameters_are_correlated_with_the_uncertain_values_they_were_found_from():
    session = Session()
    said("U = normal([1, 3, 4, 9], [1, 1, 2, 2]); x = [0, 1, 2, 3]; fit U ~ a + b*x over a, b from a=1, b=1", session)
    design, sigma = np.array([[1, 0], [1, 1], [1, 2], [1, 3]]), np.array([1.0, 1, 2, 2])
    covariance = np.linalg.inv(design.T @ np.diag(sigma**-2) @ design)
    residuals = np.diag(sigma**2) - design @ covariance @ design.T  # of a linear fit, exactly
    assert session.evaluate("(U - a - b*x).u") == pytest.approx(np.sqrt(np.diag(residuals)))
    said("c = a; fit U ~ a + b*x over a, b", session)
    assert session.evaluate("(c - a).u") == pytest.approx(0, abs=1e-7)
    said("fit U ~ m over m from m=1", session)
    mean, weights = sigma @ sigma / 16, 1 / np.sum(sigma**-2)
    assert session.evaluate("(mean(U) - m).u") == pytest.approx(np.sqrt(mean - weights))
    said("V = normal(U.detach(), [1, 1, 2, 2]); fit V ~ m over m sigma [2, 2, 4, 4]", session)
    assert session.evaluate("(V[0] - m).u") == pytest.approx(np.sqrt(1 + 4 * weights))


@pytest.mark.parametrize("method", ["newton", "krylov", "bfgs", "lbfgs", "cg"])
def test_all_methods_find_the_minimum(method):
    text = f"var x = -1.2; var y = 1; f = (1 - x)**2 + 100*(y - x**2)**2; minimize f over x, y method {method}; [x, y]"
    session = Session()
    said(text, session)
    assert [float(session.names[name]) for name in "xy"] == pytest.approx([1.0, 1.0], abs=1e-5)


def test_many_leaves_take_products_with_the_hessian():
    session = Session()
    said("var w = zeros(200); loss = sum((w - arange(200)/100)**2*(1 + arange(200))); minimize loss over w", session)
    np.testing.assert_allclose(session.names["w"].data, np.arange(200) / 100, atol=1e-6)


@each(
    "text, expected",
    [
        ("var w = 5; q = (w - 3)**4; minimize q over w; w", 3.0),
        ("var w = 2; b = 0.1; q = (w*b - 1)**2; minimize q over w; w", 10.0),
        ("var w = 0; var b = 1; q = (w + b - 3)**2; minimize q over w, b; w + b", 3.0),
        ("var w = 1; q = w**3; minimize q over w in -1..1; w", -1.0),
        ("var w = 0; q = -w**2; maximize q over w; w", 0.0),
    ],
)
def test_flat_minima_and_those_at_ends_are_found(text, expected):
    assert float(said(text)[-1]) == pytest.approx(expected, abs=2e-3)


@each("command", ["minimize loss", "maximize -loss"])
def test_a_leaf_of_any_name_is_moved_once(command):
    session = Session()
    said("var w = [1, 1]; s = [0, tensor(3, requires_grad=True)]", session)
    said("loss = sum((w - 2)**2) + (s[1] - 1)**2", session)
    said(f"{command} over w, s[1], w", session)
    assert session.evaluate("[*w, s[1]]").value == pytest.approx([2, 2, 1], abs=1e-6)


def test_a_minimum_is_as_uncertain_as_what_it_was_found_from():
    session = Session()
    lines = said(
        "a = 2 ± 0.1; b = 4 ± 0.2; var w = 1; q = (w - a)**2 + (w - b)**2 + w**4/50; minimize q over w", session
    )
    assert lines[-2].startswith("w = 2.634 ± 0.0")
    said("f = argmin(lambda t: (t - a)**2 + (t - b)**2 + t**4/50, 1)", session)
    assert session.evaluate("w.u") == pytest.approx(float(session.evaluate("f.u")))
    assert session.evaluate("(w - f).u") == pytest.approx(0.0, abs=1e-8)  # they have the same sources
    said("r = (w - 4)**2; minimize r over w", session)
    assert session.evaluate("(w*1).u") == 0.0 or session.names["w"].node.uncertainty is None
    session.steps.depth = 10
    said("r = (w - a)**2; minimize r over w", session)
    assert session.evaluate("(w - a).u") == pytest.approx(0.0, abs=1e-8)
    said("undo", session)
    assert session.names["w"].node.uncertainty is None
    assert said("q = (w - a)**2; maximize -q over w in -1..1", session)[-2] == "w = 1 ± 0"
    assert "no uncertainty of where the least q is" in said("v = 0*a; q = w**2*0 + v; minimize q over w", session)[0]


@each("loss, place, by_a, by_b", [  # a = 2 ± 0.1, b = 4 ± 0.2: the minimum in closed form, and its derivatives
    ("(w - a)**2 + (w - b)**2", 3, 0.5, 0.5),
    ("(w - a)**2 + 4*(w - b)**2", 3.6, 0.2, 0.8),
    ("exp(w) - a*b*w", math.log(8), 0.5, 0.25),
    ("w**2 + a*b/w", 4 ** (1 / 3), 4 ** (1 / 3) / 6, 4 ** (1 / 3) / 12),
    ("(w**2 - a*b)**2", math.sqrt(8), math.sqrt(2) / 2, math.sqrt(2) / 4),
])  # fmt: skip
def test_a_minimum_changes_with_what_was_measured_as_its_closed_form(loss, place, by_a, by_b):
    session = Session()
    said(f"a = 2 ± 0.1; b = 4 ± 0.2; var w = 2; q = {loss}; minimize q over w", session)
    assert float(session.names["w"].value) == pytest.approx(place, rel=1e-10)
    matrix = session.evaluate("covariance(w, a, b)").value
    np.testing.assert_allclose(matrix[0, 1:], [by_a * 0.01, by_b * 0.04], rtol=1e-9)
    assert matrix[0, 0] == pytest.approx((by_a * 0.1) ** 2 + (by_b * 0.2) ** 2, rel=1e-9)


def test_a_constant_in_a_model_is_told_with_a_fix_that_makes_it_a_parameter():
    data = "x = [0, 1, 2, 3, 4]; y = [2.1, 1.2, 0.8, 0.4, 0.3]\n"
    notes = []
    session = Session()
    session.run(
        data + "fit y ~ a*exp(-x/tau) over a from a=1", lambda result: notes.append(getattr(result, "note", None))
    )
    (note,) = filter(None, notes)
    assert note.message == "fit: tau is the constant 6.283185307 here, and no parameter"
    assert note.fixes == ["fit y ~ a*exp(-x/tau) over tau, a from a=1, tau=1"]
    lines = said(data + note.fixes[0])
    assert lines[-1].startswith("tau = 1.942 ± 0.092\na = 2.087")
    for quiet in (
        "fit y ~ a*exp(-x/tau) over a, tau from a=1, tau=1",
        "tau = 2; fit y ~ a*exp(-x/tau) over a from a=1",
    ):
        assert not any("constant" in line for line in said(data + quiet))
    assert not any("constant" in line for line in said(data + "fit y ~ a*e**(-x/2) + pi*b over a, b from a=1, b=0"))
    failed = error(data + "fit y ~ a*exp(-x/tau) + 0/0*tau over a, tau from a=1, tau=1")
    assert failed.notes == ["tau is still the constant 6.283185307"]


def test_where_there_is_no_uncertainty_the_reason_is_told():
    session = Session()
    said("a = 1 ± 0.1; b = 1 ± 0.1; c = 1 ± 0.1; correlate a b 1; correlate a c 0.5", session)
    assert said("a + b + c", session)[-1].startswith("note: the uncertainty is not known: the correlations of")
    contradicting = error("correlate b c -0.9", session)
    assert contradicting.message == (
        "correlate: the correlation of b and c cannot be -0.9: those that both have with a contradict that"
    )
    said("correlate b c 0.5", session)
    assert session.evaluate("(a + b + c).u") == pytest.approx(0.1 * 7**0.5)


@each(
    "text, bias",
    [
        ("(0.2 ± 0.1)**2", "a bias of 0.01 and "),
        ("sin(2*pi*(1 ± 0.1))**2", None),
        ("(1 ± 0.1)*(0.5 ± 0.2)*(3 ± 1)", ""),
    ],
)
def test_a_bias_below_the_printed_digits_is_not_told(text, bias):
    notes = [line for line in said(text) if line.startswith("note")]
    assert bias is None or notes[0].startswith(
        f"note: the uncertainty is of the first order: the second adds {bias}u = "
    )


@each(
    "text, expected",
    [
        ("def f(t, y) = where(t > 2, 2, 1); ode(f, 0, [0, 1, 3], atol=1e-3)[2]", 4.0),
        ("def f(t, y) = where(t > 2, 2, 1); root(lambda T: ode(f, 0, [0, T])[1] - 5, 3)", 3.5),
        ("def g(t, y) = [y[1], -9.81]; ode(g, [0, 5], [0, 10], until=lambda t, y: y[0])", 1.019367992),
        ("var s = 0.5; d = ode(lambda t, y: where(t > s, 1, 0), 0, [0, 2])[1]; grad(d, s)", -1.0),
        ("integral(lambda s: ode(lambda t, y: where(t > s, 1, 0), 0, [0, 2])[1], 0, 1)", 1.5),
        ("integral(exp(-(t - 50)**2), -inf, inf)", 1.772453851),
        ("integral(sin(t)/t, -1, 1, at=0)", 1.892166141),
    ],
)
def test_equations_and_integrals_of_the_language(text, expected):
    assert float(said(text)[-1]) == pytest.approx(expected, rel=1e-9)


@each(
    "text, expected",
    [
        ("solve x^2 - 5*x + 6 = 0", ["x = [2, 3]", "every real root of a polynomial of degree 2"]),
        ("b = 3; solve b*u = 6", ["u = 2", "every real root of a polynomial of degree 1"]),  # b has a value
        ("solve x = 2; solve x^2 = 9", ["x = [-3, 3]", "every real root of a polynomial of degree 2"]),
        (
            "solve (x - 1)^2*(x + 2) = 0",
            ["x = [-2, 1]", "every real root of a polynomial of degree 3; no simple root: 1"],
        ),
        ("solve x^2 == 4 for x in 0..9", ["x = 2", "every real root in 0..9 of a polynomial of degree 2"]),
        (
            "def f(t) = t^2; solve f(x) = 9 for x in 0..9",
            ["x = 3", "every real root in 0..9 of a polynomial of degree 2"],
        ),
        ("solve e^x = 5", ["x = 1.609437912", "found by a search in -10..10 alone"]),
        ("solve e^x = 1e10", ["x = 23.02585093", "found by a coarse search in -1000000..1000000 alone"]),
        (
            "solve tan(x) = 1 for x in 0..6",
            ["x = [0.7853981634, 3.926990817]", "found by a search in 0..6 for changes of sign and touching zeros"],
        ),
    ],
)
def test_all_roots_are_given_with_a_sentence_of_how_they_were_found(text, expected):
    assert said(text)[-2:] == expected


def test_each_of_several_roots_is_a_value_of_the_graph():
    session = Session()
    said("var a = 4; solve x^2 = a; y = x[1]^3", session)
    assert [float(session.evaluate(f"grad({name}, a)").data) for name in ("x[0]", "y")] == [-0.25, 3.0]
    said("forward y with a=9", session)
    assert float(session.evaluate("y").data) == pytest.approx(27.0)


@each(
    "text, expected",
    [
        ("solve x^2 = -1", "no real root"),
        ("solve x^2 = 4 for x in 3..9", "no real root in 3..9"),
        ("solve cos(x) = 3 for x in 0..4", "finds no root"),
        ("solve x = x", "each x is a root"),
        ("solve x + y = 3", "one unknown"),
        ("x = 1; y = 2; solve x + y = 3", "no name in the equation is unknown"),
        ("solve x + y = 3, x = y", "numbers to start from"),
        ("x = [1, 2]; solve x*y = 3", "shape (2)"),
    ],
)
def test_an_equation_that_has_no_answer_is_refused(text, expected):
    assert expected in str(error(text))


# What is given to a solver within a function of T, and its value where T is 2.
OF_PARAMETERS = {
    "integral(x*T, 0, 1)": 1.0,
    "integral(lambda x: x*T, 0, 1)": 1.0,
    "integral(lambda x: integral(lambda y: x*y*T, 0, x), 0, T)": 4.0,
    "integral(t*grad(lambda x: x*x*T)(1), 0, 1)": 2.0,
    "integral(t*sum([T*u for u in [1, 2]]), 0, 1)": 3.0,
    "sum([integral(lambda x: x*T*k, 0, 1) for k in [1, 2]])": 3.0,
    "root(lambda x: x*x - T, 1)": 2.0**0.5,
    "root(x*x - integral(lambda y: T*y, 0, 1), 1)": 1.0,
    "argmin(lambda x: (x - T)**2, 1)": 2.0,
    "taylor(lambda x: sin(T*x), 0, 3)[1]": 2.0,
    "(lambda c: integral(t*grad(lambda x: x*T*c)(1), 0, 1))(T)": 2.0,
}


@pytest.mark.parametrize("before", ["", "T = 7; k = 9; c = 3; u = 5"])
def test_a_function_given_to_a_solver_has_the_parameters_around_it(before):
    for text, value in OF_PARAMETERS.items():
        session = Session()
        session.run(f"{before}\ndef h(T) = {text}")
        assert session.evaluate("float(h(2))") == pytest.approx(value, rel=1e-9), text
