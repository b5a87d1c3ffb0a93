"""Zeros and minima: values that an equation defines.

SciPy finds them, with the exact Jacobian. A last step of Newton's method gives them all digits, and tells a zero
from a place at which SciPy has only stopped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, NamedTuple

from agrad.engine.errors import AgradError, Hint
from agrad.engine.extras import extra
from agrad.engine.ops.solvers.function import Evaluated, gradient_of, jacobian_of, products_of
from agrad.engine.program.scan import Body
from agrad.engine.values import Array, format_number, np

_NEWTON = 60  # steps at most
_LARGE = 1e7  # condition of a Jacobian of rows and columns of length 1, above which it is called singular
_FLAT = 1e-4  # of the derivative nearby: below that, a number is a double zero


class Found(NamedTuple):
    """A point, the residual there, and how often the function was called."""

    x: Array
    residual: float
    calls: int


class Problem:
    """An equation f(x) = 0, its derivatives, and how it is solved. What f uses from outside may change."""

    what = "root"

    def __init__(self, f: Body, start: Array) -> None:
        self.f = f
        self.start = start
        self.last: Found | None = None  # the latest solution

    @property
    def residual(self) -> Body:
        """The function that is zero at the solution."""
        return self.f

    @cached_property
    def jacobian(self) -> Body:
        """The derivatives of the residual."""
        return jacobian_of(self.residual)

    def matrix(self, same: Array) -> Callable[[Array], Array]:
        """The Jacobian as a function of a point."""
        size = len(self.start)
        derivatives = Evaluated(self.jacobian, same)
        return lambda x: derivatives(x).reshape(size, size)

    def solve(self, same: Array) -> Array:
        """The solution. Raises AgradError of kind `domain`."""
        self.last = self.find(same)
        return self.last.x

    def find(self, same: Array) -> Found:
        """The solution, with an account of how it was found."""
        f, matrix = Evaluated(self.f, same), self.matrix(same)
        optimize = extra("scipy.optimize", "root", "SciPy", "science")
        with np.errstate(all="ignore"):
            found = optimize.root(f, self.start, jac=matrix, method="hybr", options={"xtol": 1e-13})
            x, step = newton(f, matrix, found.x)
        value = f(x)
        if not np.isfinite(x).all() or not np.isfinite(value).all() or not _is_settled(step, x, self.start):
            raise self.not_found(found.x, f)
        self.refuse_singular(x, matrix)
        return Found(x, float(np.max(np.abs(value))), f.calls)

    def not_found(self, x: Array, f: Evaluated) -> AgradError:
        """The error where the search has stopped elsewhere."""
        last = float(np.max(np.abs(f(x))))
        message = f"{self.what}: there is no zero near {told(self.start)}: the search ended at {told(x)}"
        notes = [f"there, the function is {told(f(x))}"] if np.isfinite(last) else ["there, it is not finite"]
        fixes = [Hint("root(f, a..b)   between two points at which f has different signs")]
        return AgradError("domain", message, notes=notes, fixes=fixes if len(x) == 1 else [])

    def refuse_singular(self, x: Array, matrix: Callable[[Array], Array]) -> None:
        """AgradError where the derivative is 0 at a zero, which has no derivative then, and half of the digits."""
        if _is_flat(x, matrix) if len(x) == 1 else is_ill(matrix(x)):
            what = "its derivative is 0 there" if len(x) == 1 else "its Jacobian is singular there"
            message = f"{self.what}: the function has a double zero at {told(x)}: {what}"
            fixes = [Hint("argmin(f, x0)   finds where a function touches 0")] if len(x) == 1 else []
            raise AgradError("domain", message, fixes=fixes)


class Bracketed(Problem):
    """A zero between two points at which a function has different signs."""

    def __init__(self, f: Body, start: Array, low: float, high: float) -> None:
        super().__init__(f, start)
        self.low, self.high = low, high

    def find(self, same: Array) -> Found:
        """The zero, by the method of Alefeld, Potra and Shi (TOMS 748)."""
        f, matrix = Evaluated(self.f, same), self.matrix(same)
        optimize = extra("scipy.optimize", "root", "SciPy", "science")
        ends = [float(f([end])[0]) for end in (self.low, self.high)]
        places = f"{format_number(self.low)}..{format_number(self.high)}"
        if not ends[0] * ends[1] <= 0.0:
            signs = f"f is {format_number(ends[0])} and {format_number(ends[1])} at the ends"
            message = f"root: {places} is no bracket: {signs}, which have no different signs"
            raise AgradError("domain", message, fixes=[Hint("root(f, x0)   from a starting point")])
        if 0.0 in ends:
            x = np.array([self.low if ends[0] == 0.0 else self.high])
        else:
            with np.errstate(all="ignore"):
                options: dict[str, Any] = {"xtol": 1e-300, "rtol": 1e-14, "maxiter": 400, "disp": False}
                x0 = optimize.toms748(lambda x: float(f([x])[0]), self.low, self.high, **options)
                x, _ = newton(f, matrix, np.array([x0]))
                x = x if self.low <= x[0] <= self.high else np.array([x0])
        value = abs(float(f(x)[0]))
        if not value <= 1e-6 * max(map(abs, ends)):
            where = format_number(float(x[0]))
            message = (
                f"root: the function changes its sign at {where} without a zero: it is {format_number(value)} there"
            )
            raise AgradError("domain", message)
        self.refuse_singular(x, matrix)
        return Found(x, value, f.calls)


class Minimum(Problem):
    """A minimum of a number: a zero of its gradient at which its Hessian is positive."""

    what = "argmin"

    @cached_property
    def _gradient(self) -> Body:
        return gradient_of(self.f)

    @property
    def residual(self) -> Body:
        """The gradient."""
        return self._gradient

    def find(self, same: Array) -> Found:
        """The minimum, by a trust region with the exact gradient and Hessian (Conn, Gould and Toint, 2000)."""
        f, gradient, matrix = Evaluated(self.f, same), Evaluated(self.residual, same), self.matrix(same)
        optimize = extra("scipy.optimize", "argmin", "SciPy", "science")
        with np.errstate(all="ignore"):
            found = optimize.minimize(
                lambda x: float(f(x)[0]), self.start, jac=gradient, hess=matrix, method="trust-exact"
            )
            x, step = newton(gradient, matrix, found.x)
            value = float(f(x)[0])
            is_higher = not value <= found.fun + 1e-9 * (abs(found.fun) + abs(float(f(self.start)[0])))
        if not np.isfinite(x).all() or is_higher:
            raise self._runs_away(found, f)
        hessian = matrix(x)
        is_flat = is_ill(hessian) if len(x) > 1 else _is_flat(x, matrix)
        is_level = bool(np.max(np.abs(gradient(x))) <= 1e-6 * (1e-300 + np.max(np.abs(gradient(self.start)))))
        if not is_level or not (is_flat or _is_settled(step, x, self.start)):
            raise self._runs_away(found, f)
        if is_flat or not np.all(np.linalg.eigvalsh((hessian + hessian.T) / 2) > 0):
            message = f"argmin: the minimum at {told(x)} is not a single point that can be differentiated"
            raise AgradError("domain", message, notes=["the Hessian is singular there, or not positive"])
        return Found(x, value, f.calls)

    def _runs_away(self, found: Any, f: Evaluated) -> AgradError:
        """The error where the search has found no minimum."""
        beyond = found.x + 10.0 * (found.x - self.start)
        far = bool(np.any(beyond != found.x)) and bool(f(beyond)[0] < f(found.x)[0])
        ended = f"the search from {told(self.start)} ended at {told(found.x)}, where the function is {told(f(found.x))}"
        what = "there is no minimum: the function still falls far away" if far else "no minimum is found"
        return AgradError("domain", f"argmin: {what}", notes=[ended])


class Descent(NamedTuple):
    """Where a function is least, its value there, the largest entry of its gradient, and the iterations."""

    x: Array
    value: float
    slope: float
    iterations: int


METHODS = {"newton": "trust-exact", "krylov": "trust-krylov", "bfgs": "BFGS", "lbfgs": "L-BFGS-B", "cg": "CG"}
_FEW = 50  # unknowns, of which the whole Hessian is computed


def descend(
    what: str,
    f: Body,
    start: Array,
    bounds: tuple[float, float] | None,
    method: str | None,
    until: float,
    watch: Callable[[float], object],
) -> Descent:
    """A minimum of a number, until no entry of its gradient is over `until` times the largest at the start, or 1.

    With exact gradients and, up to 50 unknowns, the exact Hessian, else its products. `what` is minimize, or maximize
    where the number is the negative of what is told of. `watch` is called after each iteration with the least value so
    far. Raises AgradError of kind `domain`.
    """
    optimize = extra("scipy.optimize", what, "SciPy", "science")
    same = f.example[2]
    gradient_body = gradient_of(f)
    value, gradient = Evaluated(f, same), Evaluated(gradient_body, same)
    name = METHODS[method or ("newton" if len(start) <= _FEW else "krylov")]
    keywords: dict[str, Any] = {}

    derivatives = Evaluated(jacobian_of(gradient_body), same) if len(start) <= _FEW or name == "trust-exact" else None

    def hessian(x: Array) -> Array:
        assert derivatives is not None
        return derivatives(x).reshape(len(x), len(x))

    if bounds is not None:
        name, keywords["bounds"] = "L-BFGS-B", [bounds] * len(start)
        start = np.clip(start, *bounds)
    elif name == "trust-exact":
        keywords["hess"] = hessian
    elif name == "trust-krylov":
        products = Evaluated(products_of(gradient_body), same)
        keywords["hessp"] = lambda x, v: products(np.concatenate([x, v]))
    low, high = bounds or (-np.inf, np.inf)
    best = np.inf

    def valued(x: Array) -> float:
        nonlocal best
        found = float(value(x)[0])
        best = min(best, found)
        return found

    with np.errstate(all="ignore"):
        steepest = float(np.max(np.abs(gradient(start))))
        least = until * max(steepest, 1.0) if np.isfinite(steepest) else until
        options = {"gtol": least, "maxiter": 10_000}
        options |= {"ftol": 0.0, "maxfun": 100_000} if name == "L-BFGS-B" else {}
        keywords["callback"] = lambda _: watch(best)
        found = optimize.minimize(valued, start, jac=gradient, method=name, options=options, **keywords)
        slopes, lowest, before = gradient(found.x), valued(found.x), valued(start)
        # At an end, the function may fall beyond it.
        is_free = ~(((found.x <= low) & (slopes > 0)) | ((found.x >= high) & (slopes < 0)))
        slopes = np.where(is_free, slopes, 0.0)
        slope = float(np.max(np.abs(slopes)))
        is_far = bool(np.max(np.abs(found.x)) > 1e8 * (1.0 + np.max(np.abs(start))))
        is_far = is_far or before - lowest > 1e12 * (1.0 + abs(before)) or lowest == -np.inf
        is_found = np.isfinite(lowest) and not is_far and slope <= 10.0 * least
        if is_found and derivatives is not None:
            reach = float(max(np.max(np.abs(found.x - start)), 1e-3 * max(np.max(np.abs(found.x)), 1.0)))
            enough = lowest - 1e-12 * (abs(lowest) + abs(before))
            matrix = hessian(found.x) * np.outer(is_free, is_free)
            beside = _doubtful_places(found.x, slopes, matrix, reach)
            is_found = all(valued(np.clip(there, low, high)) >= enough for there in beside)
    if not is_found:
        falls, kind = ("falls", "minimum") if what == "minimize" else ("rises", "maximum")
        problem = f"the function {falls} without end" if is_far else f"no {kind} is found"
        shown = format_number(lowest if what == "minimize" else -lowest, 6)
        note = f"the search ended at {told(found.x)}, with the value {shown} and the slope {slope:.3g}"
        notes = [note] if is_far or slope > 10.0 * least else [note, f"the function still {falls} beside that point"]
        raise AgradError("domain", f"{what}: {problem}", notes=notes)
    return Descent(found.x, lowest, slope, int(found.nit))


def _doubtful_places(x: Array, slopes: Array, hessian: Array, reach: float) -> Iterator[Array]:
    """Places beside a point, in the directions in which a function bends down there, or hardly up."""
    curvatures, directions = np.linalg.eigh((hessian + hessian.T) / 2)
    for direction in directions.T[~(np.abs(slopes @ directions) < 1e-6 * reach * curvatures)]:
        for length in (0.01, -0.01, 0.1, -0.1):
            yield x + length * reach * direction


def newton(f: Callable[[Array], Array], matrix: Callable[[Array], Array], x: Array) -> tuple[Array, Array]:
    """Newton's method, as long as its steps become shorter; the point, and the last step."""
    last = np.full(len(x), np.inf)
    for _ in range(_NEWTON):
        try:
            step = np.linalg.solve(matrix(x), f(x))
        except np.linalg.LinAlgError:
            value = f(x)
            return x, np.zeros(len(x)) if not value.any() else last
        if not np.isfinite(step).all() or not np.max(np.abs(step)) < np.max(np.abs(last)):
            return x, np.minimum(np.abs(step), np.abs(last))
        x, last = x - step, step
        if not step.any():
            break
    return x, last


