"""The table of units: its names, prefixes and factors, against pint and against what the standards say."""

import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from rows import each

import agrad.engine as ag
from agrad.engine.core.graph import Units
from agrad.engine.errors import AgradError
from agrad.engine.units import unit
from agrad.engine.units.quantity import infer
from agrad.engine.units.table import AMBIGUOUS
from agrad.grammar.session.session import Session

# Names that pint reads as something else: with a prefix (`amps` is attometres per second there), by the survey foot that
# was retired in 2022, of Gauss's system, or without a dimension of information.
OTHERWISE = set(
    "amps dpt cfm decade fathom rod chain furlong acre bbl therm gauss maxwell oersted bit B byte KiB MiB GiB TiB "
    "kibibyte mebibyte gibibyte tebibyte".split()
)
DIMENSIONS = dict(
    zip(
        "[length] [mass] [time] [current] [temperature] [substance] [luminosity]".split(),
        "m kg s A K mol cd".split(),
        strict=True,
    )
)


def test_units_agree_with_pint():
    pint = pytest.importorskip("pint")
    registry, compared = pint.UnitRegistry(), 0
    for name in unit.names():
        try:
            known = registry.parse_units(name)
        except pint.errors.UndefinedUnitError:
            continue
        if name in OTHERWISE or name.removesuffix("s") in OTHERWISE:
            continue
        ours = unit.find(name)
        ends = [registry.Quantity(x, known).to_base_units().magnitude for x in (1, 2)]
        dim = {DIMENSIONS[key]: power for key, power in known.dimensionality.items()}
        assert ends[1] - ends[0] == pytest.approx(float(ours.factor), rel=1e-9), name
        assert dim == {key: float(power) for key, power in ours.dim.items()}, name
        if ours.zero:
            assert ours.to_si(1.0) == pytest.approx(ends[0])
        compared += 1
    assert compared > 270


def base(registry, quantity):
    """The number of pint's quantity in base units, and its dimension as here."""
    found = registry.Quantity(quantity).to_base_units()
    powers = {DIMENSIONS[key]: Fraction(power).limit_denominator(12) for key, power in found.dimensionality.items()}
    return found.magnitude, powers


def slope(function, x):
    """A derivative by central differences of fourth order, which is good to ten digits for these steps."""
    h = 1e-3 * x
    return (8 * (function(x + h) - function(x - h)) - function(x + 2 * h) + function(x - 2 * h)) / (12 * h)


FORMULAS = [line.split(" | ") for line in Path(__file__).with_name("physics.txt").read_text("utf-8").splitlines()]


def test_formulas_with_units_and_all_their_gradients_agree_with_pint(monkeypatch):
    pint = pytest.importorskip("pint")
    registry = pint.UnitRegistry(autoconvert_offset_to_baseunit=True)
    monkeypatch.setattr(Units, "exist", False)
    functions = {name: getattr(np, name) for name in "sqrt exp log log10 sin cos tan tanh hypot".split()}
    functions |= {"asin": np.arcsin, "atan": np.arctan, "atan2": np.arctan2, "pi": np.pi}
    compared = 0
    for text, values in [row for row in FORMULAS if len(row) == 2]:
        given = dict(one.split("=") for one in values.split(", "))
        session = Session()
        for name, one in given.items():  # each in a session of its own, where no other name is in the way of a unit
            (alone := Session()).run(f"var {name} = {one.replace('*', '·')}")
            session.names[name] = alone.names[name]
        session.run(f"result = {text}")
        y = session.names["result"]
        y.backward()
        leaves = {name: session.names[name] for name in given}
        theirs = {name: registry.Quantity(one) for name, one in given.items()}
        code = compile(text.replace("^", "**"), text, "eval")
        value, dim = base(registry, eval(code, functions | theirs))
        assert float(y.value) == pytest.approx(value, rel=1e-12), text
        assert {**(found.dim if (found := infer([y.node])[0]) else {})} == dim, text
        for name, leaf in leaves.items():
            at = {**functions, **theirs}
            found = slope(lambda x, at=at, name=name, code=code: eval(code, at | {name: x}), theirs[name])
            value, dim = base(registry, found)
            assert float(leaf.grad.value) == pytest.approx(value, rel=1e-7, abs=1e-30), (text, name)
            assert (leaf.node.grad_unit.dim if leaf.node.grad_unit else {}) == dim, (text, name)
        compared += 1
    assert compared >= 200


