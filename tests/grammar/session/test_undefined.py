"""A statement whose result is nan says which operation is not defined, once; and nothing of a nan that came in."""

import inspect
from importlib import import_module

import pytest
from rows import each
from thinned import thinned

from agrad.engine.core.op import OPS
from agrad.engine.errors import AgradError
from agrad.engine.inspect import undefined
from agrad.grammar.results import Noted
from agrad.grammar.session.session import Session

START = "x = [1, -2, 3, -4]; var a = -1; var v = [1, -1]; d = nan; n = [1, nan]\ndef h(t) = acos(t)*2\n"

DISPATCH = "agrad.engine.core.dispatch"


def notes(text, start=START):
    session, found = Session(), []
    session.run(start)
    session.run(text.strip(), found.append)
    return [result.note for result in found if isinstance(result, Noted)]


def test_each_backward_of_a_replay_has_one_note():
    session = Session()
    session.run("var a = 0.5; var b = 1; y = (0.5 + 1/where(b < 0, 1.5, 0))*a + b")
    for number in range(6):
        found = []
        session.run(f"zero_grad\nforward y with a={number + 1}\nbackward y retain", found.append)
        assert [result.note.message.partition(" is ")[0] for result in found] == ["a gradient"]


def test_whatever_computes_an_operation_on_arrays_is_found_by_its_frame():
    """The functions that let numpy run an operation, each of which says where its operands are."""
    computing = {
        one.__code__
        for one in vars(import_module(DISPATCH)).values()
        if inspect.isfunction(one) and one.__module__ == DISPATCH
        if {"computed", "run"} & set(one.__code__.co_names)
    }
    assert computing == set(undefined._COMPUTING)


def test_a_session_leaves_numpy_as_it_was():
    import numpy as np

    before, call = np.geterr(), np.geterrcall()
    notes("log(x)")
    with pytest.raises(Exception, match="nosuch"):
        notes("log(x) + nosuch")
    assert (np.geterr(), np.geterrcall()) == (before, call)
    with np.errstate(invalid="raise"), pytest.raises(FloatingPointError):
        np.log(np.array([-1.0]))


# Each function of one number.
FUNCTIONS = sorted(
    name
    for name, op in OPS.items()
    if op.scalar is not None and op.family != "internal" and len(op.signature.operands) == 1
    if not op.signature.attributes and not op.signature.variadic
)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_each_function_of_a_number_that_gives_nan_or_inf_says_so(name):
    session = Session()
    for number in ("-1", "-0.5", "0", "0.5", "2", "-2", "1000", "-1000", "inf", "-inf"):
        for argument in (number, f"[1, {number}]"):
            found = []
            session.run(f"{name}({argument})", found.append)
            shown = [result.text(session.settings) for result in found if not isinstance(result, Noted)]
            told = "nan" in shown[0] or ("inf" in shown[0] and "inf" not in number)
            assert any(isinstance(result, Noted) for result in found) is told, argument


# Each of two numbers.
OF_TWO = sorted(
    name
    for name, op in OPS.items()
    if op.scalar is not None and op.family != "internal" and len(op.signature.operands) == 2
    if not op.signature.attributes and not op.signature.variadic
)


@pytest.mark.parametrize("name", thinned([*FUNCTIONS, *OF_TWO], 6))
def test_one_nan_in_a_large_array_is_told_too(name):
    session = Session()
    session.run("x = full((20001,), 0.5)")
    for number in ("-1", "0.5", "2", "-2.5", "inf"):
        session.run(f"x[7] = {number}")
        for arguments in ("x",) if name in FUNCTIONS else ("x, 2", "0.5, x", "x, x - 3"):
            found = []
            try:
                session.run(f"y = {name}({arguments})", found.append)
            except AgradError:
                continue  # gcd of numbers that are not whole
            bad = session.names["y"].data
            assert any(isinstance(one, Noted) for one in found) is bool((bad != bad).any()), (arguments, number)


@each(
    "text",
    [
        "{}",
        "y = {}",
        "print {}",
        'print f"{{{}}}"',
        "print 1, {}",
        "print [{}, 2]",
        "print(str({}))",
        "print ('a', {})",
    ],
)
@each("value", ["1/0", "exp(710)", "-10.0**400", "log(0)", "ones(2)/0", "gamma(200)"])
def test_a_result_that_became_infinite_is_noted_once(text, value):
    assert [note.message for note in notes(text.format(value))] == ["the result is infinite"]


@each(
    "text",
    [
        "print q",
        "q[0] + 1",
        "print q[0]",
        "print str(q)",
        "print 'inf'",
        "print min(q)",
        "print inf",
        "z = max(q); print z",
    ],
)
@each("value", ["[inf, 1]", "(inf, 2)", "[inf, 'a'][:1]"])
def test_an_infinite_value_that_is_read_is_not_noted(text, value):
    assert notes(text, f"q = {value}") == []


@each(
    "text, fixes",
    [
        ("y = log(x)", ["log(x + 1e-12)   is finite at 0, and so is its derivative"]),
        ("y = 1/x", ["1/(x + 1e-12)   is finite where x is 0"]),
        ("y = exp(x + 800)", ["exp(clip(x + 800, None, 700))   does not overflow"]),
        ("y = sum(log([x, 1]))", ["log([x, 1] + 1e-12)   is finite at 0, and so is its derivative"]),
    ],
)
@each("more", ["backward y", "z = 2*y; backward z", "backward y retain; backward y"])
def test_what_is_infinite_is_told_once_with_its_fix(text, fixes, more):
    found = notes(f"{text}; {more}", "var x = 0")
    assert [(note.message, note.fixes) for note in found[:1]] == [("the result is infinite", fixes)]
    assert [note for note in found[1:] if "still inf" not in note.message] == []


def test_another_cause_than_the_one_that_was_told_is_told():
    found = notes("y = log(x) + sqrt(w); backward y", "var x = 0; var w = 0")
    told = "a gradient is inf or nan: the derivative of sqrt(w) is inf at w = 0"
    assert [note.message for note in found] == ["the result is infinite", told]


@each("y", [1e-310, 1e-17, 1e300, 0.2, 1.0 / 3.0, 0.4])
def test_a_power_of_a_negative_number_is_noted_whatever_the_exponent(y):
    said = []
    session = Session()
    session.run(f"x = tensor(-1); var y = {y}; z = x**y", said.append)
    notes = [one.note for one in said if isinstance(one, Noted)]
    assert [bool(one.fixes) for one in notes] == ([y in (0.2, 1.0 / 3.0)] if y % 1.0 else [])


@each(
    "text, message, fix",
    [
        ("x <- 3", "x <- 3 compares x with -3, as in Python", "x = 3"),
        ("x <- (3)*2", "x <- (3)*2 compares x with -((3)*2), as in Python", "x = (3)*2"),
        ("z = 2+-0.1", "2+-0.1 is 2 + (-0.1), as in Python", "2 +/- 0.1"),
        ("z = 2 + -0.1", "", ""),
    ],
)
def test_what_other_languages_read_otherwise_is_noted(text, message, fix):
    session, found = Session(), []
    session.run("x = 5")
    session.run(text, found.append)
    told = [(one.note.message, *one.note.fixes) for one in found if isinstance(one, Noted)]
    assert told == [(message, fix)] * bool(message)
