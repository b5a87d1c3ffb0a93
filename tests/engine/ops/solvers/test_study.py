"""What a function does in an interval, where that is known: nothing is missing, nothing is wrong."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from rows import each

from agrad.engine.core.op import FUNCTIONS
from agrad.engine.errors import AgradError
from agrad.engine.ops.solvers.functions import study_of

KNOWN = {
    name: FUNCTIONS[name].call for name in "sin cos tan exp log sqrt cbrt abs floor where maximum atan gamma".split()
}
LINES = [line.split(";") for line in (Path(__file__).parent / "studies.txt").read_text("utf-8").splitlines()[1:]]


def number(text: str) -> float:
    return float(eval(text, vars(math)))


def function(text: str):
    return eval(f"lambda x: {text}", KNOWN)


def near(found: float, wanted: float) -> bool:
    return abs(found - wanted) <= 4e-9 * max(abs(wanted), 1.0)


def same_ranges(found, text: str) -> bool:
    wanted = [tuple(map(number, part.split())) for part in text.split(",") if part.strip()]
    ends = zip([end for one in found for end in one], [end for one in wanted for end in one], strict=True)
    return len(found) == len(wanted) and all(near(*pair) for pair in ends)


@each("line", LINES)
def test_what_is_where(line: list[str]) -> None:
    text, ends, places, rises, falls = line
    found = study_of(function(text), *map(number, ends.split(",")))
    wanted = [(number(part.split()[0]), part.split()[1:]) for part in places.split(",") if part.strip()]
    told = [(place.x, " ".join(place.kinds).split()) for place in found.places if "end" not in place.kinds]
    assert [kinds for _, kinds in told] == [kinds for _, kinds in wanted]
    assert all(near(x, y) for (x, _), (y, _) in zip(told, wanted, strict=True))
    assert same_ranges(found.rises, rises)
    assert same_ranges(found.falls, falls)


def test_the_numbers_of_a_place() -> None:
    left, zero, least, *_, right = study_of(lambda x: x**2 - 1, -2.0, 3.0).places
    assert (left.value, left.slope, right.value, right.slope) == (3, -4, 8, 6)
    assert (zero.x, zero.value, zero.slope) == (-1, 0, -2)
    assert (least.x, least.value, least.slope) == (0, -1, 0)
    assert study_of(lambda x: 1 / x, 0.0, 2.0).places[0].limits == [math.inf]
    assert study_of(lambda x: 1 / x, -1.0, 2.0).places[1].limits == [-math.inf, math.inf]
    assert study_of(function("where(x < 1, 2.0, 5.0) + 0*x"), 0.0, 3.0).places[1].limits == [2, 5]


def test_what_is_said_of_ends_of_functions_that_are_0_and_of_too_small_values() -> None:
    assert study_of(lambda x: x**x, 0.0, 2.0).places[0].slope == -math.inf
    assert study_of(function("floor(x) + x"), 0.5, 3.0).places[-1].kinds == ["end", "jump"]
    assert study_of(lambda x: 0 * x, -1.0, 1.0).searched[0] == "poles, zeros: all of -1..1"
    *_, function_said, slope_said, second_said = study_of(function("exp(-x**2)"), -30.0, 30.0).searched
    assert function_said == "the function is below 1e-300 in -30..-26.28260885, 26.28260885..30"
    assert slope_said.startswith("the derivative is below 1e-300 in -30..-26.35")
    assert second_said.startswith("the second derivative is below 1e-300 in -30..-26.4")
    zeros = [place.x for place in study_of(function("sin(x)*exp(-x**2)"), -30.0, 3.0).places if "zero" in place.kinds]
    assert np.allclose(zeros, np.pi * np.arange(-8, 1), rtol=0, atol=1e-9)


@each("seed", range(30))
def test_the_extrema_of_polynomials_whose_derivative_has_known_zeros(seed: int) -> None:
    rng = np.random.default_rng(seed)
    zeros = sorted({*rng.integers(-3, 4, rng.integers(1, 5)).tolist()})
    times = rng.integers(1, 4, len(zeros)).tolist()
    slope = np.poly(np.repeat(zeros, times)) * float(rng.choice([-1, 1])) * math.lcm(*range(1, sum(times) + 2))
    whole = np.polyint(slope).tolist()
    found = study_of(lambda x: sum(round(c) * x**k for k, c in enumerate(whole[::-1])), -4.0, 4.0)
    before = {zero: np.sign(np.polyval(slope, zero - 0.1)) for zero in zeros}
    wanted = [
        (zero, "saddle" if many == 2 else "maximum" if before[zero] > 0 else "minimum")
        for zero, many in zip(zeros, times, strict=True)
    ]
    kinds = {"maximum", "minimum", "saddle"}
    assert [(one.x, *(kinds & {*one.kinds})) for one in found.places if kinds & {*one.kinds}] == wanted


@each("seed", range(20))
def test_the_extrema_of_products_with_exp(seed: int) -> None:
    rng = np.random.default_rng(seed)
    zeros = sorted(rng.choice(np.arange(-3, 3.5, 0.5), rng.integers(1, 6), replace=False).tolist())
    slope = np.poly(zeros).tolist()
    p = list[float]()  # p*exp has the derivative slope*exp: p + p' = slope
    for k, c in enumerate(slope):
        p.append(c - (p[-1] * (len(slope) - k) if p else 0.0))
    found = study_of(lambda x: sum(c * x**k for k, c in enumerate(p[::-1])) * KNOWN["exp"](x), -4.0, 4.0).places
    extrema = [(place.x, place.kinds[-1]) for place in found if {"maximum", "minimum"} & {*place.kinds}]
    for (x, kind), zero in zip(extrema, zeros, strict=True):
        assert near(x, zero)
        assert kind == ("maximum" if np.polyval(slope, zero - 0.1) > 0 else "minimum")


@each("text", ["x*sin(1/x)", "floor(200*x)", "exp(1/x)"])
def test_what_has_no_answer_says_so(text: str) -> None:
    with pytest.raises(AgradError, match="study: ") as problem:
        study_of(function(text), -1.0, 1.0)
    assert problem.value.kind == "domain"
