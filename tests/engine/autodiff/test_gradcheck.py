"""`check`: right derivatives pass, wrong ones are caught, a kink is called a kink."""

import math
from pathlib import Path

import numpy as np
import pytest
from refused import refusals, refuses
from rows import each, table
from samples import function_of, operation, samples, scipy_or_skipped
from transcript import sections

import agrad.engine as ag
from agrad.engine.autodiff.gradcheck import slope
from agrad.engine.core.context import UndoLog, current


def verdicts(f, *points, claim=None):
    return [finding.verdict for finding in ag.check(f, *points, claim=claim).findings]


def step(x):
    return ag.where(x > 0, 1.0, 0.0)


# Smooth: f, point

SMOOTH, KINKS = (
    table(text, "x", globals()) for (text,) in sections(Path(__file__).with_name("gradcheck.txt")).values()
)


@each("f, x", SMOOTH)
def test_a_smooth_function_is_ok(f, x):
    assert verdicts(f, x) == ["ok"]


@each("f, x", SMOOTH[:18])
def test_the_difference_itself_is_near(f, x):
    (finding,) = ag.check(f, x).findings
    assert finding.relative < 1e-5 or finding.absolute < 1e-12


# A wrong derivative, by a claim: the exact one times this


@each("factor", [0, -1, 0.5, 1 + 1e-6, 1 - 1e-6, math.inf, math.nan])
@each("f, x", SMOOTH[:15])
def test_a_wrong_claim_is_a_mismatch(f, x, factor):
    exact = ag.check(f, x).findings[0].exact
    report = ag.check(f, x, claim=exact * factor)
    assert not report.ok
    assert report.findings[0].remark == "the claim"
    assert ag.check(f, x, claim=exact * (1 + 1e-9)).ok


# No derivative: f, point, what is said


@each("f, x, why", KINKS)
def test_a_kink_is_no_mismatch(f, x, why):
    report = ag.check(f, float(x))
    assert [(finding.verdict, finding.remark) for finding in report.findings] == [("kink", why)]
    assert report.ok
    assert ag.check(f, float(x), claim=7.0).ok  # there, a claim cannot be judged


def test_an_error_beside_the_point_is_a_value_that_is_not_finite():
    assert verdicts(lambda x: 2 * x if x >= 3 else ag.inv([x]), 3.0) == ["kink"]
    assert verdicts(lambda x: 2 * x if x >= 2.9 else ag.inv([x]), 3.0) == ["ok"]
    refuses(lambda: ag.check(lambda x: ag.inv([x]), 3.0), "inv")


# Wrong rules


@each("factor, verdict", [(3.0, "ok"), (3.0 + 1e-5, "mismatch"), (2.0, "mismatch")])
def test_a_wrong_rule_is_caught(factor, verdict):
    with operation(lambda g, out, x: g * factor * x * x, lambda x: x * x * x) as cube:
        for x in (1.5, -1e5, 1e-7):
            assert verdicts(cube, x) == [verdict]
        assert verdicts(lambda x: ag.sum(cube(x[:2])) + x[2] ** 3, [1.0, 0.0, 2.0]) == [verdict, "ok", "ok"]


@each("slope_at_0", [0.5, math.nan, math.inf])
def test_a_rule_that_is_wrong_at_one_point_is_caught(slope_at_0):
    with operation(lambda g, out, x: g * ag.where(x == 0, slope_at_0, 2 * x), lambda x: x * x) as square:
        assert (verdicts(square, 0.0), verdicts(square, 1.0)) == (["mismatch"], ["ok"])
    with operation(lambda g, out, x: g, np.floor, lambda x: float(math.floor(x))) as through:
        assert verdicts(through, 2.5) == verdicts(lambda x: through(x) * 1.0, 7327.447) == ["mismatch"]


def test_what_is_detached_is_caught():
    (finding,) = ag.check(lambda x: x * x.detach(), 3.0).findings
    assert (finding.verdict, finding.exact, finding.relative) == ("mismatch", 3.0, 0.5)
    assert finding.difference == pytest.approx(6.0)


# A gradient stops there, as it is to; the two rows of entries are for plain values only.
CUT_OFF = {"detach", "lower_middle", "upper_middle", "entries_at", "put_at"}


@each("entry, sample", [case for case in samples() if case[0].name not in CUT_OFF])
def test_every_row_passes(entry, sample):
    function, points = function_of(entry, sample)

    def total(*xs):
        result = function(*xs)
        parts = [y for y in (result if isinstance(result, tuple) else (result,)) if isinstance(y, ag.Tensor)]
        return sum(ag.sum(y * (k + 1.3)) for k, y in enumerate(parts))

    with scipy_or_skipped():
        report = ag.check(total, *points)
    assert report.ok, str(report)


# What is reported


def test_every_entry_of_every_argument_has_its_line():
    report = ag.check(lambda m, b: ag.sum(ag.tanh(m) @ b), [[0.1, 0.2], [0.3, 0.4]], [1.0, 2.0])
    names = ["m[0, 0]", "m[0, 1]", "m[1, 0]", "m[1, 1]", "b[0]", "b[1]"]
    assert [finding.entry for finding in report.findings] == names
    assert report.ok