def _is_settled(step: Array, x: Array, start: Array) -> bool:
    """Whether the last step of Newton's method only changes the last digits."""
    return bool(np.max(np.abs(step)) <= 1e-6 * max(np.max(np.abs(x)), 1e-9 * np.max(np.abs(start)), 1e-290))


def _is_flat(x: Array, matrix: Callable[[Array], Array]) -> bool:
    """Whether a derivative is 0 at a number, beside those nearby."""
    away = 1e-3 * np.maximum(np.abs(x), 1e-3)
    near = max(abs(float(matrix(x + side)[0, 0])) for side in (away, -away))
    return abs(float(matrix(x)[0, 0])) <= _FLAT * near


def is_ill(matrix: Array) -> bool:
    """Whether a matrix is singular, as far as numbers of 53 bits tell, whatever the units of its rows and columns."""
    with np.errstate(all="ignore"):
        scaled = matrix
        for _ in range(3):
            scaled = scaled / np.sqrt(np.max(np.abs(scaled), axis=1, keepdims=True))
            scaled = scaled / np.sqrt(np.max(np.abs(scaled), axis=0, keepdims=True))
        return not np.isfinite(scaled).all() or bool(np.linalg.cond(scaled) > _LARGE)


def told(x: Array) -> str:
    """A point in a message: the number, or the entries."""
    entries = [format_number(float(entry), 6) for entry in x[:6]]
    more = ", …" if len(x) > len(entries) else ""
    return entries[0] if len(x) == 1 else f"[{', '.join(entries)}{more}]"
