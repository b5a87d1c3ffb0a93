"""What the forms for reading have in common: how a node is called, and what there is to remark about it."""

from __future__ import annotations

from agrad.engine.inspect.dump.node_rows import Choice, Line, cut, elided
from agrad.engine.values import format_shape

WIDTH = 60  # of a name with its source text
CHOICES = 20  # so many are listed


def calling(line: Line) -> str:
    """`b = a**2`, or the half of it that there is; on one line, cut in the middle where it is long."""
    text = line.text
    return one_line(f"{line.name} = {text}" if line.name and text else line.name or text)


def one_line(text: str, width: int = WIDTH) -> str:
    """White space folded, what does not print replaced, the middle of a long text left out."""
    return cut("".join(x if x.isprintable() else "\ufffd" for x in " ".join(text.split())), width)


def remarks(line: Line, precision: int | None, arrays: bool = False) -> list[str]:
    """The value of a scalar (of a small array only with `arrays`), and the state of a node."""
    found = []
    if line.value is not None and line.value.value is not None and (arrays or not line.shape):
        found.append(f"= {line.value.text(precision)}")
    if line.leaf and line.requires_grad:
        found.append("requires grad")
    if not line.leaf and not line.requires_grad:
        found.append("no grad")
    saves = " ".join(elided(line.saves))
    if line.freed:
        found.append(f"freed by {line.freed_by}" + f", took {saves}" * bool(saves))
    elif saves:
        found.append(f"saves {saves}")
    if line.version:
        found.append(f"version {line.version}")
    if line.stale:
        found.append("stale")
    if line.keeps_grad:
        found.append(f"grad {line.gradient.text(precision) if line.gradient else 'none'}")
    return found


def cells(line: Line, precision: int | None) -> tuple[str, str, str, str]:
    """The columns of a line: what it is called, the operation, the shape, and the remarks."""
    return calling(line), line.title, format_shape(line.shape), "   ".join(remarks(line, precision))


def columns(rows: list[tuple[str, ...]]) -> list[str]:
    """The cells of each row under those of the one above; the last cell is as long as it is."""
    widths = [max((len(cell) for cell in column), default=0) for column in zip(*rows, strict=True)][:-1]
    padded = ([cell.ljust(width) for cell, width in zip(row, [*widths, 0], strict=True)] for row in rows)
    return ["  ".join(row).rstrip() for row in padded]


def guards(choices: list[Choice]) -> list[str]:
    """`guards: x > 0 is true, line 3`, and the others under it; what a loop asks again and again is said once."""
    said = list(dict.fromkeys(choice.text for choice in choices))
    texts = [one_line(text) for text in said[:CHOICES]]
    if len(said) > CHOICES:
        texts.append(f"… {len(said) - CHOICES} more")
    return [f"{'        ' if position else 'guards: '}{text}" for position, text in enumerate(texts)]


def label(line: Line, precision: int | None) -> list[str]:
    """What stands in a box of a drawing, a line each."""
    head = f"%{line.number} {calling(line)}".rstrip()
    return [head, f"{line.title} {format_shape(line.shape)}", *remarks(line, precision, arrays=True)]


def edges(lines: tuple[Line, ...]) -> tuple[dict[tuple[int, int], int], list[int], list[int]]:
    """From operand to result, how often each; and what hangs on nodes that are not shown, behind and before it.

    Everything is behind the last, so that what none of the shown was computed from leads to one that is left out.
    """
    there = {line.number for line in lines}
    found: dict[tuple[int, int], int] = {}
    behind = []
    for line in lines:
        used = [x for x in line.operands if isinstance(x, int)]
        for x in used:
            if x in there:
                found[x, line.number] = found.get((x, line.number), 0) + 1
        if not there.issuperset(used):
            behind.append(line.number)
    users = {operand for operand, _ in found}
    return found, behind, [line.number for line in lines[:-1] if line.number not in users]
