"""Zeros, minima, integrals and differential equations: their values, their derivatives, and what they refuse."""

import math

import numpy as np
import pytest
from refused import refuses
from rows import each

import agrad.engine as ag
from agrad.engine.core.context import scope
from agrad.engine.errors import AgradError
from agrad.grammar.session.session import Session

pytest.importorskip("scipy")

INF = math.inf


def at(p):
    return ag.tensor(p, requires_grad=True)


def differences(f, p, order):
    """The derivatives of a function of a vector by central differences of it, extrapolated once."""
    p = np.asarray(p, dtype=float)

    def slopes(f, p, step):
        units = np.eye(len(p)) * step
        return np.stack([(np.asarray(f(p + u)) - np.asarray(f(p - u))) / (2 * step) for u in units], axis=-1)

    def once(f, step):
        return lambda p: (4 * slopes(f, p, step / 2) - slopes(f, p, step)) / 3

    return once(f, 1e-3)(p) if order == 1 else once(once(f, 4e-3), 4e-3)(p)


def root_problem(r):
    a, b, c = r.uniform(0.5, 2, 3)
    kind = r.integers(4)
    functions = [
        lambda x, p: p[0] * x**3 + p[1] * x - p[2] * 3,
        lambda x, p: ag.exp(p[0] * x) - p[1] - p[2] * x / 4 - 2,
        lambda x, p: x - p[0] - 0.3 * ag.sin(p[1] * x) * p[2],
        lambda x, p: ag.log(x**2 + p[0]) * p[1] + x - p[2],
    ]
    return (a, b, c), lambda p: ag.root(lambda x: functions[kind](x, p), 1.0)


def system_problem(r):
    def system(p):
        return ag.root(
            lambda v: ag.stack([p[0] * v[0] + 0.3 * ag.sin(v[1]) - p[1], v[1] ** 3 + p[2] * v[1] - v[0] * p[0]]),
            [0.5, 0.5],
        ).sum()

    return r.uniform(0.5, 2, 3), system


def minimum_problem(r):
    def least(p):
        found = ag.argmin(
            lambda v: ag.cosh(v[0] - p[0]) + p[1] * (v[1] - v[0]) ** 2 + 0.1 * p[2] * v[1] ** 4, [0.3, 0.2]
        )
        return found[0] * 2 + found[1]

    return r.uniform(0.5, 2, 3), least


def integral_problem(r):
    kind = r.integers(4)
    functions = [
        lambda p: ag.integral(lambda t: ag.sin(p[0] * t) * ag.exp(-p[1] * t), 0.0, p[2]),
        lambda p: ag.integral(lambda t: ag.exp(-p[0] * t**2) * (1 + p[1] * t**2) * p[2], -INF, INF),
        lambda p: ag.integral(lambda t: p[0] / (t**2 + p[1]), -p[2], INF),
        lambda p: ag.integral(lambda t: ag.sqrt(t) * p[0] + p[1] * t, 0.0, p[2] + 1),
    ]
    return r.uniform(0.5, 2, 3), functions[kind]


def equation_problem(r):
    def end(p):
        found = ag.ode(
            lambda t, y: ag.stack([y[1] + 0.1 * t, -p[0] * ag.sin(y[0]) - 0.2 * y[1]]),
            ag.stack([p[1], p[2] * 0.5]),
            [0.0, 0.5, 1.0],
        )
        return found[2, 0] + found[1, 1]

    return r.uniform(0.5, 2, 3), end


PROBLEMS = {"root": root_problem, "system": system_problem, "argmin": minimum_problem, "integral": integral_problem}


