"""Zeros and minima: values that an equation defines.

SciPy finds them, with the exact Jacobian. A last step of Newton's method gives them all digits, and tells a zero
from a place at which SciPy has only stopped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from agrad.engine.errors import AgradError, Hint
from agrad.engine.extras import extra
from agrad.engine.ops.arrays.joining import concat
from agrad.engine.ops.arrays.scan import reverse, scanned
from agrad.engine.ops.arrays.shaping import reshape, swap
from agrad.engine.ops.linalg.matrices import solve
from agrad.engine.ops.solvers.function import Evaluated, gradient_of, jacobian_of, products_of
from agrad.engine.program.scan import Body
from agrad.engine.values import Array, format_number, np

_NEWTON = 60  # steps at most
_CLOSE = 1e-9  # relative step at which the search ends, and Newton's method begins
_LARGE = 1e7  # condition of a Jacobian of rows and columns of length 1, above which it is called singular
_FLAT = 1e-4  # of the derivative nearby: below that, a number is a double zero


class Found(NamedTuple):
    """A point, the largest entry of the residual there (of a minimum, the gradient), the iterations of the search."""

    x: Array
    residual: float
    iterations: int
    value: float = 0.0  # of a minimum


class Problem:
    """An equation f(x) = 0, its derivatives, and how it is solved. What f uses from outside may change."""

    def __init__(self, f: Body, start: Array, what: str = "root", ends: Sequence[float] = ()) -> None:
        self.f, self.start = f, start
        self.what = what  # the word of messages: root, solve or argmin
        self.ends = ends  # those of a bracket: two numbers at which f has different signs
        self.last: Found | None = None  # the latest solution

    @cached_property
    def residual(self) -> Body:
        """The function that is zero at the solution."""
        return self.f

    @cached_property
    def jacobian(self) -> Body:
        """The derivatives of the residual."""
        return jacobian_of(self.residual)

    def matrix(self, same: Array) -> Evaluated:
        """The Jacobian as a function of a point."""
        return Evaluated(self.jacobian, same, (len(self.start), len(self.start)))

    def pulled(self, g: Any, x: Any, same: Any) -> Any:
        """By the implicit function theorem: where F(x, p) = 0, dx/dp = -(dF/dx)^-1 dF/dp.

        Griewank and Walther, Evaluating Derivatives (2008), section 15.
        """
        size, z = len(self.start), concat((x, same))
        matrix = reshape(scanned(z, body=self.jacobian, count=1), (size, size))
        return reverse(solve(swap(matrix), -g), np.zeros(size), z, self.residual, 1)[size:]

    def solve(self, same: Array) -> Array:
        """The solution. Raises AgradError of kind `domain`."""
        self.last = self.between(same) if self.ends else self.find(same)
        return self.last.x

    def find(self, same: Array) -> Found:
        """The solution, with an account of how it was found."""
        f, matrix = Evaluated(self.f, same), self.matrix(same)
        optimize = extra("scipy.optimize", "root", "SciPy", "science")
        with np.errstate(all="ignore"):
            found = optimize.root(f, self.start, jac=matrix, method="hybr", options={"xtol": _CLOSE})
            x, step = newton(f, matrix, found.x)
        value = f(x)
        if not np.isfinite(x).all() or not np.isfinite(value).all() or not _is_settled(step, x, self.start):
            raise self.not_found(found.x, f, matrix)
        self.refuse_singular(x, matrix)
        return Found(x, float(np.max(np.abs(value))), found.nfev - 1)

    def not_found(self, x: Array, f: Evaluated, matrix: Callable[[Array], Array]) -> AgradError:
        """The error where the search has stopped elsewhere."""
        value = f(x)
        message = f"{self.what}: there is no zero near {told(self.start)}: the search ended at {told(x)}"
        notes = [f"there, the function is {told(value)}" if np.isfinite(value).all() else "there, it is not finite"]
        if is_ill(matrix(x)):
            notes.append("its Jacobian is singular there" if len(x) > 1 else "its derivative is 0 there")
        bracket = "for x in a..b" if self.what == "solve" else "root(f, a..b)"
        fixes = [Hint(f"{bracket}   between two points at which f has different signs")]
        return AgradError("domain", message, notes=notes, fixes=fixes if len(x) == 1 else [])

    def refuse_singular(self, x: Array, matrix: Callable[[Array], Array]) -> None:
        """AgradError where the derivative is 0 at a zero, which has no derivative then, and half of the digits."""
        if is_singular(x, matrix):
            what = "its derivative is 0 there" if len(x) == 1 else "its Jacobian is singular there"
            place = np.where(np.abs(x) <= 1e-12 * np.max(np.abs(self.start)), 0.0, x)
            message = f"{self.what}: the function has a double zero at {told(place)}: {what}"
            fixes = [Hint("argmin(f, x0)   finds where a function touches 0")] if len(x) == 1 else []
            raise AgradError("domain", message, fixes=fixes)

    def between(self, same: Array) -> Found:
        """The zero in the bracket, by the method of Alefeld, Potra and Shi (TOMS 748)."""
        f, matrix = Evaluated(self.f, same), self.matrix(same)
        optimize = extra("scipy.optimize", "root", "SciPy", "science")
        low, high = self.ends
        values = [float(f([end])[0]) for end in self.ends]
        places = f"{format_number(low)}..{format_number(high)}"
        if not values[0] * values[1] <= 0.0:
            signs = f"f is {format_number(values[0])} and {format_number(values[1])} at the ends"
            message = f"{self.what}: {places} is no bracket: {signs}, which have no different signs"
            point = "for x from 1" if self.what == "solve" else "root(f, x0)"
            raise AgradError("domain", message, fixes=[Hint(f"{point}   from a starting point")])
        options: dict[str, Any] = {"xtol": 1e-300, "rtol": 1e-14, "maxiter": 400, "disp": False}
        with np.errstate(all="ignore"):
            bracketed, iterations = (low if values[0] == 0.0 else high), 0
            if 0.0 not in values:
                bracketed, search = optimize.toms748(lambda x: f([x])[0], low, high, full_output=True, **options)
                iterations = search.iterations
            x, _ = newton(f, matrix, np.array([bracketed]))
        x = x if low <= x[0] <= high else np.array([bracketed])
        value = abs(float(f(x)[0]))
        if not value <= 1e-6 * max(map(abs, values)):
            where = f"at {told(x)} without a zero: it is {format_number(value)} there"
            raise AgradError("domain", f"{self.what}: the function changes its sign {where}")
        self.refuse_singular(x, matrix)
        return Found(x, value, iterations)


Ends = tuple[float, float]
METHODS = {"newton": "trust-exact", "krylov": "trust-krylov", "bfgs": "BFGS", "lbfgs": "L-BFGS-B", "cg": "CG"}
_FEW = 50  # unknowns, of which the whole Hessian is computed


class Minimum(Problem):
    """A minimum of a number: a zero of its gradient at which its Hessian is positive."""

    @cached_property
    def residual(self) -> Body:
        """The gradient."""
        return gradient_of(self.f)

    def find(self, same: Array) -> Found:
        """The minimum, by a trust region with the exact gradient and Hessian (Conn, Gould and Toint, 2000)."""
        found, f, matrix = self.descend("argmin", same, method="newton"), Evaluated(self.f, same, ()), self.matrix(same)
        with np.errstate(all="ignore"):
            x, step = newton(Evaluated(self.residual, same), matrix, found.x)
            is_lower = f(x) <= found.value + 1e-9 * (abs(found.value) + abs(f(self.start)))
            hessian = matrix(x)
        is_point = not is_singular(x, matrix) and is_lower and _is_settled(step, x, self.start)
        if not is_point or not np.all(np.linalg.eigvalsh((hessian + hessian.T) / 2) > 0):
            message = f"argmin: the minimum at {told(x)} is not a single point that can be differentiated"
            raise AgradError("domain", message, notes=["the Hessian is singular there, or not positive"])
        return found._replace(x=x)

    def descend(
        self,
        what: str,
        same: Array,
        bounds: tuple[float, float] | None = None,
        method: str | None = None,
        until: float = 1e-9,
        watch: Callable[[float], object] = lambda _: None,
    ) -> Found:
        """A minimum, until no entry of the gradient is over `until` times the largest at the start.

        Where Newton's method cannot take the last steps, that is `until` times 1 at least. With exact gradients and, up
        to 50 unknowns, the exact Hessian, else its products. `what`: minimize, argmin, or maximize, where the number is
        the negative of what is told of. `watch` is called after each iteration with the least value so far. Raises
        AgradError of kind `domain`.
        """
        optimize = extra("scipy.optimize", what, "SciPy", "science")
        ends = bounds or (-np.inf, np.inf)
        start = np.clip(self.start, *ends)
        value, gradient = Evaluated(self.f, same, ()), Evaluated(self.residual, same)
        name = "L-BFGS-B" if bounds else METHODS[method or ("newton" if len(start) <= _FEW else "krylov")]
        hessian = self.matrix(same) if len(start) <= _FEW or name == "trust-exact" else None
        keywords: dict[str, Any] = {"bounds": [bounds] * len(start)} if bounds else {}
        if name == "trust-exact":
            keywords["hess"] = hessian
        elif name == "trust-krylov":
            products = Evaluated(products_of(self.residual), same)
            keywords["hessp"] = lambda x, v: products(np.concatenate([x, v]))
        with np.errstate(all="ignore"):
            steepest = float(np.max(np.abs(gradient(start))))
            least = until * (max(steepest, 1.0) if steepest == 0.0 or bounds or hessian is None else steepest)
            least = least if np.isfinite(least) else until
            options = {"gtol": least, "maxiter": 10_000}
            options |= {"ftol": 0.0, "maxfun": 100_000} if name == "L-BFGS-B" else {}
            keywords["callback"] = lambda intermediate_result: watch(float(intermediate_result.fun))
            try:
                found = optimize.minimize(value, start, jac=gradient, method=name, options=options, **keywords)
            except ValueError:  # of a matrix with entries that are not finite
                message = f"{what}: the search from {told(start)} has come to where a derivative is not finite"
                raise AgradError("domain", message) from None
            x = found.x
            if hessian is not None and bounds is None and np.max(np.abs(gradient(x))) > least:
                # Where the value hardly changes any more, its gradient still does.
                nearer, step = newton(gradient, hessian, x)
                if value(nearer) <= value(x) + 1e-12 * abs(value(start)) and _is_settled(step, nearer, start):
                    x, least = nearer, np.inf
            slope = _judged(what, value, gradient(x), hessian, x, start, ends, least)
        return Found(x, slope, int(found.nit), float(value(x)))


def _judged(
    what: str, value: Evaluated, slopes: Array, hessian: Any, x: Array, start: Array, ends: Ends, least: float
) -> float:
    """The largest slope at a minimum. Raises AgradError of kind `domain` where it is none."""
    low, high = ends
    lowest, before = float(value(x)), float(value(start))
    is_free = ~(((x <= low) & (slopes > 0)) | ((x >= high) & (slopes < 0)))  # at an end, it may fall beyond
    slopes = np.where(is_free, slopes, 0.0)
    slope = float(np.max(np.abs(slopes)))
    is_far = bool(np.max(np.abs(x)) > 1e8 * (1.0 + np.max(np.abs(start))))
    is_far = is_far or before - lowest > 1e12 * (1.0 + abs(before)) or lowest == -np.inf
    is_level = slope <= 10.0 * least
    if np.isfinite(lowest) and not is_far and is_level:
        matrix = hessian(x) * np.outer(is_free, is_free) if hessian is not None else None
        reach = float(max(np.max(np.abs(x - start)), 1e-3 * max(np.max(np.abs(x)), 1.0)))
        enough = lowest - 1e-12 * (abs(lowest) + abs(before))
        if all(value(np.clip(there, low, high)) >= enough for there in _doubtful_places(x, slopes, matrix, reach)):
            return slope
    beyond = np.clip(x + 10.0 * (x - start), low, high)
    is_far = is_far or bool(np.any(beyond != x) and value(beyond) < lowest)
    falls, kind = ("rises", "maximum") if what == "maximize" else ("falls", "minimum")
    problem = f"there is no {kind}: the function still {falls} far away" if is_far else f"no {kind} is found"
    shown = format_number(-lowest if what == "maximize" else lowest, 6)
    notes = [f"the search ended at {told(x)}, with the value {shown} and the slope {slope:.3g}"]
    if not is_far and is_level:
        notes.append(f"the function still {falls} beside that point")
    raise AgradError("domain", f"{what}: {problem}", notes=notes)


def _doubtful_places(x: Array, slopes: Array, hessian: Array | None, reach: float) -> Iterator[Array]:
    """Places beside a point, in the directions in which a function bends down there, or hardly up, if that is known."""
    if hessian is None:
        return
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


def is_singular(x: Array, matrix: Callable[[Array], Array]) -> bool:
    """Whether a Jacobian is singular at a point; of one number, whether it is 0, beside those nearby."""
    if len(x) > 1:
        return is_ill(matrix(x))
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
