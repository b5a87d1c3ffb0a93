"""Uncertain values in the language: how they are written, printed and read back, and the commands about them."""

import random

import pytest
from rows import each
from sessions import said

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


def test_samples_check_a_budget():
    lines = said("manual_seed(1); x = 1 ± 0.1; y = 2 ± 0.1; z = x + y; budget z samples 200000")
    assert lines[0].splitlines()[-1].startswith("the linear result, 2.7228 to 3.2772, holds to two digits of u")
    assert lines[1] == "plot of samples (60 points), normal (60 points)"