@pytest.mark.long
@pytest.mark.parametrize("kind", [*PROBLEMS, "ode"])
def test_derivatives_of_both_orders_are_those_of_differences_of_the_whole_computation(kind):
    for seed in range(20 if kind == "ode" else 45):  # 200 in all
        p, f = {**PROBLEMS, "ode": equation_problem}[kind](np.random.default_rng(seed))
        leaf = at(p)
        y = f(leaf)

        other = at(p)
        whole = f(other)

        def plain(q, other=other, whole=whole):
            other.set_(q)
            ag.forward(whole)  # solves it again
            return float(whole)

        np.testing.assert_allclose(ag.grad(y, leaf).data, differences(plain, p, 1), rtol=2e-7, atol=2e-8)
        hessian = ag.hessian(y, leaf).data
        np.testing.assert_allclose(hessian, differences(plain, p, 2), rtol=2e-5, atol=2e-5)
        np.testing.assert_allclose(hessian, hessian.T, rtol=1e-7, atol=1e-8)


def test_a_root_has_derivatives_of_any_order():
    a = at(2.0)
    y, found = ag.root(lambda x: x**2 - a, 1.0), []
    for _ in range(4):
        found.append(float(y))
        y = ag.grad(y, a, create_graph=True)
    exact = [2**0.5, 0.5 * 2**-0.5, -0.25 * 2**-1.5, 0.375 * 2**-2.5]
    assert found == pytest.approx(exact, rel=1e-14)


def test_a_bracket_finds_the_same_root():
    a = at(2.0)
    x = ag.root(lambda x: x**2 - a, (0, 2))
    assert float(x) == pytest.approx(2**0.5, rel=1e-15)
    assert float(ag.grad(x, a)) == pytest.approx(0.5 * 2**-0.5, rel=1e-15)
    assert ag.root(lambda x: x * (x - 3), (0, 2)) == 0.0
    assert ag.root(lambda x: x - 1, (1, 1)) == 1.0


def test_what_is_computed_with_plain_numbers_is_plain():
    assert ag.root(ag.cos, 1.0) == pytest.approx(math.pi / 2, rel=1e-15)
    assert ag.integral(lambda t: t**2, 0, 3) == pytest.approx(9.0, rel=1e-15)
    assert ag.argmin([3.0, 1.0, 2.0]) == 1.0


def test_a_replay_solves_again():
    a = at(2.0)
    y = ag.root(lambda x: x**2 - a, 1.0) + ag.integral(lambda t: a * t, 0, a)
    a.set_(9.0)
    ag.forward(y)
    assert float(y) == pytest.approx(3.0 + 9**3 / 2, rel=1e-14)
    y.backward()
    assert float(a.grad) == pytest.approx(1 / 6 + 1.5 * 81, rel=1e-13)


def test_one_can_be_inside_another():
    a = at(2.0)
    y = ag.root(lambda x: ag.integral(lambda t: ag.exp(t), 0.0, x) - a, 1.0)  # exp(x) - 1 = a
    assert float(y) == pytest.approx(math.log(3), rel=1e-14)
    assert float(ag.grad(y, a)) == pytest.approx(1 / 3, rel=1e-12)


@each(
    "f, a, b, exact",
    [
        (lambda x: x**-0.9, 0, 1, 10.0),
        (lambda x: x**-0.5, 1, 0, -2.0),
        (lambda x: ag.log(x) ** 2 * ag.exp(-x), 0, INF, np.euler_gamma**2 + math.pi**2 / 6),
        (lambda x: x**3 / (ag.exp(x) - 1), 0, INF, math.pi**4 / 15),
        (lambda x: ag.sin(x) / x, 0, 1, 0.946083070367183),
        (lambda x: 1 / (1 + x**2), -INF, INF, math.pi),
        (lambda x: ag.abs(ag.sin(x)) * x**-0.5, 0, 4, 1.9697728992490677),
        (lambda x: x**3, -1, 1, 0.0),
    ],
)
def test_an_integral_is_that_of_a_singular_function_if_there_is_one(f, a, b, exact):
    assert ag.integral(f, a, b) == pytest.approx(exact, rel=1e-8, abs=1e-12)


def test_an_integral_may_have_entries():
    a = at(2.0)
    y = ag.integral(lambda t: ag.stack([t * a, t**2]), 0.0, 1.0)
    np.testing.assert_allclose(y.data, [1.0, 1 / 3], rtol=1e-14)
    np.testing.assert_allclose(ag.jacobian(y, a).data, [0.5, 0.0], rtol=1e-14, atol=1e-15)


