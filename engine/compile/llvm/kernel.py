"""LLVM's code of a kernel: a nest of loops over its space, the innermost in vectors.

The sums of the innermost loop are kept in several vectors, and put together in one order: of chunks of `CHUNK` entries,
each is added to the result when it is complete. Entries beyond the end of an axis are masked: they are neither read nor
written, and not in the sums.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from agrad.engine.compile.llvm.ir_builder import Code
from agrad.engine.compile.llvm.schedule import Schedule
from agrad.engine.compile.llvm.stages import Kernel, Sum, View, strides_of
from agrad.engine.compile.symbols import Symbol, lower
from agrad.engine.values import Shape, size_of

CHUNK = 4096  # entries of a row that are summed up before they are added to the other chunks
_NOTHING = "0x8000000000000000"  # -0, which added to any number leaves it as it is; a sum itself begins with 0
_LENGTHS = ((24, 4), (64, 2))  # steps up to which so many vectors are computed side by side


class Memory(Protocol):
    """Where the arrays and numbers of a program are."""

    def array(self, slot: int, name: str) -> str:
        """The lines that give the address of an array a name."""

    def table(self, view: View, name: str) -> str:
        """The same of the table of a view."""

    def number(self, slot: int, name: str) -> str:
        """The same of a number."""

    def factors(self, matrix: int) -> tuple[int, int]:
        """The slots of the factors of a matrix, and of the rows that were exchanged."""

    @property
    def failed(self) -> int:
        """The slot of the number that is 1 where a call has failed."""

    def value(self, slot: int) -> float | None:
        """The number, if it is known."""


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
        width = 64 * lanes
        attributes = f'"prefer-vector-width"="{width}" "min-legal-vector-width"="{width}"'
        self.text = "\n".join(
            (f"define internal void @{name}(ptr %tab, ptr %num) {attributes} {{", "entry:", *body, "}")
        )

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
                lengths[-1] *= length
                for row, stride in zip(kept, strides, strict=True):
                    row[-1] = stride
            else:
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
        yield from self._beginning()
        before, outer = "entry", range(len(self.axes) - 1)
        yield "  br label %h0" if outer else "  br label %row"
        for axis in outer:
            yield f"h{axis}:\n  %i{axis} = phi i64 [0, %{before}], [%i{axis}.next, %l{axis}]"
            before = f"h{axis}"
            yield f"  br label %{f'h{axis + 1}' if axis + 1 < len(outer) else 'row'}"
        yield "row:"
        yield from self._addresses()
        yield from self._chunks()
        yield f"  br label %{f'l{len(outer) - 1}' if outer else 'done'}"
        for axis in reversed(outer):
            yield f"l{axis}:\n  %i{axis}.next = add i64 %i{axis}, 1"
            yield f"  %more{axis} = icmp ult i64 %i{axis}.next, {self.axes[axis]}"
            yield f"  br i1 %more{axis}, label %h{axis}, label %{f'l{axis - 1}' if axis else 'done'}"
        yield "done:"
        for one in self.kernel.sums:
            if one.divisor != 1.0:
                by = Code(1).constant(one.divisor).text
                yield f"  call void @divide(ptr %sum{one.slot}, i64 {self._entries(one)}, double {by})"
        yield "  ret void"

    def _entries(self, one: Sum) -> int:
        return size_of(self.schedule.program.shape(one.slot))

    def _beginning(self) -> Iterator[str]:
        yield from self.opening
        program = self.schedule.program
        numbers = {view.slot for view in self.kernel.reads.values() if not program.shape(view.slot)}
        for slot in sorted(numbers):
            if self.memory.value(slot) is None:
                yield self.memory.number(slot, f"%n{slot}.at") + f"\n  %n{slot} = load double, ptr %n{slot}.at"
                yield from self._splat(f"%n{slot}.all", f"%n{slot}")
        for one in self.kernel.sums:
            yield f"  call void @fill(ptr %sum{one.slot}, i64 {self._entries(one)})"

    def _splat(self, name: str, number: str) -> Iterator[str]:
        yield f"  {name}.1 = insertelement {self.number} poison, double {number}, i64 0"
        zeros = f"<{self.lanes} x i32> zeroinitializer"
        yield f"  {name} = shufflevector {self.number} {name}.1, {self.number} poison, {zeros}"

    def _addresses(self) -> Iterator[str]:
        """Where the row of the innermost loop begins."""
        for (kind, slot), one in self.references.items():
            offset = str(one.offset)
            for axis, stride in enumerate(one.strides[:-1]):
                if stride:
                    name = f"%{kind}{slot}.{axis}"
                    yield f"  {name}.by = mul i64 %i{axis}, {stride}"
                    yield f"  {name} = add i64 {offset}, {name}.by"
                    offset = name
            unit = "i64" if kind == "read" and slot in self.tables else "double"
            yield f"  {one.name}.row = getelementptr {unit}, ptr {one.name}, i64 {offset}"
            if kind == "read" and unit == "double" and not one.strides[-1]:
                yield f"  {one.name}.x = load double, ptr {one.name}.row, align 1"
                yield from self._splat(f"{one.name}.all", f"{one.name}.x")

    def _chunks(self) -> Iterator[str]:
        if self.inner_sums and self.length > CHUNK:
            yield "  br label %chunk"
            yield f"chunk:\n  %first = phi i64 [0, %row], [%after, %chunked]\n  %after = add i64 %first, {CHUNK}"
            yield f"  %last = icmp uge i64 %after, {self.length}"
            yield f"  %end = select i1 %last, i64 {self.length}, i64 %after"
            yield from self._row("chunk", "%first", "%end")
            yield "  br label %chunked\nchunked:"
            yield "  br i1 %last, label %rowdone, label %chunk\nrowdone:"
        else:
            yield from self._row("row", "0", str(self.length))

    def _row(self, before: str, first: str, end: str) -> Iterator[str]:
        width, sums = self.lanes * self.unrolled, self.inner_sums
        vectors, tail = self.codes
        adding = [self._body(vectors, u, f"%at{u}", None) for u in range(self.unrolled)]
        rest = self._body(tail, 0, "%t", "%mask")
        yield f"  %span = sub i64 {end}, {first}\n  %whole = udiv i64 %span, {width}"
        yield f"  %covered = mul i64 %whole, {width}\n  %cut = add i64 {first}, %covered\n  br label %vectors"
        yield f"vectors:\n  %j = phi i64 [{first}, %{before}], [%j.next, %vector]"
        for one in sums:
            for u in range(self.unrolled):
                start = f"[splat (double {_NOTHING}), %{before}]"
                yield f"  %a{one.slot}.{u} = phi {self.number} {start}, [%b{one.slot}.{u}, %vector]"
        yield "  %go = icmp ult i64 %j, %cut\n  br i1 %go, label %vector, label %tails\nvector:"
        yield from vectors.lines
        for one in sums:
            for u in range(self.unrolled):
                yield f"  %b{one.slot}.{u} = fadd {self.number} %a{one.slot}.{u}, {adding[u][one.operand].text}"
        yield f"  %j.next = add i64 %j, {width}\n  br label %vectors"
        yield "tails:\n  %t = phi i64 [%cut, %vectors], [%t.next, %tail]"
        for one in sums:
            start = f"[splat (double {_NOTHING}), %vectors]"
            yield f"  %c{one.slot} = phi {self.number} {start}, [%d{one.slot}, %tail]"
        yield f"  %rest = icmp ult i64 %t, {end}\n  br i1 %rest, label %tail, label %summed\ntail:"
        yield from self._mask(end)
        yield from tail.lines
        for one in sums:
            yield f"  %k{one.slot} = select <{self.lanes} x i1> %mask, {self.number} {rest[one.operand].text}, " + (
                f"{self.number} splat (double {_NOTHING})"
            )
            yield f"  %d{one.slot} = fadd {self.number} %c{one.slot}, %k{one.slot}"
        yield f"  %t.next = add i64 %t, {self.lanes}\n  br label %tails\nsummed:"
        for one in sums:
            yield from self._together(one)

    def _mask(self, end: str) -> Iterator[str]:
        integers = f"<{self.lanes} x i64>"
        yield f"  %left = sub i64 {end}, %t\n  %left.1 = insertelement {integers} poison, i64 %left, i64 0"
        zeros = f"<{self.lanes} x i32> zeroinitializer"
        yield f"  %left.all = shufflevector {integers} %left.1, {integers} poison, {zeros}"
        yield f"  %mask = icmp ult {integers} {self._counted(1)}, %left.all"

    def _counted(self, step: int) -> str:
        return f"<{', '.join(f'i64 {lane * step}' for lane in range(self.lanes))}>"

    def _together(self, one: Sum) -> Iterator[str]:
        """The partial sums of a row, or of a chunk, added up and to the result."""
        parts = [*[f"%a{one.slot}.{u}" for u in range(self.unrolled)], f"%c{one.slot}"]
        while len(parts) > 1:
            pairs = [parts[i : i + 2] for i in range(0, len(parts), 2)]
            made = []
            for number, pair in enumerate(pairs):
                if len(pair) == 1:
                    made.append(pair[0])
                    continue
                name = f"%m{one.slot}.{len(parts)}.{number}"
                yield f"  {name} = fadd {self.number} {pair[0]}, {pair[1]}"
                made.append(name)
            parts = made
        at = f"%sum{one.slot}.row"
        reduced = f"call double @llvm.vector.reduce.fadd.v{self.lanes}f64(double {_NOTHING}, {self.number} {parts[0]})"
        yield f"  %r{one.slot} = {reduced}\n  %p{one.slot} = load double, ptr {at}, align 1"
        yield f"  %q{one.slot} = fadd double %p{one.slot}, %r{one.slot}\n  store double %q{one.slot}, ptr {at}, align 1"

    # The body of the innermost loop

    def _body(self, code: Code, u: int, at: str, mask: str | None) -> Mapping[int, Symbol]:
        """Write the steps for a vector of entries from `at` on, in the tail under a mask."""
        if mask is None:
            code.lines.append(f"  {at} = add i64 %j, {u * self.lanes}")
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

    def _read(self, code: Code, slot: int, view: View, at: str, mask: str | None) -> Symbol:
        if not self.schedule.program.shape(view.slot):
            value = self.memory.value(view.slot)
            return code.argument(f"%n{view.slot}.all") if value is None else code.constant(value)
        one = self.references["read", slot]
        if slot in self.tables:
            places = self._load(code, f"{one.name}.row", at, mask, "i64")
            return code.argument(self._gathered(code, self.tables[slot], places, mask))
        stride = one.strides[-1]
        if not stride:
            return code.argument(f"{one.name}.all")
        if stride == 1:
            return code.argument(self._load(code, f"{one.name}.row", at, mask))
        name = f"%{code.prefix}{len(code.lines)}"
        code.lines.append(f"  {name}.by = mul i64 {at}, {stride}")
        code.lines.append(f"  {name}.row = getelementptr double, ptr {one.name}.row, i64 {name}.by")
        return code.argument(self._gathered(code, f"{name}.row", self._counted(stride), mask))

    def _load(self, code: Code, row: str, at: str, mask: str | None, unit: str = "double") -> str:
        name = f"%{code.prefix}{len(code.lines)}"
        vector = f"<{self.lanes} x {unit}>"
        code.lines.append(f"  {name}.at = getelementptr {unit}, ptr {row}, i64 {at}")
        if mask is None:
            code.lines.append(f"  {name} = load {vector}, ptr {name}.at, align 1")
        else:
            suffix = f"v{self.lanes}{'f64' if unit == 'double' else unit}.p0"
            other = "splat (double 1.0)" if unit == "double" else "zeroinitializer"
            given = f"ptr {name}.at, i32 1, <{self.lanes} x i1> {mask}, {vector} {other}"
            code.lines.append(f"  {name} = call {vector} @llvm.masked.load.{suffix}({given})")
        return name

    def _gathered(self, code: Code, row: str, places: str, mask: str | None) -> str:
        name = f"%{code.prefix}{len(code.lines)}"
        pointers = f"<{self.lanes} x ptr>"
        code.lines.append(f"  {name}.at = getelementptr double, ptr {row}, <{self.lanes} x i64> {places}")
        given = f"{pointers} {name}.at, i32 8, <{self.lanes} x i1> {mask or 'splat (i1 true)'}"
        suffix = f"v{self.lanes}f64.v{self.lanes}p0"
        given += f", {self.number} splat (double 1.0)"
        code.lines.append(f"  {name} = call {self.number} @llvm.masked.gather.{suffix}({given})")
        return name

    def _write(self, code: Code, row: str, value: Symbol, at: str, mask: str | None, stride: int = 1) -> None:
        name = f"%{code.prefix}{len(code.lines)}"
        if stride != 1:
            code.lines.append(f"  {name}.by = mul i64 {at}, {stride}")
            code.lines.append(f"  {name}.row = getelementptr double, ptr {row}, i64 {name}.by")
            apart = f"<{self.lanes} x i64> {self._counted(stride)}"
            code.lines.append(f"  {name} = getelementptr double, ptr {name}.row, {apart}")
            given = f"{self.number} {value.text}, <{self.lanes} x ptr> {name}, i32 8, <{self.lanes} x i1> "
            suffix = f"v{self.lanes}f64.v{self.lanes}p0"
            code.lines.append(f"  call void @llvm.masked.scatter.{suffix}({given}{mask or 'splat (i1 true)'})")
            return
        code.lines.append(f"  {name} = getelementptr double, ptr {row}, i64 {at}")
        if mask is None:
            code.lines.append(f"  store {self.number} {value.text}, ptr {name}, align 1")
        else:
            given = f"{self.number} {value.text}, ptr {name}, i32 1, <{self.lanes} x i1> {mask}"
            code.lines.append(f"  call void @llvm.masked.store.v{self.lanes}f64.p0({given})")


def helpers(lanes: int) -> Sequence[str]:
    """What kernels call, and the declarations of LLVM's own functions."""
    v, mask, places = f"<{lanes} x double>", f"<{lanes} x i1>", f"<{lanes} x i64>"
    return (
        _EACH.format(name="fill", given="", line="store double 0.0, ptr %at, align 1"),
        _EACH.format(
            name="divide",
            given=", double %by",
            line="%x = load double, ptr %at, align 1\n  %y = fdiv double %x, %by\n  store double %y, ptr %at, align 1",
        ),
        f"declare {v} @llvm.masked.load.v{lanes}f64.p0(ptr, i32, {mask}, {v})",
        f"declare {places} @llvm.masked.load.v{lanes}i64.p0(ptr, i32, {mask}, {places})",
        f"declare void @llvm.masked.store.v{lanes}f64.p0({v}, ptr, i32, {mask})",
        f"declare void @llvm.masked.scatter.v{lanes}f64.v{lanes}p0({v}, <{lanes} x ptr>, i32, {mask})",
        f"declare {v} @llvm.masked.gather.v{lanes}f64.v{lanes}p0(<{lanes} x ptr>, i32, {mask}, {v})",
        f"declare double @llvm.vector.reduce.fadd.v{lanes}f64(double, {v})",
    )


_EACH = """define internal void @{name}(ptr %row, i64 %count{given}) {{
entry:
  br label %each
each:
  %i = phi i64 [0, %entry], [%next, %each]
  %at = getelementptr double, ptr %row, i64 %i
  {line}
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %count
  br i1 %more, label %each, label %done
done:
  ret void
}}"""
