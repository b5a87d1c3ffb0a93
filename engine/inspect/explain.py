"""The paths of a graph, from a result back to one of the values behind it, and the contribution of each.

There may be too many paths to list: a hundred doublings have 2**100. They are counted, and their sizes added up, from
node to node; only the largest are listed. If every node between is a number, these are found exactly: the most that a
path from a node to the target can contribute is computed first, as a logarithm, and the search always continues the
partial path that can contribute most (E. L. Lawler, 1972). If there are arrays, cotangents are sent along one path
after another, up to a limit of steps.
"""

from __future__ import annotations

import math
from bisect import insort
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, NamedTuple

from agrad.engine.autodiff.backward import grad
from agrad.engine.autodiff.backward import paths as nodes_between
from agrad.engine.autodiff.reverse import Flight, applied, contributions, operand_value, spread_to
from agrad.engine.core.graph import Node, leading_to, reachable
from agrad.engine.core.numpy_warnings import quiet
from agrad.engine.core.tensor import Tensor, bare, no_grad
from agrad.engine.inspect.backward_trace import is_selected, labelled, local_derivative, named, short, statement
from agrad.engine.inspect.nodes import numbered
from agrad.engine.text import align, display_width, fit, truncate
from agrad.engine.values import Value, format_number, np, size_of, spread

STEPS = 10_000  # steps of the search among arrays; the first path is always followed to its end
_ENTRIES = 1000  # entries of an array that cost as much as a step

_HEAD, _TAIL = 4, 2  # edges of a long path that are kept

# Logarithms for derivatives of 0, inf and nan. They can be added up over a path of a million steps.
_VANISHES = -1e200
_NOT_FINITE = 1e250


class Edge(NamedTuple):
    """One step of a path: a node, an operand, and the derivative of the one by the other where both are numbers."""

    node: Node
    operand: Node
    local: float | None


@dataclass(frozen=True, slots=True)
class Found:
    """A path from the result, and its contribution; of a long one the first and last of its `length` edges."""

    contribution: Value
    length: int
    head: list[Edge]
    tail: list[Edge]


@dataclass(frozen=True, slots=True)
class LargestPaths:
    """The largest paths to a target. `followed` is how many were followed, None for all of them."""

    paths: list[Found]
    count: int
    unselected: int  # of the count: these contribute exactly 0
    size: float | None  # the sum of all absolute contributions, if all nodes are numbers
    followed: int | None = None


def search(order: list[Node], root: Node, targets: Sequence[Node], limit: int) -> dict[Node, LargestPaths]:
    """The `limit` largest paths from the root to each target. `order`: the nodes between them, youngest first."""
    among, of_numbers = _among_numbers(order, targets)
    found: dict[Node, LargestPaths] = {}
    if of_numbers:
        numbers = _Numbers(among, of_numbers)
        found = {target: numbers.search(target, limit) for target in of_numbers}
    if rest := [target for target in targets if target not in found]:
        counts = _counts(order, root, rest)
        found |= {target: _follow(order, root, target, counts[target], limit) for target in rest}
    return found


def _among_numbers(order: list[Node], targets: Sequence[Node]) -> tuple[list[Node], list[Node]]:
    """The targets that all paths to lead through numbers alone, and the nodes of those paths, youngest first.

    An array that is behind another target changes nothing for them.
    """
    if all(not node.shape for node in order):
        return order, list(targets)
    kept: set[Node] = set()
    found = []
    for target in targets:
        behind = {target}
        for node in reversed(order):
            if any(type(operand) is Node and operand in behind for operand in node.inputs):
                behind.add(node)
        behind.intersection_update(order)
        if target in behind and not any(node.shape for node in behind):
            found.append(target)
            kept |= behind
    return [node for node in order if node in kept], found


def _size(contribution: Value) -> float:
    """The largest entry; nan counts as infinite."""
    if isinstance(contribution, float):
        number = abs(contribution)
    else:
        number = float(np.max(np.abs(contribution), initial=0.0))
    return math.inf if math.isnan(number) else number


def _ends(length: int) -> tuple[range, range]:
    """The indices of the edges that are kept."""
    if length <= _HEAD + _TAIL + 1:
        return range(length), range(0)
    return range(_HEAD), range(length - _TAIL, length)


# Numbers


class _Link(NamedTuple):
    """An edge that contributes, by the place of its operand in the order; `size` is the logarithm of `local`."""

    operand: int
    local: float
    size: float


class _Candidate(NamedTuple):
    """A path not yet followed: the first `length` links of another one, then `link`, then the best continuation."""

    bound: float
    number: int  # so that later fields are never compared
    before: list[_Link]
    length: int
    link: _Link | None
    size: float  # of the part up to and with `link`, as a logarithm


