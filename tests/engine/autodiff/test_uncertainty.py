"""Standard uncertainties: against the package `uncertainties`, the examples of the GUM, and simulation."""

import math
import random
from types import SimpleNamespace

import numpy as np
import pytest
from random_programs import argument, tree
from refused import refusals, refuses
from rows import each

import agrad.engine as ag
from agrad.engine.autodiff.reverse import by_leaves, walk
from agrad.engine.autodiff.uncertainty import (
    as_leaf,
    as_recorded,
    correlate,
    doubtful,
    parameters,
    percent,
    second_order,
)
from agrad.engine.core.versions import walkable
from agrad.engine.inspect.budget import budget, sampled


def test_correlation_is_that_of_the_graph():
    x = ag.uncertain(2.0, 0.1)
    assert ag.uncertainty(x - x) == 0.0
    assert ag.uncertainty(ag.tensor(2.0, requires_grad=True) * 3) is None
    np.testing.assert_allclose(ag.uncertainty(ag.stack([x, x * 2])), [0.1, 0.2], rtol=1e-14)


def test_one_pass_gives_the_derivatives_of_the_general_one():
    def pair(place):
        a, b = ag.uncertain(0.5 + place / 7, 0.1), ag.uncertain(2.5 - place / 150, 0.1)
        return ag.sin(a) * b - 2.0 * a / b

    pairs = [pair(place) for place in range(300)]
    wide = sum(pairs)  # so many nodes wait, and not in a row, that the pass gives up
    narrow = sum(pairs[:20], pairs[0] ** 2 + ag.exp(-pairs[1]) * ag.tensor(3.0))
    for y in (wide, narrow):
        order = walkable(y.node)[0]
        general = {node: slope for node, slope in walk(order, {y.node: 1.0}, False).items() if node.op is None}
        found = by_leaves(y.node)
        assert found is None if y is wide else found[0].keys() == general.keys()
        for node, slope in found[0].items() if found else ():
            assert slope == pytest.approx(general[node], rel=1e-14)
        assert ag.uncertainty(y) == pytest.approx(math.hypot(*(0.1 * g for g in general.values())), rel=1e-14)


@each("kind", ["leaf", "constant", "through a comparison"])
def test_the_uncertainty_of_a_value_older_than_what_it_was_computed_from_is_refused(kind):
    x, c = ag.uncertain(2.0, 0.1), ag.tensor(3.0)
    y = x * (c if kind != "through a comparison" else x > c) * x
    assert ag.uncertainty(y) is not None
    (c if kind == "constant" else x).set_(5.0)
    refuses(lambda: ag.uncertainty(y))


@each("value", [2.0, [1.0, 2.0]])
def test_an_uncertainty_survives_a_backward_and_a_second_one_is_refused_all_the_same(value):
    x = ag.uncertain(value, 0.1)
    y = ag.exp(x) * ag.tensor(3.0)
    total = ag.sum(y * y)
    before = [ag.uncertainty(one) for one in (y, total, y + x)]
    total.backward()
    assert str([ag.uncertainty(one) for one in (y, total, y + x)]) == str(before)
    assert sampled(budget(total, order=2), total, 1000, np.random.default_rng())[0].u == pytest.approx(float(before[1]))
    refuses(total.backward, kind="freed")


def test_what_a_backward_without_uncertain_leaves_freed_is_not_read():
    w, x = ag.tensor([1.0, 2.0], requires_grad=True), ag.uncertain([3.0, 4.0], 0.1)
    doubled = w * 2.0
    y = doubled @ (x * 1.0)
    doubled.sum().backward()
    for derive in (lambda: ag.uncertainty(y), lambda: ag.grad(y, x), lambda: ag.jvp(y, x, [1.0, 1.0])):
        with pytest.raises(ag.AgradError, match="freed"):
            derive()
    again = doubled @ (x * 1.0)
    assert ag.uncertainty(again) == pytest.approx(0.1 * math.hypot(2.0, 4.0))
    assert float(ag.jvp(again, x, [1.0, 1.0])) == 6.0


