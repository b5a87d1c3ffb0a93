"""`fit` with bounds, ties, losses, errors in x and several sets of data, and `last fit`."""

import numpy as np
import pytest
from sessions import error, said

from agrad.grammar.session.session import Session

pytest.importorskip("scipy")

DATA = "x = [0, 1, 2, 3, 4, 5]; y = [2.1, 1.2, 0.8, 0.4, 0.3, 0.9]\n"
FIT = "fit y ~ a*exp(-b*x) over a, b from a=1, b=1"


def value(session, text):
    found = session.evaluate(text)
    return np.asarray(getattr(found, "value", found))


def test_a_parameter_at_its_bound_is_said_to_be_and_certain():
    session = Session()
    lines = said(DATA + "fit y ~ a*exp(-b*x) over a in 0..1.5, b in 0..5", session)
    assert "a = 1.5, at its bound" in "\n".join(lines)
    assert (value(session, "a"), value(session, "a.u")) == (1.5, 0.0)
    assert value(session, "b.u") > 0.0


def test_a_tied_parameter_is_what_the_others_give():
    session = Session()
    said(DATA + "fit y ~ a*exp(-b*x) + c over a, b from a=1, b=1 tied c = a/10", session)
    assert value(session, "c") == pytest.approx(value(session, "a") / 10)
    assert value(session, "(c - a/10).u") == pytest.approx(0.0, abs=1e-12)
    said("p = a; fit y ~ (1 + exp(b*x)/10)*a*exp(-b*x) over a, b", session)
    assert value(session, "p.data") == pytest.approx(value(session, "a.data"))


def test_what_is_tied_may_use_what_is_tied_before_it_and_no_name_that_is_tied_later():
    session = Session()
    text = f"{DATA}c = 7; d = 9; fit y ~ a*x + c + d over a from a=1 tied "
    lines = said(f"{text}c = 2*a, d = c + 1", session)
    a, a_u = value(session, "a"), value(session, "a.u")
    np.testing.assert_allclose([value(session, "c"), value(session, "d")], [2 * a, 2 * a + 1])
    assert value(session, "d.u") == pytest.approx(2 * a_u)
    assert "d = " in "".join(lines)
    for ties in ("d = c + 1, c = 2*a", "c = c + 1, d = 1"):
        assert error(f"{text}{ties}").message == "c is tied, and may be used only in what is tied after it"


def test_a_picture_of_several_sets_of_data_has_all_of_them_and_no_priors():
    session, found = Session(), []
    said(
        DATA
        + "t = [0.5, 1.5]; z = [4.0, 3.0]; fit y ~ a*exp(-b*x), z ~ c*exp(-b*t), [0.5, 0.6] ~ b over a, b, c from a=1, b=1, c=4",
        session,
    )
    session.run("plot fit", found.append)
    (plot,) = found
    assert [curve.name for curve in plot.curves[::3]] == ["y", "z", "[0.5, 0.6]"]
    assert [mark for mark, curve in zip(plot.marks, plot.curves, strict=True) if curve.style == "points"] == [0, 1, 2]
    assert [curve.name for curve in plot.below.curves] == [
        "residuals of y",
        "residuals of z",
        "residuals of [0.5, 0.6]",
    ]
    said("y = normal(y, 0.1); z = normal(z, 0.1); fit y ~ a*x, z ~ b*t, 2 ± 1 ~ a over a, b from a=1, b=1", session)
    found.clear()
    session.run("plot fit", found.append)
    assert [curve.name for curve in found[0].curves[::3]] == ["y", "z"]
    np.testing.assert_allclose(found[0].below.curves[1].y, value(session, "(z - b*t).data"), atol=1e-12)


def test_a_parameter_may_be_a_vector():
    session = Session()
    said(DATA + "X = [[1, x[i]] for i in range(6)]; w = [1, 1]; fit y ~ X @ w over w; W = w", session)
    said("fit y ~ p + q*x over p, q from p=1, q=1", session)
    np.testing.assert_allclose(value(session, "W"), [value(session, "p"), value(session, "q")], rtol=1e-10)
    assert value(session, "sum(W).u") == pytest.approx(value(session, "(p + q).u"))


