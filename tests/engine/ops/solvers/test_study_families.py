"""Random functions of families whose zeros, extrema, jumps and poles are known in closed form: all are found, alone."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, floor, pi, tan

import numpy as np
import pytest
from rows import each

from agrad.engine.core.op import FUNCTIONS
from agrad.engine.ops.solvers.functions import study_of

KINDS = "zero", "maximum", "minimum", "jump", "pole", "hole"
LOW, HIGH = -4.0, 4.0
exp, sin, size, sign, whole, atan = (FUNCTIONS[name].call for name in "exp sin abs sign floor atan".split())

Known = dict[str, list[float]]  # of each kind of place, where they are
Made = tuple[Callable, Known]


def horner(p: list[float]) -> Callable:
    def called(x):
        y = 0.0
        for c in p:
            y = y * x + c
        return y

    return called


def roots(rng: np.random.Generator, count: int) -> list[float]:
    return sorted(rng.choice(np.arange(-3.5, 4.0, 0.5), count, replace=False).tolist())


def turns(slope: Callable[[float], float], places: list[float]) -> Known:
    found: Known = {"maximum": [], "minimum": []}
    for x in places:
        before, after = (np.sign(slope(x + side * 1e-4)) for side in (-1, 1))
        if before != after:
            found["maximum" if before > 0 else "minimum"].append(x)
    return found


def real_roots(p: list[float]) -> list[float]:
    return sorted(z.real for z in np.roots(p).tolist() if abs(z.imag) < 1e-9 and LOW < z.real < HIGH)


def polynomial_times_exp(rng: np.random.Generator) -> Made:
    zeros, rate = roots(rng, int(rng.integers(1, 5))), float(rng.integers(-4, 5)) / 2
    p = (np.poly(zeros) * float(rng.choice([-2, 0.5, 3]))).tolist()
    slope = np.polyadd(np.polyder(p), rate * np.asarray(p)).tolist()
    value = horner(p)
    known = turns(lambda x: float(np.polyval(slope, x)), real_roots(slope))
    return (lambda x: value(x) * exp(rate * x)), {"zero": zeros, **known}


def bell(rng: np.random.Generator) -> Made:
    middle, rate, count = (float(rng.integers(*ends)) for ends in ((-2, 3), (1, 300), (0, 2)))
    way = float(rng.choice([-1, 1]))
    sides = [middle - (0.5 / rate) ** 0.5, middle + (0.5 / rate) ** 0.5]
    at = {"maximum": sides[1:], "minimum": sides[:1], "zero": [middle]} if count else {"maximum": [middle]}
    if way < 0:
        at["maximum"], at["minimum"] = at.get("minimum", []), at["maximum"]
    return (lambda x: way * (x - middle) ** count * exp(-rate * (x - middle) ** 2)), at


def wave(rng: np.random.Generator) -> Made:
    height, often, phase = float(rng.choice([-2, 1, 3])), float(rng.uniform(0.5, 6)), float(rng.uniform(-1, 1))
    level = height * float(rng.choice([0, 0.5, 2]))
    steps = range(-30, 31)
    crossed = [-pi / 6, 7 * pi / 6] if level == 0.5 * height else [0, pi] if not level else []
    zeros = [(x + 2 * pi * k - phase) / often for k in steps for x in crossed]
    top, bottom = ([(side * pi / 2 + 2 * pi * k - phase) / often for k in steps] for side in (1, -1))
    if height < 0:
        top, bottom = bottom, top
    return (lambda x: height * sin(often * x + phase) + level), {"zero": zeros, "maximum": top, "minimum": bottom}


def corner(rng: np.random.Generator) -> Made:
    slope, middle, level = float(rng.choice([-3, 1, 2])), float(rng.uniform(-2, 2)), float(rng.uniform(-2, 2))
    zeros = [middle + side * -level / slope for side in (-1, 1)] if level / slope < 0 else []
    return (
        lambda x: slope * size(x - middle) + level,
        {"zero": zeros, "minimum" if slope > 0 else "maximum": [middle]},
    )


def sized(rng: np.random.Generator) -> Made:
    zeros = roots(rng, int(rng.integers(1, 5)))
    p = np.poly(zeros).tolist()
    slope, value = np.polyder(p).tolist(), horner(p)
    known = turns(lambda x: float(np.polyval(slope, x) * np.polyval(p, x)), [*real_roots(slope), *zeros])
    return (lambda x: size(value(x))), {"zero": zeros, **known}


def stepped(rng: np.random.Generator) -> Made:
    often, level = float(rng.uniform(0.4, 3)), float(rng.integers(-2, 3)) + 0.25
    jumps = [k / often for k in range(ceil(LOW * often), floor(HIGH * often) + 1)]
    return (lambda x: whole(often * x) + level), {"jump": jumps}


def switched(rng: np.random.Generator) -> Made:
    place, height, level = float(rng.uniform(-3, 3)), float(rng.choice([-2, 0.5, 1])), float(rng.choice([-5, 0.25, 4]))
    return (lambda x: height * sign(x - place) + level + 0.01 * x), {"jump": [place]}


def turned(rng: np.random.Generator) -> Made:
    place, height = float(rng.integers(-20, 21)) / 8 + 0.1, float(rng.choice([-2, 0.5, 1]))
    level = height * float(rng.choice([-3, 0, 0.8, 5]))
    zeros = [place - 1 / tan(level / height)] if 0 < abs(level / height) < pi / 2 else []
    return (lambda x: height * atan(1 / (x - place)) + level), {"jump": [place], "zero": zeros}


def quotient(rng: np.random.Generator) -> Made:
    many = int(rng.integers(1, 4))
    places = roots(rng, many + 2)
    rng.shuffle(places)
    zeros, poles, shared = places[:many], places[many : many + 1], places[many + 1 :]
    above, below = np.poly(zeros).tolist(), np.poly(poles).tolist()
    slope = np.polysub(np.polymul(np.polyder(above), below), np.polymul(above, np.polyder(below))).tolist()
    known = turns(lambda x: float(np.polyval(slope, x)), real_roots(slope))
    f, g = horner(np.poly([*zeros, *shared]).tolist()), horner(np.poly([*poles, *shared]).tolist())
    return (lambda x: f(x) / g(x)), {"zero": zeros, "pole": poles, "hole": shared, **known}


FAMILIES = [polynomial_times_exp, bell, wave, corner, sized, stepped, switched, turned, quotient]


@pytest.mark.long
@each("seed", range(17 * len(FAMILIES)))
def test_every_place_is_found_and_no_other(seed: int) -> None:
    f, known = FAMILIES[seed % len(FAMILIES)](np.random.default_rng(seed))
    found = study_of(f, LOW, HIGH)
    for kind in KINDS:
        there = sorted(place.x for place in found.places if kind in place.kinds and LOW < place.x < HIGH)
        wanted = sorted(x for x in known.get(kind, ()) if LOW < x < HIGH)
        if kind == "hole" and not there:
            continue  # one that is no place of the search has a value beside it alone
        said = f"{FAMILIES[seed % len(FAMILIES)].__name__} {kind}: {there}, and there is {wanted}"
        assert len(there) == len(wanted), said
        assert np.allclose(there, wanted, rtol=0, atol=1e-8), said