def test_names_where_the_function_tells_none():
    assert [finding.entry for finding in ag.check(ag.hypot, 3.0, 4.0).findings] == ["x", "y"]
    assert [finding.entry for finding in ag.check(lambda *xs: xs[0] * xs[1], 3.0, 4.0).findings] == ["x1", "x2"]
    assert [finding.entry for finding in ag.check(lambda *xs: xs[0] * 2, 3.0).findings] == ["x"]


def test_the_table():
    report = ag.check(lambda x, y: x**2 + ag.abs(y), 1e5, 0)
    assert str(report).splitlines() == [
        "entry   exact  difference  abs  rel  verdict",
        "x      200000      200000    0    0  ok",
        "y           0           0    0    0  kink: slope -1 on the left, 1 on the right",
    ]
    assert str(ag.check(lambda x, y: 8 * x + 2 * y, 2.0, 8.0, claim=(8, 3))).splitlines() == [
        "entry  claim  exact  difference  abs   rel  verdict",
        "x          8      8           8    0     0  ok",
        "y          3      2           2    1  0.33  mismatch: the claim",
    ]


def test_of_very_many_entries_those_that_disagree_are_all_shown():
    x = np.linspace(1, 2, 100)
    claim = 2 * x
    claim[[7, 50]] += 1
    lines = str(ag.check(lambda x: ag.sum(x**2), x, claim=claim)).splitlines()
    assert [line.split()[0] for line in lines if "mismatch" in line] == ["x[7]", "x[50]"]
    assert len(lines) == 1 + 2 + 5 + 1
    assert lines[-1].startswith("and 93 more, ok, rel at most ")


@each("claim", [(3.0, 2.0), (3.0, None), (None, 2.0), (None, None), None, lambda x, y: (y, x), lambda x, y: (None, x)])
def test_a_right_claim_in_any_form(claim):
    assert ag.check(lambda x, y: x * y, 2.0, 3.0, claim=claim).ok


def test_one_number_claims_the_derivative_of_every_entry():
    assert ag.check(lambda x: ag.sum(3 * x), [1.0, 2.0], claim=3).ok
    assert [f.verdict for f in ag.check(lambda x: ag.sum(x * x), [1.0, 2.0], claim=2).findings] == ["ok", "mismatch"]


# What it refuses


@each("call, kind, message", refusals("checks of derivatives", globals()))
def test_what_cannot_be_checked_is_an_error(call, kind, message):
    refuses(call, message, kind=kind)


def test_an_array_comes_with_the_fix():
    assert refuses(lambda: ag.check(lambda x: x * 2, [1.0, 2.0])).fixes == ["sum(…)"]


# What it leaves alone


def test_nothing_is_disturbed():
    point = np.array([1.0, 2.0])
    other = ag.tensor([3.0, 4.0], requires_grad=True)
    (other * other).sum().backward()
    seen = other.node.stamp, other.grad.tolist(), other.tolist()
    counts = ag.tensor([0.0])

    def f(x):
        counts[0] = counts[0] + 1
        loss = ag.sum(x * other)
        loss.backward(retain_graph=True)
        with ag.no_grad():
            counts.set_([7.0])
        return loss

    assert ag.check(f, point).ok
    assert (other.node.stamp, other.grad.tolist(), other.tolist()) == seen
    assert counts.tolist() == [0.0]
    assert point.tolist() == [1.0, 2.0]
    assert current().undo_log is None and current().recording


def test_random_numbers_are_the_same_at_every_call_and_afterwards():
    ag.manual_seed(1)
    ag.rand(2)
    assert ag.check(lambda x: ag.sum(x * ag.randn(3)), [1.0, 2.0, 3.0]).ok
    after = ag.rand(2).tolist()
    ag.manual_seed(1)
    ag.rand(2)
    assert ag.rand(2).tolist() == after


def test_it_works_where_nothing_is_recorded_and_under_an_undo_log():
    with ag.no_grad():
        assert ag.check(lambda x: x * x, 3.0).findings[0].exact == 6.0
        assert not current().recording
    current().undo_log = log = UndoLog()
    try:
        assert ag.check(lambda x: x * x, 3.0).ok
        assert current().undo_log is log
    finally:
        current().undo_log = None


def test_an_interrupt_leaves_everything_as_it_was():
    calls = 0

    def f(x):
        nonlocal calls
        calls += 1
        if calls == 5:
            raise KeyboardInterrupt
        return x * x

    with pytest.raises(KeyboardInterrupt):
        ag.check(f, 3.0)
    assert current().undo_log is None and current().recording


# The differences by themselves


@each("expected", [0.0, math.inf, math.nan, 6.0])
def test_what_is_expected_does_not_decide_what_is_found(expected):
    assert slope(lambda x: x * x, 3.0, 9.0, expected, 1e-15).value == pytest.approx(6.0, rel=1e-9)


def test_few_calls_are_enough_for_a_plain_function():
    calls = []
    ag.check(lambda x: calls.append(x) or ag.log(x) * x, 2.0)
    assert len(calls) <= 20
