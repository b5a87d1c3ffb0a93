"""What the forms share: the label of a node, remarks on its state, and the lines for guards."""

from __future__ import annotations

from collections.abc import Collection

from agrad.engine.inspect.dump.node_rows import GuardRow, NodeRow, elided
from agrad.engine.text import truncate
from agrad.engine.values import format_shape

# What a comparison of two graphs writes before a node; only the first of them has what is gone.
SIGNS = {"changed": "~", "gone": "-", "new": "+"}
# And in what colours pictures fill its box.
FILLS = {"changed": "#fff3c4", "gone": "#ffdcd7", "new": "#d5f5dc"}
WIDTH = 60  # of a name with its source text
GUARDS = 20  # so many are listed


def name_and_text(node: NodeRow) -> str:
    """`b = a**2`, or the half of it that is known; on one line, cut in the middle if it is long."""
    text = node.text
    return one_line(f"{node.name} = {text}" if node.name and text else node.name or text)


def one_line(text: str, width: int = WIDTH) -> str:
    """White space folded, what does not print replaced, the middle of a long text left out."""
    printable = "".join(x if x.isprintable() else "\ufffd" for x in " ".join(text.split()))
    return truncate(printable, width, "middle")


def remarks(node: NodeRow, precision: int | None, arrays: bool = False) -> list[str]:
    """The value of a scalar (of a small array only with `arrays`), and the state of a node."""
    found = []
    if node.value is not None and node.value.value is not None and (arrays or not node.shape):
        found.append(f"= {node.value.text(precision)}{earlier(node, precision)}")
    if node.change == "changed" and node.before is not None and (text := name_and_text(node.before)):
        found.append(f"was {text}")
    if node.leaf and node.requires_grad:
        found.append("requires grad")
    if not node.leaf and not node.requires_grad:
        found.append("no grad")
    saves = " ".join(elided(node.saves))
    if node.freed:
        found.append(f"freed by {node.freed_by}" + f", took {saves}" * bool(saves))
    elif saves:
        found.append(f"saves {saves}")
    if node.version:
        found.append(f"version {node.version}")
    if node.stale:
        found.append("stale")
    if node.keeps_grad and not node.leaf:
        found.append("retained")
    if node.keeps_grad:
        found.append(f"grad {node.gradient.text(precision) if node.gradient else 'none'}")
    return found


def earlier(node: NodeRow, precision: int | None) -> str:
    """`, was 2`: in a comparison, the other value."""
    if node.value is None or node.before is None or node.before.value is None or node.before.value.value is None:
        return ""
    earlier = node.before.value.text(precision)
    return f", was {earlier}" if earlier != node.value.text(precision) else ""


def numbered(node: NodeRow) -> str:
    """`%3`, with a sign in a comparison: `+ %3`."""
    sign = SIGNS.get(node.change)
    return f"{sign} %{node.number}" if sign else f"%{node.number}"


def cells(node: NodeRow, precision: int | None) -> tuple[str, str, str, str]:
    """The columns of a row: its name and source text, the operation, the shape, and the remarks."""
    return name_and_text(node), node.title, format_shape(node.shape), "   ".join(remarks(node, precision))


def guard_lines(guards: list[GuardRow]) -> list[str]:
    """`guards: x > 0 is true, line 3`, and the others below it; the same guard again in a loop is listed once."""
    said = list(dict.fromkeys(guard.text for guard in guards))
    texts = [one_line(text) for text in said[:GUARDS]]
    if len(said) > GUARDS:
        texts.append(f"… {len(said) - GUARDS} more")
    return [f"{'        ' if position else 'guards: '}{text}" for position, text in enumerate(texts)]


def box_lines(node: NodeRow, precision: int | None) -> list[str]:
    """The lines of text in a box of a drawing."""
    head = f"{numbered(node)} {name_and_text(node)}".rstrip()
    return [head, f"{node.title} {format_shape(node.shape)}", *remarks(node, precision, arrays=True)]


def edges(rows: tuple[NodeRow, ...], roots: Collection[int]) -> tuple[dict[tuple[int, int], int], list[int], list[int]]:
    """The edges from operand to result, with their number; and the nodes with operands, or users, that are not shown.

    Every node leads to a root, so another node without shown users has one that is left out.
    """
    there = {node.number for node in rows}
    found: dict[tuple[int, int], int] = {}
    behind = []
    for node in rows:
        used = node.behind
        for x in used:
            if x in there:
                found[x, node.number] = found.get((x, node.number), 0) + 1
        if not there.issuperset(used):
            behind.append(node.number)
    users = {operand for operand, _ in found}
    return found, behind, sorted(there.difference(users, roots))
