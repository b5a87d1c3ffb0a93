"""`LBFGS`: a quasi-Newton method that remembers the last changes of the gradient (Nocedal and Wright 2006, 7.4).

What is remembered, and when an iteration ends, are as in PyTorch.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from agrad.engine.core.tensor import no_grad
from agrad.engine.errors import AgradError, Hint
from agrad.engine.nn.objects import Entries
from agrad.engine.nn.optim.optimizer import Declared
from agrad.engine.values import describe, np, spread, whole


class Point(NamedTuple):
    """A place along a direction, with the loss, its gradient, and its slope in the direction."""

    t: float
    loss: float
    gradient: Any
    slope: float


class LBFGS(Declared):
    """A quasi-Newton method for all parameters together. `step` takes a closure, which computes the loss again."""

    form = "lr=1, max_iter=20, max_eval=None, tolerance_grad=1e-07, tolerance_change=1e-09, history_size=100, "
    form += "line_search_fn=None"

    def __init__(self, *args: Any, **keywords: Any) -> None:
        super().__init__(*args, **keywords)
        if len(self.param_groups) != 1:
            raise AgradError("domain", "LBFGS has one group of parameters")
        (group,) = self.param_groups
        if group["max_eval"] is None:
            group["max_eval"] = whole(group["max_iter"], "LBFGS: max_iter") * 5 // 4
        if group["line_search_fn"] not in (None, "strong_wolfe"):
            raise AgradError(
                "type", f'LBFGS: line_search_fn is "strong_wolfe", not {describe(group["line_search_fn"])}'
            )

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Several iterations; returns the loss before them."""
        if closure is None:
            raise AgradError("arity", "LBFGS.step needs a function", fixes=[Hint("optimizer.step(closure)")])
        (group,) = self.param_groups
        state, first = self.state[group["params"][0]], closure()
        now, evaluations = Point(0.0, float(first), self._gradient(), 0.0), 1
        state["func_evals"] = state.get("func_evals", 0) + 1
        for iteration in range(1, whole(group["max_iter"], "LBFGS: max_iter") + 1):
            if np.abs(now.gradient).max() <= group["tolerance_grad"]:
                break
            before, state["n_iter"] = now, state.get("n_iter", 0) + 1
            d = self._direction(state, now.gradient)
            first_size = min(1.0, 1.0 / np.abs(now.gradient).sum()) if state["n_iter"] == 1 else 1.0
            state["d"], state["prev_flat_grad"], state["t"] = d, now.gradient, first_size * group["lr"]
            now = now._replace(t=0.0, slope=float(now.gradient @ d))
            if now.slope > -group["tolerance_change"]:
                break
            if group["line_search_fn"] is not None:
                most = group["max_eval"] - evaluations
                now, used = strong_wolfe(self._along(closure, d), state["t"], now, d, group["tolerance_change"], most)
                state["t"] = now.t
                self._move(now.t * d)
            else:
                self._move(state["t"] * d)
                used = int(iteration != group["max_iter"])
                now = Point(0.0, float(closure()), self._gradient(), 0.0) if used else now
            evaluations, state["func_evals"] = evaluations + used, state["func_evals"] + used
            small = np.abs(d * state["t"]).max() <= group["tolerance_change"]
            if evaluations >= group["max_eval"] or small or abs(now.loss - before.loss) < group["tolerance_change"]:
                break
        return first

    def _direction(self, state: Entries, gradient: Any) -> Any:
        """The direction of descent, by what is remembered: changes of the gradient and of the parameters, and 1/ys."""
        if state["n_iter"] == 1:
            state["pairs"], state["scale"] = (), 1.0
            return -gradient
        y, s = gradient - state["prev_flat_grad"], state["d"] * state["t"]
        ys = float(y @ s)
        if ys > 1e-10:
            kept = whole(self.param_groups[0]["history_size"], "LBFGS: history_size")
            state["pairs"] = (*state["pairs"], (y, s, 1.0 / ys))[-kept:]
            state["scale"] = ys / float(y @ y)
        q, shares = -gradient, []
        for y, s, ratio in reversed(state["pairs"]):
            shares.append(float(s @ q) * ratio)
            q = q - shares[-1] * y
        q = q * state["scale"]
        for (y, s, ratio), share in zip(state["pairs"], reversed(shares), strict=True):
            q = q + (share - float(y @ q) * ratio) * s
        return q

    def _gradient(self) -> Any:
        """The gradients of all parameters, as one vector."""
        found = []
        for value in self.param_groups[0]["params"]:
            gradient = 0.0 if value.grad is None else value.grad.value
            found.append(np.ravel(np.broadcast_to(gradient, value.shape)))
        return np.concatenate(found)

    def _move(self, change: Any) -> None:
        """Add a vector to all parameters."""
        with no_grad():
            for value in self.param_groups[0]["params"]:
                size = math.prod(value.shape)
                value.copy_(value.value + spread(change[:size].reshape(value.shape), value.shape))
                change = change[size:]

    def _along(self, closure: Callable[[], Any], d: Any) -> Callable[[float], Point]:
        """The point at each t along a direction; the parameters stay as they are."""
        values = self.param_groups[0]["params"]
        start = [value.detach().clone() for value in values]

        def at(t: float) -> Point:
            self._move(t * d)
            loss, gradient = float(closure()), self._gradient()
            with no_grad():
                for value, before in zip(values, start, strict=True):
                    value.copy_(before)
            return Point(t, loss, gradient, float(gradient @ d))

        return at


