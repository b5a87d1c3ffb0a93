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

There may be too many paths to list: a hundred doublings have 2**100. They are counted, and their sizes added up, from
node to node; only the largest are listed. If every node between is a number, these are found exactly: the most that a
path from a node to the target can contribute is computed first, as a logarithm, and the search always continues the
partial path that can contribute most (E. L. Lawler, 1972). If there are arrays, cotangents are sent along one path
after another, up to a limit of steps.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from heapq import nlargest
from itertools import chain
from operator import attrgetter
from typing import Any, NamedTuple

from agrad.engine import units
from agrad.engine.autodiff.backward import grad
from agrad.engine.autodiff.backward import paths as nodes_between
from agrad.engine.autodiff.reverse import Flight, contributions, spread_to
from agrad.engine.core.graph import Node, Units, collect, leading_to, reachable
from agrad.engine.core.numpy_warnings import quiet
from agrad.engine.core.tensor import Tensor, bare, no_grad
from agrad.engine.inspect.backward_trace import Rule, labelled, named, plain, short, statement
from agrad.engine.inspect.nodes import numbered
from agrad.engine.text import align, display_width, fit, truncate
from agrad.engine.values import Value, format_number, np, size_of, spread

STEPS = 10_000  # steps of the search among arrays; the first path is always followed to its end
_ENTRIES = 1000  # entries of an array that cost as much as a step

_HEAD, _TAIL = 4, 2  # edges of a long path that are kept
_CANCELS = 1e3  # the ratio of the paths' size to the derivative from which on cancellation is reported
_GLUE = "\N{NO-BREAK SPACE}"  # between what a line that is folded keeps together
_SUMMED = 8  # contributions that are written as a sum
_EPSILON = 2.0**-52

# Logarithms for derivatives of 0, inf and nan. They can be added up over a path of a million steps.
_VANISHES = -1e200
_NOT_FINITE = 1e250


class Step(NamedTuple):
    """One operation of a path: the node, the operand, and the derivative unless it is a matrix."""

    node: Node
    operand: Node
    local: Value | None


class Path(NamedTuple):
    """A path from the result, and its contribution; of a long one the first and last of its `length` steps."""

    contribution: Value
    length: int
    head: list[Step]
    tail: list[Step]


class LargestPaths(NamedTuple):
    """The largest of the paths to a target, of which `count` lead there.

    `unselected` of these contribute exactly 0: an operand on them was not selected or, among arrays, nothing arrived.
    `size` is the sum of the absolute contributions, None among arrays; there `followed` says how many paths were
    followed, if not all of them.
    """

    paths: list[Path]
    count: int  # type: ignore[assignment]  # which hides that of tuples
    unselected: int
    size: float | None
    followed: int | None = None


def search(order: list[Node], root: Node, targets: Sequence[Node], limit: int) -> dict[Node, LargestPaths]:
    """The `limit` largest paths from the root to each target. `order`: the nodes between them, youngest first."""
    among, of_numbers = _among_numbers(order, targets)
    numbers = _Numbers(among, of_numbers) if of_numbers else None
    found = {target: numbers.search(target, limit) for target in of_numbers} if numbers is not None else {}
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
    leading = {target: leading_to(order, [target]) for target in targets}
    found = [one for one, nodes in leading.items() if nodes[-1:] == [one] and not any(node.shape for node in nodes)]
    kept = {node for target in found for node in leading[target]}
    return [node for node in order if node in kept], found


def _size(contribution: Value) -> float:
    """The largest entry; nan counts as infinite."""
    if isinstance(contribution, float):  # numpy is not loaded for it
        number = abs(contribution)
    else:
        number = float(np.max(np.abs(contribution), initial=0.0))
    return math.inf if math.isnan(number) else number


def _ends(length: int, step: Callable[[int], Step]) -> tuple[list[Step], list[Step]]:
    """The steps of a path that are kept, by their places: all of a short one, or the first and the last."""
    if length <= _HEAD + _TAIL + 1:
        return list(map(step, range(length))), []
    return list(map(step, range(_HEAD))), list(map(step, range(length - _TAIL, length)))


# Numbers


class _Link(NamedTuple):
    """An edge that contributes, by the place of its operand in the order; `size` is the logarithm of `local`."""

    operand: int
    local: float
    size: float