def test_hooks_change_gradients_and_no_uncertainty():
    x, v = ag.uncertain(0.5, 0.1), ag.uncertain([1.0, 2.0], 0.1)
    y, w = x**2, ag.cumsum(v)
    before = ag.uncertainty(y), ag.uncertainty(w).tolist(), doubtful(y)
    for one in (x, v):
        one.register_hook(lambda g: 2.0 * g)
    assert (ag.uncertainty(y), ag.uncertainty(w).tolist(), doubtful(y)) == before
    y.backward()
    assert float(x.grad) == 2.0


def test_squares_of_uncertainties_neither_vanish_nor_overflow():
    for size in (1e-200, 1e200):
        a, b = ag.uncertain(size, 0.3 * size), ag.uncertain(size, 0.4 * size)
        v = ag.stack([a, b])
        assert ag.uncertainty(ag.maximum(a + b, a)) == pytest.approx(0.5 * size)
        assert ag.uncertainty(ag.sum(v)) == pytest.approx(0.5 * size)
        assert ag.uncertainty(v).tolist() == [0.3 * size, 0.4 * size]
        correlate(a, b, -1.0)
        assert ag.uncertainty(ag.sum(v)) == pytest.approx(0.1 * size)
        found = budget(a + b)
        assert (found.u, found.dof) == (pytest.approx(0.1 * size), math.inf)
        assert [row.share for row in found.sources] == pytest.approx([-3.0, 4.0])


def test_a_new_leaf_is_correlated_with_what_its_data_came_from():
    a, b = ag.measured([1.0, 2.0, 3.0]), ag.uniform(0.0, 1.0)
    y = ag.stack([a, b, a * b])
    z = as_leaf(y)
    assert ag.uncertainty(z).tolist() == ag.uncertainty(y).tolist()
    assert ag.uncertainty(ag.sum(z - y)) == pytest.approx(0.0, abs=1e-8)
    assert ag.uncertainty(z[0] + b) == pytest.approx(ag.uncertainty(a + b))
    assert z.grad_fn is None
    for one in (a, b):
        one.name = "one"
        copy = as_leaf(one)
        known, other = copy.node.uncertainty, one.node.uncertainty
        assert (known.u, known.dof, known.distribution) == (other.u, other.dof, other.distribution)
        assert ag.uncertainty(copy - one) == 0.0
    product = as_leaf(a * ag.measured([1.0, 2.0, 4.0, 5.0]))
    assert budget(product).dof == pytest.approx(budget(a * ag.measured([1.0, 2.0, 4.0, 5.0])).dof)


def test_a_new_leaf_is_correlated_with_what_its_source_is_correlated_with():
    a, b = ag.uncertain(1.0, 0.1), ag.uncertain(2.0, 0.2)
    correlate(a, b, 0.8)
    a.name = "a"
    copy = as_leaf(a)
    copy.name = "copy"
    again = as_leaf(3.0 * copy)
    for one, factor in ((copy, 1.0), (again, 3.0)):
        assert ag.uncertainty(one - factor * a) == pytest.approx(0.0, abs=1e-8)
        assert ag.uncertainty(one - b) == pytest.approx(ag.uncertainty(factor * a - b))
        assert ag.uncertainty(one + b + copy) == pytest.approx(ag.uncertainty(factor * a + b + a))


def test_an_uncertain_leaf_keeps_requiring_a_gradient():
    x = ag.uncertain(2.0, 0.1)
    with pytest.raises(ag.AgradError, match="is uncertain: it requires a gradient"):
        x.requires_grad = False


