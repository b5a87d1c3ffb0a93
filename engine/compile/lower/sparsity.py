"""Which second derivatives of a program of numbers may differ from 0, and few directions that tell them all.

Two inputs interact where a rule for an operand that depends on one of them reads what depends on the other. The
products of the Hessian with some directions, each a sum of unit vectors of inputs that have no row in common, contain
all of its entries (Curtis, Powell and Reid, 1974).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from agrad.engine.program.ir import Program, Step
from agrad.engine.values import Array, np


class Direction(NamedTuple):
    """A direction, and where the entries of the product with it belong in the lower half of the matrix."""

    vector: Array
    rows: Any  # arrays of whole numbers
    columns: Any


class Pattern(NamedTuple):
    """For each input those that it interacts with, as the bits of a number; and what it takes to compute them."""

    rows: list[int]
    work: int  # how many inputs the steps depend on that make others interact, in total


def pattern(program: Program, inputs: Sequence[int]) -> Pattern:
    """That of a program of numbers, by some of its inputs."""
    bits = {slot: 1 << place for place, slot in enumerate(inputs)}
    behind = [bits.get(slot, 0) for slot in range(program.first)]
    found = [0] * len(inputs)
    work = 0
    for step in program.steps:
        reached, interacts = _reached(step, [behind[slot] for slot in step.operands], found)
        behind.append(reached)
        work += reached.bit_count() if interacts else 0
    return Pattern(found, work)


def _reached(step: Step, operands: list[int], found: list[int]) -> tuple[int, bool]:
    """The inputs that a result depends on, and whether some interact there, which are added to those found."""
    op, every, interacts = step.op, 0, False
    for place, one in enumerate(operands):
        if op.rule(place) is not None:
            every |= one
    for place, one in enumerate(operands):
        if not one or op.rule(place) is None:
            continue
        *reads, out = op.keeps[0 if op.variadic else place]
        reads = reads * len(operands) if op.variadic else reads
        others = every if out else 0
        for other, is_read in zip(operands, reads, strict=True):
            others |= other if is_read else 0
        if others:
            interacts = True
            for row in places(one):
                found[row] |= others
            for row in places(others):
                found[row] |= one
    return every, interacts


def places(bits: int) -> Iterator[int]:
    """The numbers of the bits that are 1."""
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest


def directions(rows: Sequence[int]) -> list[Direction]:
    """Few directions for a symmetric pattern: no two inputs of one have a row in common."""
    classes: list[int] = []
    for column, row in enumerate(rows):
        near = 0
        for other in places(row):
            near |= rows[other]
        number = next((number for number, one in enumerate(classes) if not one & near), len(classes))
        if number == len(classes):
            classes.append(0)
        classes[number] |= 1 << column
    return [_direction(one, rows) for one in classes]


def _direction(members: int, rows: Sequence[int]) -> Direction:
    vector = np.zeros(len(rows))
    entries = [(row, column) for column in places(members) for row in places(rows[column] >> column << column)]
    vector[[*places(members)]] = 1.0
    pairs: Any = np.array(entries, dtype=int).reshape(-1, 2)
    return Direction(vector, pairs[:, 0], pairs[:, 1])


def entries(directions: Sequence[Direction]) -> tuple[Any, Any, Any]:
    """Of all entries in the lower half of the matrix, the numbers of the directions, the rows and the columns."""
    pairs = [np.broadcast_arrays(one.rows, one.columns) for one in directions]
    numbers = np.repeat(np.arange(len(pairs)), [len(rows) for rows, _ in pairs])
    rows, columns = (np.concatenate([pair[side] for pair in pairs]) for side in (0, 1))
    return numbers, rows, columns


def dense(size: int) -> list[Direction]:
    """A direction for each column."""
    units = np.eye(size)
    return [Direction(units[column], np.arange(column, size), column) for column in range(size)]