def test_times_and_initial_values_of_an_equation_have_derivatives():
    y0, a, last = at(3.0), at(0.5), at(2.0)
    y = ag.ode(lambda t, y: -a * y, y0, ag.stack([0.0, last]))[1]
    found = [float(g) for g in ag.grad(y, (y0, a, last))]
    decay = math.exp(-1.0)
    assert found == pytest.approx([decay, -6 * decay, -1.5 * decay], rel=1e-9)


def test_a_stiff_equation_is_solved_by_an_implicit_method():
    k = at(1e6)
    y = ag.ode(lambda t, y: -k * (y - ag.cos(t)), 1.0, [0, 10], stiff=True)[1]
    assert float(y) == pytest.approx(math.cos(10), rel=1e-5)
    assert abs(float(ag.grad(y, k))) < 1e-10


def test_taylor_gives_the_coefficients_of_a_polynomial():
    np.testing.assert_allclose(ag.taylor(ag.exp, 0.0, 4).data, [1, 1, 1 / 2, 1 / 6, 1 / 24], rtol=1e-14)
    a = at(2.0)
    np.testing.assert_allclose(
        ag.jacobian(ag.taylor(lambda x: ag.sin(a * x), 0.0, 3), a).data, [0, 1, 0, -2], rtol=1e-14
    )


@pytest.mark.long
def test_a_stiff_equation_says_so():
    caught = refuses(lambda: ag.ode(lambda t, y: -1e6 * (y - ag.cos(t)), 1.0, [0, 10]))
    assert caught.message.startswith("ode: the equation is stiff: the solution is at t = 0.01")
    assert caught.fixes == ["ode(f, y0, ts, stiff=True)   an implicit method"]


def heard(call):
    """What a call returns, and what it says."""
    notes = []
    with scope(listener=lambda note: notes.append(note.message)):
        return call(), notes


def rates(*each):
    return lambda t, y: ag.stack([one(t, y) for one in each])


