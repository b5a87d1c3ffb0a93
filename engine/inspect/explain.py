"""The chain rule in numbers: a derivative path by path, largest contribution first.

    d(y)/d(a) = 8 at a = 2
      4  = 2 * 2  y = b*a (by b: 2) <- b = a*2 (by a: 2)
      4           y = b*a (by a: 4)
      2 paths: 4 + 4

The contributions of all paths add up to the derivative, whether they are shown or not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from agrad.engine.autodiff.backward import grad
from agrad.engine.autodiff.backward import paths as nodes_between
from agrad.engine.core.graph import Node, reachable
from agrad.engine.core.numpy_warnings import quiet
from agrad.engine.core.tensor import Tensor, bare, no_grad
from agrad.engine.inspect import paths
from agrad.engine.inspect.backward_trace import named, short, statement
from agrad.engine.inspect.paths import Edge, LargestPaths, search
from agrad.engine.text import align
from agrad.engine.values import Value, format_number

_CANCELS = 1e3  # the ratio of the paths' size to the derivative from which on cancellation is reported
_SUMMED = 8  # contributions that are written as a sum
_EPSILON = 2.0**-52


@dataclass(frozen=True, slots=True)
class Step:
    """One operation of a path: the node, the operand, and the derivative if both are numbers."""

    text: str
    by: str
    local: float | None


@dataclass(frozen=True, slots=True)
class Path:
    """One path in words: its contribution, and the first and last of its `length` steps."""

    contribution: Value
    length: int
    head: tuple[Step, ...]
    tail: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Derivative:
    """The derivative of a value by another, and the largest of the paths whose contributions add up to it.

    `count` paths lead there; `unselected` of them contribute exactly 0: an operand on them was not selected or, among
    arrays, nothing arrived. `size` is the sum of the absolute contributions, None among arrays; there `followed` says
    how many paths were followed, if not all of them.
    """

    of: str
    by: str
    at: Value
    gradient: Value
    paths: tuple[Path, ...]
    count: int
    unselected: int
    size: float | None
    followed: int | None

    @property
    def others(self) -> int:
        """How many paths contribute and are not shown."""
        return self.count - self.unselected - len(self.paths)

    @property
    def remainder(self) -> Value:
        """The sum of the paths that are not shown."""
        if isinstance(self.gradient, float):
            return _remainder(self.gradient, [float(path.contribution) for path in self.paths], self.size)
        rest = self.gradient
        for path in self.paths:
            rest = rest - path.contribution
        return rest

    def lines(self, precision: int | None) -> list[str]:
        """A heading, a line per path, and remarks on their sum."""
        heading = f"d({self.of})/d({self.by}) = {short(self.gradient, precision)}"
        lines = [f"{heading} at {self.by} = {short(self.at, precision)}"]
        lines += align([_cells(path, precision) for path in self.paths]) if self.paths else []
        if not self.count:
            lines.append("no path connects them: the derivative is 0 everywhere")
        elif self.others:
            lines.append(self._left_out(precision))
        elif len(self.paths) > 1:
            lines.append(f"{len(self.paths)} paths{self._sum(precision)}")
        if self.unselected:
            verb = "contributes" if self.unselected == 1 else "contribute"
            why = "" if self.size is None else ": not selected"
            lines.append(f"{_count_of_paths(self.unselected)} not shown {verb} exactly 0{why}")
        if self._cancels():
            lines.append(self._cancelled(precision))
        return [lines[0], *(f"  {line}" for line in lines[1:])]

    def _sum(self, precision: int | None) -> str:
        """The contributions as a sum, where that is short."""
        if self.size is None or len(self.paths) > _SUMMED:
            return ""
        numbers = [short(path.contribution, precision) for path in self.paths]
        return ": " + " + ".join(numbers).replace("+ -", "- ")

    def _left_out(self, precision: int | None) -> str:
        shown = f"{len(self.paths)} of {_count_of_paths(self.count - self.unselected)} shown"
        if self.followed is not None:
            shown += f", the largest of {_count_of_paths(self.followed)} that were followed"
        return f"{shown}; the others add up to {short(self.remainder, precision)}"

    def _cancels(self) -> bool:
        """Whether the paths add up to much less than their size."""
        if self.size is None or not math.isfinite(self.size) or not isinstance(self.gradient, float):
            return False
        return self.size > _CANCELS * abs(self.gradient)

    def _cancelled(self, precision: int | None) -> str:
        assert self.size is not None
        assert isinstance(self.gradient, float)
        size, left = format_number(float(f"{self.size:.2g}")), short(self.gradient, precision)
        start = f"the paths add up to {size} in size and cancel to {left}"
        if not self.gradient:
            return f"{start}: rounding alone may leave {format_number(self.size * _EPSILON, 2)}"
        digits = round(math.log10(self.size) - math.log10(abs(self.gradient)))
        return f"{start}: about {digits} digits are lost" if digits < 16 else f"{start}: no digit is certain"


@dataclass(frozen=True, slots=True)
class Explanation:
    """The derivatives by each value asked for; `left_out` is by how many more there are."""

    derivatives: tuple[Derivative, ...]
    left_out: int = 0

    def text(self, precision: int | None = 10) -> str:
        """One derivative after the other."""
        lines = [line for derivative in self.derivatives for line in derivative.lines(precision)]
        if self.left_out:
            lines.append(f"… and by {self.left_out:,} more")
        return "\n".join(lines)


def explain(root: Tensor, wrt: Sequence[Tensor] | None = None, limit: int = 20, name: str | None = None) -> Explanation:
    """The derivatives of `root` by `wrt`, or by every leaf, path by path; at most `limit` of these, and paths of each.

    Among numbers the paths shown are the largest of all. Among arrays a path's contribution is the cotangent sent down
    that path alone, its size that of the largest entry, and the paths shown are the largest of those that 10,000 steps
    lead to. `name` is the name of the root in the text. Changes nothing.

    Raises AgradError as `grad` does: of kind `grad`, `shape`, `freed` or `stale`.
    """
    inputs = list({x.node: x for x in wrt or _leaves(root)}.values())
    left_out = max(len(inputs) - limit, 0)
    inputs = inputs[:limit]
    gradients: tuple[Tensor, ...] = grad(root, inputs)
    order = nodes_between(root, inputs)
    nodes = [x.node for x in inputs]
    found: dict[Node, LargestPaths] = {}
    if root.node in order:
        with no_grad(), quiet():
            found = search(order, root.node, nodes, limit)
    nothing = LargestPaths([], 0, 0, None)
    derivatives = [
        _derivative(name or named(root.node), x, gradient.value, found.get(x.node, nothing))
        for x, gradient in zip(inputs, gradients, strict=True)
    ]
    return Explanation(tuple(derivatives), left_out)


def _leaves(root: Tensor) -> list[Tensor]:
    """Handles of the leaves that a derivative may be taken by, oldest first."""
    nodes = sorted((node for node in reachable(root.node) if node.op is None), key=lambda node: node.seq)
    return [bare(node, node.value) for node in nodes]


def _derivative(of: str, x: Tensor, gradient: Value, found: LargestPaths) -> Derivative:
    return Derivative(
        of=of,
        by=named(x.node),
        at=x.value,
        gradient=gradient,
        paths=tuple(map(_path, found.paths)),
        count=found.count,
        unselected=found.unselected,
        size=found.size,
        followed=found.followed,
    )


def _path(path: paths.Path) -> Path:
    """A path with its steps in words."""
    return Path(path.contribution, path.length, tuple(map(_step, path.head)), tuple(map(_step, path.tail)))


def _step(edge: Edge) -> Step:
    return Step(statement(edge.node), named(edge.operand), edge.local)


def _cells(path: Path, precision: int | None) -> tuple[str, str, str]:
    """The columns of a path: contribution, its factors, the operations."""
    contribution = short(path.contribution, precision)
    if not path.length:
        return contribution, "", "the value itself"
    skipped = path.length - len(path.head) - len(path.tail)
    factors = [format_number(step.local, precision) for step in path.head + path.tail if step.local is not None]
    steps = [f"{step.text} (by {_by(step, precision)})" for step in path.head + path.tail]
    if skipped:
        if factors:
            factors.insert(len(path.head), "…")
        steps.insert(len(path.head), f"… {skipped:,} more steps …")
    how = f"= {' * '.join(factors)}" if path.length > 1 and factors else ""
    if not isinstance(path.contribution, float) and path.contribution.size > 1:
        how = f"sum {format_number(float(path.contribution.sum()), precision)}"
    return contribution, how, " <- ".join(steps)


def _by(step: Step, precision: int | None) -> str:
    return step.by if step.local is None else f"{step.by}: {format_number(step.local, precision)}"


def _remainder(total: float, parts: list[float], size: float | None) -> float:
    """The total without the parts; 0 if only rounding is left."""
    numbers = [total, *(-part for part in parts)]
    if not all(map(math.isfinite, numbers)):
        return sum(numbers)
    try:
        rest = math.fsum(numbers)
    except OverflowError:
        return sum(numbers)
    return 0.0 if size is not None and abs(rest) <= 4 * _EPSILON * size else rest


def _count_of_paths(count: int) -> str:
    """A number of paths, in words where it is too large to write."""
    if count >= 10**15:
        return f"about 1e{int((count.bit_length() - 1) * math.log10(2))} paths"
    return f"{count:,} path{'' if count == 1 else 's'}"
