"""A statement whose result is nan says which operation is not defined, once; and nothing of a nan that came in."""

import inspect
from importlib import import_module

import pytest
from thinned import thinned

from agrad.engine.core.op import OPS
from agrad.engine.errors import AgradError
from agrad.engine.inspect import undefined
from agrad.grammar.results import Noted
from agrad.grammar.session.session import Session

START = "x = [1, -2, 3, -4]; var a = -1; var v = [1, -1]; d = nan; n = [1, nan]\ndef h(t) = acos(t)*2\n"

DISPATCH = "agrad.engine.core.dispatch"

BEGUN = {
    "log(-1)": "log(-1) is nan",
    "sqrt(-1)": "sqrt(-1) is nan",
    "asin(2)": "asin(2) is nan",
    "acosh(0.5)": "acosh(0.5) is nan",
    "0/0": "0/0 is nan",
    "5 % 0": "5 % 0 is nan",
    "5 // 0 - 5 // 0": "5 // 0 - 5 // 0 is nan",
    "(-8)**(1/3)": "(-8)**(1/3) is nan: (-8) ** 0.3333333333",
    "sin(inf)": "sin(inf) is nan",
    "inf - inf": "inf - inf is nan",
    "0*inf": "0*inf is nan",
    "exp(1000) - exp(1000)": "exp(1000) - exp(1000) is nan",
    "b = log(a)*2": "log(a) is nan: log(-1)",
    "sqrt(a) + 1": "sqrt(a) is nan: sqrt(-1)",
    "h(3)": "acos(t) is nan: acos(3)",
    "(1, log(-3))": "log(-3) is nan",
    "print(log(-2))": "log(-2) is nan",
    'print(f"{sqrt(-2):.3f}")': "sqrt(-2) is nan",
    "log(x)": "log(x) is nan in 2 of 4 entries: log(-2) at [1]",
    "log(x)*0": "log(x) is nan in 2 of 4 entries: log(-2) at [1]",
    "sum(sqrt(x))": "sqrt(x) is nan in 2 of 4 entries: sqrt(-2) at [1]",
    "(x - x)/0 + log(x)": "(x - x)/0 is nan in 4 of 4 entries: 0 / 0 at [0]",
    "log(v)": "log(v) is nan in 1 of 2 entries: log(-1) at [1]",
    "log(reshape(x, (2, 2)))": "log(reshape(x, (2, 2))) is nan in 2 of 4 entries: log(-2) at [0, 1]",
    "where(x > 0, log(x), 0) + log(a)": "log(a) is nan: log(-1)",
    "mean(log(v)*2)": "log(v) is nan in 1 of 2 entries: log(-1) at [1]",
    "x[0] = log(-1)": "log(-1) is nan",
    "no_grad: a += log(-3)": "log(-3) is nan",
    "for i in range(300):\n    q = log(-1 - i)": "log(-1 - i) is nan: log(-1)",
    "q = (log(-1), sqrt(-1))": "log(-1) is nan",
    "[[1, 1], [inf, 1]] @ [[0, 2], [1, 1]]": "[[1, 1], [inf, 1]] @ [[0, 2], [1, 1]] is nan in 1 of 4 entries, the first at [1, 0]: "
    "matmul multiplies inf at [1, 0] by 0 at [0, 0]",
    "[[1, 2], [-inf, inf]] @ [3, 4]": "[[1, 2], [-inf, inf]] @ [3, 4] is nan in 1 of 2 entries, the first at [1]: "
    "matmul adds inf and -inf: the products of the entries [1, 1] by [1], and [1, 0] by [0]",
    "[0, 1] @ [inf, 1]": "[0, 1] @ [inf, 1] is nan: matmul multiplies 0 at [0] by inf at [0]",
    "y = v @ (x/[0, 1, 1, 1])[:2]*0": "v @ (x/[0, 1, 1, 1])[:2]*0 is nan: inf * 0",
    "sum([1, inf, -inf])": "sum([1, inf, -inf]) is nan: sum adds inf at [1] and -inf at [2]",
    "mean([[1, inf], [inf, -inf]], 1)": "mean([[1, inf], [inf, -inf]], 1) is nan in 1 of 2 entries, the first at [1]: "
    "mean adds inf and -inf",
    "cumsum([1, inf, -inf])": "cumsum([1, inf, -inf]) is nan in 1 of 3 entries, the first at [2]: "
    "cumsum adds inf at [1] and -inf at [2]",
    "prod([0, 2, -inf])": "prod([0, 2, -inf]) is nan: prod multiplies 0 at [0] by -inf at [2]",
    "log(n) + sqrt(x[:2])": "sqrt(x[:2]) is nan in 1 of 2 entries: sqrt(-2) at [1]",
}
CAME_IN = """
    d; d + 1; log(d); n; n*2; sum(n); log(n); q = d; q = n[1]; max(n); sqrt(n)*0; nan; 0*nan; q = (d, 1); print(d);
    where(x > 0, log(x), 0); where(a > 0, log(a), 0); 1/0; exp(1000); log(0); 2 + 2; q = [1, inf]; inf + inf; 1/x; h(0.5);
    d = 1; n[1] = 0; x = log(4); isnan(log(4)); print("nan")
""".split(";")