class _Candidate(NamedTuple):
    """A path not yet followed: the first `length` links of another one, then `link`, then the best continuation."""

    bound: float
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
        """The paths with the largest products, largest first up to rounding; of equal ones the first seen."""
        bounds = self._bounds(target)
        waiting = [_Candidate(bounds[0], [], 0, None, 0.0)]
        found: list[list[_Link]] = []
        while waiting and len(found) < limit:
            start, *waiting = waiting
            path = start.before[: start.length]
            if start.link is not None:
                path.append(start.link)
            found.append(path)
            others = chain(waiting, self._finish(path, start.size, target, bounds))
            waiting = nlargest(max(limit - len(found), 1), others, attrgetter("bound"))
        return found

    def _finish(self, path: list[_Link], size: float, target: int, bounds: list[float]) -> Iterator[_Candidate]:
        """Complete a path by its best continuation; gives those others that branch off from it."""
        place = path[-1].operand if path else 0
        while place != target:
            links = self.links[place]
            best = max(links, key=lambda link: link.size + bounds[link.operand]) if len(links) > 1 else links[0]
            for link in links:
                bound = size + link.size + bounds[link.operand]
                if link is not best and bound > -math.inf:
                    yield _Candidate(bound, path, len(path), link, size + link.size)
            path.append(best)
            place, size = best.operand, size + best.size

    def _path(self, links: list[_Link]) -> Path:
        """A path with the steps at both ends."""
        contribution = 1.0
        for link in links:
            contribution *= link.local

        def step(at: int) -> Step:
            node = self.order[links[at - 1].operand if at else 0]
            return Step(node, self.order[links[at].operand], links[at].local)

        return Path(contribution, len(links), *_ends(len(links), step))


def _locals(node: Node, places: dict[Node, int]) -> list[tuple[int, float | None]]:
    """The operands of a number and its derivatives by them; None for an operand that was not selected."""
    found = []
    for position, operand in enumerate(node.inputs if node.op is not None else ()):
        if type(operand) is not Node or operand not in places or not operand.requires_grad:
            continue
        rule = Rule(node, position)
        if rule.rule is not None:
            selected = rule.selects is None or rule.selection() != 0.0
            found.append((places[operand], float(rule(1.0)) if selected else None))
    return found


def _logarithm(local: float) -> float:
    if local == 0.0 or not math.isfinite(local):
        return _NOT_FINITE if local else _VANISHES
    return math.log2(abs(local))


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
    return LargestPaths(paths, total, total - len(ends) if complete else 0, None, None if complete else followed)


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


def _path(end: _PartialPath) -> Path:
    """A path that has reached its target, with the steps at both ends."""
    nodes, trail = [end.node], end.trail
    while trail is not None:
        node, trail = trail
        nodes.append(node)
    nodes.reverse()
    ends = _ends(len(nodes) - 1, lambda at: Step(nodes[at], nodes[at + 1], _among_arrays(nodes[at], nodes[at + 1])))
    return Path(end.cotangent, len(nodes) - 1, *ends)


def _among_arrays(node: Node, operand: Node) -> Value | None:
    """The derivative of a step of a path among arrays; None for a matrix, and where the operand has several."""
    rules = [Rule(node, place) for place, x in enumerate(node.inputs) if x is operand]
    found = [plain(rule.local()) for rule in rules if rule.rule is not None and np.any(rule.selection())]
    first: Value | None = found[0] if found else None
    if first is None or not all(other is not None and np.array_equal(first, other) for other in found):
        return None
    return first


# In words


