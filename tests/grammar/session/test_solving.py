"""`fit`, `solve`, `minimize` and `maximize`: what they find, what they leave behind, and what they refuse."""

import numpy as np
import pytest

from agrad.engine.errors import AgradError
from agrad.grammar.session.session import Session

pytest.importorskip("scipy")

DATA = "x = [0, 1, 2, 3, 4]; y = [2.1, 1.2, 0.8, 0.4, 0.3];"


def said(text, session=None):
    session = session or Session()
    lines = []
    session.run(text, lambda result: lines.append(result.text(session.settings)))
    return lines


def test_a_fit_leaves_correlated_uncertain_values():
    session = Session()
    (told,) = said(f"{DATA} fit y ~ a*exp(-b*x) over a, b from a=1, b=1", session)
    assert told.splitlines()[:2] == ["a = 2.087 ± 0.051", "b = 0.515 ± 0.024"]
    assert "R2 = 0.995971, 3 degrees of freedom" in told
    assert said("a/b", session) == ["4.05 ± 0.16"]
    weighted = said("fit y ~ a*exp(-b*x) over a, b with sigma 0.1\nundo\na", session)
    assert weighted[0].splitlines()[0] == "a = 2.087 ± 0.095"
    assert weighted[-1] == "2.087 ± 0.051"


def test_uncertain_measurements_have_their_own_weights():
    data = "x = [0, 1, 2, 3]; y = [2.1 ± 0.1, 1.2 ± 0.1, 0.8 ± 0.2, 0.4 ± 0.1]; "
    own = said(f"{data} fit y ~ a*exp(-b*x) over a, b from a=1, b=1")
    assert own == said(f"{data} fit y ~ a*exp(-b*x) over a, b from a=1, b=1 with sigma [0.1, 0.1, 0.2, 0.1]")
    assert "chi2/dof" in own[0]
    with pytest.raises(AgradError, match="the measured values are correlated: they have a source in common"):
        said(f"{data} scale = 2 ± 0.1; fit y*scale ~ a*exp(-b*x) over a, b from a=1, b=1")
    told = said("x = [1 ± 0.1, 2 ± 0.1, 3]; fit [1.1, 1.9, 3.2] ~ a*x over a from a=1")[1:]
    assert told == ["note: fit: the uncertainty of x is not used: only that of what was measured is"]


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


def test_of_very_many_uncertain_values_a_note_says_that_parameters_are_taken_to_be_independent():
    text = "x = linspace(0, 1, 2001); U = normal(x, 1); fit U ~ a*x over a from a=2"
    assert said(text)[0] == "note: fit: of so many values, a is taken to be independent"


def test_a_bracket_may_follow_the_command():
    for text in ("minimize (w - 3)**2 + 1 over w", "minimize [w][0]**2 - 6*w over w", "maximize -(w - 3)**2 over w"):
        assert said(f"var w = 1; {text}")[0] == "w = 3"


def test_the_calibration_of_a_thermometer_has_the_printed_digits():
    """GUM, H.3: corrections b at temperatures t, and that at 30 degrees."""
    session = Session()
    said(
        """
t = [21.521, 22.012, 22.512, 23.003, 23.507, 23.999, 24.513, 25.002, 25.503, 26.010, 26.511]
b = [-0.171, -0.169, -0.166, -0.159, -0.164, -0.165, -0.156, -0.157, -0.159, -0.161, -0.160]
fit b ~ y1 + y2*(t - 20) over y1, y2 from y1=0, y2=0
""",
        session,
    )
    names = session.names
    assert [round(float(names[name]), places) for name, places in (("y1", 4), ("y2", 5))] == [-0.1712, 0.00218]
    assert said("y1.u, y2.u", session)[0].startswith("(0.0028")
    assert round(float(said("y1.u", session)[0]), 4) == 0.0029
    assert round(float(said("y2.u", session)[0]), 5) == 0.00067
    assert said("y1 + y2*10", session) == ["-0.1494 ± 0.0041"]
    together = said("((y1 + y2).u**2 - y1.u**2 - y2.u**2)/(2*y1.u*y2.u)", session)[0]
    assert round(float(together), 3) == -0.930


