"""Uncertain values in the language: how they are written, printed and read back, and the commands about them."""

import random

import numpy as np
import pytest
from rows import each
from sessions import said

from agrad.engine.autodiff.uncertainty import uncertain, uncertainty
from agrad.engine.errors import AgradError
from agrad.engine.values import format_uncertain
from agrad.grammar.session.session import Session


@each("sign", ["±", "+/-"])
def test_any_number_and_uncertainty_read_back(sign):
    rng, session = random.Random(sign), Session()
    for _ in range(300):
        value = rng.choice([0.0, rng.uniform(-10, 10), 9.9996, -9.96]) * 10.0 ** rng.randint(-15, 15)
        u = rng.choice([rng.uniform(0, 10), 9.96, 0.0996]) * 10.0 ** rng.randint(-12, 15)
        text = format_uncertain(value, u).replace("±", sign)
        (again,) = said(text, session)
        assert again.replace("±", sign) == text or u < 1e-12 * abs(value)  # then the value has ten digits
        shown, uncertain = (float(part) for part in text.split(f" {sign} "))
        assert uncertain == pytest.approx(u, rel=0.05)
        assert abs(shown - value) <= max(0.05 * u, 1e-9 * abs(value))


def test_any_value_in_a_format_is_read_back_to_what_it_shows():
    rng, session = random.Random(7), Session()
    for _ in range(500):
        value = rng.choice([-14.0, 0.0, 3.0, rng.uniform(-10, 10), -9.96]) * 10.0 ** rng.randint(-12, 12)
        u = rng.choice([0.0, 15.0, rng.uniform(0, 10), 9.96]) * 10.0 ** rng.randint(-12, 12)
        for form in ("P", "S") if u == 0.0 else ("P", "S", ".1u", f".{rng.randint(1, 4)}u", ".1uS"):
            spec = form if form.endswith(("u", "uS")) or u == 0.0 else f".2u{form}"
            text = format(uncertain(value, u), spec)
            read = session.evaluate(text)
            shown = format_uncertain(value, u, 10, int(spec[1]) if "u" in spec else 0).split(" ± ")
            assert (float(read), uncertainty(read)) == pytest.approx(tuple(map(float, shown)), rel=1e-14, abs=0.0), text


# As the package uncertainties prints them, but with a point where brackets could hold a factor; the third: what Python's own format of both numbers is.
FORMS = r"""
1.234 ± 0.045 | .2u | 1.234 ± 0.045
1.234 ± 0.045 | .1u | 1.23 ± 0.04
1.234 ± 0.045 | .3e | 1.234e+00 ± 4.500e-02
1.234 ± 0.045 | S | 1.234(45)
1.234 ± 0.045 | .1uS | 1.23(4)
12.34 ± 1.2 | S | 12.3(12)
1.234e-7 ± 0.045e-7 | S | 1.234(45)e-7
3 ± 0 | S | 3.(0)
-14 ± 15 | S | -14.(15)
120 ± 15 | S | 120(15)
123456.789 ± 1e-12 | S | 123456.789(0.000000000001)
1.234 ± 0.045 | L | 1.234 \pm 0.045
1.234e-7 ± 0.045e-7 | L | (1.234 \pm 0.045) \times 10^{-7}
120 ± 1 | .1eL | 1.2 \times 10^{2} \pm 1.0 \times 10^{0}
1.2e-12 ± 0 | L | 1.2 \times 10^{-12} \pm 0
0.5 ± 0.01 | .0%L | 50\% \pm 1\%
1.234 ± 0.045 | +.2f | +1.23 ± 0.04
1.234 ± 0.045 | P | 1.234 ± 0.045
1.234 ± 0.045 | 15 |   1.234 ± 0.045
1.234 ± 0.045 | _^15.2f | __1.23 ± 0.04__
[1, 2] ± 0.1 | .1f | [1.0 ± 0.1, 2.0 ± 0.1]
"""


def test_no_format_leaves_an_uncertainty_out():
    for row in FORMS.strip().splitlines():
        value, spec, expected = row.split(" | ")
        assert said(f'f"{{{value}:{spec}}}"') == [expected], row
        assert value[0] == "[" or said(f'"{{:{spec}}}".format({value})') == [expected], row
    assert said('"%s" % (1.234 ± 0.045)') == ["1.234 ± 0.045"]
    for text in ['"%.2f" % (2 ± 0.1)', '"%d" % (2 ± 0.1)', 'f"{2 ± 0.1:d}"', 'f"{2 ± 0.1:.2fS}"']:
        with pytest.raises(AgradError, match="format") as error:
            said(text)
        assert error.value.kind == "type", text
    for spec in ("d", ".2fS", ".0u", "\n"):
        with pytest.raises(ValueError, match=r"(?i)format"):
            format(uncertain(1.234, 0.045), spec)
    assert f"{uncertain(1.234, 0.045):.1uS} {uncertain(1.234, 0.045):.1f}" == "1.23(4) 1.2 ± 0.0"