class Derivative(NamedTuple):
    """The derivative of a value by another, and the largest of the paths whose contributions add up to it.

    What follows the numbers of the nodes in the dump is as in LargestPaths.
    """

    of: str
    by: str
    at: Value
    gradient: Value
    numbers: dict[int, int]
    paths: list[Path]
    count: int  # type: ignore[assignment]
    unselected: int
    size: float | None
    followed: int | None
    units: tuple[str, str] = ("", "")  # of what it is by, and of the derivative

    @property
    def others(self) -> int:
        """How many paths contribute and are not shown."""
        return self.count - self.unselected - len(self.paths)

    @property
    def remainder(self) -> Value:
        """The sum of the paths that are not shown; 0 if only rounding is left."""
        rest = self.gradient
        if not isinstance(rest, float):
            for path in self.paths:
                rest = rest - path.contribution
            return rest
        numbers = [rest, *(-float(path.contribution) for path in self.paths)]
        if not all(map(math.isfinite, numbers)):
            return sum(numbers)
        try:
            rest = math.fsum(numbers)
        except OverflowError:
            return sum(numbers)
        return 0.0 if self.size is not None and abs(rest) <= 4 * _EPSILON * self.size else rest

    def lines(self, precision: int | None, folded: bool = False) -> list[str]:
        """A heading, a line per path, and remarks on their sum. `folded`: the steps of paths have names alone."""
        of_x, of_slope = self.units
        heading = f"d({self.of})/d({self.by}) = {short(self.gradient, precision)} {of_slope}".rstrip()
        lines = [f"{heading} at {self.by} = {short(self.at, precision)} {of_x}".rstrip()]
        if folded:
            lines += [f"  {line}" for path in self.paths for line in self._folded(path, precision)]
        else:
            lines += self.columns(precision)
        return [*lines, *(f"  {remark}" for remark in self._remarks(precision))]

    def columns(self, precision: int | None) -> list[str]:
        """A line per path: its contribution, its factors, and its steps."""
        rows = []
        for path in self.paths:
            steps = []
            for node, operand, local in path.head + path.tail:
                number, by = self.numbers.get(node.seq), labelled(operand, self.numbers)
                told = "" if local is None else f": {short(local, precision, each=True)}"
                steps.append(f"{'' if number is None else f'%{number} '}{statement(node)} (by {by}{told})")
            factors = _factors(path, precision)
            how = _sum_of(path, precision) or (f"= {factors}" if path.length > 1 and factors else "")
            words = " <- ".join(_with_gap(path, steps)) if path.length else "the value itself"
            rows.append((short(path.contribution, precision), how if path.length else "", words))
        return align(rows, margin="  ") if rows else []

    def _folded(self, path: Path, precision: int | None) -> list[str]:
        """The same on lines below each other, with the steps named alone, and their factors where they are arrays."""
        contribution = short(path.contribution, precision)
        if not path.length:
            return [f"{contribution}  the value itself"]
        factors, steps, names = _factors(path, precision), path.head + path.tail, []
        for node, _, local in steps:
            told = "" if factors or local is None else f" ({short(local, precision, each=True)})"
            name = f"{labelled(node, self.numbers)}{told}"
            names.append(name if factors else name.replace(" ", _GLUE))
        head = f"{contribution} = {factors}" if factors else f"{contribution}  {_sum_of(path, precision)}".rstrip()
        return [head, f"  {' <- '.join([*_with_gap(path, names), labelled(steps[-1].operand, self.numbers)])}"]

    def _remarks(self, precision: int | None) -> Iterator[str]:
        """What is said of the sum of the paths."""
        if not self.count:
            yield "no path connects them: the derivative is 0 everywhere"
        elif self.others:
            shown = f"{len(self.paths)} of {_count_of_paths(self.count - self.unselected)} shown"
            if self.followed is not None:
                shown += f", the largest of {_count_of_paths(self.followed)} that were followed"
            yield f"{shown}; the others add up to {short(self.remainder, precision)}"
        elif len(self.paths) > 1:
            numbers = [short(path.contribution, precision) for path in self.paths]
            is_short = self.size is not None and len(numbers) <= _SUMMED
            yield f"{len(numbers)} paths" + (": " + " + ".join(numbers).replace("+ -", "- ")) * is_short
        if self.unselected:
            verb = "contributes" if self.unselected == 1 else "contribute"
            why = "" if self.size is None else ": not selected"
            yield f"{_count_of_paths(self.unselected)} not shown {verb} exactly 0{why}"
        if self.size is not None and math.isfinite(self.size) and isinstance(self.gradient, float):
            yield from self._cancelled(self.size, self.gradient, precision)

    def _cancelled(self, size: float, gradient: float, precision: int | None) -> Iterator[str]:
        """What is lost where the paths add up to much less than their size."""
        about = format_number(float(f"{size:.2g}"))
        start = f"the paths add up to {about} in size and cancel to {short(gradient, precision)}"
        if not size > _CANCELS * abs(gradient):
            return
        if not gradient:
            yield f"{start}: rounding alone may leave {format_number(size * _EPSILON, 2)}"
            return
        digits = round(math.log10(size) - math.log10(abs(gradient)))
        yield f"{start}: about {digits} digits are lost" if digits < 16 else f"{start}: no digit is certain"


