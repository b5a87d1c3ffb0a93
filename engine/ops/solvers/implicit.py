"""Zeros and minima: values that an equation defines.

SciPy finds them, with the exact Jacobian. A last step of Newton's method gives them all digits, and tells a zero
from a place at which SciPy has only stopped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property, partial
from math import cos, inf, isfinite, isinf, pi, prod
from typing import Any, NamedTuple

from agrad.engine import units
from agrad.engine.compile.derive import row
from agrad.engine.core.op import OPS
from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError, Hint
from agrad.engine.extras import extra
from agrad.engine.ops.arrays.joining import concat
from agrad.engine.ops.arrays.scan import reverse, scanned
from agrad.engine.ops.arrays.shaping import reshape, swap
from agrad.engine.ops.linalg.matrices import solve
from agrad.engine.ops.solvers.function import Evaluated, derived, gradient_of, jacobian_of, products_of
from agrad.engine.program.closed import vector_of
from agrad.engine.program.scan import Body
from agrad.engine.values import Array, format_number, np

_NEWTON = 60  # steps at most
_CLOSE = 1e-9  # relative step at which the search ends, and Newton's method begins
_LARGE = 1e3  # beside the value at the start: that where a function is not finite, which no step of the search takes
_POWERS = range(2, 15)  # of 1/10: how far from a zero it is looked at, beside its size
_BACK = 0.75, 4.0  # of the way back to a zero, that a step of Newton's method goes: to a double one, half of it
_NEAREST = 1e-14  # beside the largest entry of it and of the start: where no end of the domain is between
_IN_A_ROW = 3  # distances at which it does
_WIDE = range(1, 5)  # of 1/10, as _POWERS: how far from a zero its limits are looked for
_NODES = [0.55 + 0.45 * cos((k + 0.5) * (pi / 8)) for k in range(8)]  # from 0.1 to 1, Chebyshev's: nearer is rougher
_AT_0 = [prod(x / (x - y) for x in _NODES if x != y) for y in _NODES]  # of a polynomial through these
_SMOOTH = 1e-11  # beside the distances: how well the polynomial gives the zero itself
_KINDS = {
    "crosses": "",  # a simple zero
    "touches": "touches 0 at {}, and does not cross it",
    "ends": "has no simple zero at {}, where its domain ends",
    "bends": "has a kink, or an infinite derivative, at its zero at {}",
    "rests": "has a double zero at {}: {} there",
    "flattens": "has a zero of a higher, odd order at {}: {} there",
}


class Found(NamedTuple):
    """A point, the largest entry of the residual there (of a minimum, the gradient), the iterations of the search."""

    x: Array
    residual: float
    iterations: int
    value: float = 0.0  # of a minimum


class Problem:
    """An equation f(x) = 0, its derivatives, and how it is solved. What f uses from outside may change."""

    def __init__(self, residual: Body, start: Array, what: str = "root", ends: Sequence[float] = ()) -> None:
        self.residual, self.start = residual, start
        self.what = what  # the word of messages: root, solve or argmin
        self.ends = ends  # those of a bracket: two numbers at which f has different signs
        self.last: Found | None = None  # the latest solution
        self.units: tuple[Any, Any] = (None, None)  # in which points and values are told of

    @cached_property
    def jacobian(self) -> Body:
        """The derivatives of the residual."""
        return jacobian_of(self.residual)

    def told(self, x: Array, is_value: bool = False) -> str:
        """A point, or a value, in a message."""
        return told(x, self.units[is_value])

    def matrix(self, same: Array) -> Evaluated:
        """The Jacobian as a function of a point."""
        return Evaluated(self.jacobian, same, (len(self.start), len(self.start)))

    def pulled(self, g: Any, x: Any, same: Any) -> Any:
        """By the implicit function theorem: where F(x, p) = 0, dx/dp = -(dF/dx)^-1 dF/dp.

        Griewank and Walther, Evaluating Derivatives (2008), section 15.
        """
        size, z = len(self.start), concat((x, same))
        matrix = reshape(scanned(z, body=self.jacobian, count=1), (size, size))
        found = reverse(solve(swap(matrix), -g), np.zeros(size), z, self.residual, 1)[size:]
        is_last = (not isinstance(same, Tensor) or not same.node.recorded) and np.isfinite(vector_of(found)).all()
        if is_last or size > 1 or np.isfinite(vector_of(matrix)).all():
            return found
        limit = self._limit(g, vector_of(x), same)
        if limit is None:
            return found
        exact, near = vector_of(found), vector_of(limit)
        return np.where(np.isfinite(exact), exact, near) + (limit - near)

    def _limit(self, g: Any, x: Array, same: Any) -> Any:
        """What `pulled` tends to where the derivative of the equation is infinite, as at the zero of sqrt(x) - p.

        There, only the limits of the derivatives of x have values: those of the polynomial through the places where the
        function has some other values, on the side on which it has any. None where x is no smooth function of its
        value, as of x**(2/3).
        """
        known = vector_of(same)
        f, slopes, size = Evaluated(self.residual, known), self.matrix(known), len(known)
        lifted = derived(self.residual, lambda y, *given: y - given[-1], (0, 1))
        ways = [way for pair in _beside(x, self.start, _WIDE) for way in pair if way.any()]
        for way in [way for way in ways if not _leaves_domain(f, x, way, self.start)]:
            near = Problem(lifted, x + way, self.what, sorted([float(x[0]), float((x + 2.0 * way)[0])]))
            levels = f(x + way) * np.reshape(_NODES, (-1, 1))
            with suppress(AgradError):
                places = [near.solve(np.append(known, level)) for level in levels]
                is_smooth = np.abs(np.array(_AT_0) @ places - x)[0] <= _SMOOTH * np.abs(way)[0]
                if is_smooth and np.isfinite([slopes(place) for place in places]).all():
                    given = [concat((same, level)) for level in levels]
                    found = [near.pulled(g, OPS["solved"].call(z, problem=near), z)[:size] for z in given]
                    return sum(weight * one for weight, one in zip(_AT_0, found, strict=True))
        return None

    def solve(self, same: Array) -> Array:
        """The solution. Raises AgradError of kind `domain`."""
        self.last = self.find(same)
        return self.last.x

    def find(self, same: Array) -> Found:
        """The solution, with an account of how it was found."""
        f, matrix = Evaluated(self.residual, same), self.matrix(same)
        with np.errstate(all="ignore"):
            x, iterations = (self._between if self.ends else self._near)(f, matrix)
            kind = kind_of_zero(f, matrix, x, self.start)
        if kind != "crosses":
            place = self.told(np.where(np.abs(x) <= 1e-12 * np.max(np.abs(self.start)), 0.0, x))
            what = "its derivative is 0" if len(x) == 1 else "its Jacobian is singular"
            lowest = [Hint("argmin(f, x0)   finds where a function touches 0")]
            fixes = lowest if len(x) == 1 and kind == "rests" else []
            raise AgradError("domain", f"{self.what}: the function {_KINDS[kind].format(place, what)}", fixes=fixes)
        return Found(x, float(np.max(np.abs(f(x)))), iterations)

    def _near(self, f: Evaluated, matrix: Evaluated) -> tuple[Array, int]:
        """The zero that is found from the start, and the iterations."""
        optimize = extra("scipy.optimize", "root", "SciPy", "science")
        large = _LARGE * np.max(np.abs(f(self.start)))
        finite = partial(np.nan_to_num, nan=large, posinf=large, neginf=-large)
        found = optimize.root(lambda x: finite(f(x)), self.start, jac=matrix, method="hybr", options={"xtol": _CLOSE})
        x, step = newton(f, matrix, found.x)
        if not np.isfinite([x, f(x)]).all() or not is_settled(step, x, self.start):
            notes = [f"the search was ended after {found.nfev} calls of the function"] if found.status == 2 else []
            raise self._not_found(found.x, f(found.x), matrix(found.x), notes)
        return x, found.nfev - 1

    def _not_found(self, x: Array, value: Array, matrix: Array, notes: list[str]) -> AgradError:
        """The error where the search has stopped elsewhere."""
        message = f"{self.what}: there is no zero near {self.told(self.start)}: the search ended at {self.told(x)}"
        notes += [
            f"there, the function is {self.told(value, True)}"
            if np.isfinite(value).all()
            else "there, it is not finite"
        ]
        if np.isfinite(matrix).all() and np.linalg.matrix_rank(matrix) < len(x):
            notes.append("its Jacobian is singular there" if len(x) > 1 else "its derivative is 0 there")
        bracket = "for x in a..b" if self.what == "solve" else "root(f, a..b)"
        fixes = [Hint(f"{bracket}   between two points at which f has different signs")]
        return AgradError("domain", message, notes=notes, fixes=fixes if len(x) == 1 else [])

    def _between(self, f: Evaluated, matrix: Evaluated) -> tuple[Array, int]:
        """The zero in the bracket, by the method of Alefeld, Potra and Shi (TOMS 748), and the iterations."""
        optimize = extra("scipy.optimize", "root", "SciPy", "science")

        def raw(x: float) -> float:
            return float(f([x])[0])

        low, high = self.ends
        values = [raw(end) for end in self.ends]
        pair = [self.told(np.array([end])) for end in self.ends]
        point = [Hint(f"{'for x from 1' if self.what == 'solve' else 'root(f, x0)'}   from a starting point")]
        if not np.prod(np.sign(values)) <= 0.0:
            found = [self.told(np.array([value]), True) for value in values]
            signs = f"f is {found[0]} and {found[1]} at the ends"
            message = f"{self.what}: {'..'.join(pair)} is no bracket: {signs}, which have no different signs"
            raise AgradError("domain", message, fixes=point)

        def at(x: float) -> float:
            if not isfinite(y := raw(x)):
                where = f"{format_number(y)} at {self.told(np.array([x]))}"
                raise AgradError("domain", f"{self.what}: the function is {where}, inside the bracket", fixes=point)
            return y

        x, iterations = np.array([low if values[0] == 0.0 else high]), 0
        if 0.0 not in values:
            ends = [_inside(raw, *pair) for pair in (self.ends, self.ends[::-1])]
            values = [raw(end) for end in ends]
            search = optimize.root_scalar(at, bracket=ends, method="toms748", xtol=1e-300, rtol=1e-14, maxiter=400)
            x, iterations = np.array([search.root]), search.iterations
        nearer, _ = newton(f, matrix, x)
        x = nearer if low <= nearer[0] <= high else x
        value = abs(float(f(x)[0]))
        if not value <= 1e-6 * max(map(abs, values)):
            where = f"at {self.told(x)} without a zero: it is {self.told(np.array([value]), True)} there"
            raise AgradError("domain", f"{self.what}: the function changes its sign {where}")
        return x, iterations


def _inside(f: Callable[[float], float], end: float, other: float) -> float:
    """An end of a bracket; where the function is infinite there, a place inside at which it has the same sign."""
    value = f(end)
    steps = (other - end) * 2.0 ** -np.arange(1.0, 1000.0) if isinf(value) else ()
    return next((end + x for x in steps if isfinite(y := f(end + x)) and y * value > 0.0), end)


METHODS = {"newton": "trust-exact", "krylov": "trust-krylov", "bfgs": "BFGS", "lbfgs": "L-BFGS-B", "cg": "CG"}
_RADIUS = {"max_trust_radius": 1e100}
_OPTIONS = {"L-BFGS-B": {"ftol": 0.0, "maxfun": 100_000}, "trust-exact": _RADIUS, "trust-krylov": _RADIUS}
_ITERATIONS = 10_000
_FEW = 50  # unknowns, of which the whole Hessian is computed


class Minimum(Problem):
    """A minimum of a number: a zero of its gradient at which its Hessian is positive.

    `what`: argmin, minimize, or maximize, where the number is the negative of what is told of. `bounds`: of each
    unknown. `method`: one of METHODS; newton for up to 50 unknowns, and else krylov, if it is None.
    """

    def __init__(
        self,
        f: Body,
        start: Array,
        what: str = "argmin",
        bounds: tuple[float, float] = (-inf, inf),
        method: str | None = "newton",
    ) -> None:
        super().__init__(gradient_of(f), np.clip(start, *bounds), what)
        self.f, self.bounds, self.is_bounded = f, bounds, bounds != (-inf, inf)
        is_small = len(start) <= _FEW
        self.method = "L-BFGS-B" if self.is_bounded else METHODS[method or ("newton" if is_small else "krylov")]
        self.has_matrix = is_small or self.method == "trust-exact"

    def find(self, same: Array) -> Found:
        """The minimum, by a trust region with the exact gradient and Hessian (Conn, Gould and Toint, 2000)."""
        found = self.descend(same)
        f, gradient, hessian = Evaluated(self.f, same, ()), Evaluated(self.residual, same), self.matrix(same)
        with np.errstate(all="ignore"):
            x, step = newton(gradient, hessian, found.x)
            noise = 1e-9 * (abs(found.value) + abs(f(self.start)))
            is_point = f(x) <= found.value + noise and is_settled(step, x, self.start)
            is_point = is_point and kind_of_zero(gradient, hessian, x, self.start) == "crosses"
            is_point = is_point and bool(np.all(np.linalg.eigvalsh((hessian(x) + hessian(x).T) / 2) > 0))
            beside = next(_beside(x, self.start))
        if not is_point or any(f(x + away) < f(x) - noise for away in beside):
            message = f"argmin: the minimum at {self.told(x)} is not a single point that can be differentiated"
            raise AgradError("domain", message, notes=["the Hessian is singular there, or not positive"])
        return found._replace(x=x)

    def gain(self, same: Array, x: Array) -> Array | None:
        """How the entries of a minimum change with what the function uses; none at their bounds. None where no Hessian
        tells.
        """
        by_same = derived(self.residual, lambda y, _, same, *__: row(y, [same])[0])
        is_free, found = (x > self.bounds[0]) & (x < self.bounds[1]), np.zeros((len(x), len(same)))
        hessian = self.matrix(same)(x)[np.ix_(is_free, is_free)]
        curvatures = np.linalg.eigvalsh((hessian + hessian.T) / 2) if is_free.any() else np.ones(1)
        if not curvatures[0] > 1e-12 * curvatures[-1]:
            return None
        found[is_free] = -np.linalg.solve(hessian, Evaluated(by_same, same, found.shape)(x)[is_free])
        return found

    def descend(self, same: Array, until: float = 1e-9, watch: Callable[[float], object] = lambda _: None) -> Found:
        """A minimum, until no entry of the gradient is over `until` times the largest at the start.

        Where Newton's method cannot take the last steps, that is `until` times 1 at least. With exact gradients and, up
        to 50 unknowns, the exact Hessian, else its products. `watch` is called after each iteration with the least
        value so far. Raises AgradError of kind `domain`.
        """
        value, gradient = Evaluated(self.f, same, ()), Evaluated(self.residual, same)
        hessian = self.matrix(same) if self.has_matrix else None
        with np.errstate(all="ignore"):
            steepest = float(np.max(np.abs(gradient(self.start))))
            scale = steepest if self.has_matrix and not self.is_bounded and steepest > 0.0 else max(steepest, 1.0)
            least = until * (scale if isfinite(scale) else 1.0)
            found = self._searched(same, value, gradient, least, watch)
            x = found.x
            if hessian is not None and not self.is_bounded and np.max(np.abs(gradient(x))) > least:
                # Where the value hardly changes any more, its gradient still does.
                nearer, step = newton(gradient, hessian, x)
                if value(nearer) <= value(x) + 1e-12 * abs(value(self.start)) and is_settled(step, nearer, self.start):
                    x, least = nearer, inf
            slope = self._judged(value, gradient(x), hessian, x, least, found.nit >= _ITERATIONS)
        return Found(x, slope, int(found.nit), float(value(x)))

    def _searched(
        self, same: Array, value: Evaluated, gradient: Evaluated, least: float, watch: Callable[[float], object]
    ) -> Any:
        """What SciPy finds. Raises AgradError of kind `domain` where a derivative is not finite."""
        optimize = extra("scipy.optimize", self.what, "SciPy", "science")
        options = {"gtol": least, "maxiter": _ITERATIONS, **_OPTIONS.get(self.method, {})}
        known: dict[str, Any] = {"bounds": [self.bounds] * len(self.start)} if self.is_bounded else {}
        function: Any = value
        if self.method.startswith("trust"):  # no step is taken to where the value is much larger

            def function(x: Array) -> float:
                found = float(value(x))
                return found if found < inf or np.array_equal(x, self.start) else large

            large = _LARGE * (1.0 + abs(float(value(self.start))))
        if self.method == "trust-exact":
            matrix = self.matrix(same)
            known["hess"] = lambda x: matrix(x) if value(x) < inf or np.array_equal(x, self.start) else np.eye(len(x))
        elif self.method == "trust-krylov":
            products = Evaluated(products_of(self.residual), same)
            known["hessp"] = lambda x, v: products(np.concatenate([x, v]))

        def after(intermediate_result: Any) -> None:
            watch(float(intermediate_result.fun))
            if self._is_far(intermediate_result.x):
                raise StopIteration

        known |= {"method": self.method, "jac": gradient, "options": options, "callback": after}
        try:
            return optimize.minimize(function, self.start, **known)
        except ValueError:  # of a matrix with entries that are not finite
            message = (
                f"{self.what}: the search from {self.told(self.start)} has come to where a derivative is not finite"
            )
            raise AgradError("domain", message) from None

    def _judged(self, value: Evaluated, slopes: Array, hessian: Any, x: Array, least: float, is_cut_off: bool) -> float:
        """The largest slope at a minimum. Raises AgradError of kind `domain` where it is none."""
        low, high = self.bounds
        lowest, before = float(value(x)), float(value(self.start))
        is_free = ~(((x <= low) & (slopes > 0)) | ((x >= high) & (slopes < 0)))  # at an end, it may fall beyond
        slopes = np.where(is_free, slopes, 0.0)
        slope = float(np.max(np.abs(slopes)))
        is_far = self._is_far(x) or before - lowest > 1e12 * (1.0 + abs(before)) or lowest == -inf
        is_level = slope <= 10.0 * least
        if isfinite(lowest) and not is_far and is_level:
            reach = float(max(np.max(np.abs(x - self.start)), 1e-3 * max(np.max(np.abs(x)), 1.0)))
            enough = lowest - 1e-12 * (abs(lowest) + abs(before))
            free = np.outer(is_free, is_free)
            places = [] if hessian is None else _doubtful_places(x, slopes, hessian(x) * free, reach)
            if all(value(np.clip(there, low, high)) >= enough for there in places):
                return slope
        beyond = np.clip(x + 10.0 * (x - self.start), low, high)
        is_far = is_far or bool(np.any(beyond != x) and value(beyond) < lowest)
        falls, kind, sign = ("rises", "maximum", -1.0) if self.what == "maximize" else ("falls", "minimum", 1.0)
        problem = f"there is no {kind}: the function still {falls} far away" if is_far else f"no {kind} is found"
        shown, is_si = self.told(np.array([sign * lowest]), True), any(one and one.text for one in self.units)
        steep = f" and the slope {slope:.3g}{' in SI units' * is_si}"
        notes = [f"the search ended at {self.told(x)}, with the value {shown}{steep}"]
        if is_cut_off:
            notes.append(f"the search was ended after {_ITERATIONS} iterations")
        if not is_far and is_level:
            notes.append(f"the function still {falls} beside that point")
        raise AgradError("domain", f"{self.what}: {problem}", notes=notes)

    def _is_far(self, x: Array) -> bool:
        return bool(np.max(np.abs(x)) > 1e8 * (1.0 + np.max(np.abs(self.start))))


def _doubtful_places(x: Array, slopes: Array, hessian: Array, reach: float) -> Iterator[Array]:
    """Places beside a point, in the directions in which a function bends down there, or hardly up."""
    curvatures, directions = np.linalg.eigh((hessian + hessian.T) / 2)
    for direction in directions.T[~(np.abs(slopes @ directions) < 1e-6 * reach * curvatures)]:
        for length in (0.01, -0.01, 0.1, -0.1):
            yield x + length * reach * direction


def newton(
    f: Callable[[Array], Array], matrix: Callable[[Array], Array], x: Array, close: float = 0.0
) -> tuple[Array, Array]:
    """Newton's method, as long as its steps become shorter, or until the next would be `close`; and the last step."""
    last = np.full(len(x), np.inf)
    for _ in range(_NEWTON):
        try:
            step = np.linalg.solve(matrix(x), f(x))
        except np.linalg.LinAlgError:
            value = f(x)
            return x, np.zeros(len(x)) if not value.any() else last
        length, before = np.max(np.abs(step)), np.max(np.abs(last))
        if not np.isfinite(step).all() or not length < before:
            return x, np.minimum(np.abs(step), np.abs(last))
        x, last = x - step, step
        if length * length <= close * before < np.inf:
            return x, step * (length / before)
    return x, last