def test_correlations_count_and_contradictions_are_refused():
    a, b, c = (ag.uncertain(1.0, 0.1) for _ in range(3))
    correlate(a, b, 1.0)
    assert ag.uncertainty(a - b) == pytest.approx(0.0, abs=1e-9)
    assert ag.uncertainty(a + b) == pytest.approx(0.2)
    assert ag.uncertainty(a + c) == pytest.approx(0.1 * 2**0.5)
    correlate(a, c, 0.9)
    refuses(lambda: ag.uncertainty(a + b + c), "contradict")
    correlate(b, c, 0.9)
    assert ag.uncertainty(a + b + c) == pytest.approx(0.1 * (3 + 2 + 3.6) ** 0.5)


def test_h1_end_gauge_calibration():
    """GUM, H.1: lengths in nm."""
    ls = ag.normal(50_000_623.0, 25.0, dof=18)
    d = 215.0 + ag.normal(0.0, 5.8, dof=24) + ag.normal(0.0, 3.9, dof=5) + ag.normal(0.0, 6.7, dof=8)
    expansion = ag.uniform(9.5e-6, 13.5e-6)
    theta = ag.normal(-0.1, 0.41)
    of_expansion = ag.uniform(-1e-6, 1e-6, dof=50)
    of_theta = ag.uniform(-0.05, 0.05, dof=2)
    length = ls + d - ls * (of_expansion * theta + expansion * of_theta)
    found = budget(length, coverage=0.99, order=2)
    assert found.value == 50_000_838.0
    assert round(found.u) == 32
    assert math.floor(found.dof) == 16
    assert found.k == pytest.approx(2.92, abs=0.005)
    assert round(round(found.k, 2) * round(found.u)) == 93
    assert round(math.hypot(found.u, found.second.u)) == 34
    assert sum(row.share for row in found.sources) == pytest.approx(1.0)


def test_h2_resistance_and_reactance():
    """GUM, H.2: three quantities that were measured together.

    The readings give u(X) = 0.29558; the printed 0.295 follows from the uncertainties with the two digits of table H.2.
    """
    readings = np.array(
        [
            [5.007, 19.663e-3, 1.0456],
            [4.994, 19.639e-3, 1.0438],
            [5.005, 19.640e-3, 1.0468],
            [4.990, 19.685e-3, 1.0428],
            [4.999, 19.678e-3, 1.0433],
        ]
    )

    def results(covariance):
        v, i, phi = ag.correlated(readings.mean(axis=0), covariance)
        return v / i * ag.cos(phi), v / i * ag.sin(phi), v / i

    def together(a, b):
        return (ag.uncertainty(a + b) ** 2 - ag.uncertainty(a) ** 2 - ag.uncertainty(b) ** 2) / (
            2 * ag.uncertainty(a) * ag.uncertainty(b)
        )

    r, x, z = results(np.cov(readings.T) / 5)
    assert [round(float(one), 3) for one in (r, x, z)] == [127.732, 219.847, 254.260]
    assert [round(ag.uncertainty(one), 3) for one in (r, x, z)] == [0.071, 0.296, 0.236]
    assert [round(together(*pair), 3) for pair in ((r, x), (r, z), (x, z))] == [-0.588, -0.485, 0.993]
    printed = np.array([0.0032, 0.0095e-3, 0.00075])
    rounded = results(np.corrcoef(readings.T) * np.outer(printed, printed))
    assert [round(ag.uncertainty(one), 3) for one in rounded] == [0.071, 0.295, 0.236]


def test_the_second_order_is_that_of_the_moments():
    x = ag.uncertain(0.0, 0.1)
    found = doubtful(x**2)
    assert found == pytest.approx((0.01, 0.1**2 * 2**0.5))
    assert doubtful(ag.uncertain(10.0, 0.1) ** 2) is None
    flat = ag.uniform(-1.0, 1.0)
    y = flat**2
    with as_recorded(y) as found:
        assert second_order(y, found) == pytest.approx((1 / 3, (1 / 5 - 1 / 9) ** 0.5))


