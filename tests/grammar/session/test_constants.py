"""`use constants`: the values against SciPy's table of CODATA 2022, and which names are given values."""

import pytest
from rows import each

from agrad.engine.core.op import FUNCTIONS
from agrad.engine.errors import AgradError
from agrad.grammar.constants import MEANINGS
from agrad.grammar.lint.lint import problems
from agrad.grammar.results import uncertainty_of
from agrad.grammar.session.log import restore
from agrad.grammar.session.session import Session
from agrad.grammar.syntax.parser import Source

# SciPy's names where they are not those of constants.txt.
NAMES = {"magnetic flux quantum": "mag. flux quantum", "vacuum magnetic permeability": "vacuum mag. permeability"}


def run(text, session=None):
    session, shown = session or Session(), []
    for part in text.split("; "):
        session.run(part, lambda result: shown.append(result.text(session.settings)))
    return shown


def test_they_are_those_of_codata():
    known = pytest.importorskip("scipy.constants").physical_constants
    session = Session()
    run("use constants; use constants e", session)
    for name, meaning in MEANINGS.items():
        value, unit, u = known[NAMES.get(meaning, meaning)]
        ours = session.names[name]
        assert ours.value == pytest.approx(value, rel=1e-9 if not u else 1e-15, abs=0.1 * u), name
        # The adjustment has more correlations, by which an uncertainty may be some per cent larger.
        assert u == 0 or float(uncertainty_of(ours)) == pytest.approx(u, rel=0.04), name
        assert bool(unit) == (ours.node.unit is not None), name


def test_correlations_follow_from_the_formulas():
    session = Session()
    shown = run("use constants; x = c*sqrt(eps0*mu0); x.u < 1e-24; budget m_e", session)
    assert shown[1] == "True"
    assert "alpha" in shown[2] and "Rydberg" in shown[2]


def test_two_uses_have_the_same_sources():
    assert run("use constants alpha; use constants mu0; x = mu0/alpha; x.u < 1e-20 N/A^2")[-1] == "True"


def test_a_name_with_a_value_keeps_it():
    session = Session()
    assert run("c = 5; use constants c, h; c", session) == ["h is a constant now; c has a value, which stays", "5"]
    assert run("use constants h, c", session) == ["h, c have values, which stay"]


def test_e_is_the_charge_only_if_asked_for():
    assert run("use constants; e")[-1] == "2.718281828"
    assert run("use constants e; e")[-1] == "1.602176634e-19 C"


def test_what_is_written_in_place_is_ones_own():
    assert run("use constants c; c *= 2; c; del c; use constants c; c")[-3:] == [
        "599584916 m/s",
        "c is a constant now",
        "299792458 m/s",
    ]


def test_no_name_is_that_of_a_function():
    assert not MEANINGS.keys() & FUNCTIONS.keys()


def test_a_session_is_restored_with_them():
    made, later = Session(), Session()
    made.steps.depth, made.record.on = 9, True
    run("use constants h; E = h/(1 s); undo; E = 2*h/(1 s)", made)
    restore(later, made.record.entries)
    assert run("E", later) == ["1.32521403e-33 J"]


@each(
    "text, place, fixes",
    [
        ("use constants eps", "eps", ["use constants eps0"]),
        ("use constant", "constant", ["use constants"]),
        ("use constants c, hbr", "hbr", ["use constants c, hbar"]),
    ],
)
def test_another_name_is_refused(text, place, fixes):
    with pytest.raises(AgradError) as problem:
        run(text)
    assert problem.value.labels[0].origin.text == place
    assert problem.value.fixes == fixes
    assert [one.message for one in problems(Source("f.ag", text, 1, True))] == [problem.value.message]


def test_lint_knows_the_names():
    assert problems(Source("f.ag", "use constants\nprint h*c/k_B\n", 1, True)) == []
    assert problems(Source("f.ag", "use constants h\nprint h*c\n", 1, True)) != []


def test_a_variable_may_be_called_use():
    assert run("use = 3; use + 1; use") == ["4", "3"]