def is_settled(step: Array, x: Array, start: Array) -> bool:
    """Whether the last step of Newton's method only changes the last digits."""
    return bool(np.max(np.abs(step)) <= 1e-6 * max(np.max(np.abs(x)), 1e-9 * np.max(np.abs(start)), 1e-290))


def _largest(x: Array, start: Array) -> float:
    return float(np.max(np.abs([x, start]))) or 1.0


def _beside(x: Array, start: Array, powers: Iterable[int] = _POWERS) -> Iterator[tuple[Array, Array]]:
    """Ways from a point and back, nearer and nearer: beside the largest entry of it and of the start, and its own size.

    Each second one goes in another direction: a zero may be simple in some, as of x**2 = 0, y = 0.
    """
    way = np.random.default_rng(0).uniform(0.5, 1.0, len(x))
    largest = _largest(x, start)
    for size in (np.full(len(x), largest), np.abs(x)):
        for power in powers:
            there = 10.0**-power * size * way * (-1.0) ** (power * np.arange(len(x)))
            yield there, -there


def kind_of_zero(f: Evaluated, matrix: Evaluated, x: Array, start: Array) -> str:
    """What a function does at a zero: one of `_KINDS`.

    From beside a simple zero, one step of Newton's method leads back to it; of the way to a zero of order m, it goes
    1/m. At some distances in a row, that is: where rounding does not hide the function, and it hardly bends. At an end
    of the domain, as of sqrt(x), one side tells.
    """
    is_finite, in_a_row, is_end = np.isfinite(matrix(x)).all(), 0, False
    for ways in _beside(x, start):
        inside = [way for way in ways if not _leaves_domain(f, x, way, start)]
        is_end = is_end or len(inside) < len(ways)
        matrices = [matrix(x + way) for way in inside]
        try:
            parts = np.array([np.linalg.solve(m, f(x + way)) / way for m, way in zip(matrices, inside, strict=True)])
        except np.linalg.LinAlgError:
            parts = np.zeros(0)
        is_near = parts.size and np.all((parts >= _BACK[0]) & (parts <= _BACK[1]))
        in_a_row = in_a_row + 1 if is_near else 0
        if in_a_row == _IN_A_ROW:
            signs = {float(np.linalg.slogdet(m)[0]) for m in matrices}
            has_slope = np.linalg.slogdet(matrix(x))[0] in signs if is_finite else len(inside) < len(ways)
            return "touches" if len(signs) > 1 else "crosses" if has_slope else "bends"
    aside = 0.01 * _largest(x, start)
    changes_sign = len(x) == 1 and f(x - aside)[0] * f(x + aside)[0] < 0.0
    return "ends" if is_end else "touches" if not is_finite else "flattens" if changes_sign else "rests"


def _leaves_domain(f: Evaluated, x: Array, way: Array, start: Array) -> bool:
    """Whether a point is at an end of the domain of a function, which is not finite on this way, however near."""
    nearest = way * (_NEAREST * _largest(x, start) / (np.max(np.abs(way)) or 1.0))
    return not any(np.isfinite(f(x + one)).all() for one in (way, nearest))


def told(x: Array, unit: Any = None) -> str:
    """A point in a message: the number, or the entries, in a unit if there is one."""
    numbers = x if unit is None else np.asarray(units.quantity.in_unit(x, unit))
    entries = [format_number(float(entry), 6) for entry in numbers[:6]]
    more = ", …" if len(x) > len(entries) else ""
    text = entries[0] if len(x) == 1 else f"[{', '.join(entries)}{more}]"
    return text if unit is None else f"{text} {unit.text}".rstrip()
