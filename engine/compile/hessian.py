"""The Hessian of a compiled function: only the second derivatives that can differ from 0 are computed.

By entries, each entry of the gradient is differentiated over its own part of the graph, which is small if values are
coupled in a chain. By products, the Hessian is multiplied with a few directions, from whose products all entries are
read. What takes less is counted, not timed. The matrix is symmetric, and one half is kept.

Two inputs interact where a rule for an operand that depends on one of them reads what depends on the other. Each
direction is a sum of unit vectors of inputs that have no row in common (Curtis, Powell and Reid, 1974).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import InitVar, dataclass
from typing import Any, NamedTuple

from agrad.engine.autodiff.reverse import walk
from agrad.engine.compile.arguments import Result, flat
from agrad.engine.compile.cost import about, of_products, of_second, second_steps, ways
from agrad.engine.compile.derive import GRADIENT, Products, TooLong
from agrad.engine.compile.llvm.backend import Lowered
from agrad.engine.compile.scalarise import scalarised
from agrad.engine.compile.specializations import Eager, Specialization, Specializations, code_size, is_of_data
from agrad.engine.core.context import afford
from agrad.engine.core.graph import Node, collect, leading_to
from agrad.engine.core.tensor import Tensor
from agrad.engine.program.closed import split
from agrad.engine.program.ir import Diverged, Program, Step, optimised, spans
from agrad.engine.program.trace import as_graph, check_kept, checked, extract, sole, trace
from agrad.engine.text import counted
from agrad.engine.values import Array, Value, np, size_of

_MOST = 10_000  # instructions of a value whose second derivatives are made by entries
_SHORT = 8_000  # instructions of second derivatives, up to which they are not compared with products
_FEW = 64  # products, up to which nothing is gained by fewer
_SEARCHED = 30_000  # entries of a program, up to which it is searched for what makes fewer do


@dataclass(eq=False)
class Hessian:
    """The Hessian of a function by some parts of its arguments.

    `products` gives the Hessian times directions.
    """

    function: Result
    wrt: Sequence[int]
    backend: str
    products: Products
    told: str = ""  # how it is computed, and what a call is estimated to take
    directions: Directions | None = None  # with which it is multiplied; None where it is made by entries
    is_dense: InitVar[bool] = False  # whether it is made by a product for each column

    def __post_init__(self, is_dense: bool) -> None:
        self.names, self.shapes = self.function.arguments.leaf_names, self.function.arguments.shapes
        self.size = sum(size_of(self.shapes[place]) for place in self.wrt)  # how many entries it is differentiated by
        if is_dense:
            self.directions = dense(self.size)
            self._tell(self.size)
        # Where nearly every call takes a new path, it is made by products, which are then computed without a program.
        self.specializations = Specializations(self._specialized, lambda flat: (Eager(None, []), ()))

    def call(self, values: tuple[Value, ...]) -> Array:
        """The matrix by all entries of what it is differentiated by."""
        if self.directions is None:
            try:
                template, found = self._entries(flat(values))
                if template is not None:
                    constant, places, which = template
                    full: Array = constant.copy()
                    full.reshape(-1)[places] = found[which]
                    return full
            except (Diverged, TooLong):  # a singular matrix, of which only the operation itself knows the result
                pass
        return self._by_products(values, dense(self.size) if self.directions is None else self.directions)

    def _entries(self, flat: tuple[float, ...]) -> tuple[Any, Any]:
        """The second derivatives that vary, and where they are; nothing where these are made without a program."""
        used = next(iter(self.specializations.known), None)
        if used is not None and used.native is not None and not used.checks:
            return used.template, used.native.call(*flat)[0]
        taken, found = self.specializations.found(flat)
        return taken.template, np.array(found).ravel()

    def _by_products(self, values: tuple[Value, ...], directions: Directions) -> Array:
        """The matrix by its products with some directions."""
        afford("the Hessian", (self.size, self.size))
        matrix = np.zeros((self.size, self.size))
        vectors, numbers, rows, columns = directions
        found = self.products.of(values, vectors).reshape(matrix[: len(vectors)].shape)
        matrix[rows, columns] = matrix[columns, rows] = found[numbers, rows]
        return matrix

    def _tell(self, products: int, cost: float = 0.0, entries: float = math.inf) -> None:
        """Keep what was compared: so many products, and the entries one by one."""
        by_products = f"by {counted(products, 'product')} with a direction{f', {about(cost)}' if cost else ''}"
        told = " it would have too many instructions" if entries == math.inf else f", {about(entries)}"
        both = [(entries, f"by entries{told}"), *([(cost, by_products)] if products else [])]
        self.told = "; ".join([text for _, text in sorted(both, key=lambda way: way[0])])

    def _numbers(self, program: Program, places: Sequence[int]) -> Program:
        """The program of numbers, if second derivatives are made of it. Raises TooLong where there are directions."""
        numbers = program if program.is_scalar else scalarised(program, _MOST)
        is_searched = len(places) > _FEW and sum([size_of(step.shape) for step in program.steps]) < _SEARCHED
        whole = numbers or (scalarised(program) if is_searched else None)
        if whole is None:
            self._tell(len(places))
            self.directions = dense(len(places))
            raise TooLong
        found = pattern(whole, places)
        if numbers is not None and second_steps(numbers, found.work) < _SHORT:
            self._tell(0, entries=of_second(numbers, found.work))
            return numbers
        chosen = directions(found.rows) if not whole.checks else dense(len(places))
        known = [cost for name, cost, _ in ways(program, numbers) if cost is not None]
        by_products = of_products(len(chosen.vectors), min(known))
        by_entries = of_second(numbers, found.work) if numbers is not None else math.inf
        self._tell(len(chosen.vectors), by_products, by_entries)
        if numbers is None or by_products < by_entries:
            self.directions = chosen
            raise TooLong
        return numbers

    def _specialized(self, flat: tuple[Value, ...]) -> Specialization:
        """The program of the second derivatives that vary, and their pattern."""
        values = split(np.array(flat), self.shapes)
        traced = trace(self.function, values, self.names, self.wrt)
        check_kept(traced, self.function, values, self.wrt, self.names)
        program = optimised(traced, again=True)
        sole(program)
        entries = spans(map(size_of, self.shapes))
        places = [entry for place in self.wrt for entry in entries[place]]
        numbers = self._numbers(program, places)
        gradient = optimised(GRADIENT.program(numbers, flat, [places]), again=True)
        with as_graph(gradient, flat, places) as (results, xs):
            count = 1 + len(places)
            constant, varying = _second(results[1:count], [xs[place].node for place in places])
            found = extract([*varying.values(), *results[count:]], xs, [given.name for given in numbers.inputs])
        made = optimised(checked(found, gradient.checks))
        rows, columns = np.array([*varying], dtype=int).reshape(-1, 2).T
        apart = np.flatnonzero(rows != columns)
        both = np.concatenate([rows * len(places) + columns, (columns * len(places) + rows)[apart]])
        where = constant, both, np.concatenate([np.arange(len(varying)), apart])
        about = code_size(made), self.backend, is_of_data(made), where
        shapes = tuple([given.shape for given in made.inputs]), ((len(varying),),)  # one array of all results
        return Specialization(lambda: made, lambda: Lowered(made, shapes), *about)


def _second(gradient: Sequence[Tensor], xs: Sequence[Node]) -> tuple[Array, dict[tuple[int, int], Tensor]]:
    """The second derivatives that are constant, in a matrix, and those up to the diagonal that are not, by place."""
    constant, varying = np.zeros((len(xs), len(xs))), dict[tuple[int, int], Tensor]()
    order = {x: number for number, x in enumerate(xs)}
    for row, entry in enumerate(gradient):
        behind = collect([entry.node]) if entry.requires_grad else []
        targets = [x for x in behind if order.get(x, len(order)) <= row]
        leading = leading_to(behind, targets)
        found = walk(leading, {entry.node: 1.0}, True, targets) if entry.node in leading else {}
        for x, second in found.items():
            if isinstance(second, Tensor) and second.node.recorded:
                varying[row, order[x]] = second
            else:
                number = float(second.value if isinstance(second, Tensor) else second)
                constant[row, order[x]] = constant[order[x], row] = number
    return constant, varying


class Directions(NamedTuple):
    """Vectors, and which entries of the products with them belong where in the lower half of the matrix."""

    vectors: Array  # in rows
    numbers: Any  # of vectors; an array of whole numbers, as the next two
    rows: Any
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


def directions(rows: Sequence[int]) -> Directions:
    """Few directions for a symmetric pattern: no two inputs of one have a row in common."""
    classes = [0] * len(rows)
    for column, row in enumerate(rows):
        near = 0
        for other in places(row):
            near |= rows[other]
        classes[next(number for number, one in enumerate(classes) if not one & near)] |= 1 << column
    pairs = [(number, column) for number, members in enumerate(classes) for column in places(members)]
    vectors = np.zeros((len(classes) - classes.count(0), len(rows)))
    vectors[tuple(zip(*pairs, strict=True))] = 1.0
    found = [(number, row, column) for number, column in pairs for row in places(rows[column] >> column << column)]
    numbers, at, columns = np.array(found, dtype=int).reshape(-1, 3).T
    return Directions(vectors, numbers, at, columns)


def dense(size: int) -> Directions:
    """A direction for each column."""
    rows, columns = np.tril_indices(size)
    return Directions(np.eye(size), columns, rows, columns)