def test_simulation_agrees_with_the_second_order():
    rng = np.random.default_rng(3)
    x, y = ag.uncertain(1.0, 0.1), ag.uniform(0.0, 1.0)
    z = x * y + x**2
    found, _ = sampled(budget(z, order=2), z, 400_000, rng)
    assert found.samples.mean == pytest.approx(found.value + found.second.bias, abs=2e-3)
    assert found.samples.u == pytest.approx(math.hypot(found.u, found.second.u), rel=5e-3)
    assert not found.samples.holds  # a uniform distribution has other ends than a normal one
    total = ag.uncertain(1.0, 0.1) + ag.uncertain(2.0, 0.1)
    linear, _ = sampled(budget(total), total, 1_000_000, rng)
    assert linear.samples.holds


@pytest.mark.parametrize("count", [20, pytest.param(1000, marks=pytest.mark.long)])
def test_a_verdict_on_linearity_knows_how_far_the_samples_are_off(count):
    verdicts = {True: 0, False: 0, None: 0}
    dice = random.Random(count)
    for seed in range(count):
        a, b = (ag.uncertain(dice.uniform(-5, 5), dice.uniform(0.01, 1)) for _ in range(2))
        y = dice.uniform(1, 3) * a - b
        found, _ = sampled(budget(y, dice.choice([0.9, 0.95, 0.99])), y, 20_000, np.random.default_rng(seed))
        verdicts[found.samples.holds] += 1
        assert found.samples.number == 20_000 or found.samples.holds is not None or found.samples.number == 200_000
    assert verdicts[False] <= count // 200
    assert verdicts[True] > 0 < verdicts[None]


def test_a_difference_beyond_the_tolerance_never_holds():
    for seed in range(30):
        a = ag.uncertain(1.0, 0.1)
        y = a + 0.3 * (a - 1.0) ** 2  # whose ends are off by more than twice the tolerance
        found, _ = sampled(budget(y), y, 10_000, np.random.default_rng(seed))
        assert found.samples.holds is not True, (seed, found.samples)


def test_correlated_values_are_simulated_together():
    rng = np.random.default_rng(4)
    v = ag.correlated([1.0, 2.0], [[4.0, 2.0], [2.0, 9.0]])
    found, _ = sampled(budget(v.sum()), v.sum(), 100_000, rng)
    assert found.u == pytest.approx(17**0.5)
    assert found.samples.u == pytest.approx(17**0.5, rel=0.01)


def test_degrees_of_freedom_are_those_of_welch_and_satterthwaite():
    a, b = ag.measured([1.0, 2.0, 3.0]), ag.measured([4.0, 5.0, 5.5, 6.0])
    found = budget(a + b)
    ua, ub = ag.uncertainty(a), ag.uncertainty(b)
    assert ua == pytest.approx(1 / 3**0.5)
    assert found.dof == pytest.approx((ua**2 + ub**2) ** 2 / (ua**4 / 2 + ub**4 / 3))


def test_an_uncertain_root_and_integral():
    a = ag.uncertain(2.0, 0.1)
    assert ag.uncertainty(ag.root(lambda x: x**2 - a, 1.0)) == pytest.approx(0.1 * 0.5 / 2**0.5)
    assert ag.uncertainty(ag.integral(lambda t: a * t, 0.0, 2.0)) == pytest.approx(0.2)


@each("call, kind, message", refusals("uncertainties", globals()))
def test_what_is_no_uncertainty_is_refused(call, kind, message):
    refuses(call, message, kind=kind)


def test_correlated_sources_have_the_fewest_degrees_of_freedom_among_them():
    a, b, c = (ag.uncertain(1.0, 0.1, dof) for dof in (4.0, 4.0, 7.0))
    correlate(a, b, 0.5)
    assert budget(a + b).dof == pytest.approx(4.0)
    assert budget(a - b).dof == pytest.approx(4.0)
    u2, together = 0.04, 0.03
    assert budget(a + b + c).dof == pytest.approx(u2**2 / (together**2 / 4 + 0.01**2 / 7))
    correlate(b, c, 0.5)
    assert budget(a + b + c).dof == pytest.approx(4.0)