def test_in_a_function_a_model_and_an_equation_use_the_names_around_it():
    session = Session()
    session.run("x = [1, 2, 3, 4]; y = [2, 4, 6, 8]\ndef g(w):\n    fit y ~ a*x*w over a from a=1\n    return a\n")
    session.run("def h(w):\n    solve q**2 == w*x[1] for q from 1\n    return q\n")
    assert session.evaluate("g(4)").item() == pytest.approx(0.5)
    assert session.evaluate("h(8)").item() == pytest.approx(4.0)


def test_solved_unknowns_are_values_of_the_graph():
    lines = said("var c = 2; solve z**2 == c for z from 1; grad(z, c)")
    assert lines[0] == "z = 1.414213562"
    assert lines[1].startswith("residual ")
    assert lines[2] == "0.3535533906"
    assert said("solve cos(z) == z for z in 0..2; z")[-1] == "0.7390851332"
    assert said("var c = 2; solve p + q == 3, p*q == c for p, q from 0.5, 3; grad(p, c)")[-1] == "1"


def test_leaves_move_to_a_minimum_and_undo_takes_that_back():
    session = Session()
    start = "var w = [5, 1]; loss = (w[0] - 3)**2 + cosh(w[1] - w[0])\nminimize loss over w\n"
    lines = said(f"{start}loss\nundo\nw\nloss", session)
    assert float(lines[2]) == pytest.approx(1.0)
    assert lines[-2:] == ["[5, 1]", "31.30823284"]
    assert float(said("var w = 1; y = 5 - (w - 3)**2; maximize y over w; y")[-1]) == pytest.approx(5.0)
    assert said("var w = 1; y = (w - 3)**2; minimize y over w in 0..2; w")[-1] == "2"


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


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{DATA} fit y ~ a*x over a", "fit: a has no number to start from"),
        (f"{DATA} fit y ~ a*x + b*c over a, b, c from b=1", "fit: a and c have no number to start from"),
        (f"{DATA} p = [1, 2]; fit y ~ p*x + q over p, q", "fit: p and q have no number to start from"),
        (
            f"{DATA} fit y ~ (a + b)*x over a, b from a=1, b=1",
            "fit: the data do not determine a and b: very different values fit as well",
        ),
        (f"{DATA} fit y ~ a*[1, 2] over a from a=1", "fit: the model has shape (2), and what was measured (5)"),
        (
            f"{DATA} fit y ~ a*x over a from a=1 sigma -1",
            "fit: sigma must be positive and finite: a number, or one for each point",
        ),
        (
            "fit [1] ~ a over a from a=1",
            "fit: 1 points for 1 parameters: more points than parameters have uncertainties",
        ),
        (
            f"{DATA} fit y ~ a*x over a from a=1 sigma inf",
            "fit: sigma must be positive and finite: a number, or one for each point",
        ),
        ("x = [1, 2, 3]; fit [1, nan, 3] ~ a*x over a from a=1", "fit: what was measured is nan in some places"),
        (
            "var w = 1; q = sqrt(w); minimize q over w",
            "minimize: the search from 1 has come to where a derivative is not finite",
        ),
        (
            "root(x**2 - 2, 0..inf)",
            "root: the ends of a bracket are finite numbers",
        ),
        ("solve x**2 == -1 for x from 1", "solve: there is no zero near 1: the search ended at 0"),
        ("solve x**2 == 0 for x from 1", "solve: the function has a double zero at 0: its derivative is 0 there"),
        (
            "solve x**2 == -1 for x in 0..2",
            "solve: 0..2 is no bracket: f is 1 and 5 at the ends, which have no different signs",
        ),
        (
            f"{DATA} fit y ~ a*exp(-b*x) + 0*c over a, b, c from a=2, b=1, c=1",
            "fit: the data do not determine c: very different values fit as well",
        ),
        (
            f"{DATA} fit y ~ a*x over a from a=1 sigma [1, 2]",
            "fit: sigma has shape (2), and what was measured (5)",
        ),
        ("solve x + y == 1 for x, y from 1", "solve: 1 starting point for 2 unknowns"),
        ("var w = 1; y = -w**2; minimize y over w", "minimize: there is no minimum: the function still falls far away"),
        ("var w = 1; y = exp(-w); y2 = y*1; minimize y2 over y", "minimize: y is no leaf that requires grad"),
        ("var w = [1, 2]; y = w*2; minimize y over w", "minimize: y is an array, not one number"),
        ("var w = 1; y = w**2; minimize y over w method fast", "minimize has no method fast"),
    ],
)
def test_what_has_no_answer_says_so(text, message):
    with pytest.raises(AgradError) as caught:
        said(text)
    assert caught.value.message == message