def notes(text, start=START):
    session, found = Session(), []
    session.run(start)
    session.run(text.strip(), found.append)
    return [result.note for result in found if isinstance(result, Noted)]


@pytest.mark.parametrize("text", BEGUN)
def test_where_a_nan_began(text):
    found = notes(text)
    assert [note.message for note in found] == [BEGUN[text]]
    assert found[0].labels[0].origin.text == BEGUN[text].split(" is nan")[0]


@pytest.mark.parametrize("text", CAME_IN)
def test_nothing_is_said_of_a_nan_that_came_in_nor_of_one_that_was_not_selected(text):
    assert notes(text) == []


def test_a_statement_says_it_once_and_the_next_one_nothing():
    session, found = Session(), []
    session.run("for i in range(50):\n    y = log(-i - 1) + sqrt(-i - 1)\nz = y + 1\nlog(y)\nw = y*y", found.append)
    assert len([result for result in found if isinstance(result, Noted)]) == 1


REPLAYED = {
    "y = log(a) + 1": "log(a) is nan: log(-1)",
    "y = sum(exp(v/v)*v)": "v/v is nan in 1 of 2 entries: 0 / 0 at [0]",
    "y = sum(log(v - 5)) + a": "log(v - 5) is nan in 2 of 2 entries: log(-5) at [0]",
}


@pytest.mark.parametrize("text", REPLAYED)
def test_a_replay_that_makes_nan_says_where(text):
    start = f"var a = 1; var v = [6, 7]\n{text}"
    [note] = notes("forward y with a=-1, v=[0, 1]", start)
    assert note.message == REPLAYED[text]
    assert notes("forward y with a=2, v=[7, 8]", start) == []
    assert notes("y*2", f"{start}\nforward y with a=-1, v=[0, 1]") == []  # it came in


def test_each_backward_of_a_replay_has_one_note(monkeypatch):
    from agrad.engine.program import replay

    monkeypatch.setattr(replay, "COST", 0.0)
    session = Session()
    session.run("var a = 0.5; var b = 1; y = (0.5 + 1/where(b < 0, 1.5, 0))*a + b")
    for number in range(6):
        found = []
        session.run(f"zero_grad\nforward y with a={number + 1}\nbackward y retain", found.append)
        assert [result.note.message.partition(" is ")[0] for result in found] == ["a gradient"]


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ("q += (i - 200)/(i - 200)", "(i - 200)/(i - 200)"),
        ("q += sum((t[[1, 0]] - t[::-1])/(t - i))", "(t[[1, 0]] - t[::-1])/(t - i)"),
        ("q += sum((t - i)@(1/(t - i)))", "(t - i)@(1/(t - i))"),
    ],
)
def test_a_loop_that_runs_compiled_says_where(body, place):
    start = "q = 0; t = [100, 250]"
    [note] = notes(f"for i in range(300):\n    {body}", start)
    assert note.message.startswith(f"{place} is nan")


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
def test_each_function_of_a_number_that_gives_nan_says_so(name):
    session = Session()
    for number in ("-1", "-0.5", "0", "0.5", "2", "-2", "1000", "-1000", "inf", "-inf"):
        for argument in (number, f"[1, {number}]"):
            found = []
            session.run(f"{name}({argument})", found.append)
            shown = [result.text(session.settings) for result in found if not isinstance(result, Noted)]
            assert any(isinstance(result, Noted) for result in found) is ("nan" in shown[0]), argument


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