def test_parameters_of_one_fit_are_simulated_with_its_degrees_of_freedom():
    a, b = parameters([1.0, 2.0], np.array([[4.0, 2.0], [2.0, 9.0]]) * 1e-4, 5.0)
    total = a + 2.0 * b
    found, _ = sampled(budget(total), total, 400_000, np.random.default_rng(5))
    assert found.dof == pytest.approx(5.0)
    ends = found.value - found.expanded, found.value + found.expanded
    assert (found.samples.low, found.samples.high) == pytest.approx(ends, abs=3e-3)


FUNCTIONS = "sin cos exp tanh log sqrt".split()


COUNT = 5  # of sources


def program(seed, of):
    """A random program of the sources, by the functions of a package; the same for each package."""

    def function(name):
        return lambda x: getattr(of, name)(x * x + 0.5 if name in ("log", "sqrt") else 0.3 * x)

    def loop(turns):
        def run(x, y):
            for _ in range(turns):
                x = of.tanh(x * y) + 0.1
            return x

        return run

    functions = [(name, 1, function(name)) for name in FUNCTIONS]
    operators = [
        ("+", 2, lambda x, y: x + y),
        ("-", 2, lambda x, y: x - y),
        ("*", 2, lambda x, y: x * y),
        ("/", 2, lambda x, y: x / (y * y + 1)),
    ]
    choices = [("where", 3, of.where), ("branch", 3, lambda test, x, y: x if of.number(test) > 1.0 else y)]
    kinks = [("larger", 2, of.larger), ("smaller", 2, of.smaller), ("distance", 1, of.distance)]
    loops = [(f"loop {turns}", 2, loop(turns)) for turns in (1, 2, 3, 4)]
    groups = [functions] * 5 + [operators] * 7 + [choices] * 3 + [kinks] * 3 + [loops] * 2

    def source(rng):
        constant, place = rng.uniform(0.5, 2.0), rng.randrange(COUNT)
        return argument(f"x{place}", place) if rng.random() < 0.8 else (repr(constant), lambda *xs: constant)

    rng = random.Random(seed)
    return tree(rng, groups, source, rng.randint(2, 5))


OURS = SimpleNamespace(
    **{name: getattr(ag, name) for name in FUNCTIONS},
    where=lambda c, x, y: ag.where(c > 1.0, x, y),
    larger=ag.maximum,
    smaller=ag.minimum,
    distance=lambda x: ag.abs(x - 1.0),
    number=float,
)


def theirs():
    umath = pytest.importorskip("uncertainties.umath")

    def number(x):
        return getattr(x, "nominal_value", x)

    return SimpleNamespace(
        **{name: getattr(umath, name) for name in FUNCTIONS},
        where=lambda c, x, y: x if number(c) > 1.0 else y,
        larger=lambda x, y: x if number(x) > number(y) else y,
        smaller=lambda x, y: x if number(x) < number(y) else y,
        distance=lambda x: x - 1.0 if number(x) > 1.0 else 1.0 - x,
        number=number,
    )


def entries(vector):
    return [vector[place] for place in range(COUNT)]


def differences(vector):
    """The entries of a vector again, from its running sums."""
    sums = ag.cumsum(vector)
    return [sums[0], *[sums[place] - sums[place - 1] for place in range(1, COUNT)]]


WAYS = {  # to make sources with these values and covariances; whether they are correlated
    "numbers": (lambda values, c: list(map(ag.uncertain, values, np.sqrt(np.diag(c)).tolist())), False),
    "vector": (lambda values, c: entries(ag.uncertain(values, np.sqrt(np.diag(c)))), False),
    "sums": (lambda values, c: differences(ag.uncertain(values, np.sqrt(np.diag(c)))), False),
    "correlated": (lambda values, c: entries(ag.correlated(values, c)), True),
    "parameters": (parameters, True),
}