def test_several_sets_share_parameters_and_a_number_is_a_prior():
    session = Session()
    said(DATA + "y = normal(y, 0.1); z = normal([4, 3], 0.1)", session)
    said("fit y ~ a*exp(-b*x), z ~ c*exp(-b*x[:2]), 0.5 ± 0.01 ~ b over a, b, c from a=1, b=1, c=4", session)
    both = [value(session, name) for name in ("a", "b", "c", "b.u")]
    said(
        "fit concat([y, z, stack([0.5 ± 0.01])]) ~ concat([a*exp(-b*x), c*exp(-b*x[:2]), stack([b])]) over a, b, c",
        session,
    )
    np.testing.assert_allclose([value(session, name) for name in ("a", "b", "c", "b.u")], both, rtol=1e-8)


def test_correlated_measurements_are_fitted_with_their_covariances():
    session = Session()
    said(DATA + "q = 0 ± 0.3; w = normal(y, 0.1) + q; fit w ~ a + b*x over a, b from a=1, b=1", session)
    told = [value(session, name) for name in ("a", "b", "a.u")]
    said("V = covariance(w); fit w.detach() ~ a + b*x over a, b sigma V", session)
    np.testing.assert_allclose([value(session, name) for name in ("a", "b", "a.u")], told, rtol=1e-8)
    assert told[2] > 0.3


def test_the_uncertainties_of_x_are_used_where_the_fix_of_the_note_says_so():
    session, found = Session(), []
    session.run(f"{DATA}x = normal(x, 0.2); y = normal(y, 0.1); {FIT}", found.append)
    before = value(session, "a.u")
    (note,) = [result.note for result in found if hasattr(result, "note")]
    assert note.fixes == [f"{FIT} errors orthogonal"]
    again = []
    session.run(note.fixes[0], again.append)
    assert not any(hasattr(result, "note") for result in again)
    assert value(session, "a.u") > before


def test_a_loss_without_a_scale_is_refused_with_one_that_works():
    session = Session()
    refused = error(f"{DATA}{FIT} loss huber")
    (fix,) = refused.fixes
    lines = said(DATA + fix, session)
    assert any("loss huber beyond" in line and "1 point of 6" in line for line in lines)
    assert value(session, "a") == pytest.approx(2.09, abs=0.05)
    assert len(error(f"{DATA}{FIT} loss hubert").fixes) == 4


def test_data_with_nan_get_a_fix_that_leaves_them_out():
    session = Session()
    data = DATA + "y = y + [0, nan, 0, 0, 0, 0]; s = [1, 1, 1, 1, 1, 2]\n"
    refused = error(f"{data}fit y ~ a*exp(-b*x) over a, b sigma s from a=1, b=1")
    assert refused.message == "fit: y is nan in some places"
    said(data + refused.fixes[0], session)
    assert len(value(session, "x[ok]")) == 5


def test_last_fit_says_more_and_makes_a_table_of_the_points():
    session = Session()
    assert error("last fit").message == "last fit: there is no fit yet"
    lines = said(f"{DATA}{FIT}\nlast fit profile coverage 0.95 as f", session)
    text = "\n".join(lines)
    assert all(word in text for word in ("aic", "bic", "chi2", "profile, 95 %"))
    assert value(session, "sum(f.leverage)") == pytest.approx(2.0)
    np.testing.assert_allclose(value(session, "f.residual + f.predicted"), value(session, "y"))
    assert said("last = 3; last + 1", session)[-1] == "4"


def test_what_fit_refuses():
    assert "outside of 0..1" in error(f"{DATA}fit y ~ a*x over a in 0..1 from a=2").message
    turned = error(f"{DATA}fit y ~ a*x over a in 1..0")
    assert "end before they begin" in turned.message
    assert turned.fixes == ["fit y ~ a*x over a in 0..1"]
    assert "no column of the model has uncertainties" in error(f"{DATA}{FIT} errors effective").message
    assert "beyond is an option of a loss" in error(f"{DATA}{FIT} beyond 3").message
    assert "have uncertainties, and others have none" in error(f"{DATA}fit y ~ a*x, 3 ± 1 ~ a over a from a=1").message
