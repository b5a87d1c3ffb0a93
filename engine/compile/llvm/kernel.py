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

from collections.abc import Iterator, Mapping, Sequence
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
        code.lines.append(f"  {name}.by = mul i64 {at}, {stride}")
        code.lines.append(f"  {name}.row = getelementptr double, ptr {one.name}.row, i64 {name}.by")
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
            code.lines.append(f"  {name}.by = mul i64 {at}, {stride}")
            code.lines.append(f"  {name}.row = getelementptr double, ptr {row}, i64 {name}.by")
            apart = f"<{self.lanes} x i64> {self._counted(stride)}"
            code.lines.append(f"  {name} = getelementptr double, ptr {name}.row, {apart}")
            given = f"{self.number} {value.text}, <{self.lanes} x ptr> {name}, i32 8, <{self.lanes} x i1> "
            suffix = f"v{self.lanes}f64.v{self.lanes}p0"
            code.lines.append(f"  call void @llvm.masked.scatter.{suffix}({given}{mask})")
            return
        code.lines.append(f"  {name} = getelementptr double, ptr {row}, i64 {at}")
        code.lines.append(store(value.text, name, self.lanes, mask))


def helpers(lanes: int) -> Sequence[str]:
    """What kernels call, and the declarations of LLVM's own functions."""
    v, mask, places = f"<{lanes} x double>", f"<{lanes} x i1>", f"<{lanes} x i64>"
    head = "define internal void @divide(ptr %row, i64 %count, double %by) {\nentry:"
    divided = (
        "  %at = getelementptr double, ptr %row, i64 %i\n  %x = load double, ptr %at, align 1",
        "  %y = fdiv double %x, %by\n  store double %y, ptr %at, align 1",
    )
    return (
        "\n".join((head, *counted("i", "entry", "%count", divided), "  ret void\n}")),
        "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)",
        f"declare {v} @llvm.masked.load.v{lanes}f64.p0(ptr, i32, {mask}, {v})",
        f"declare {places} @llvm.masked.load.v{lanes}i64.p0(ptr, i32, {mask}, {places})",
        f"declare void @llvm.masked.store.v{lanes}f64.p0({v}, ptr, i32, {mask})",
        f"declare void @llvm.masked.scatter.v{lanes}f64.v{lanes}p0({v}, <{lanes} x ptr>, i32, {mask})",
        f"declare {v} @llvm.masked.gather.v{lanes}f64.v{lanes}p0(<{lanes} x ptr>, i32, {mask}, {v})",
        f"declare double @llvm.vector.reduce.fadd.v{lanes}f64(double, {v})",
        f"declare {v} @llvm.fma.v{lanes}f64({v}, {v}, {v})",
    )


# Stages that are no loop over the entries of a result

_ROWS = 4  # of a product that are computed side by side

HELPERS = (
    *[f'@{letter}.letter = private constant [1 x i8] c"{letter}"' for letter in "LUNTR"],
    "@one.number = private constant double 1.0",
    "@one.count = private constant i32 1",
    "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)",
)


def _stage(name: str, *lines: str) -> str:
    """The function of a stage."""
    return "\n".join((f"define internal void @{name}(ptr %tab, ptr %num) {{\nentry:", *lines, "  ret void\n}"))


def numbers_code(name: str, schedule: Schedule, stage: stages.Numbers, memory: Memory, code: Code) -> str:
    """A function that computes steps on numbers."""
    lines, found = code.lines, dict[int, Symbol]()

    def operand(slot: int) -> Symbol:
        view = schedule.views.get(slot)
        base = slot if view is None else view.slot
        value = memory.value(base)
        if value is not None:
            return code.constant(value)
        if view is not None and memory.program.shape(base):
            lines.append(memory.array(base, f"%a{slot}"))
            lines.extend(entry(f"%x{slot}.at", "double", f"%a{slot}", view.offset))
            lines.append(f"  %x{slot} = load double, ptr %x{slot}.at, align 1")
        else:
            lines.append(memory.load(base, f"%x{slot}"))
        return code.argument(f"%x{slot}")

    for slot in stage.steps:
        step = schedule.step(slot)
        for x in step.operands:
            if x not in found:
                found[x] = operand(x)
        found[slot] = lower(step.op, [found[x] for x in step.operands], step.attrs)
        lines.append(memory.number(slot, f"%y{slot}"))
        lines.append(f"  store double {found[slot].text}, ptr %y{slot}, align 1")
    return _stage(name, *lines)