def test_there_are_300_names():
    assert len([*unit.names()]) > 300


# What is defined exactly (SI Brochure, 9th edition; NIST SP 811), or named in `kg m s A K mol cd`.
EXACT = """
km/h | 5/18 | m^1 s^-1
mph | 1397/3125 | m^1 s^-1
lbf | 8896443230521/2000000000000 | kg^1 m^1 s^-2
kWh | 3600000 | kg^1 m^2 s^-2
mL | 1/1000000 | m^3
µm | 1/1000000 | m^1
um | 1/1000000 | m^1
J/(kg·K) | 1 | m^2 s^-2 K^-1
J/kg/K | 1 | m^2 s^-2 K^-1
N m | 1 | kg^1 m^2 s^-2
kg·m²/s³ | 1 | kg^1 m^2 s^-3
m^2 | 1 | m^2
s⁻¹ | 1 | s^-1
1/s | 1 | s^-1
daPa | 10 | kg^1 m^-1 s^-2
millimetres | 1/1000 | m^1
kΩ | 1000 | kg^1 m^2 s^-3 A^-2
"""


@each("row", EXACT.strip().splitlines())
def test_texts_are_units_with_exact_factors(row):
    text, factor, dim = row.split(" | ")
    found = unit.read(text)
    assert found.factor == Fraction(factor)
    assert dict(found.dim) == {name: int(power) for name, power in (part.split("^") for part in dim.split())}
    again = unit.read(found.text)
    assert (again.factor, dict(again.dim)) == (found.factor, dict(found.dim))


NONE = "kin mmin kinch mft dh klb dt kdeg Pm/ m/ m//s m/(s m^ 2m fft nmile mm-1 k µ Pas"


@each("text", NONE.split())
def test_no_prefix_and_no_sign_is_taken_where_it_does_not_belong(text):
    with pytest.raises(ag.AgradError) as problem:
        unit.read(text)
    assert problem.value.kind == "unit"


@each("name", list(AMBIGUOUS))
def test_ambiguous_names_are_refused_with_choices_that_are_units(name):
    with pytest.raises(ag.AgradError) as problem:
        unit.read(name)
    assert [unit.read(str(fix)) for fix in problem.value.fixes]


def test_a_space_below_the_line_is_refused_with_brackets_that_work():
    with pytest.raises(ag.AgradError) as problem:
        unit.read("J/kg K")
    assert unit.read(str(problem.value.fixes[0])).text == "J/(kg·K)"


@each("name", sorted(unit.names()))
def test_numbers_come_back_from_si_units(name):
    one = unit.find(name)
    for number in (0.1, 3.0, 12.7, -40.0, 1e-9):
        assert one.of_si(one.to_si(number)) == pytest.approx(number, rel=4e-16, abs=1e-13 if one.zero else 0.0)


def test_nothing_of_units_is_loaded_without_a_unit():
    """The package itself is named by what loads its modules when they are used."""
    command = [sys.executable, "-X", "importtime", "-m", "agrad.cli", "eval", "2*a**2"]
    of_units = []
    for binding in ("a=3", "a=3 m"):
        done = subprocess.run([*command, binding, "--wrt", "a"], capture_output=True, text=True)
        imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
        assert "agrad.engine" in imported, done.stderr
        of_units.append({name for name in imported if ".units." in name or name == "fractions"})
    assert not of_units[0] and {"agrad.engine.units.infer", "fractions"} <= of_units[1]


@each("text", ["1 km^123456789", "1 km^(1000/3)", "1 ym^99999999999999999999", "1 Gm^20 Gs^20"])
def test_a_unit_whose_factor_no_float64_is_near_to_is_refused_at_once(text):
    with pytest.raises(AgradError, match=r"in SI units, .* is beyond the range of float64"):
        Session().run(text)


@each(
    "text, shown",
    [("(3 km)**1e9", "inf"), ("1e301 km to m", "1e304 m"), ("1e306 km to m", "inf m"), ("-1e299 ly to m", "-inf m")],
)
def test_numbers_at_the_ends_of_float64_are_converted(text, shown):
    found = []
    Session().run(text, lambda result: found.append(result.text(Session().settings)))
    assert found[0].startswith(shown)