class _Numbers:
    """The search in a graph in which every node is one number."""

    def __init__(self, order: list[Node], targets: Sequence[Node]) -> None:
        self.order = order
        self.places = {node: place for place, node in enumerate(order)}
        self.links: list[list[_Link]] = []
        self.numbers = count(0, -1)
        # Of each target: how many paths lead there, how many of these contribute, and the sum of their sizes.
        self.totals: dict[Node, tuple[int, int, float]] = {}
        flight: dict[int, tuple[int, int, float]] = {0: (1, 1, 1.0)}
        wanted = set(targets)
        for place, node in enumerate(order):
            paths, live, size = flight.pop(place, (0, 0, 0.0))
            if node in wanted:
                self.totals[node] = paths, live, size
            links: list[_Link] = []
            for operand, local in _locals(node, self.places):
                before = flight.get(operand, (0, 0, 0.0))
                total = before[0] + paths
                if local is None:
                    flight[operand] = total, before[1], before[2]
                    continue
                links.append(_Link(operand, local, _logarithm(local)))
                # The counts may be long numbers: they are added up twice only where they differ.
                alive = total if paths is live and before[0] is before[1] else before[1] + live
                flight[operand] = total, alive, before[2] + (size * abs(local) if live else 0.0)
            self.links.append(links)

    def search(self, target: Node, limit: int) -> LargestPaths:
        """The largest paths to one target."""
        total, live, size = self.totals.get(target, (0, 0, 0.0))
        paths = [self._path(links) for links in self._largest(self.places[target], limit)] if live else []
        paths.sort(key=lambda path: _size(path.contribution), reverse=True)
        return LargestPaths(paths, total, total - live, size)

    def _bounds(self, target: int) -> list[float]:
        """For each node the logarithm of the largest factor of a path from there to the target."""
        bounds = [-math.inf] * len(self.order)
        bounds[target] = 0.0
        for place in range(target - 1, -1, -1):
            for operand, _, size in self.links[place]:
                bound = size + bounds[operand]
                if bound > bounds[place]:
                    bounds[place] = bound
        return bounds

    def _largest(self, target: int, limit: int) -> list[list[_Link]]:
        """The paths with the largest products, largest first up to rounding."""
        bounds = self._bounds(target)
        waiting = [_Candidate(bounds[0], 0, [], 0, None, 0.0)]
        found: list[list[_Link]] = []
        while waiting and len(found) < limit:
            start = waiting.pop()
            path = start.before[: start.length]
            if start.link is not None:
                path.append(start.link)
            found.append(path)
            self._finish(path, start.size, target, bounds, waiting, limit - len(found))
        return found

    def _finish(
        self, path: list[_Link], size: float, target: int, bounds: list[float], waiting: list[_Candidate], room: int
    ) -> None:
        """Complete a path by its best continuation; the `room` best others are kept for later, the best at the end."""
        place = path[-1].operand if path else 0
        while place != target:
            links = self.links[place]
            best = links[0]
            if len(links) > 1:
                best = max(links, key=lambda link: link.size + bounds[link.operand])
                for link in links:
                    bound = size + link.size + bounds[link.operand]
                    if link is best or bound == -math.inf or (len(waiting) >= room and bound <= _least(waiting)):
                        continue
                    # Of equal ones the first seen is at the end.
                    insort(waiting, _Candidate(bound, next(self.numbers), path, len(path), link, size + link.size))
                    if len(waiting) > room:
                        del waiting[0]
            path.append(best)
            place, size = best.operand, size + best.size

    def _path(self, links: list[_Link]) -> Found:
        """A path with the edges at both ends."""
        contribution = 1.0
        for link in links:
            contribution *= link.local

        def edge(at: int) -> Edge:
            node = self.order[links[at - 1].operand if at else 0]
            return Edge(node, self.order[links[at].operand], links[at].local)

        head, tail = _ends(len(links))
        return Found(contribution, len(links), list(map(edge, head)), list(map(edge, tail)))


def _least(waiting: list[_Candidate]) -> float:
    """The bound that a new candidate has to exceed when there is no more room."""
    return waiting[0].bound if waiting else math.inf


def _locals(node: Node, places: dict[Node, int]) -> list[tuple[int, float | None]]:
    """The operands of a number and its derivatives by them; None for an operand that was not selected."""
    op, found = node.op, []
    if op is None:
        return []
    values: list[Any] | None = None
    for position, operand in enumerate(node.inputs):
        rule = op.rule(position)
        if type(operand) is not Node or rule is None or operand not in places or not operand.requires_grad:
            continue
        values = [operand_value(x, False) for x in node.inputs] if values is None else values
        attrs = {**(node.attrs or {}), "which": position} if op.variadic else node.attrs or {}
        selects = op.selects[position] if op.selects else None
        selected = selects is None or selects(node.value, *values, **attrs) != 0.0
        local = float(applied(rule, 1.0, node.value, values, attrs)) if selected else None
        found.append((places[operand], local))
    return found