@each("way", WAYS)
@each("seed", range(200), short=20)
def test_uncertainties_of_programs_equal_those_of_the_package(way, seed):
    package, rng = pytest.importorskip("uncertainties"), random.Random(f"{way} {seed}")
    make, are_correlated = WAYS[way]
    ours, others = (program(f"{way} {seed}", of) for of in (OURS, theirs()))
    values, us = ([rng.uniform(*ends) for _ in range(COUNT)] for ends in ((0.5, 2.0), (0.01, 0.2)))
    covariance = np.diag(np.square(us))
    if are_correlated:
        factors = np.array([[rng.gauss(0.0, 1.0) for _ in range(COUNT)] for _ in range(COUNT)])
        covariance = np.corrcoef(factors) * np.outer(us, us)
    other = others(
        *(package.correlated_values(values, covariance) if are_correlated else map(package.ufloat, values, us))
    )
    if not hasattr(other, "std_dev") or not 1e-6 < other.std_dev < math.inf:
        return
    mine = ours(*make(values, covariance))
    assert float(mine) == pytest.approx(other.nominal_value, rel=1e-12, abs=1e-12)
    # The package takes correlated values apart by an eigenvalue decomposition, which rounds.
    near = pytest.approx(other.std_dev, rel=1e-9 if are_correlated else 1e-11 if way == "sums" else 1e-12, abs=1e-13)
    assert ag.uncertainty(mine) == near, str(ours)
    found = budget(mine)
    assert found.u == near
    assert sum(row.share for row in found.sources) == pytest.approx(1.0)
    if mine.grad_fn is not None:
        mine.backward()
        assert ag.uncertainty(mine) == near


@each("case", range(60))
def test_uncertainties_of_arrays_are_those_of_their_jacobians(case):
    rng = np.random.default_rng(case)
    v, m = ag.uncertain(rng.uniform(0.5, 2.0, 3), rng.uniform(0.01, 0.2, 3)), ag.uncertain(1.5, 0.1)
    matrix = rng.standard_normal((3, 3))
    steps = [
        lambda x: ag.tensor(matrix) @ x,
        lambda x: ag.where(x > 1.0, ag.sin(x) * m, x),
        lambda x: ag.cumsum(x) * m,
        lambda x: ag.sort(x) + x,
        lambda x: ag.exp(-x * x) + m,
        lambda x: ag.maximum(x, m),
    ]
    y = v
    for step in rng.choice(len(steps), rng.integers(1, 5)):
        y = steps[step](y)
    by_v, by_m = (ag.jacobian(y + 0.0 * m * ag.sum(v), x).numpy().reshape(3, -1) for x in (v, m))
    parts = np.concatenate([by_v * v.node.uncertainty.u, by_m * 0.1], axis=1)
    np.testing.assert_allclose(ag.uncertainty(y), np.sqrt(np.sum(parts**2, axis=1)), rtol=1e-12, atol=1e-15)


@each("solved", [
    lambda a: ag.root(lambda t: t**2 - a(), 1.0),
    lambda a: ag.argmin(lambda t: ag.cosh(t - a()), 1.0),
    lambda a: ag.integral(lambda t: ag.exp(-t * a()), 0.0, 1.0),
    lambda a: ag.ode(lambda t, y: -y * a(), 1.0, [0.0, 1.0])[1],
    lambda a: ag.sum(ag.taylor(lambda t: ag.exp(t * a()), 0.5, 4)),
    lambda a: ag.scan(lambda s, r: (s * a(), s), 1.0, count=4)[0],
])  # fmt: skip
def test_what_a_function_measures_itself_is_a_source_of_what_is_solved(solved):
    one = ag.uncertain(2.0, 0.1)
    assert ag.uncertainty(solved(lambda: ag.uncertain(2.0, 0.1))) == pytest.approx(ag.uncertainty(solved(lambda: one)))


def test_a_percentage_of_an_argument_is_of_what_the_argument_becomes():
    found = ag.root(lambda t: t**2 - percent(t, 5), 3.0)
    assert ag.uncertainty(found) == pytest.approx(0.05)