def scatter_code(name: str, slot: int, memory: Memory) -> str:
    """A function that adds the entries of an array into zeros, in their order, each at a place that a table lists."""
    added = (
        "  %p = getelementptr i64, ptr %places, i64 %i\n  %place = load i64, ptr %p",
        "  %from = getelementptr double, ptr %in, i64 %i\n  %x = load double, ptr %from, align 1",
        "  %to = getelementptr double, ptr %out, i64 %place\n  %y = load double, ptr %to, align 1",
        "  %sum = fadd double %y, %x\n  store double %sum, ptr %to, align 1",
    )
    (operand,), places = memory.schedule.step(slot).operands, memory.schedule.scatters[slot]
    given = memory.array(slot, "%out"), memory.array(operand, "%in"), memory.table(places, "%places")
    count, length = [size_of(memory.program.shape(x)) for x in (operand, slot)]
    return _stage(name, *given, zeros("%out", length), *counted("i", "entry", count, added))


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
    sizes = (*memory.program.shape(operands[0]), memory.program.shape(slot)[1])
    routine = routines.setdefault(Product(*sizes, left.strides, right.strides), f"product{len(routines)}")
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
                f"  %ca = mul i64 %ci, {down}\n  %cb = mul i64 %cj, {across}\n  %cc = add i64 %ca, %cb",
                "  %cp = getelementptr double, ptr %given, i64 %cc\n  %cx = load double, ptr %cp, align 1",
                f"  %cd = mul i64 %ci, {product.columns}\n  %ce = add i64 %cd, %cj",
                "  %cq = getelementptr double, ptr %right, i64 %ce\n  store double %cx, ptr %cq, align 1",
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
        down, across = product.left
        each = [(row, vector) for row in range(count) for vector in vectors]
        yield f"  %{p}a = mul i64 %{p}i, {down}"
        sums = []
        for row, vector in each:
            start = f"[zeroinitializer, %{p}i.loop]"
            sums.append(f"  %{p}s{row}.{vector} = phi {number} {start}, [%{p}t{row}.{vector}, %{p}k.end]")
        yield from counted(f"{p}k", f"{p}i.loop", product.inner, self._added(p, count, across, down), phis=sums)
        for row, vector in each:
            place = f"%{p}o{row}.{vector}"
            yield f"  {place}.a = add i64 %{p}i, {row}\n  {place}.b = mul i64 {place}.a, {product.columns}"
            yield f"  {place}.c = add i64 {place}.b, {vector * self.lanes}"
            yield f"  {place} = getelementptr double, ptr %out, i64 {place}.c"
            yield store(f"%{p}t{row}.{vector}", place, self.lanes, self._mask(vector))

    def _added(self, p: str, count: int, across: int, down: int) -> Iterator[str]:
        """A column of the left matrix times a row of the right one, added to the sums."""
        product, number = self.product, self.number
        vectors = range(-(-product.columns // self.lanes))
        # from one row of the right to the next
        yield f"  %{p}r = mul i64 %{p}k, {product.columns if self.is_copied else product.right[0]}"
        for vector in vectors:
            y = f"%{p}y{vector}"
            yield f"  {y}.i = add i64 %{p}r, {vector * self.lanes}"
            yield f"  {y}.at = getelementptr double, ptr %right, i64 {y}.i"
            yield load(y, f"{y}.at", self.lanes, self._mask(vector))
        yield f"  %{p}c = mul i64 %{p}k, {across}\n  %{p}d = add i64 %{p}a, %{p}c"
        for row in range(count):
            x = f"%{p}x{row}"
            yield f"  {x}.i = add i64 %{p}d, {row * down}\n  {x}.at = getelementptr double, ptr %left, i64 {x}.i"
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


class RunningCode:
    """The text of a function that computes entries one after the other along an axis."""

    def __init__(self, name: str, slot: int, memory: Memory, code: Code) -> None:
        self.step, self.memory, self.code = memory.schedule.step(slot), memory, code
        self.reads = [memory.schedule.read(x, self.step.shape) for x in self.step.operands]
        opening = [memory.array(slot, "%out")]
        for number, view in enumerate(self.reads):
            if memory.program.shape(view.slot):
                opening += [memory.table(view, f"%places{number}")] if view.table is not None else []
                opening.append(memory.array(view.slot, f"%in{number}"))
            elif memory.value(view.slot) is None:
                opening.append(memory.number(view.slot, f"%in{number}"))
        self.text = _stage(name, *opening, *self._nest())

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
        begin, lines = len(self.code.lines), self.code.lines
        operands = [self._operand(number, view, places) for number, view in enumerate(self.reads)]
        assert self.step.op.runs is not None
        first, following = self.step.op.runs
        found = first(*operands) if last is None else following(last, *operands)
        to = self._address("%out", "double", 0, strides_of(self.step.shape), places)
        lines.append(f"  store double {found.text}, ptr {to}, align 1")
        return found.text, lines[begin:]

    def _operand(self, number: int, view: stages.View, places: Mapping[int, str]) -> Symbol:
        if not self.memory.program.shape(view.slot):
            value = self.memory.value(view.slot)
            return self.code.constant(value) if value is not None else self._loaded(f"%in{number}")
        if view.table is None:
            return self._loaded(self._address(f"%in{number}", "double", view.offset, view.strides, places))
        at = self._address(f"%places{number}", "i64", 0, strides_of(self.step.shape), places)
        name = f"%g{len(self.code.lines)}"
        place = f"  {name}.place = load i64, ptr {at}"
        self.code.lines.append(f"{place}\n  {name} = getelementptr double, ptr %in{number}, i64 {name}.place")
        return self._loaded(name)

    def _loaded(self, at: str) -> Symbol:
        name = f"%g{len(self.code.lines)}"
        self.code.lines.append(f"  {name} = load double, ptr {at}, align 1")
        return self.code.argument(name)

    def _address(self, base: str, unit: str, offset: int, strides: Shape, places: Mapping[int, str]) -> str:
        name = f"%g{len(self.code.lines)}"
        self.code.lines += entry(name, unit, base, offset, [(places[axis], x) for axis, x in enumerate(strides)])
        return name


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


def _call(name: str, *operands: str) -> str:
    """A call of LAPACK or BLAS; a letter stands for its address."""
    known = stages.pointers()
    assert known is not None
    given = ", ".join(f"ptr {f'@{one}.letter' if len(one) == 1 else one}" for one in operands)
    return f"  call void inttoptr (i64 {known[name]} to ptr)({given})"


def _passed(**numbers: int) -> list[str]:
    """Whole numbers that are passed by their addresses."""
    return [f"  %{name} = alloca i32\n  store i32 {number}, ptr %{name}" for name, number in numbers.items()]


def factorise_code(name: str, stage: stages.Factorise, memory: Memory) -> str:
    """A function that copies a matrix and factorises the copy; where it is singular, the call has failed."""
    lu, pivots = memory.factored[stage.matrix]
    return _stage(
        name,
        memory.array(stage.matrix, "%matrix"),
        memory.array(lu, "%lu"),
        memory.array(pivots, "%pivots"),
        *_passed(size=stage.size, info=0),
        f"  call void @llvm.memcpy.p0.p0.i64(ptr %lu, ptr %matrix, i64 {8 * stage.size**2}, i1 false)",
        _call("dgetrf", "%size", "%size", "%lu", "%size", "%pivots", "%info"),
        "  %code = load i32, ptr %info\n  %failed = icmp ne i32 %code, 0",
        "  br i1 %failed, label %fail, label %over\nfail:",
        memory.number(memory.failed, "%flag"),
        "  store double 1.0, ptr %flag\n  br label %over\nover:",
    )


def solve_code(name: str, slot: int, memory: Memory) -> str:
    """A function that solves a system with a matrix that is factorised, or triangular."""
    system, step = memory.schedule.systems[slot], memory.schedule.step(slot)
    size, columns = system.size, (*step.shape, 1)[1]
    lines = [memory.array(step.operands[1], "%right"), memory.array(slot, "%out")]
    lines += _passed(size=size, info=0, columns=columns)
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
        yield from _exchanged(shape, "%n")
        yield from (_from_the_right("L", "T", "U"), _from_the_right("U", "T", "N"))
    else:
        yield from (_from_the_right("U", "N", "N"), _from_the_right("L", "N", "U"))
        yield from _exchanged(shape, "%m")


def _exchanged(shape: Shape, row: str) -> Iterator[str]:
    """Each row of the result exchanged with another, from the first on (`%n`) or from the last (`%m`)."""
    size, columns = shape
    one = (
        f"  %m = sub i64 {size - 1}, %n\n  %at = getelementptr i32, ptr %pivots, i64 {row}",
        "  %pivot = load i32, ptr %at\n  %wide = sext i32 %pivot to i64\n  %other = sub i64 %wide, 1",
        f"  %a = mul i64 {row}, {columns}\n  %b = mul i64 %other, {columns}",
        "  %p = getelementptr double, ptr %out, i64 %a\n  %q = getelementptr double, ptr %out, i64 %b",
        _call("dswap", "%columns", "%p", "@one.count", "%q", "@one.count"),
    )
    return counted("n", "entry", size, one)


def _from_the_right(triangle: str, turned: str, diagonal: str) -> str:
    """The result, transposed, times the inverse of a triangle; U as the diagonal is one of ones."""
    given = ("%columns", "%size", "@one.number", "%factor", "%size", "%out", "%columns")
    return _call("dtrsm", "R", triangle, turned, diagonal, *given)