def _logarithm(local: float) -> float:
    size = abs(local)
    if 0.0 < size < math.inf:
        return math.log2(size)
    return _VANISHES if size == 0.0 else _NOT_FINITE


# Arrays


class _PartialPath(NamedTuple):
    """A path followed so far: the node it has come to, the cotangent there, and a mask of the entries reached.

    `trail` holds the nodes before, the last first: a pair of the node and its own trail.
    """

    node: Node
    cotangent: Any
    mask: Any
    trail: Any


def _counts(order: list[Node], root: Node, targets: Sequence[Node]) -> dict[Node, int]:
    """How many paths lead from the root to each target, with any contribution."""
    flight, known, wanted = {root: 1}, set(order), set(targets)
    counts = dict.fromkeys(targets, 0)
    for node in order:
        paths = flight.pop(node, 0)
        if node in wanted:
            counts[node] = paths
        for position, operand in enumerate(node.inputs):
            if type(operand) is Node and operand in known and node.op is not None and node.op.rule(position):
                flight[operand] = flight.get(operand, 0) + paths
    return counts


def _follow(order: list[Node], root: Node, target: Node, total: int, limit: int) -> LargestPaths:
    """The largest of the paths to one target, of those that `STEPS` steps lead to."""
    leading = set(leading_to(order, [target]))
    waiting = [_PartialPath(root, spread(1.0, root.shape), None, None)] if root in leading else []
    ends: list[_PartialPath] = []
    steps, followed, complete = 0, 0, True
    while waiting:
        path = waiting.pop()
        if path.node is target:
            followed += 1
            if np.any(path.cotangent):
                ends.append(path)
            continue
        if steps >= STEPS and followed:
            complete = False
            break
        steps += 1 + size_of(path.node.shape) // _ENTRIES
        onward = [branch for branch in _branches(path) if branch.node in leading]
        if steps >= STEPS and len(onward) > 1:
            complete = False
            del onward[1:]
        waiting += reversed(onward)
    ends.sort(key=lambda path: _size(path.cotangent), reverse=True)
    paths = [_path(end) for end in ends[:limit]]
    return (
        LargestPaths(paths, total, total - len(ends), None)
        if complete
        else LargestPaths(paths, total, 0, None, followed)
    )


def _branches(path: _PartialPath) -> list[_PartialPath]:
    """A path continued along every edge from its node, except those that no selected entry leads along."""
    node = path.node
    if node.op is None:
        return []
    flight = Flight({}, {} if path.mask is None else {node: path.mask})
    apart = [*contributions(node.op, node, path.cotangent, flight, False)]
    scattered = [(operand, c, flight.masks.get(operand)) for operand, c in flight.cotangents.items()]
    trail = (node, path.trail)
    return [
        _PartialPath(operand, spread_to(c, operand.shape), mask, trail)
        for operand, c, mask in apart + scattered
        if mask is None or np.any(mask)
    ]


def _path(end: _PartialPath) -> Found:
    """A path that has reached its target, with the edges at both ends."""
    nodes, trail = [end.node], end.trail
    while trail is not None:
        node, trail = trail
        nodes.append(node)
    nodes.reverse()

    def edge(at: int) -> Edge:
        return Edge(nodes[at], nodes[at + 1], None)

    head, tail = _ends(len(nodes) - 1)
    return Found(end.cotangent, len(nodes) - 1, list(map(edge, head)), list(map(edge, tail)))


# The chain rule in numbers: a derivative path by path, largest contribution first.
#
# d(y)/d(a) = 8 at a = 2 4 = 2 * 2 %3 y = b*a (by b: 2) <- %2 b = a*2 (by a: 2) 4 %3 y = b*a (by a: 4) 2 paths: 4 + 4
#
# The numbers of nodes are those of the dump of y. Where a line would be too wide, the steps of all paths are only
# named there, and listed at the end:
#
# d(y)/d(a) = 8 at a = 2 4 = 2 * 2 y <- b <- a 4 = 4 y <- a 2 paths: 4 + 4 %3 y = b*a %2 b = a*2
#
# The contributions of all paths add up to the derivative, whether they are shown or not.

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
        paths=tuple(_explain_path(path, numbers) for path in found.paths),
        count=found.count,
        unselected=found.unselected,
        size=found.size,
        followed=found.followed,
    )


def _explain_path(path: Found, numbers: dict[int, int]) -> Path:
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
