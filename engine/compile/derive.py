"""What is derived of a program for a compiled function: value, gradients, Jacobian, and products with them.

Each is by groups of inputs, one for each part of an argument, or for all of its entries where the program is one of
numbers. A product takes further inputs, as the last ones: a direction for each input of the groups, or a cotangent for
each output. `batched` computes such a program for several values of some inputs at once, along a new first axis.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import reduce
from operator import add
from typing import Any, NamedTuple, TypeAlias

from agrad.engine.autodiff.backward import or_zeros, result_of
from agrad.engine.autodiff.forward_mode import push_all
from agrad.engine.autodiff.transforms import jacobian
from agrad.engine.core.op import FUNCTIONS, OPS
from agrad.engine.core.tensor import Tensor, tensor
from agrad.engine.errors import AgradError
from agrad.engine.program.closed import split
from agrad.engine.program.ir import Program, Step, optimised, placed
from agrad.engine.program.trace import checked, extract, gradients, handle_of, of_graph, placeholders, recorded, valued
from agrad.engine.values import Array, Shape, Value, np, size_of

_MOST_ROWS = 20_000  # steps of a Jacobian row by row

Groups: TypeAlias = Sequence[Sequence[int]]
Shapes: TypeAlias = Sequence[Shape]


class TooLong(Exception):
    """The derived program would have too many steps."""


class Derivation(NamedTuple):
    """What is derived of a function, and of what shapes it is.

    `made` is given the results and the inputs, with further inputs, if there are any, as the last of them, the groups,
    and whether what it returns has a graph. `outputs` is given the shapes of the results, and those of what is
    differentiated by.
    """

    made: Callable[[list[Tensor], list[Tensor], Groups, bool], list[Tensor]]
    outputs: Callable[[Shapes, Shapes], Shapes]
    factor: int  # how many times as long as that of the function its program is, about
    entries: bool = False  # whether there is a backward pass from each entry of the results

    def program(self, program: Program, values: Sequence[Value], groups: Groups) -> Program:
        """The program, made of that of the function, at some values: those of its inputs, and of further ones.

        Raises TooLong where a backward pass from each entry of the outputs makes too many steps.
        """
        if self.made is _results:
            return program
        if self.entries:
            entries = sum(size_of(program.shape(slot)) for slot in program.outputs)
            if entries * len(program.steps) > _MOST_ROWS * (10 if program.is_scalar else 1):
                raise TooLong
        return of_graph(program, values, _all(groups), lambda ys, xs: self.made(ys, xs, groups, True))


def _all(groups: Groups) -> list[int]:
    return [place for group in groups for place in group]


def _results(ys: list[Tensor], xs: list[Tensor], groups: Groups, create_graph: bool) -> list[Tensor]:
    return ys


def _gradient(ys: list[Tensor], xs: list[Tensor], groups: Groups, create_graph: bool) -> list[Tensor]:
    return [ys[0], *gradients(ys[0], [xs[place] for place in _all(groups)], create_graph)]


def _rows(ys: list[Tensor], xs: list[Tensor], groups: Groups, create_graph: bool) -> list[Tensor]:
    """The Jacobian by each group: of all outputs, in order, by all inputs of the group."""
    wrt = _all(groups)
    by_output = [dict(zip(wrt, row(y, [xs[place] for place in wrt], create_graph), strict=True)) for y in ys]
    return [row[place] for group in groups for row in by_output for place in group]


def row(y: Tensor, xs: list[Tensor], create_graph: bool = True) -> list[Tensor]:
    """The Jacobian of a number or an array; 0 by what it does not depend on."""
    if not y.shape and create_graph:
        return gradients(y, xs)
    return or_zeros(y, xs, lambda used: jacobian(y, used, create_graph), y.shape)


def _pushed(ys: list[Tensor], xs: list[Tensor], groups: Groups, create_graph: bool) -> list[Tensor]:
    """The derivatives of the outputs along a direction."""
    wrt = _all(groups)
    directions = {xs[place].node: v for place, v in zip(wrt, xs[len(xs) - len(wrt) :], strict=True)}
    return [result_of(t, y.shape, y, True) for y, t in zip(ys, push_all(ys, directions, True), strict=True)]


def _pulled(ys: list[Tensor], xs: list[Tensor], groups: Groups, create_graph: bool) -> list[Tensor]:
    """Cotangents of the outputs times the Jacobian."""
    return gradients(_product(ys, xs[len(xs) - len(ys) :]), [xs[place] for place in _all(groups)], create_graph)


def _hessian_product(ys: list[Tensor], xs: list[Tensor], groups: Groups, create_graph: bool) -> list[Tensor]:
    """The Hessian times a direction: the gradient of the gradient in that direction."""
    by = [xs[place] for place in _all(groups)]
    return gradients(_product(gradients(ys[0], by), xs[len(xs) - len(by) :]), by, create_graph)


def _product(ys: Sequence[Tensor], directions: Sequence[Tensor]) -> Tensor:
    """The sum of the products of all entries."""
    parts = [y * v if not y.shape else FUNCTIONS["sum"].call(y * v) for y, v in zip(ys, directions, strict=True)]
    return reduce(add, parts) if parts else tensor(0.0)


VALUE = Derivation(_results, lambda results, given: results, 1)
GRADIENT = Derivation(_gradient, lambda results, given: [*results, *given], 3)
ROWS = Derivation(_rows, lambda results, given: [y + x for x in given for y in results], 3, entries=True)
JVP = Derivation(_pushed, lambda results, given: results, 3)
VJP = Derivation(_pulled, lambda results, given: given, 3)
HVP = Derivation(_hessian_product, lambda results, given: given, 9)


# What does not depend on these inputs is computed once. An operation entry by entry broadcasts; for the others that a
# product with a derivative consists of, the fact `batched` of the row moves their axes. Other operations have none,
# and the caller computes one value after the other.


class NotBatched(Exception):
    """An operation has no rule for a batch."""


def batched(program: Program, values: Sequence[Value], which: Collection[int], count: int) -> Program:
    """The program in which the inputs `which`, and the outputs, have a new first axis of so many entries.

    `values` are those of its inputs at which it is traced. Raises NotBatched.
    """
    with placeholders(values, ()) as xs:
        slots: list[Any] = [*map(valued, xs), *program.constants]
        batch = set(which)
        for slot, step in enumerate(program.steps, program.first):
            if batch.isdisjoint(step.operands):
                slots.append(recorded(step.op, tuple([slots[x] for x in step.operands]), step.attrs))
                continue
            given = [(handle_of(slots[x]), x in batch, program.shape(x)) for x in step.operands]
            found = _over(step, given, count)
            if not isinstance(found, Tensor) or found.shape != (count, *step.shape):
                raise NotBatched(step.op.name)
            slots.append(valued(found))
            batch.add(slot)
        if not batch.isdisjoint(check.slot for check in program.checks):
            raise NotBatched("a guard")
        ys = [(handle_of(slots[slot]), slot in batch) for slot in program.outputs]
        outputs = [y if is_batched else OPS["expand"].call(y, (count, *y.shape)) for y, is_batched in ys]
        names = [given.name for given in program.inputs]
        made = extract([*outputs, *[handle_of(slots[check.slot]) for check in program.checks]], xs, names, None)
    return optimised(checked(made, program.checks))


Given = tuple[Tensor, bool, Shape]  # an operand, whether it has the new axis, and its shape without


def _over(step: Step, given: list[Given], count: int) -> Any:
    """An operation of which some operands have the new axis."""
    if step.op.reach == "pointwise" and step.op.scalar is not None:
        axes = [len(step.shape) - len(shape) if is_batched else 0 for _, is_batched, shape in given]  # that it lacks
        xs = [
            x if not more else OPS["reshape"].call(x, (x.shape[0], *(1,) * more, *shape))
            for (x, _, shape), more in zip(given, axes, strict=True)
        ]
        return step.op.call(*xs, **step.attrs)
    if step.op.batched is None:
        raise NotBatched(step.op.name)
    try:
        return step.op.batched(given, step.attrs, count)
    except AgradError as problem:
        raise NotBatched(step.op.name) from problem


# A derivative multiplied with many directions: several at once where there are rules for that, else one by one. Where a
# Jacobian or a Hessian would be too long entry by entry, it is made of such products, each of which is compiled.

Product: TypeAlias = "Callable[[tuple[Value, ...], Sequence[Value]], tuple[Any, Sequence[Value]]]"
_AT_ONCE = 2**17  # entries of an intermediate result of several products


class Products:
    """Products of a function's derivative at some values with directions, which consist of parts of these shapes.

    `one` gives the specialisation by which a product is computed, and its parts; `several`, which may raise NotBatched,
    those of several along a new first axis. None where these have no rules, or gain nothing.
    """

    def __init__(self, one: Product, several: Product | None, shapes: Sequence[Shape], largest: int) -> None:
        """`largest`: entries of an intermediate result."""
        self.one, self.several, self.shapes = one, several, shapes
        self.at_once = max(1, _AT_ONCE // largest)
        self.places = placed(shapes)

    def of(self, values: tuple[Value, ...], vectors: Array) -> Array:
        """The products with vectors, the rows of an array, each as a row."""
        count = min(len(vectors), self.at_once)
        if self.several is not None and count > 1:
            more = -len(vectors) % count
            filled = np.concatenate([vectors, np.zeros((more, vectors.shape[1]))]) if more else vectors
            try:
                found = []
                for rows in filled.reshape(-1, count, vectors.shape[1]):
                    parts = [np.ascontiguousarray(rows[:, x]).reshape(count, *s) for x, s in self.places]
                    _, made = self.several(values, parts)
                    found.append(np.concatenate([np.reshape(x, (count, -1)) for x in made], axis=1))
                return (np.concatenate(found) if len(found) > 1 else found[0])[: len(vectors)]
            except NotBatched:
                self.several = None
        each = [self.one(values, split(vector, self.shapes))[1] for vector in vectors]
        return np.array([np.concatenate([*map(np.ravel, one)]) for one in each])


def blocks(matrix: Array, rows: Sequence[Shape], columns: Sequence[Shape]) -> list[list[Value]]:
    """The parts of a matrix, by parts of these shapes of what its rows and its columns stand for."""
    by_column = placed(columns)
    return [
        [matrix[i, j].copy().reshape(a + b) if a + b else float(matrix[i, j][0, 0]) for j, b in by_column]
        for i, a in placed(rows)
    ]