def strong_wolfe(
    at: Callable[[float], Point], t: float, start: Point, d: Any, tolerance: float, most: int
) -> tuple[Point, int]:
    """A point along a direction where the loss has fallen, and its slope, by enough; how many points were tried."""
    before, now, tries = start, at(t), 0
    bracket = None
    while tries < most:
        if _too_high(now, start) or (tries > 1 and now.loss >= before.loss):
            bracket = [before, now]
        elif _flat(now, start):
            return now, tries + 1
        elif now.slope >= 0.0:
            bracket = [before, now]
        if bracket is not None:
            break
        t = cubic(before, now, now.t + 0.01 * (now.t - before.t), now.t * 10.0)
        before, now, tries = now, at(t), tries + 1
    return _narrowed(at, bracket or [start, now], start, float(np.abs(d).max()) / tolerance, most, tries)


def _narrowed(
    at: Callable[[float], Point], bracket: list[Point], start: Point, size: float, most: int, tries: int
) -> tuple[Point, int]:
    """The best point of a bracket that is narrowed until it is flat there, or too narrow."""
    low, high = (0, 1) if bracket[0].loss <= bracket[1].loss else (1, 0)
    stuck = done = False
    while not done and tries < most:
        left, right = sorted(point.t for point in bracket)
        if (right - left) * size < 1.0:
            break
        t, margin = cubic(bracket[0], bracket[1], left, right), 0.1 * (right - left)
        near = min(right - t, t - left) < margin
        if near and (stuck or t >= right or t <= left):
            t, near = (right - margin if abs(t - right) < abs(t - left) else left + margin), False
        stuck = near
        now, tries = at(t), tries + 1
        if _too_high(now, start) or now.loss >= bracket[low].loss:
            bracket[high] = now
            low, high = (0, 1) if bracket[0].loss <= bracket[1].loss else (1, 0)
            continue
        done = _flat(now, start)
        if not done and now.slope * (bracket[high].t - bracket[low].t) >= 0.0:
            bracket[high] = bracket[low]
        bracket[low] = now
    return bracket[low], tries + 1


def _too_high(now: Point, start: Point) -> bool:
    return now.loss > start.loss + 1e-4 * now.t * start.slope


def _flat(now: Point, start: Point) -> bool:
    return abs(now.slope) <= -0.9 * start.slope


def cubic(a: Point, b: Point, lowest: float, highest: float) -> float:
    """Where the cubic polynomial with the losses and slopes of two points is smallest, within bounds."""
    a, b = (a, b) if a.t <= b.t else (b, a)
    d = a.slope + b.slope - 3.0 * (a.loss - b.loss) / (a.t - b.t)
    square = d * d - a.slope * b.slope
    if square < 0.0:
        return (lowest + highest) / 2.0
    root = math.sqrt(square)
    found = b.t - (b.t - a.t) * ((b.slope + root - d) / (b.slope - a.slope + 2.0 * root))
    return min(max(found, lowest), highest)
