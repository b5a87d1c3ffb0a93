"""Exact derivatives compared with differences, entry by entry: the work and the report of `check`.

A leaf is shifted by writing to it, so that every alias that the function reads is shifted; values that were
computed from the leaf earlier are computed again. Each call has its own undo log, which restores everything
afterwards: data, versions, gradients, random numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

from agrad.engine.autodiff.finite_differences import AGREE, AMPLIFIED, EPSILON, SINGULAR, slope
from agrad.engine.autodiff.reverse import walk
from agrad.engine.core.context import current, next_stamp, taken_back
from agrad.engine.core.dispatch import compute
from agrad.engine.core.graph import Node, collect, reachable, touch
from agrad.engine.core.graph_errors import MissingLeaf
from agrad.engine.core.numpy_warnings import quiet
from agrad.engine.core.tensor import Tensor, bare
from agrad.engine.core.versions import check_walkable
from agrad.engine.errors import AgradError, Hint, NotOneNumber
from agrad.engine.text import align
from agrad.engine.values import Value, describe, format_number, format_shape, is_finite, np, spread

Verdict = Literal["ok", "mismatch", "kink"]
_OWN = 16  # rounding errors that an exact derivative may have, relative to the largest contribution
MANY = 40  # a report of more entries leaves out most of those that are ok


@dataclass(frozen=True, slots=True)
class Finding:
    """The result for one entry. `doubt` is a bound on the error of the difference."""

    entry: str  # x, x[0], A[0, 1]
    exact: float
    difference: float
    doubt: float
    claim: float | None
    verdict: Verdict
    remark: str = ""

    @property
    def absolute(self) -> float:
        """The distance of the difference from the exact derivative, or that of the claim if it is larger."""
        others = (self.difference,) if self.claim is None else (self.difference, self.claim)
        apart = [0.0 if other == self.exact else abs(other - self.exact) for other in others]
        return math.nan if any(map(math.isnan, apart)) else max(apart)

    @property
    def relative(self) -> float:
        """The same relative to the largest of them."""
        if not (self.absolute and math.isfinite(self.absolute)):
            return self.absolute
        return self.absolute / max(abs(self.exact), abs(self.difference), abs(self.claim or 0.0))


@dataclass(frozen=True, slots=True)
class Report:
    """The findings for all entries, in order."""

    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing disagrees. A kink does not count: there is no derivative to compare."""
        return not self.mismatches

    @property
    def mismatches(self) -> tuple[Finding, ...]:
        """The findings that disagree."""
        return tuple(finding for finding in self.findings if finding.verdict == "mismatch")

    def text(self, precision: int | None = 10) -> str:
        """A table, one line per entry. Of very many, those that are ok are summarised by the worst of them."""
        shown = self.findings
        fine = [finding for finding in shown if finding.verdict == "ok"]
        dropped: list[Finding] = []
        if len(shown) > MANY:
            dropped = sorted(fine, key=lambda finding: -finding.relative)[MANY // 8 :]
            left_out = set(map(id, dropped))
            shown = tuple(finding for finding in shown if id(finding) not in left_out)
        lines = _table(shown, precision)
        if dropped:
            lines.append(f"and {len(dropped)} more, ok, rel at most {format_number(dropped[0].relative, 2)}")
        return "\n".join(lines)

    __str__ = text


def _table(findings: Sequence[Finding], precision: int | None) -> list[str]:
    """The lines of the table, numbers on the right of their columns."""
    claims = any(finding.claim is not None for finding in findings)
    rows = [["entry", *(["claim"] if claims else []), "exact", "difference", "abs", "rel", "verdict"]]
    for finding in findings:
        numbers = [finding.exact, finding.difference]
        if claims:
            numbers.insert(0, math.nan if finding.claim is None else finding.claim)
        cells = [format_number(number, precision) for number in numbers]
        if claims and finding.claim is None:
            cells[0] = "-"
        errors = [format_number(error, 2) for error in (finding.absolute, finding.relative)]
        verdict = f"{finding.verdict}: {finding.remark}" if finding.remark else finding.verdict
        rows.append([finding.entry, *cells, *errors, verdict])
    return align(rows, right=range(1, len(rows[0]) - 1))


def compare(
    f: Callable[[], Any], leaves: Sequence[Tensor] | None = None, claims: Sequence[Value | None] | None = None
) -> Report:
    """The derivatives of the result of f by the leaves it reads (all that existed before, if none are named).

    Raises AgradError of kind `grad` where there is no leaf, and else as `check` does.
    """
    since = next_stamp()
    with quiet():
        with taken_back(recording=True):
            y = _number(f())
            exact = _exactly(y)
        # For a gradient, also the leaves with a derivative of 0: it may be computed again.
        behind = reachable(y.node) if isinstance(y, Tensor) else ()
        older = sorted((node for node in behind if node.seq < since), key=lambda node: node.seq)
        if leaves is None:
            leaves = [bare(node, node.value) for node in older if node.op is None and node.requires_grad]
        if not leaves:
            raise AgradError("grad", "this does not depend on a leaf that requires grad", facts=MissingLeaf())
        point = _Point(f, [node for node in older if node.op is not None], float(y), exact)
        point.hold()
        claims = claims or [None] * len(leaves)
        pairs = zip(leaves, claims, strict=True)
        return Report(tuple(finding for leaf, claim in pairs for finding in point.findings(leaf, claim)))


def _number(y: Any) -> Tensor | float:
    """The result of f, which must be one number."""
    if isinstance(y, Tensor):
        if y.size == 1:
            return y
        shape = format_shape(y.shape)
        raise AgradError(
            "shape",
            f"check needs one number, not an array of shape {shape}",
            fixes=[Hint("sum(…)")],
            facts=NotOneNumber(),
        )
    if isinstance(y, float | int) or getattr(y, "size", 0) == 1:
        return float(y)
    facts = NotOneNumber() if hasattr(y, "shape") else None
    raise AgradError("type", f"check needs one number, not {describe(y)}", facts=facts)


@dataclass(slots=True)
class _Exact:
    """The exact derivatives at a point, by every node, and bounds on rounding errors."""

    slopes: dict[Node, Value]
    largest: dict[Node, float]  # of the contributions to the derivative by a leaf
    rounding: float  # of the value
    finite: bool  # whether every intermediate value is, and no slope is infinite


def _exactly(y: Tensor | float) -> _Exact:
    """The exact derivatives.

    Each operation rounds its result; the effect of that is given by the derivative of y by this result (M. Iri,
    T. Tsuchiya, M. Hoshi, Automatic computation of partial derivatives and rounding error estimates, 1988).
    """
    if not isinstance(y, Tensor) or not y.requires_grad:
        return _Exact({}, {}, EPSILON * abs(float(y)), True)
    order = collect([y.node])
    check_walkable(order, y.node)
    largest: dict[Node, float] = {}

    def watch(node: Node, position: int, g: Any, c: Any) -> None:
        operand = node.inputs[position]
        if isinstance(operand, Node) and operand.op is None:
            largest[operand] = max(
                largest.get(operand, 0.0), abs(c) if isinstance(c, float) else float(np.max(np.abs(c), initial=0.0))
            )

    slopes = walk(order, {y.node: spread(1.0, y.shape)}, False, order, watch=watch)
    computed = [node for node in reversed(order) if node.op is not None]
    _replay(computed)
    rounding = EPSILON * sum(_moved(slopes[node], node.value) for node in computed)
    finite = all(is_finite(node.value) and not _infinite(slopes[node]) for node in computed)
    return _Exact(slopes, largest, rounding, finite)


def _infinite(slopes: Value) -> bool:
    return math.isinf(slopes) if isinstance(slopes, float) else bool(np.isinf(slopes).any())


def _moved(derivative: Any, value: Any) -> float:
    """The change of the result, in the worst case, if every entry of a value changes by its own size.

    Entries that are nan, such as those not selected, are left out.
    """
    if isinstance(value, float):
        part = abs(derivative * value)
        return 0.0 if math.isnan(part) else part
    parts = np.abs(derivative * value)
    return float(np.sum(parts, where=~np.isnan(parts)))


def _replay(nodes: Iterator[Node] | Sequence[Node]) -> None:
    """Compute nodes again, oldest first, in place: every handle sees the new value, and a backward accepts them."""
    log = current().undo_log
    assert log is not None
    for node in nodes:
        assert node.op is not None
        touch(node)
        log.remember((node, "seq"), partial(setattr, node, "seq", node.seq))
        operands: Any = tuple(x.value if isinstance(x, Node) else x for x in node.inputs)
        node.value = compute(node.op, operands, node.attrs or {})
        node.seq = node.stamp = next_stamp()


@dataclass(slots=True)
class _Point:
    """A function at a point, to be called near that point."""

    f: Callable[[], Any]
    computed: list[Node]  # values computed from leaves earlier, oldest first
    value: float
    exact: _Exact

    def hold(self) -> None:
        """Refuse a function whose result differs from call to call."""
        with taken_back(recording=True):
            _replay(self.computed)
            again = float(_number(self.f()))
        if (
            abs(again - self.value) > AMPLIFIED * self.exact.rounding
        ):  # sums of products depend on the memory addresses of arrays
            values = f"{format_number(self.value, None)}, then {format_number(again, None)}"
            why = "a constant that it was computed from may have changed since" if self.computed else ""
            raise AgradError(
                "domain",
                f"check needs the same value at the same point; this gave {values}",
                notes=[why] if why else [],
                fixes=[] if why else ["manual_seed(1) before the first random number is drawn"],
            )

    def findings(self, leaf: Tensor, claim: Value | None) -> Iterator[Finding]:
        """One finding for each entry of a leaf; the exact derivative by one that is not read is 0."""
        name, slopes = leaf.name or "leaf", self.exact.slopes.get(leaf.node)
        for index in np.ndindex(*leaf.shape) if leaf.shape else [()]:
            entry = f"{name}[{', '.join(map(str, index))}]" if index else name
            exact = 0.0 if slopes is None else _entry(slopes, index)
            yield self.finding(entry, leaf, index, exact, None if claim is None else _entry(claim, index))

    def finding(self, entry: str, leaf: Tensor, index: tuple[int, ...], exact: float, claim: float | None) -> Finding:
        """The verdict on one entry; the rule is that of `check`."""
        x = _entry(leaf.value, index)
        found = slope(lambda moved: self.at(leaf, index, moved), x, self.value, exact, self.exact.rounding)
        kink = found.kink
        if not (kink or math.isfinite(exact) or self.exact.finite):
            kink = SINGULAR
        if kink:
            return Finding(entry, exact, found.value, found.doubt, claim, "kink", kink)
        own = _OWN * EPSILON * self.exact.largest.get(leaf.node, 0.0)
        bound = AGREE * max(abs(exact), abs(found.value)) + 4 * found.doubt + own
        wrong = [
            name
            for name, other in (("the difference", found.value), ("the claim", claim))
            if other is not None and not (math.isfinite(exact) and abs(other - exact) <= bound)
        ]
        if wrong:
            remark = "" if claim is None else " and ".join(wrong)
            return Finding(entry, exact, found.value, found.doubt, claim, "mismatch", remark)
        result = Finding(entry, exact, found.value, found.doubt, claim, "ok")
        unsure = f"the difference is accurate to {format_number(found.doubt, 2)} only"
        return replace(result, remark=unsure) if result.relative > AGREE else result

    def at(self, leaf: Tensor, index: tuple[int, ...], moved: float) -> float:
        """The value with one entry of a leaf shifted; nan if it is an error."""
        with taken_back(recording=True):
            if index:
                entries = np.array(leaf.value)
                entries[index] = moved
                leaf.set_(entries)
            else:
                leaf.set_(moved)
            try:
                _replay(self.computed)
                return float(_number(self.f()))
            except AgradError:
                return math.nan


def _entry(value: Value, index: tuple[int, ...]) -> float:
    return float(value) if isinstance(value, float) else float(value[index])