class Explanation(NamedTuple):
    """The derivatives by each value asked for; `left_out` is by how many more there are.

    `unreached` are leaves that the value was computed from by operations without a derivative alone.
    """

    derivatives: tuple[Derivative, ...]
    left_out: int = 0
    unreached: tuple[str, ...] = ()

    def text(self, precision: int | None = 10, width: int = 80) -> str:
        """One derivative after the other, in lines of at most `width` characters."""
        rows = [line for derivative in self.derivatives for line in derivative.columns(precision)]
        folded = max(map(display_width, rows), default=0) > width
        lines = [line for derivative in self.derivatives for line in derivative.lines(precision, folded)]
        legend: list[str] = []
        if folded:  # the steps of all paths, the youngest nodes first
            steps = {
                each.numbers[step.node.seq]: statement(step.node)
                for each in self.derivatives
                for path in each.paths
                for step in path.head + path.tail
                if step.node.seq in each.numbers
            }
            told = [(f"%{number}", text) for number, text in sorted(steps.items(), reverse=True)]
            legend = [truncate(line, width) for line in align(told, margin="  ")]
        if self.left_out:
            legend.append(f"… and by {self.left_out:,} more")
        if self.unreached:
            legend.append(f"not reached: {', '.join(self.unreached)}")
        return "\n".join([fit("\n".join(lines), width).replace(_GLUE, " "), *legend])

    def __repr__(self) -> str:
        return self.text()


def explain(root: Tensor, wrt: Sequence[Tensor] | None = None, limit: int = 20, name: str | None = None) -> Explanation:
    """The derivatives of `root` by `wrt`, or by every leaf, path by path; at most `limit` of these, and paths of each.

    Among numbers the paths shown are the largest of all. Among arrays a path's contribution is the cotangent sent down
    that path alone, its size that of the largest entry, and the paths shown are the largest of those that 10,000 steps
    lead to. `name` is the name of the root in the text. Changes nothing.

    Raises AgradError as `grad` does: of kind `grad`, `shape`, `freed` or `stale`.
    """
    reached = reachable(root.node)
    all_leaves = [node for node in reversed(collect([root.node])) if node.op is None and node.requires_grad]
    leaves = [node for node in all_leaves if node in reached and not wrt]
    every = list({x.node: x for x in wrt or (bare(node, node.value) for node in leaves)}.values())
    inputs = every[:limit]
    gradients: tuple[Tensor, ...] = grad(root, inputs)
    order = nodes_between(root, inputs)
    of, numbers, nothing = name or named(root.node), numbered(root.node), LargestPaths([], 0, 0, None)
    with no_grad(), quiet():
        found = search(order, root.node, [x.node for x in inputs], limit) if root.node in order else {}
    derivatives = [
        Derivative(of, named(x.node), x.value, gradient.value, numbers, *found.get(x.node, nothing))
        for x, gradient in zip(inputs, gradients, strict=True)
    ]
    if Units.exist:
        unit_of, each = units.asker(), zip(derivatives, inputs, strict=True)
        derivatives = [_in_units(one, unit_of, root.node, x.node) for one, x in each]
    unreached = tuple([named(node) for node in all_leaves if node not in reached and not wrt])
    return Explanation(tuple(derivatives), len(every) - len(inputs), unreached)


def _in_units(one: Derivative, unit_of: Callable[..., Any], root: Node, x: Node) -> Derivative:
    """A derivative, and those on its paths, as numbers of the units that the values are shown in."""
    own, unit, scaled = unit_of(x), unit_of(x, root), units.quantity.scaled

    def steps(some: list[Step]) -> list[Step]:
        return [step._replace(local=scaled(step.local, unit_of(step.operand, step.node))) for step in some]

    paths = [Path(scaled(p.contribution, unit), p.length, steps(p.head), steps(p.tail)) for p in one.paths]
    gradient, size, at = scaled(one.gradient, unit), scaled(one.size, unit), units.quantity.in_unit(one.at, own)
    return one._replace(gradient=gradient, at=at, paths=paths, size=size, units=(own.text, unit.text))


def _factors(path: Path, precision: int | None) -> str:
    """`2 * 3`: the derivatives of all steps, where these are numbers."""
    numbers = [step.local for step in path.head + path.tail]
    texts = [short(number, precision) for number in numbers if isinstance(number, float)]
    return " * ".join(_with_gap(path, texts, "…")) if len(texts) == len(numbers) else ""


def _sum_of(path: Path, precision: int | None) -> str:
    """The sum of the entries of a contribution that has several."""
    if isinstance(path.contribution, float) or path.contribution.size < 2:
        return ""
    return f"sum {format_number(float(path.contribution.sum()), precision)}"


def _with_gap(path: Path, parts: Sequence[str], gap: str = "") -> list[str]:
    """A part for each step that is kept, and one for those between them that are not."""
    skipped = path.length - len(parts)
    between = [gap or f"… {skipped:,} more steps …"] if skipped else []
    return [*parts[: len(path.head)], *between, *parts[len(path.head) :]]


def _count_of_paths(count: int) -> str:
    """A number of paths, in words where it is too large to write."""
    if count >= 10**15:
        return f"about 1e{int((count.bit_length() - 1) * math.log10(2))} paths"
    return f"{count:,} path{'' if count == 1 else 's'}"
