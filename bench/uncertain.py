"""Fits beside scipy.optimize's curve_fit and least_squares, uncertainties beside the package uncertainties."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from harness import Case, Work, repeated, serve

ROWS, FEW = 1_000_000, 20_000
WORKS = (
    Work("fit of 5 parameters to 100,000 points", "fit", {"scipy": 0.3}),
    Work("the same with outliers, loss soft_l1", "robust", {"scipy": 2.0}),
    Work("the same with bounds, of which one is active", "bounded", {"scipy": 2.0}),
    Work("uncertainty of a number with 20 sources, eager", "sources", {"uncertainties": 0.5}),
    Work("uncertainty of a row, x*sin(y) + exp(-x*y)", "rows", {"uncertainties": 0.001}),
)
LOW, HIGH = [0.0] * 5, [1.9, 2.0, 2.0, 2.0, 2.0]
LOSS, SCALE = "soft_l1", 0.1
TRUE, START = (2.0, 0.7, 1.5, 0.3, 0.5), (1.5, 0.5, 1.0, 0.35, 0.2)


def data() -> tuple[Any, Any]:
    """Points, and what was measured at them."""
    import numpy as np

    x = np.linspace(0.0, 10.0, 100_000)
    return x, model(np, x, *TRUE) + 0.05 * np.random.default_rng(0).standard_normal(len(x))


def outliers(y: Any) -> Any:
    """What was measured, each hundredth time with a gross error."""
    found = y.copy()
    found[::100] += 2.0
    return found


def model(of: Any, x: Any, a: Any, b: Any, c: Any, d: Any, e: Any) -> Any:
    """What is fitted, by the functions of a module."""
    return a * of.exp(-b * x) + c * of.sin(d * x) + e


def number(xs: Sequence[Any], sin: Callable[[Any], Any], exp: Callable[[Any], Any]) -> Any:
    """A number with twenty sources."""
    y = xs[0]
    for place, x in enumerate(xs[1:]):
        y = y * x if place % 3 == 0 else y + sin(x) if place % 3 == 1 else y - exp(-x) * xs[0]
    return y


SOURCES = [(1 + 0.1 * place, 0.01 * (place + 1)) for place in range(20)]


def columns(rows: int) -> tuple[Any, Any]:
    """Two columns of values."""
    import numpy as np

    rng = np.random.default_rng(1)
    return rng.uniform(1, 2, ROWS)[:rows], rng.uniform(1, 2, ROWS)[:rows]


def agrad() -> dict[str, Case]:
    """The fit of the command, an eager uncertainty, and columns as `map --u` computes them."""
    import numpy as np

    import agrad.engine as ag
    from agrad.engine.ops.solvers.fitting import Data, together
    from agrad.engine.ops.solvers.least_squares import Within, unbounded
    from agrad.engine.ops.solvers.losses import Loss

    x, y = data()
    names, wrong = list("abcde"), outliers(y)
    within = {
        "fit": (y, unbounded(5)),
        "robust": (wrong, unbounded(5, Loss(LOSS, SCALE))),
        "bounded": (y, Within.of([*zip(LOW, HIGH, strict=True)])),
    }
    a, b = columns(ROWS)
    compiled = ag.compile(lambda x, y: x * ag.sin(y) + ag.exp(-x * y), 1.5, 1.5)

    def fit(y: Any, within: Within) -> Any:
        return together([Data(lambda *p: model(ag, x, *p), y)], names, START, within=within).values

    def rows() -> Any:
        _, (by_a, by_b) = compiled.map(a, b)
        return np.sqrt((by_a * 0.1) ** 2 + (by_b * 0.02) ** 2)

    def sources() -> Any:
        return ag.uncertainty(number([ag.uncertain(*pair) for pair in SOURCES], ag.sin, ag.exp))

    found = {case: repeated(partial(fit, *asked), digits) for case, asked in within.items()}
    found["sources"] = repeated(sources, lambda u: [u])
    found["rows"] = each(repeated(rows, lambda u: u[:3].tolist()), ROWS)
    return found


def digits(p: Any) -> list[float]:
    """Parameters, as far as all find the same."""
    return [round(v, 5) for v in p.tolist()]


def each(case: Case, rows: int) -> Case:
    """The time of one row."""
    run = case.run
    case.run = lambda: run() / rows
    return case


def scipy() -> dict[str, Case]:
    """curve_fit and least_squares, with differences."""
    import numpy as np
    from scipy.optimize import curve_fit, least_squares

    x, y = data()
    wrong = outliers(y)

    def fitted() -> Any:
        return curve_fit(lambda x, *p: model(np, x, *p), x, y, p0=START)[0]

    def squares(y: Any, **how: Any) -> Any:
        return least_squares(lambda p: model(np, x, *p) - y, START, **how).x

    return {
        "fit": repeated(fitted, digits),
        "robust": repeated(partial(squares, wrong, loss=LOSS, f_scale=SCALE), digits),
        "bounded": repeated(partial(squares, y, bounds=(LOW, HIGH)), digits),
    }


def uncertainties() -> dict[str, Case]:
    """A number, and columns of 20,000 rows, since more take minutes."""
    from uncertainties import ufloat, umath, unumpy

    a, b = columns(FEW)

    def rows() -> Any:
        x, y = unumpy.uarray(a, 0.1), unumpy.uarray(b, 0.02)
        return unumpy.std_devs(x * unumpy.sin(y) + unumpy.exp(-x * y))

    def sources() -> Any:
        return number([ufloat(*pair) for pair in SOURCES], umath.sin, umath.exp).std_dev

    return {
        "sources": repeated(sources, lambda u: [u]),
        "rows": each(repeated(rows, lambda u: u[:3].tolist()), FEW),
    }


if __name__ == "__main__":
    serve({"agrad": agrad, "scipy": scipy, "uncertainties": uncertainties})