def test_a_parameter_that_is_0_may_start_from_0():
    session = Session()
    assert said("y = [1, -1, 1, -1]; fit y ~ p over p from p=0", session)[0].startswith("p = 0.00 ± 0.58\n")
    assert said("fit y ~ p + q*[0, 1, 1, 0] over p, q from p=0, q=0", session)[0].startswith("p = 0.0 ± 1.0\n")


def test_parameters_of_a_fit_have_its_degrees_of_freedom_together():
    session = Session()
    said(f"{DATA} fit y ~ a*exp(-b*x) over a, b from a=1, b=1", session)
    (table,) = said("budget a/b", session)
    assert ", 3 effective degrees of freedom, with correlated sources as one\n" in table
    assert "k = 3.18, coverage 0.95" in table


def test_the_words_are_names_elsewhere():
    assert said("fit = 3; solve = 4; minimize = fit*solve; minimize") == ["12"]
    assert said("def fit(x) = x**2; fit(3)") == ["9"]
    assert said("solve([[2, 0], [0, 4]], [2, 4])") == ["[1, 1]"]


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("var a = 2; grad(root(x**2 - a, 1), a)", "0.3535533906"),
        ("a = 2; root(x**2 - a, 0..5)", "1.414213562"),
        ("def f(t) = t*exp(t) - 2\nroot(f, 0..2)", "0.852605502"),
        ("integral(t**2, 0, 3)", "9"),
        ("argmin((x - 2)**2 + 1, 0)", "2"),
        ("argmin([3, 1, 2])", "1"),
        ("argmin([[3, 1], [0, 2]]*1, 1)", "[1, 0]"),
        ("taylor(exp(x), 0, 3)", "[1, 1, 0.5, 0.1666666667]"),
        ("def g(c) = root(y**3 - c, 1)\ng(8)", "2"),
        ("root(grad(sin), 1)", "1.570796327"),
    ],
)
def test_a_function_may_be_an_expression_of_a_name_without_a_value(text, answer):
    assert said(text)[-1] == answer


def test_an_expression_has_one_unknown():
    for text, message in (
        ("root(u - v, 1)", "u and v have no value, and an expression has one unknown here"),
        ("a = 2; root(a**2 - 1, 1)", "root needs a function, not the number 3"),
    ):
        with pytest.raises(AgradError) as caught:
            said(text)
        assert caught.value.message == message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("var w = 1; q = w**3; minimize q over w", "minimize: there is no minimum: the function still falls far away"),
        ("var w = 0; q = w**3; minimize q over w", "minimize: no minimum is found"),
        ("var w = 0; q = exp(-w); minimize q over w", "minimize: there is no minimum: the function still falls far"),
        ("var w = 0; q = -w**2; minimize q over w", "minimize: no minimum is found"),
        ("var w = [0, 1]; q = w[0]*w[1]**2 + w[0]; minimize q over w method bfgs", "minimize: "),
        ("var w = 0; q = w**2; maximize q over w", "maximize: no maximum is found"),
        ("var w = 1; q = w**2; maximize q over w", "maximize: there is no maximum: the function still rises far away"),
    ],
)
def test_where_a_search_ends_is_a_minimum_or_refused(text, message):
    with pytest.raises(AgradError) as caught:
        Session().run(text)
    assert caught.value.message.startswith(message)


@pytest.mark.parametrize(
    ("text", "expected"),
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
