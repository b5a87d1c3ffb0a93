"""LLVM's code of the stages of a schedule.

A kernel is a nest of loops over its space, the innermost in vectors. The sums of the innermost loop are kept in several
vectors, and put together in one order: of chunks of `CHUNK` entries, each is added to the result when it is complete.
Entries beyond the end of an axis are masked: they are neither read nor written, and not in the sums.

The other stages are steps on numbers; small products of matrices; sums by places; entries that are computed from the
one before, such as running sums; loops of their own; and calls of LAPACK and BLAS, by which matrices are factorised,
and systems of equations solved. These read an array of rows as one of columns, so the factors are those of the
transpose: M.T = P L U. A vector is solved for in place. Of several right sides, the columns of a matrix that lies in
rows, the transposed system is solved from the right: S.T = Y.T inv(U) inv(L) inv(P), and with the transpose of M,
S.T = Y.T P inv(L.T) inv(U.T).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from agrad.engine.compile.llvm import stages
from agrad.engine.compile.llvm.ir_builder import EVERY, Code, counted, gather, load, nested, of_vectors, splat, store
from agrad.engine.compile.llvm.memory import Memory, entry, zeros
from agrad.engine.compile.llvm.schedule import Schedule
from agrad.engine.compile.llvm.stages import Kernel, Sum, View, strides_of
from agrad.engine.compile.symbols import Symbol, lower
from agrad.engine.values import Shape, size_of

CHUNK = 4096  # entries of a row that are summed up before they are added to the other chunks
_NOTHING = "0x8000000000000000"  # -0, which added to any number leaves it as it is; a sum itself begins with 0
_LENGTHS = ((24, 4), (64, 2))  # steps up to which so many vectors are computed side by side


@dataclass(slots=True)
class _Reference:
    """Entries that a loop reads or writes: the name of their address, and their strides along the axes."""

    name: str
    offset: int
    strides: Shape


class KernelCode:
    """The text of a kernel as a function of the tables of addresses, and what it calls."""

    def __init__(self, name: str, schedule: Schedule, kernel: Kernel, memory: Memory, lanes: int) -> None:
        self.schedule, self.kernel, self.memory, self.lanes = schedule, kernel, memory, lanes
        self.number = f"<{lanes} x double>"
        self.opening: list[str] = []
        self.references: dict[tuple[str, int], _Reference] = {}
        self.tables: dict[int, str] = {}  # addresses of the data that a table is about
        self._open()
        self.axes = self._coalesced()
        self.length = self.axes[-1]
        self.unrolled = next((count for most, count in _LENGTHS if len(kernel.steps) <= most), 1)
        if self.length < 2 * self.unrolled * lanes:
            self.unrolled = 1
        self.inner_sums = [s for s in kernel.sums if not self.references["sum", s.slot].strides[-1]]
        self.codes = (Code(lanes, "v"), Code(lanes, "t"))
        body = list(self._nest())
        head = f"define internal void @{name}(ptr %tab, ptr %num) {of_vectors(lanes)} {{"
        self.text = "\n".join((head, "entry:", *body, "}"))

    # What it refers to

    def _open(self) -> None:
        program, space = self.schedule.program, self.kernel.space
        for slot, view in self.kernel.reads.items():
            if not program.shape(view.slot):
                continue
            if view.table is None:
                self._refer("read", slot, self.memory.array(view.slot, f"%read{slot}"), view.offset, view.strides)
            else:
                self._refer("read", slot, self.memory.table(view, f"%read{slot}"), 0, strides_of(space))
                self.tables[slot] = f"%data{slot}"
                self.opening.append(self.memory.array(view.slot, f"%data{slot}"))
        for slot in self.kernel.stores:
            self._refer("store", slot, self.memory.array(slot, f"%store{slot}"), 0, strides_of(space))
        for number, part in enumerate(self.kernel.joins):
            address = self.memory.array if program.shape(part.slot) else self.memory.number
            self._refer("join", number, address(part.slot, f"%join{number}"), part.offset, part.strides)
        for one in self.kernel.sums:
            address = self.memory.array if program.shape(one.slot) else self.memory.number
            self._refer("sum", one.slot, address(one.slot, f"%sum{one.slot}"), one.offset, one.strides)

    def _refer(self, kind: str, slot: int, lines: str, offset: int, strides: Shape) -> None:
        self.opening.append(lines)
        self.references[kind, slot] = _Reference(f"%{kind}{slot}", offset, strides)

    def _coalesced(self) -> Shape:
        """The axes of the loops: those of length 1 left out, and those in one that lie behind each other everywhere."""
        lengths: list[int] = []
        kept: list[list[int]] = [[] for _ in self.references]
        every = list(self.references.values())
        for axis, length in enumerate(self.kernel.space):
            if length == 1:
                continue
            strides = [one.strides[axis] for one in every]
            if lengths and all(row[-1] == stride * length for row, stride in zip(kept, strides, strict=True)):
                length *= lengths.pop()
                for row in kept:
                    row.pop()
            lengths.append(length)
            for row, stride in zip(kept, strides, strict=True):
                row.append(stride)
        if not lengths:
            lengths, kept = [1], [[int(key[0] != "sum")] for key in self.references]
        for one, row in zip(every, kept, strict=True):
            one.strides = tuple(row)
        return tuple(lengths)

    # The loops

    def _nest(self) -> Iterator[str]:
        program = self.schedule.program
        yield from self.opening
        numbers = {view.slot for view in self.kernel.reads.values() if not program.shape(view.slot)}
        for slot in sorted(numbers):
            if self.memory.value(slot) is None:
                yield self.memory.load(slot, f"%n{slot}")
                yield from splat(f"%n{slot}", self.lanes)
        for one in self.kernel.sums:
            yield zeros(f"%sum{one.slot}", self._entries(one))
        row = chain(["  br label %row\nrow:"], self._addresses(), self._chunks())
        yield from nested([(f"i{axis}", length) for axis, length in enumerate(self.axes[:-1])], row)
        for one in self.kernel.sums:
            if one.divisor != 1.0:
                by = Code(1).constant(one.divisor).text
                yield f"  call void @divide(ptr %sum{one.slot}, i64 {self._entries(one)}, double {by})"
        yield "  ret void"

    def _entries(self, one: Sum) -> int:
        return size_of(self.schedule.program.shape(one.slot))

    def _addresses(self) -> Iterator[str]:
        """Where the row of the innermost loop begins."""
        for (kind, slot), one in self.references.items():
            unit = "i64" if kind == "read" and slot in self.tables else "double"
            steps = [(f"%i{axis}", stride) for axis, stride in enumerate(one.strides[:-1])]
            yield from entry(f"{one.name}.row", unit, one.name, one.offset, steps)
            if kind == "read" and unit == "double" and not one.strides[-1]:
                yield f"  {one.name}.x = load double, ptr {one.name}.row, align 1"
                yield from splat(f"{one.name}.x", self.lanes)

    def _chunks(self) -> Iterator[str]:
        if self.inner_sums and self.length > CHUNK:
            after = f"  %after = add i64 %first, {CHUNK}\n  %last = icmp uge i64 %after, {self.length}"
            end = f"  %end = select i1 %last, i64 {self.length}, i64 %after"
            chunk = chain([after, end], self._row("first.loop", "%first", "%end"))
            yield from counted("first", "row", self.length, chunk, step=CHUNK)
        else:
            yield from self._row("row", "0", str(self.length))

    def _row(self, before: str, first: str, end: str) -> Iterator[str]:
        """The entries from the first to the end: several vectors at a time, then those of the rest under a mask."""
        width, nothing = self.lanes * self.unrolled, f"{self.number} splat (double {_NOTHING})"
        vectors, tail = self.codes
        each = [(one, u) for one in self.inner_sums for u in range(self.unrolled)]
        adding = []
        for u in range(self.unrolled):
            vectors.lines.append(f"  %at{u} = add i64 %j, {u * self.lanes}")
            adding.append(self._body(vectors, f"%at{u}", EVERY))
        rest = self._body(tail, "%t", "%mask")
        yield f"  %span = sub i64 {end}, {first}\n  %whole = udiv i64 %span, {width}"
        yield f"  %covered = mul i64 %whole, {width}\n  %cut = add i64 {first}, %covered"
        for one, u in each:
            added = f"%a{one.slot}.{u}, {adding[u][one.operand].text}"
            vectors.lines.append(f"  %b{one.slot}.{u} = fadd {self.number} {added}")
        sums = [(f"a{one.slot}.{u}", f"b{one.slot}.{u}") for one, u in each]
        yield from self._loop("j", before, first, "%cut", width, sums, vectors.lines)
        masked = [f"  %left = sub i64 {end}, %t", *splat("%left", self.lanes, "i64")]
        masked += [f"  %mask = icmp ult <{self.lanes} x i64> {self._counted(1)}, %left.all", *tail.lines]
        for one in self.inner_sums:
            entries = f"{self.number} {rest[one.operand].text}, {nothing}"
            masked.append(f"  %k{one.slot} = select <{self.lanes} x i1> %mask, {entries}")
            masked.append(f"  %d{one.slot} = fadd {self.number} %c{one.slot}, %k{one.slot}")
        sums = [(f"c{one.slot}", f"d{one.slot}") for one in self.inner_sums]
        yield from self._loop("t", "j.over", "%cut", end, self.lanes, sums, masked)
        for one in self.inner_sums:
            yield from self._together(one)

    def _loop(
        self, name: str, before: str, first: str, end: str, step: int, sums: list[tuple[str, str]], body: list[str]
    ) -> Iterator[str]:
        """A loop that may not run at all. `sums`: before and after an iteration; the block `name.next` decides."""
        yield f"  br label %{name}.next\n{name}.next:"
        yield f"  %{name} = phi i64 [{first}, %{before}], [%{name}.more, %{name}.body]"
        for last, following in sums:
            start = f"[splat (double {_NOTHING}), %{before}]"
            yield f"  %{last} = phi {self.number} {start}, [%{following}, %{name}.body]"
        yield f"  %{name}.go = icmp ult i64 %{name}, {end}"
        yield f"  br i1 %{name}.go, label %{name}.body, label %{name}.over\n{name}.body:"
        yield from body
        yield f"  %{name}.more = add i64 %{name}, {step}\n  br label %{name}.next\n{name}.over:"

    def _counted(self, step: int) -> str:
        return f"<{', '.join(f'i64 {lane * step}' for lane in range(self.lanes))}>"

    def _together(self, one: Sum) -> Iterator[str]:
        """The partial sums of a row, or of a chunk, added up and to the result."""
        parts = [*[f"%a{one.slot}.{u}" for u in range(self.unrolled)], f"%c{one.slot}"]
        while (count := len(parts)) > 1:
            names = [f"%m{one.slot}.{count}.{number}" for number in range(count // 2)]
            for name, left, right in zip(names, parts[::2], parts[1::2], strict=False):
                yield f"  {name} = fadd {self.number} {left}, {right}"
            parts = names + parts[count - count % 2 :]
        at = f"%sum{one.slot}.row"
        reduced = f"call double @llvm.vector.reduce.fadd.v{self.lanes}f64(double {_NOTHING}, {self.number} {parts[0]})"
        yield f"  %r{one.slot} = {reduced}\n  %p{one.slot} = load double, ptr {at}, align 1"
        yield f"  %q{one.slot} = fadd double %p{one.slot}, %r{one.slot}\n  store double %q{one.slot}, ptr {at}, align 1"

    # The body of the innermost loop

    def _body(self, code: Code, at: str, mask: str) -> Mapping[int, Symbol]:
        """Write the steps for a vector of entries from `at` on, under a mask."""
        found: dict[int, Symbol] = {}
        for slot, view in self.kernel.reads.items():
            found[slot] = self._read(code, slot, view, at, mask)
        for slot in self.kernel.steps:
            step = self.schedule.step(slot)
            found[slot] = lower(step.op, [found[x] for x in step.operands], step.attrs)
        for slot in self.kernel.stores:
            self._write(code, f"%store{slot}.row", found[slot], at, mask)
        for number, part in enumerate(self.kernel.joins):
            place = self.references["join", number]
            self._write(code, f"{place.name}.row", found[part.operand], at, mask, place.strides[-1])
        for one in self.kernel.sums:
            if one not in self.inner_sums:
                before = self._load(code, f"%sum{one.slot}.row", at, mask)
                self._write(code, f"%sum{one.slot}.row", code.argument(before) + found[one.operand], at, mask)
        return found

    def _read(self, code: Code, slot: int, view: View, at: str, mask: str) -> Symbol:
        if not self.schedule.program.shape(view.slot):
            value = self.memory.value(view.slot)
            return code.argument(f"%n{view.slot}.all") if value is None else code.constant(value)
        one = self.references["read", slot]
        if slot in self.tables:
            places = self._load(code, f"{one.name}.row", at, mask, "i64")
            return code.argument(self._gathered(code, self.tables[slot], places, mask))
        stride = one.strides[-1]
        if not stride:
            return code.argument(f"{one.name}.x.all")
        if stride == 1:
            return code.argument(self._load(code, f"{one.name}.row", at, mask))
        name = f"%{code.prefix}{len(code.lines)}"
        code.lines += entry(f"{name}.row", "double", f"{one.name}.row", 0, [(at, stride)])
        return code.argument(self._gathered(code, f"{name}.row", self._counted(stride), mask))

    def _load(self, code: Code, row: str, at: str, mask: str, unit: str = "double") -> str:
        name = f"%{code.prefix}{len(code.lines)}"
        code.lines.append(f"  {name}.at = getelementptr {unit}, ptr {row}, i64 {at}")
        code.lines.append(load(name, f"{name}.at", self.lanes, mask, unit))
        return name

    def _gathered(self, code: Code, row: str, places: str, mask: str) -> str:
        name = f"%{code.prefix}{len(code.lines)}"
        code.lines.append(f"  {name}.at = getelementptr double, ptr {row}, <{self.lanes} x i64> {places}")
        code.lines.append(gather(name, f"{name}.at", self.lanes, mask))
        return name

    def _write(self, code: Code, row: str, value: Symbol, at: str, mask: str, stride: int = 1) -> None:
        name = f"%{code.prefix}{len(code.lines)}"
        if stride != 1:
            code.lines += entry(f"{name}.row", "double", row, 0, [(at, stride)])
            apart = f"<{self.lanes} x i64> {self._counted(stride)}"
            code.lines.append(f"  {name} = getelementptr double, ptr {name}.row, {apart}")
            given = f"{self.number} {value.text}, <{self.lanes} x ptr> {name}, i32 8, <{self.lanes} x i1> "
            suffix = f"v{self.lanes}f64.v{self.lanes}p0"
            code.lines.append(f"  call void @llvm.masked.scatter.{suffix}({given}{mask})")
            return
        code.lines.append(f"  {name} = getelementptr double, ptr {row}, i64 {at}")
        code.lines.append(store(value.text, name, self.lanes, mask))


# Stages that are no loop over the entries of a result

_ROWS = 4  # of a product that are computed side by side


def _stage(name: str, *lines: str) -> str:
    """The function of a stage."""
    return "\n".join((f"define internal void @{name}(ptr %tab, ptr %num) {{\nentry:", *lines, "  ret void\n}"))


class _Reader:
    """Code of numbers, which reads entries one by one."""

    def __init__(self, memory: Memory, code: Code) -> None:
        self.memory, self.code = memory, code

    def opened(self, name: int, view: View) -> Iterator[str]:
        """The lines that name the address of what is read, unless it is known."""
        if self.memory.program.shape(view.slot):
            if view.table is not None:
                yield self.memory.table(view, f"%places{name}")
            yield self.memory.array(view.slot, f"%in{name}")
        elif self.memory.value(view.slot) is None:
            yield self.memory.number(view.slot, f"%in{name}")

    def read(self, name: int, view: View, places: Mapping[int, str], shape: Shape = ()) -> Symbol:
        """The entry at these places of a view of a shape."""
        if not self.memory.program.shape(view.slot):
            value = self.memory.value(view.slot)
            return self.code.constant(value) if value is not None else self._loaded(f"%in{name}")
        if view.table is None:
            return self._loaded(self.address(f"%in{name}", "double", view.offset, view.strides, places))
        at = self.address(f"%places{name}", "i64", 0, strides_of(shape), places)
        found = f"%g{len(self.code.lines)}"
        place = f"  {found}.place = load i64, ptr {at}"
        self.code.lines.append(f"{place}\n  {found} = getelementptr double, ptr %in{name}, i64 {found}.place")
        return self._loaded(found)

    def _loaded(self, at: str) -> Symbol:
        name = f"%g{len(self.code.lines)}"
        self.code.lines.append(f"  {name} = load double, ptr {at}, align 1")
        return self.code.argument(name)

    def address(self, base: str, unit: str, offset: int, strides: Shape, places: Mapping[int, str]) -> str:
        """The address of the entry at these places."""
        name = f"%g{len(self.code.lines)}"
        self.code.lines += entry(name, unit, base, offset, [(places[axis], x) for axis, x in enumerate(strides)])
        return name


def numbers_code(name: str, stage: stages.Numbers, memory: Memory, code: Code) -> str:
    """A function that computes steps on numbers."""
    reader, found = _Reader(memory, code), dict[int, Symbol]()
    for slot in stage.steps:
        step = memory.schedule.step(slot)
        for x in step.operands:
            if x not in found:
                code.lines += reader.opened(x, memory.schedule.base(x))
                found[x] = reader.read(x, memory.schedule.base(x), {})
        found[slot] = lower(step.op, [found[x] for x in step.operands], step.attrs)
        code.lines.append(memory.number(slot, f"%y{slot}"))
        code.lines.append(f"  store double {found[slot].text}, ptr %y{slot}, align 1")
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
        if whole:
            yield from counted("bi", before, whole, self._rows("b", _ROWS), step=_ROWS)
            before = "bi.done"
        if whole < product.rows:
            yield from counted("ri", before, product.rows, self._rows("r", 1), first=whole)

    def _rows(self, p: str, count: int) -> Iterator[str]:
        """So many rows at once; names begin with `p`."""
        product, number = self.product, self.number
        vectors = range(-(-product.columns // self.lanes))
        each = [(row, vector) for row in range(count) for vector in vectors]
        sums = []
        for row, vector in each:
            start = f"[zeroinitializer, %{p}i.loop]"
            sums.append(f"  %{p}s{row}.{vector} = phi {number} {start}, [%{p}t{row}.{vector}, %{p}k.end]")
        yield from counted(f"{p}k", f"{p}i.loop", product.inner, self._added(p, count), phis=sums)
        for row, vector in each:
            place = f"%{p}o{row}.{vector}"
            first = row * product.columns + vector * self.lanes
            yield from entry(place, "double", "%out", first, [(f"%{p}i", product.columns)])
            yield store(f"%{p}t{row}.{vector}", place, self.lanes, self._mask(vector))

    def _added(self, p: str, count: int) -> Iterator[str]:
        """A column of the left matrix times a row of the right one, added to the sums."""
        product, number = self.product, self.number
        vectors, (down, across) = range(-(-product.columns // self.lanes)), product.left
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
        operands = [self.read(number, view, places, shape) for number, view in enumerate(self.reads)]
        assert self.step.op.runs is not None
        first, following = self.step.op.runs
        found = first(*operands) if last is None else following(last, *operands)
        to = self.address("%out", "double", 0, strides_of(shape), places)
        lines.append(f"  store double {found.text}, ptr {to}, align 1")
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
