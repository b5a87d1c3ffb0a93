"""LLVM's code of a kernel: a nest of loops over its space, the innermost in vectors.

The sums of the innermost loop are kept in several vectors, and put together in one order: of chunks of `CHUNK` entries,
each is added to the result when it is complete. Entries beyond the end of an axis are masked: they are neither read nor
written, and not in the sums.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

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
