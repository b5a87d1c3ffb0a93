"""The chain rule in numbers: a derivative path by path, largest contribution first.

    d(y)/d(a) = 8 at a = 2
      4  = 2 * 2  %3 y = b*a (by b: 2) <- %2 b = a*2 (by a: 2)
      4           %3 y = b*a (by a: 4)
      2 paths: 4 + 4

The numbers of nodes are those of the dump of y. Where a line would be too wide, the steps of all paths are only named
there, and listed at the end:

    d(y)/d(a) = 8 at a = 2
      4 = 2 * 2
        y <- b <- a
      4 = 4
        y <- a
      2 paths: 4 + 4
      %3  y = b*a
      %2  b = a*2

The contributions of all paths add up to the derivative, whether they are shown or not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from agrad.engine.autodiff.backward import grad
from agrad.engine.autodiff.backward import paths as nodes_between
from agrad.engine.core.graph import reachable
from agrad.engine.core.numpy_warnings import quiet
from agrad.engine.core.tensor import Tensor, bare, no_grad
from agrad.engine.inspect import paths
from agrad.engine.inspect.backward_trace import is_selected, labelled, local_derivative, named, short, statement
from agrad.engine.inspect.nodes import numbered
from agrad.engine.inspect.paths import Edge, LargestPaths, search
from agrad.engine.text import align, display_width, fit, truncate
from agrad.engine.values import Value, format_number, np

_CANCELS = 1e3  # the ratio of the paths' size to the derivative from which on cancellation is reported
_GLUE = "\N{NO-BREAK SPACE}"  # between what a line that is folded keeps together
_SUMMED = 8  # contributions that are written as a sum
_EPSILON = 2.0**-52


@dataclass(frozen=True, slots=True)
class Step:
    """One operation of a path: the node, the operand, and the derivative unless it is a matrix.

    A node has a name, or its number in the dump such as `%5`; `text` is how it was computed.
    """

    number: str
    name: str
    text: str
    by: str
    local: Value | None


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

    def lines(self, precision: int | None, folded: bool = False) -> list[str]:
        """A heading, a line per path, and remarks on their sum. `folded`: the steps of paths have names alone."""
        heading = f"d({self.of})/d({self.by}) = {short(self.gradient, precision)} at {self.by}"
        if folded:
            lines = [line for path in self.paths for line in _folded(path, precision)]
        else:
            lines = self.columns(precision)
        lines += [f"  {remark}" for remark in self._remarks(precision)]
        return [f"{heading} = {short(self.at, precision)}", *lines]

    def columns(self, precision: int | None) -> list[str]:
        """A line per path: its contribution, its factors, and its steps."""
        return align([_cells(path, precision) for path in self.paths], margin="  ") if self.paths else []

    def _remarks(self, precision: int | None) -> list[str]:
        """What is said of the sum of the paths."""
        lines = []
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
        return lines

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

    def text(self, precision: int | None = 10, width: int = 80) -> str:
        """One derivative after the other, in lines of at most `width` characters."""
        rows = [line for derivative in self.derivatives for line in derivative.columns(precision)]
        folded = max(map(display_width, rows), default=0) > width
        lines = [line for derivative in self.derivatives for line in derivative.lines(precision, folded)]
        legend: list[str] = []
        if folded:
            steps = {step.number: step.text for step in self._steps() if step.number}
            legend = [truncate(line, width) for line in align(steps.items(), margin="  ")]
        if self.left_out:
            legend.append(f"… and by {self.left_out:,} more")
        return "\n".join([fit("\n".join(lines), width).replace(_GLUE, " "), *legend])

    def _steps(self) -> list[Step]:
        """The steps of all paths, the youngest nodes first."""
        found = [step for each in self.derivatives for path in each.paths for step in path.head + path.tail]
        return sorted(found, key=lambda step: -int(step.number[1:] or 0))


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
    nothing = LargestPaths([], 0, 0, None)
    with no_grad(), quiet():
        found = search(order, root.node, nodes, limit) if root.node in order else {}
        numbers = numbered(root.node)
        derivatives = [
            _derivative(name or named(root.node), x, gradient.value, found.get(x.node, nothing), numbers)
            for x, gradient in zip(inputs, gradients, strict=True)
        ]
    return Explanation(tuple(derivatives), left_out)


def _leaves(root: Tensor) -> list[Tensor]:
    """Handles of the leaves that a derivative may be taken by, oldest first."""
    nodes = sorted((node for node in reachable(root.node) if node.op is None), key=lambda node: node.seq)
    return [bare(node, node.value) for node in nodes]


def _derivative(of: str, x: Tensor, gradient: Value, found: LargestPaths, numbers: dict[int, int]) -> Derivative:
    return Derivative(
        of=of,
        by=named(x.node),
        at=x.value,
        gradient=gradient,
        paths=tuple(_path(path, numbers) for path in found.paths),
        count=found.count,
        unselected=found.unselected,
        size=found.size,
        followed=found.followed,
    )


def _path(path: paths.Path, numbers: dict[int, int]) -> Path:
    """A path with its steps in words."""
    head, tail = (tuple(_step(edge, numbers) for edge in edges) for edges in (path.head, path.tail))
    return Path(path.contribution, path.length, head, tail)


def _step(edge: Edge, numbers: dict[int, int]) -> Step:
    node, number = edge.node, numbers.get(edge.node.seq)
    local = _among_arrays(edge) if edge.local is None else edge.local
    shown = f"%{number}" if number is not None else ""
    return Step(shown, labelled(node, numbers), statement(node), labelled(edge.operand, numbers), local)


def _among_arrays(edge: Edge) -> Value | None:
    """The derivative of a step of a path among arrays; None for a matrix, and where the operand has several."""
    node, op = edge.node, edge.node.op
    assert op is not None
    places = [place for place, x in enumerate(node.inputs) if x is edge.operand and op.rule(place) is not None]
    found = [local_derivative(op, node, place) for place in places if is_selected(op, node, place)]
    first = found[0] if found else None
    if first is None or not all(other is not None and np.array_equal(first, other) for other in found):
        return None
    return first


def _cells(path: Path, precision: int | None) -> tuple[str, str, str]:
    """The columns of a path: contribution, its factors, the operations."""
    contribution = short(path.contribution, precision)
    if not path.length:
        return contribution, "", "the value itself"
    factors = _factors(path, precision)
    how = f"= {factors}" if path.length > 1 and factors else ""
    steps = [f"{_numbered(step)} (by {_by(step, precision)})" for step in path.head + path.tail]
    return contribution, _whole(path, precision) or how, " <- ".join(_with_gap(path, steps))


def _folded(path: Path, precision: int | None) -> list[str]:
    """The same on lines below each other, with the steps named alone."""
    contribution = short(path.contribution, precision)
    if not path.length:
        return [f"  {contribution}  the value itself"]
    factors, whole = _factors(path, precision), _whole(path, precision)
    steps, last = path.head + path.tail, (path.tail or path.head)[-1].by
    names = [step.name if factors else _with_factor(step, precision) for step in steps]
    head = f"{contribution} = {factors}" if factors else f"{contribution}  {whole}".rstrip()
    return [f"  {head}", f"    {' <- '.join([*_with_gap(path, names), last])}"]


def _factors(path: Path, precision: int | None) -> str:
    """`2 * 3`: the derivatives of all steps, where these are numbers."""
    numbers = [step.local for step in path.head + path.tail]
    if not all(isinstance(number, float) for number in numbers):
        return ""
    return " * ".join(_with_gap(path, [short(number, precision) for number in numbers if number is not None], "…"))


def _whole(path: Path, precision: int | None) -> str:
    """The sum of the entries of a contribution that has several."""
    if isinstance(path.contribution, float) or path.contribution.size < 2:
        return ""
    return f"sum {format_number(float(path.contribution.sum()), precision)}"


def _with_gap(path: Path, parts: Sequence[str], gap: str = "") -> list[str]:
    """A part for each step that is kept, and one for those between them that are not."""
    skipped = path.length - len(parts)
    between = [gap or f"… {skipped:,} more steps …"] if skipped else []
    return [*parts[: len(path.head)], *between, *parts[len(path.head) :]]


def _numbered(step: Step) -> str:
    return f"{step.number} {step.text}".lstrip()


def _with_factor(step: Step, precision: int | None) -> str:
    told = "" if step.local is None else f" ({short(step.local, precision, each=True)})"
    return f"{step.name}{told}".replace(" ", _GLUE)


def _by(step: Step, precision: int | None) -> str:
    return step.by if step.local is None else f"{step.by}: {short(step.local, precision, each=True)}"


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