@each("sign", ["e", "f"])
def test_the_short_form_reads_back_as_the_same_value(sign):
    rng, session = random.Random(sign), Session()
    for _ in range(200):
        shift = rng.choice([-12, -6, -2, 12]) if sign == "e" else 0
        value, u = rng.uniform(-10, 10) * 10.0**shift, rng.uniform(0.001, 0.9) * 10.0**shift  # so that a point is left
        (short,) = said(f'f"{{{value!r} ± {u!r}:S}}"', session)
        assert said(short, session) == [format_uncertain(value, u)], short


def test_samples_check_a_budget():
    lines = said("manual_seed(1); x = 1 ± 0.1; y = 2 ± 0.1; z = x + y; budget z samples 200000")
    assert lines[0].splitlines()[-1].startswith("the linear result, 2.72 to 3.28, holds to two digits of u")
    assert lines[1] == "plot of samples (60 points), normal (60 points)"


LITERALS = ["(2 ± 0.1)", "2.00(10)", "(2 ± 5%)", "normal(2, 0.1)", "uniform(1, 3)", "measured([1.9, 2.1, 2.3])"]
LITERALS += ["sum(correlated([1, 1], [[0.01, 0.004], [0.004, 0.02]]))", "(2 ± 0.1)**2/2"]
PLACES = """
root(t**2 - {}, 1)
root(t**2 - {}, 0..3)
def f(t) = t**2 - {}; root(f, 1)*3
def f(t):\\n    c = {}\\n    return t**2 - c\\n\\nroot(f, 1)
solve z**2 == {} for z from 1; z
solve p + q == 3, p*q == {} for p, q from 0.5, 3; p/q
root(t**2 - {} + 0*(t ± 1e-3), 1)
root(lambda t: integral(lambda s: {}*s, 0, t) - 1, 1)
integral(t*{}, 0, 1)
integral(exp(-t*{}), 0, inf)
argmin((t - {})**2 + t**4, 0)
ode(lambda t, y: -{}*y, 1, [0, 1, 2])[1:]
sum(ode(lambda t, y: [y[1], -{}*y[0]], [1, 0], [0, 1])[1])
sum(taylor(lambda t: exp({}*t), 0.5, 3))
scan(lambda s, r: (s*{}, s*r), 1, [1, 2, 3])[0]
sum(scan(lambda s, r: (s*{}, s*r), 1, [1, 2, 3])[1])
var w = 1; q = (w - {})**2 + w**4/9; minimize q over w; w
var w = [1, 2]; q = sum((w - {})**2*[1, 2]) + w[0]*w[1]; maximize -q over w; sum(w)
"""


@each("literal", LITERALS, short=3)
@each("place", PLACES.strip().splitlines())
def test_an_uncertain_literal_in_a_function_is_what_a_name_of_it_is(place, literal):
    found = []
    for name, before in ((literal, ""), ("a", f"a = {literal}; ")):
        session = Session()
        said(before + "\n" + place.replace("{}", name).replace("\\n", "\n"), session)
        found.append((session.evaluate("_"), session.evaluate("_.u")))
    assert np.all(np.asarray(getattr(found[0][1], "value", found[0][1])) > 0)
    for literal_one, named in zip(*found, strict=True):
        np.testing.assert_allclose(
            getattr(literal_one, "value", literal_one), getattr(named, "value", named), rtol=1e-9
        )


@each("text, expected", [
    ("[1, -2, 3] ± 0.1 m", "[1.00 ± 0.10, -2.00 ± 0.10, 3.00 ± 0.10] m"),
    ("[1 m, 2 m] ± 0.1 m", "[1.00 ± 0.10, 2.00 ± 0.10] m"),
    ("[1, 2] ± [0.1, 0.2] mm", "[1.00 ± 0.10, 2.00 ± 0.20] mm"),
    ("-20 ± 0.3 °C", "-20.00 ± 0.30 °C"),
    ("3 m in [3 m, 4 m]", "True"),
    ("x = 3000 mm; x in (4 m, 3 m)", "True"),
    ("[0.1 ± 0.01, 0.2 ± 0.03] as percent", "([10.0 ± 1.0, 20.0 ± 3.0])%"),
])  # fmt: skip
def test_the_unit_of_an_uncertainty_is_that_of_a_list_too_and_lists_have_forms(text, expected):
    assert said(text)[-1] == expected


def test_a_value_is_not_compared_with_those_of_another_unit():
    with pytest.raises(AgradError, match="cannot be compared"):
        Session().evaluate("3 m in [3, 4]")