@each("f, y0, ts, exact, places", [
    (rates(lambda t, y: y[1], lambda t, y: ag.where(t > 1, 1.0, 0.0)), [0.0, 0.0], [0, 1, 5], [8.0, 4.0], "1"),
    (lambda t, y: ag.where(ag.abs(t - 5) < 1e-3, 1000.0, 0.0), 0.0, [0, 10], 2.0, "4.999, 5.001"),
    (lambda t, y: ag.where((t > 5) * (t < 5.001), 1000.0, 0.0), 0.0, [0, 10], 1.0, "5, 5.001"),
    (lambda t, y: ag.where((t - 7) ** 2 < 1e-6, 1.0, 0.0) - y, 0.0, [0, 7.001], 2e-3 - 2e-6, "6.999, 7.001"),
    (lambda t, y: ag.where(y > 1.0, 2.0, 1.0), 0.0, [0, 3], 5.0, "1"),
    (lambda t, y: ag.where(y > 1.0, 2.0, 1.0), [0.0, 0.5], [0, 3], [5.0, 6.0], "0.5, 1"),
    (lambda t, y: ag.sign(t - 0.5), 0.0, [0, 2], 1.0, "0.5"),
    (lambda t, y: ag.heaviside(t - 0.5, 0.5) + t // 1.5, 0.0, [0, 2], 2.0, "0.5, 1.5"),
    (lambda t, y: t % 1.0, 0.0, [0, 3.5], 1.625, "1, 2, 3"),
    (lambda t, y: ag.floor(t), 0.0, [3, 1], -3.0, "2"),
    (lambda t, y: ag.where(t >= 0, -y, y), 1.0, [-1, 0, 1], 1.0, "0"),
    (rates(lambda t, y: y[1], lambda t, y: -ag.where(y[0] > 0, 4.0, 1.0) * y[0]), [0.0, 1.0], [0, math.pi], [-1.0, 0.0], "1.5708"),
    (lambda t, y: ag.where(t > 2, -1e6 * (y - 3.0), 0.0), 1.0, [0, 3], 3.0, "2"),
])  # fmt: skip
def test_jumps_are_gone_to_and_told(f, y0, ts, exact, places):
    rows, notes = heard(lambda: ag.ode(f, y0, [float(t) for t in ts], stiff=exact == 3.0))
    np.testing.assert_allclose(rows[-1], exact, rtol=2e-9, atol=3e-9)
    assert f"ode: the function takes another branch at t = {places}; the solution begins again there" in notes


def test_an_equation_is_differentiated_through_its_jumps():
    for make, value, slope, curvature in (
        (lambda a: ag.ode(lambda t, y: ag.where(t > a, a, 0.0), 0.0, [0, 2])[1], 0.75, -1.0, -2.0),  # a*(2 - a)
        (lambda a: ag.ode(lambda t, x: ag.where(x > a, 2.0, 1.0), 0.0, [0, 3])[1], 4.5, -1.0, 0.0),  # 6 - a
        (lambda a: ag.ode(lambda t, x: ag.where(x > 1, -a, a), 3.0 * a, [0, 1])[1], 3.0, 2.0, 0.0),  # 3 a - a
    ):
        a = at(1.5)
        y = make(a)
        found = [float(y), float(ag.grad(y, a)), float(ag.hessian(y, a))]
        np.testing.assert_allclose(found, [value, slope, curvature], rtol=1e-9, atol=1e-9)
        a.set_(1.6)
        ag.forward(y)
        assert float(y) == pytest.approx(float(make(at(1.6))), rel=1e-12)
    a.set_(0.2)  # from below 1
    refuses(lambda: ag.forward(y), "and did not when it was computed first", "guard")


def test_an_event_ends_an_equation_at_a_time_with_derivatives():
    v, g = at(5.0), at(9.81)
    ball = rates(lambda t, y: y[1], lambda t, y: 0 * y[0] - g)
    landed = ag.ode(ball, ag.stack([0.0 * v, v]), [0.0, 10.0], until=lambda t, y: y[0])
    assert float(landed) == pytest.approx(2 * 5 / 9.81, rel=1e-12)
    np.testing.assert_allclose([*map(float, ag.grad(landed, (v, g)))], [2 / 9.81, -10 / 9.81**2], rtol=1e-9)
    np.testing.assert_allclose(
        np.array([[float(x) for x in row] for row in ag.hessian(landed, (v, g))]),
        [[0, -2 / 9.81**2], [-2 / 9.81**2, 20 / 9.81**3]], rtol=1e-8, atol=1e-10,
    )  # fmt: skip
    u = ag.uncertain(5.0, 0.1)
    flight = ag.ode(ball, ag.stack([0.0, u]), [0.0, 10.0], until=lambda t, y: y[0])
    assert ag.uncertainty(flight) == pytest.approx(0.2 / 9.81, rel=1e-9)
    again = ag.ode(ball, [0.0, 5.0], [0.0, flight])[1]
    assert float(again[0]) == pytest.approx(0.0, abs=1e-10)
    refuses(
        lambda: ag.ode(ball, [0.0, 500.0], [0.0, 10.0], until=lambda t, y: y[0]),
        "does not change its sign before t = 10",
    )
    assert ag.ode(lambda t, y: -y, 1.0, [0, 5], until=lambda t, y: y - 0.5) == pytest.approx(math.log(2), rel=1e-10)
    assert ag.ode(lambda t, y: ag.where(t > 1, 2.0, 1.0), 0.0, [0, 5], until=lambda t, y: y - 3) == pytest.approx(2.0)


def test_each_value_has_an_error_of_its_own_size():
    rows = ag.ode(rates(lambda t, y: -y[0], lambda t, y: -3 * y[1] ** 2 / 1e-15), [1e6, 1e-15], [0.0, 2.0])
    np.testing.assert_allclose(rows[1], [1e6 * math.exp(-2), 1e-15 / 7], rtol=1e-10)
    slow = rates(lambda t, y: 0.0 * t, lambda t, y: -(y[1] ** 2) * 1e12, lambda t, y: y[1] * y[2])
    rows = ag.ode(slow, [1e8, 1e-12, 1.0], [0.0, 1e3])
    np.testing.assert_allclose(rows[1], [1e8, 1e-12 / 1001, math.exp(math.log(1001) / 1e12)], rtol=1e-9)
    noise = ag.ode(rates(lambda t, y: y[1], lambda t, y: -y[0]), [math.cos(math.pi / 2), 1.0], [0.0, 1.0])
    np.testing.assert_allclose(noise[1], [math.sin(1), math.cos(1)], rtol=1e-10)

    def rounded(t, y):
        return ag.stack([-y[0], (y[0] + 1.0) - y[0] - 1.0 + 1e-40])  # whose second value is noise

    assert heard(lambda: ag.ode(rounded, [0.7, 0.0], [0.0, 1.0]))[1][-1].startswith("ode: value 1 may be wrong")
    refuses(lambda: ag.ode(lambda t, y: y, [0, 1], [0, 1], atol=[1, 2, 3]), "one for each of the 2 values", "shape")
    coarse = ag.ode(lambda t, y: ag.cos(t) * y, 1.0, [0, 3], atol=1e-3)[1]
    assert 1e-12 < abs(coarse / math.exp(math.sin(3)) - 1) < 1e-3
    each_one = ag.ode(rates(lambda t, y: ag.cos(t), lambda t, y: ag.sin(t)), [0, 0], [0, 3], atol=[1e-12, 1e-2])[1]
    assert abs(each_one[0] - math.sin(3)) < 1e-11


def test_a_function_whose_second_argument_is_named_t_is_called_with_the_time_first_and_that_is_told():
    told = "ode: the function is called as f(t, y): its second argument, t, is the value"
    assert heard(lambda: ag.ode(lambda y, t: -t, 1.0, [0, 1]))[1] == [told]
    assert heard(lambda: ag.ode(lambda t, y: -y, 1.0, [0, 1]))[1] == []
    session, notes = Session(), []
    session.run("def f(y, t) = -t\ny = ode(f, 1, [0, 1])", lambda result: notes.append(result.text(session.settings)))
    assert notes == [f"note: {told}"]


def test_a_pulse_between_two_steps_is_found_by_shorter_ones():
    def pulse(t, y):
        return ag.exp(-(((t - 5) / 1e-2) ** 2)) - 0 * y

    (missed, found), notes = zip(
        *[heard(lambda more=more: ag.ode(pulse, 1.0, [0, 10], **more)[1]) for more in ({}, {"within": 0.01})],
        strict=True,
    )
    assert (missed, found) == (1.0, pytest.approx(1 + 1e-2 * math.sqrt(math.pi), rel=1e-9))
    assert notes == (["ode: the longest step is 8.9; what is shorter may be missed: within=0.4 looks closer"], [])
    assert heard(lambda: ag.ode(lambda t, y: ag.stack([y[1], -y[0]]), [1.0, 0.0], [0, 10]))[1] == []


def test_a_function_that_has_no_solution_beyond_a_jump_says_so():
    refuses(lambda: ag.ode(lambda t, y: -ag.sign(y), 1.0, [0, 3]), "jumps back and forth at t = 1")


def test_a_double_zero_of_several_unknowns_has_no_fix_for_one():
    with pytest.raises(AgradError, match=r"double zero at \[0, 0\]: its Jacobian is singular there$") as caught:
        ag.root(lambda x: x**2, [1.0, 1.0])
    assert caught.value.fixes == []
    with pytest.raises(AgradError, match="double zero at 0: its derivative is 0 there") as caught:
        ag.root(lambda x: x**2, 1.0)
    assert caught.value.fixes != []


def test_a_place_between_which_newtons_steps_jump_is_no_minimum():
    """Beside the kink of the slope of abs(x)**1.5 + 1 each step goes to -x, where the value is the same."""
    session = Session()
    session.run("var x = 0.7; y = abs(x)^1.5 + 1")
    with pytest.raises(AgradError, match="no minimum is found"):
        session.run("minimize y over x")
