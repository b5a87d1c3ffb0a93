"""LLVM's code of the stages of a schedule.

A kernel is a nest of loops over its space, of numbers: LLVM makes vectors of the innermost one, the last with a mask,
and may sum up in another order; of chunks of `CHUNK` entries, each is added to the result when it is complete.

The other stages are steps on numbers; small products of matrices; sums by places; entries that are computed from the
one before, such as running sums; loops of their own; and calls of LAPACK and BLAS, by which matrices are factorised,
and systems of equations solved. These read an array of rows as one of columns, so the factors are those of the
transpose: M.T = P L U. A vector is solved for in place. Of several right sides, the columns of a matrix that lies in
rows, the transposed system is solved from the right: S.T = Y.T inv(U) inv(L) inv(P), and with the transpose of M,
S.T = Y.T P inv(L.T) inv(U.T).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import partial
from typing import NamedTuple, TypeAlias

from agrad.engine.compile.llvm import stages
from agrad.engine.compile.llvm.functions import written
from agrad.engine.compile.llvm.ir_builder import Code, counted, load, nested, of_vectors, splat, store
from agrad.engine.compile.llvm.memory import Memory, entry, zeros
from agrad.engine.compile.llvm.stages import Kernel, View, strides_of
from agrad.engine.compile.llvm.target import machine
from agrad.engine.compile.symbols import Symbol, lower
from agrad.engine.values import Shape, size_of

CHUNK = 4096  # entries of a row that are summed up before they are added to the other chunks
_LENGTHS = ((24, 4), (64, 2), (2_000, 1))  # steps up to which so many vectors are computed side by side
_SCALAR = 3  # what is said of a longer loop: LLVM's time to make vectors of it is quadratic
_UNMASKED = 20  # is added to what is said of a loop that needs no mask at its end
_MOST = 64  # steps of a loop that is written twice, with a mask and without


def _stage(name: str, *lines: str) -> str:
    """The function of a stage."""
    return "\n".join((f"define internal void @{name}(ptr %tab, ptr %num) {{\nentry:", *lines, "  ret void\n}"))


class _Reader:
    """Code of numbers, which reads and writes entries one by one."""

    told = ""  # what is said of each access

    def __init__(self, memory: Memory, code: Code) -> None:
        self.memory, self.code = memory, code

    def opened(self, name: int, view: View) -> Iterator[str]:
        """The lines that name the address of what is read, or the number, unless it is known."""
        if self.memory.program.shape(view.slot):
            if view.table is not None:
                yield self.memory.table(view, f"%places{name}")
            yield self.memory.array(view.slot, f"%in{name}")
        elif self.memory.value(view.slot) is None:
            yield self.memory.load(view.slot, f"%in{name}")

    def read(self, name: int, view: View, strides: Shape, places: Mapping[int, str]) -> Symbol:
        """The entry at these places of a view, with the strides of it or of its table."""
        if not self.memory.program.shape(view.slot):
            value = self.memory.value(view.slot)
            return self.code.constant(value) if value is not None else self.code.argument(f"%in{name}")
        if view.table is None:
            return self.loaded(self.address(f"%in{name}", "double", view.offset, strides, places))
        at = self.address(f"%places{name}", "i64", 0, strides, places)
        found = f"%g{len(self.code.lines)}"
        place = f"  {found}.place = load i64, ptr {at}{self.told}"
        self.code.lines.append(f"{place}\n  {found} = getelementptr double, ptr %in{name}, i64 {found}.place")
        return self.loaded(found)

    def loaded(self, at: str) -> Symbol:
        """The number at an address."""
        name = f"%g{len(self.code.lines)}"
        self.code.lines.append(f"  {name} = load double, ptr {at}, align 1{self.told}")
        return self.code.argument(name)

    def store(self, value: Symbol, at: str) -> None:
        """Write a number to an address."""
        self.code.lines.append(f"  store double {value.text}, ptr {at}, align 1{self.told}")

    def address(self, base: str, unit: str, offset: int, strides: Shape, places: Mapping[int, str]) -> str:
        """The address of the entry at these places."""
        name = f"%g{len(self.code.lines)}"
        self.code.lines += entry(name, unit, base, offset, [(places[axis], x) for axis, x in enumerate(strides)])
        return name


_Body: TypeAlias = tuple[list[str], list[Symbol]]  # the lines of an entry, and what the sums are with it


class KernelCode(_Reader):
    """The text of a kernel as a function of the tables of addresses."""

    told = ", !llvm.access.group !0"  # no iteration of the innermost loop needs what another one writes

    def __init__(self, name: str, kernel: Kernel, memory: Memory, code: Code) -> None:
        super().__init__(memory, code)
        self.kernel, space, program = kernel, strides_of(kernel.space), memory.program
        self.strides: dict[tuple[str, int], Shape] = {("store", slot): space for slot in kernel.stores}
        for slot, view in kernel.reads.items():
            if program.shape(view.slot):
                self.strides["read", slot] = view.strides if view.table is None else space
        self.strides |= {("join", number): part.strides for number, part in enumerate(kernel.joins)}
        self.strides |= {("sum", one.slot): one.strides for one in kernel.sums}
        self.axes = self._coalesced()
        self.inner_sums = [one for one in kernel.sums if not self.strides["sum", one.slot][-1]]
        self.text = _stage(name, *self._opened(), *self._nest())

    def _coalesced(self) -> Shape:
        """The axes of the loops: those of length 1 left out, and those in one that lie behind each other everywhere."""
        lengths: list[int] = []
        kept: list[list[int]] = [[] for _ in self.strides]
        for axis, length in enumerate(self.kernel.space):
            if length == 1:
                continue
            strides = [one[axis] for one in self.strides.values()]
            if lengths and all(row[-1] == stride * length for row, stride in zip(kept, strides, strict=True)):
                length *= lengths.pop()
                for row in kept:
                    row.pop()
            lengths.append(length)
            for row, stride in zip(kept, strides, strict=True):
                row.append(stride)
        if not lengths:
            lengths, kept = [1], [[int(kind != "sum")] for kind, _ in self.strides]
        self.strides = dict(zip(self.strides, map(tuple, kept), strict=True))
        return tuple(lengths)

    def _opened(self) -> Iterator[str]:
        memory, kernel = self.memory, self.kernel
        for slot, view in kernel.reads.items():
            yield from self.opened(slot, view)
        named = [(f"%store{slot}", slot) for slot in kernel.stores]
        named += [(f"%join{number}", part.slot) for number, part in enumerate(kernel.joins)]
        for name, slot in [*named, *[(f"%sum{one.slot}", one.slot) for one in kernel.sums]]:
            yield memory.array(slot, name) if memory.program.shape(slot) else memory.number(slot, name)
        for one in kernel.sums:
            count = size_of(memory.program.shape(one.slot))
            first = f"i64 {count}, double {self._neutral(one)}"
            yield f"  call void @fill(ptr %sum{one.slot}, {first})" if one.extreme else zeros(f"%sum{one.slot}", count)

    def _nest(self) -> Iterator[str]:
        row = ["  br label %row\nrow:", *self._row()]
        yield from nested([(f"i{axis}", length) for axis, length in enumerate(self.axes[:-1])], row)
        for one in self.kernel.sums:
            if one.divisor != 1.0:
                count, by = size_of(self.memory.program.shape(one.slot)), self.code.literal(one.divisor)
                yield f"  call void @divide(ptr %sum{one.slot}, i64 {count}, double {by})"

    def _row(self) -> Iterator[str]:
        """The entries of a row: those that fill whole vectors without masks, which take time, and what is left."""
        length, lanes, steps, body = self.axes[-1], machine().lanes, len(self.kernel.steps), self._body("j")
        count = next((count for most, count in _LENGTHS if steps <= most), _SCALAR)
        if not all(machine().vector_names(*one) for one in self.code.called.items()):
            count = _SCALAR  # there are no vectors of its calls, and LLVM would say so on stderr
        elif length < 2 * count * lanes:
            count = 1
        rest = length % (count * lanes) if count != _SCALAR else 0
        is_called = rest == 1 and bool(self.code.called)  # LLVM calls the C library for one, whose last digits differ
        if rest and (steps > _MOST or length < 2 * lanes or is_called):
            yield from self._loop("j", "row", "0", str(length), body, count)
            return
        yield from self._chunks(length - rest, body, count if count == _SCALAR else count + _UNMASKED)
        if rest:
            before = "first.done" if self.inner_sums and length - rest > CHUNK else "j.done"
            yield from self._loop("k", before, str(length - rest), str(length), self._body("k"), 1)

    def _chunks(self, length: int, body: _Body, told: int) -> Iterator[str]:
        if self.inner_sums and length > CHUNK:
            after = f"  %after = add i64 %first, {CHUNK}\n  %last = icmp uge i64 %after, {length}"
            end = f"  %end = select i1 %last, i64 {length}, i64 %after"
            chunk = [after, end, *self._loop("j", "first.loop", "%first", "%end", body, told)]
            yield from counted("first", "row", length, chunk, step=CHUNK)
        else:
            yield from self._loop("j", "row", "0", str(length), body, told)

    def _body(self, name: str) -> _Body:
        """The lines that compute one entry, and what each sum is with it."""
        begin, last, ends = len(self.code.lines), len(self.axes) - 1, list[Symbol]()
        found = self._entries({axis: f"%i{axis}" for axis in range(last)} | {last: f"%{name}"})
        for one in self.inner_sums:
            ends.append(self._together(one, self.code.argument(f"%{name}.a{one.slot}"), _summand(one, found)))
        return self.code.lines[begin:], ends

    def _loop(self, name: str, before: str, first: str, end: str, body: _Body, told: int) -> Iterator[str]:
        """The entries from the first to the end, and their sums added to the results."""
        (lines, ends), begin, last = body, len(self.code.lines), len(self.axes) - 1
        sums = list(zip(self.inner_sums, ends, strict=True))
        phis = [
            f"  %{name}.a{one.slot} = phi double [{self._neutral(one)}, %{before}], [{total.text}, %{name}.end]"
            for one, total in sums
        ]
        yield from counted(name, before, end, lines, first, phis=phis, told=f", !llvm.loop !{told}")
        for one, total in sums:
            self._add(one, total, {axis: f"%i{axis}" for axis in range(last)} | {last: f"%{name}"})
        yield from self.code.lines[begin:]

    def _add(self, one: stages.Sum, value: Symbol, places: Mapping[int, str]) -> None:
        """Add a number to a sum, or have the larger, or smaller, one there."""
        at = self.address(f"%sum{one.slot}", "double", one.offset, self.strides["sum", one.slot], places)
        self.store(self._together(one, self.loaded(at), value), at)

    def _together(self, one: stages.Sum, x: Symbol, y: Symbol) -> Symbol:
        if one.extreme:
            return x.intrinsic(one.extreme, y)
        return self.code.argument(self.code.write(f"fadd reassoc double {x.text}, {y.text}"))

    def _neutral(self, one: stages.Sum) -> str:
        """What, added to any number, leaves it as it is; a sum itself begins with 0."""
        return self.code.literal({"maximum": -math.inf, "minimum": math.inf}.get(one.extreme, -0.0))

    def _entries(self, places: Mapping[int, str]) -> Mapping[int, Symbol]:
        """Write the steps for one entry."""
        kernel, steps, found = self.kernel, self.memory.schedule.step, dict[int, Symbol]()
        for slot, view in kernel.reads.items():
            found[slot] = self.read(slot, view, self.strides.get(("read", slot), ()), places)
        for slot in kernel.steps:
            step, given = steps(slot), [found[x] for x in steps(slot).operands]
            found[slot] = (written(step.op) or partial(lower, step.op, attrs=step.attrs))(given)
        for slot in kernel.stores:
            self.store(found[slot], self.address(f"%store{slot}", "double", 0, self.strides["store", slot], places))
        for number, part in enumerate(kernel.joins):
            strides = self.strides["join", number]
            self.store(found[part.operand], self.address(f"%join{number}", "double", part.offset, strides, places))
        for one in kernel.sums:
            if one not in self.inner_sums:
                self._add(one, _summand(one, found), places)
        return found


def _summand(one: stages.Sum, found: Mapping[int, Symbol]) -> Symbol:
    entry = found[one.operand]
    return (entry != 0.0).number() if one.are_truths else entry


# Stages that are no loop over the entries of a result

_ROWS, _VECTORS = 4, 6  # of a product that are computed side by side: their sums stay in registers


def numbers_code(name: str, stage: stages.Numbers, memory: Memory, code: Code) -> str:
    """A function that computes steps on numbers."""
    reader, found = _Reader(memory, code), dict[int, Symbol]()
    for slot in stage.steps:
        step = memory.schedule.step(slot)
        for x in step.operands:
            if x not in found:
                base = memory.schedule.base(x)
                code.lines += reader.opened(x, base)
                found[x] = reader.read(x, base, (), {})
        found[slot] = lower(step.op, [found[x] for x in step.operands], step.attrs)
        code.lines.append(memory.number(slot, f"%y{slot}"))
        reader.store(found[slot], f"%y{slot}")
    return _stage(name, *code.lines)


def scatter_code(name: str, slot: int, memory: Memory) -> str:
    """A function that adds the entries of an array into zeros, in their order, each at a place that a table lists."""
    (operand,), places = memory.schedule.step(slot).operands, memory.schedule.scatters[slot]
    given = memory.array(slot, "%out"), memory.array(operand, "%in"), memory.table(places, "%places")
    count, length = [size_of(memory.program.shape(x)) for x in (operand, slot)]
    call = f"  call void @scatter(ptr %in, ptr %places, i64 {count}, ptr %out)"
    return _stage(name, *given, zeros("%out", length), call)


class Product(NamedTuple):
    """What products that have the same routine have in common: the lengths of the axes, and the strides."""

    rows: int
    inner: int
    columns: int
    left: Shape
    right: Shape


def product_code(name: str, slot: int, memory: Memory, routines: dict[Product, str]) -> str:
    """A function that calls the routine of a product with its matrices; adds to the names of routines."""
    schedule, operands, lines = memory.schedule, memory.schedule.step(slot).operands, [memory.array(slot, "%out")]
    left, right = map(schedule.base, operands)
    for side, view in (("left", left), ("right", right)):
        lines += [memory.array(view.slot, f"%{side}.0"), *entry(f"%{side}", "double", f"%{side}.0", view.offset)]
    (rows, inner), columns = memory.program.shape(operands[0]), memory.program.shape(slot)[1]
    product = Product(rows, inner, columns, left.strides, right.strides)
    routine = routines.setdefault(product, f"product{len(routines)}")
    return _stage(name, *lines, f"  call void @{routine}(ptr %out, ptr %left, ptr %right)")


class Routine:
    """The text of a product of two matrices: some rows at a time, whose sums stay in registers."""

    def __init__(self, name: str, product: Product, lanes: int) -> None:
        self.product, self.lanes = product, lanes
        self.number = f"<{lanes} x double>"
        whole = -(-product.columns // lanes)
        width = -(-whole // -(-whole // _VECTORS))
        self.blocks = [range(first, min(first + width, whole)) for first in range(0, whole, width)]
        self.is_copied = product.right[1] != 1 and product.columns > 1  # its rows do not lie side by side
        given = "ptr noalias %out, ptr %left, ptr %given"
        head = f"define internal void @{name}({given}) noinline {of_vectors(lanes)} {{"
        self.text = "\n".join((head, "entry:", *self._body(), "  ret void", "}"))

    def _body(self) -> Iterator[str]:
        product, before = self.product, "entry"
        if self.is_copied:  # the right matrix with its rows side by side
            down, across = product.right
            copied = (
                *entry("%cp", "double", "%given", 0, [("%ci", down), ("%cj", across)]),
                *entry("%cq", "double", "%right", 0, [("%ci", product.columns), ("%cj", 1)]),
                "  %cx = load double, ptr %cp, align 1\n  store double %cx, ptr %cq, align 1",
            )
            yield f"  %right = alloca [{product.inner * product.columns} x double], align 64"
            yield from nested([("ci", product.inner), ("cj", product.columns)], copied)
            before = "ci.done"
        else:
            yield "  %right = getelementptr double, ptr %given, i64 0"
        whole = product.rows // _ROWS * _ROWS
        for block, vectors in enumerate(self.blocks):
            for p, first, end, count in ((f"b{block}", 0, whole, _ROWS), (f"r{block}", whole, product.rows, 1)):
                if first < end:
                    yield from counted(f"{p}i", before, end, self._rows(p, count, vectors), first, count)
                    before = f"{p}i.done"

    def _rows(self, p: str, count: int, vectors: range) -> Iterator[str]:
        """So many rows at once, of some columns; names begin with `p`."""
        product, number = self.product, self.number
        each = [(row, vector) for row in range(count) for vector in vectors]
        sums = []
        for row, vector in each:
            start = f"[zeroinitializer, %{p}i.loop]"
            sums.append(f"  %{p}s{row}.{vector} = phi {number} {start}, [%{p}t{row}.{vector}, %{p}k.end]")
        yield from counted(f"{p}k", f"{p}i.loop", product.inner, self._added(p, count, vectors), phis=sums)
        for row, vector in each:
            place = f"%{p}o{row}.{vector}"
            first = row * product.columns + vector * self.lanes
            yield from entry(place, "double", "%out", first, [(f"%{p}i", product.columns)])
            yield store(f"%{p}t{row}.{vector}", place, self.lanes, self._mask(vector))

    def _added(self, p: str, count: int, vectors: range) -> Iterator[str]:
        """A column of the left matrix times a row of the right one, added to the sums."""
        product, number, (down, across) = self.product, self.number, self.product.left
        onward = product.columns if self.is_copied else product.right[0]  # from one row of the right to the next
        for vector in vectors:
            y = f"%{p}y{vector}"
            yield from entry(f"{y}.at", "double", "%right", vector * self.lanes, [(f"%{p}k", onward)])
            yield load(y, f"{y}.at", self.lanes, self._mask(vector))
        for row in range(count):
            x = f"%{p}x{row}"
            yield from entry(f"{x}.at", "double", "%left", row * down, [(f"%{p}i", down), (f"%{p}k", across)])
            yield f"  {x} = load double, ptr {x}.at, align 1"
            yield from splat(x, self.lanes)
        for row in range(count):
            for vector in vectors:
                given = f"{number} %{p}x{row}.all, {number} %{p}y{vector}, {number} %{p}s{row}.{vector}"
                yield f"  %{p}t{row}.{vector} = call {number} @llvm.fma.v{self.lanes}f64({given})"

    def _mask(self, vector: int) -> str:
        """The lanes of a vector in which there are columns."""
        left = self.product.columns - vector * self.lanes
        return f"<{', '.join(f'i1 {int(lane < left)}' for lane in range(self.lanes))}>"


class RunningCode(_Reader):
    """The text of a function that computes entries one after the other along an axis."""

    def __init__(self, name: str, slot: int, memory: Memory, code: Code) -> None:
        super().__init__(memory, code)
        self.step = memory.schedule.step(slot)
        self.reads = [memory.schedule.read(x, self.step.shape) for x in self.step.operands]
        opening = [line for number, view in enumerate(self.reads) for line in self.opened(number, view)]
        self.text = _stage(name, memory.array(slot, "%out"), *opening, *self._nest())

    def _nest(self) -> Iterator[str]:
        """A loop over each other axis; in these the first entry, then the loop over those that follow."""
        shape, axis = self.step.shape, self.step.attrs["axis"]
        others = [other for other, length in enumerate(shape) if other != axis and length > 1]
        places = dict.fromkeys(range(len(shape)), "0") | {other: f"%i{other}" for other in others}
        first, lines = self._entry(places, None)
        lines += ["  br label %row\nrow:"]
        if shape[axis] > 1:
            made, following = self._entry(places | {axis: "%k"}, self.code.argument("%y"))
            last = f"  %y = phi double [{first}, %row], [{made}, %k.end]"
            lines += counted("k", "row", shape[axis], following, first=1, phis=[last])
        return nested([(f"i{other}", shape[other]) for other in others], lines)

    def _entry(self, places: Mapping[int, str], last: Symbol | None) -> tuple[str, list[str]]:
        """The entry at these places, which is the first or follows the last one, and the lines that compute it."""
        begin, lines, shape = len(self.code.lines), self.code.lines, self.step.shape
        strides = [view.strides if view.table is None else strides_of(shape) for view in self.reads]
        operands = [self.read(number, *one, places) for number, one in enumerate(zip(self.reads, strides, strict=True))]
        assert self.step.op.runs is not None
        first, following = self.step.op.runs
        found = first(*operands) if last is None else following(last, *operands)
        self.store(found, self.address("%out", "double", 0, strides_of(shape), places))
        return found.text, lines[begin:]


def repeat_code(name: str, slot: int, memory: Memory) -> str:
    """A function that runs a loop of its own: from its first state, rows, and what is the same, to rows and sums."""
    step = memory.schedule.step(slot)
    code, count = step.attrs["body"].native, step.attrs["count"]
    memory.kept.append(code)
    state, row, _ = code.sizes
    sums = len(code.program.outputs) - code.width
    addresses = "ptr %in, ptr %rows, ptr %same, ptr %out, ptr %sums"
    return _stage(
        name,
        memory.array(step.operands[0], "%in"),
        memory.array(slot, "%out"),
        f"  %rows = getelementptr double, ptr %in, i64 {state}",
        f"  %same = getelementptr double, ptr %in, i64 {state + count * row}",
        f"  %sums = getelementptr double, ptr %out, i64 {count * code.width}",
        zeros("%sums", sums),
        f"  call void inttoptr (i64 {code.address} to ptr)({addresses}, i64 {count})",
    )


def _routine(name: str) -> str:
    """The address of a function of LAPACK or BLAS."""
    known = stages.pointers()
    assert known is not None
    return f"inttoptr (i64 {known[name]} to ptr)"


def _call(name: str, *operands: str) -> str:
    """A call of such a function; a letter stands for its address."""
    given = ", ".join(f"ptr {f'@{one}.letter' if len(one) == 1 else one}" for one in operands)
    return f"  call void {_routine(name)}({given})"


def factorise_code(name: str, stage: stages.Factorise, memory: Memory) -> str:
    """A function that copies a matrix and factorises the copy; where it is singular, the call has failed."""
    lu, pivots = memory.factored[stage.matrix]
    given = [("%matrix", stage.matrix), ("%lu", lu), ("%pivots", pivots)]
    lines = [*[memory.array(slot, x) for x, slot in given], memory.number(memory.failed, "%flag")]
    operands = f"ptr {_routine('dgetrf')}, ptr %matrix, ptr %lu, ptr %pivots, i32 {stage.size}, ptr %flag"
    return _stage(name, *lines, f"  call void @factorise({operands})")


def solve_code(name: str, slot: int, memory: Memory) -> str:
    """A function that solves a system with a matrix that is factorised, or triangular."""
    system, step = memory.schedule.systems[slot], memory.schedule.step(slot)
    size, columns = system.size, (*step.shape, 1)[1]
    lines = [memory.array(step.operands[1], "%right"), memory.array(slot, "%out")]
    numbers = {"size": size, "info": 0, "columns": columns}  # which are passed by their addresses
    lines += [f"  %{x} = alloca i32\n  store i32 {number}, ptr %{x}" for x, number in numbers.items()]
    lines.append(f"  call void @llvm.memcpy.p0.p0.i64(ptr %out, ptr %right, i64 {8 * size * columns}, i1 false)")
    if system.is_lower:
        lines.append(memory.array(system.matrix, "%factor"))
    else:
        lu, pivots = memory.factored[system.matrix]
        lines += [memory.array(lu, "%factor"), memory.array(pivots, "%pivots")]
    return _stage(name, *lines, *_solved(system, step.shape))


def _solved(system: stages.System, shape: Shape) -> Iterator[str]:
    """With the lower triangle of the rows, which is the upper one of the columns, or with the factors."""
    back, is_vector = system.is_transposed, len(shape) == 1
    if system.is_lower and is_vector:
        yield _call("dtrsv", "U", "N" if back else "T", "N", "%size", "%factor", "%size", "%out", "@one.count")
    elif system.is_lower:
        yield _from_the_right("U", "T" if back else "N", "N")
    elif is_vector:
        given = ("%size", "@one.count", "%factor", "%size", "%pivots", "%out", "%size", "%info")
        yield _call("dgetrs", "N" if back else "T", *given)
    elif back:
        yield _exchanged(shape, False)
        yield from (_from_the_right("L", "T", "U"), _from_the_right("U", "T", "N"))
    else:
        yield from (_from_the_right("U", "N", "N"), _from_the_right("L", "N", "U"))
        yield _exchanged(shape, True)


def _exchanged(shape: Shape, backward: bool) -> str:
    """Each row of the result exchanged with another, from the first on or from the last."""
    sizes = f"i64 {shape[0]}, i64 {shape[1]}, i1 {int(backward)}"
    return f"  call void @exchange(ptr {_routine('dswap')}, ptr %columns, ptr %pivots, ptr %out, {sizes})"


def _from_the_right(triangle: str, turned: str, diagonal: str) -> str:
    """The result, transposed, times the inverse of a triangle; U as the diagonal is one of ones."""
    given = ("%columns", "%size", "@one.number", "%factor", "%size", "%out", "%columns")
    return _call("dtrsm", "R", triangle, turned, diagonal, *given)
