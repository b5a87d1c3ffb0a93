"""LLVM's code of loops that are none over the entries of a result: small products of matrices, sums by places."""

from __future__ import annotations

from collections.abc import Iterator

from agrad.engine.compile.llvm.loops.kernel import Memory
from agrad.engine.compile.llvm.loops.stages import Product, Scatter

_ROWS = 4  # of a product that are computed side by side


def scatter_code(name: str, stage: Scatter, memory: Memory) -> str:
    """A function that adds the entries of an array into zeros, in their order, each at a place that a table lists."""
    return "\n".join(
        (
            f"define internal void @{name}(ptr %tab, ptr %num) {{",
            "entry:",
            memory.array(stage.slot, "%out"),
            memory.array(stage.operand, "%in"),
            memory.table(stage.places, "%places"),
            f"  call void @fill(ptr %out, i64 {stage.length})",
            "  br label %next",
            "next:",
            "  %i = phi i64 [0, %entry], [%following, %next]",
            "  %p = getelementptr i64, ptr %places, i64 %i",
            "  %place = load i64, ptr %p",
            "  %from = getelementptr double, ptr %in, i64 %i",
            "  %x = load double, ptr %from, align 1",
            "  %to = getelementptr double, ptr %out, i64 %place",
            "  %y = load double, ptr %to, align 1",
            "  %sum = fadd double %y, %x",
            "  store double %sum, ptr %to, align 1",
            "  %following = add i64 %i, 1",
            f"  %more = icmp ult i64 %following, {stage.count}",
            "  br i1 %more, label %next, label %done",
            "done:",
            "  ret void",
            "}",
        )
    )


def product_code(name: str, routine: str, stage: Product, memory: Memory) -> str:
    """A function that calls the routine of a product with its matrices."""
    lines = [f"define internal void @{name}(ptr %tab, ptr %num) {{", memory.array(stage.slot, "%out")]
    for side, view in (("left", stage.left), ("right", stage.right)):
        lines.append(memory.array(view.slot, f"%{side}.0"))
        lines.append(f"  %{side} = getelementptr double, ptr %{side}.0, i64 {view.offset}")
    return "\n".join((*lines, f"  call void @{routine}(ptr %out, ptr %left, ptr %right)", "  ret void", "}"))


def kind_of(stage: Product) -> object:
    """What products that have the same routine have in common."""
    return stage.rows, stage.inner, stage.columns, stage.left.strides, stage.right.strides


class Routine:
    """The text of a product of two matrices: some rows at a time, whose sums stay in registers."""

    def __init__(self, name: str, stage: Product, lanes: int) -> None:
        self.stage, self.lanes = stage, lanes
        self.number = f"<{lanes} x double>"
        self.vectors = -(-stage.columns // lanes)
        self.is_copied = stage.right.strides[1] != 1 and stage.columns > 1  # its rows do not lie side by side
        self.step = stage.columns if self.is_copied else stage.right.strides[0]  # from one row of the right to the next
        width = 64 * lanes
        attributes = f'"prefer-vector-width"="{width}" "min-legal-vector-width"="{width}"'
        given = "ptr noalias %out, ptr %left, ptr %given"
        head = f"define internal void @{name}({given}) noinline {attributes} {{"
        self.text = "\n".join((head, "entry:", *self._body(), "  ret void", "}"))

    def _body(self) -> Iterator[str]:
        stage = self.stage
        if self.is_copied:
            yield f"  %right = alloca [{stage.inner * stage.columns} x double], align 64"
            yield from self._copied()
            before = "copied"
        else:
            yield "  %right = getelementptr double, ptr %given, i64 0"
            before = "entry"
        whole = stage.rows // _ROWS * _ROWS
        if whole:
            yield from self._rows("b", before, 0, whole, _ROWS)
            before = "b.done"
        if whole < stage.rows:
            yield from self._rows("r", before, whole, stage.rows, 1)

    def _copied(self) -> Iterator[str]:
        """The right matrix with its rows side by side."""
        down, across = self.stage.right.strides
        yield "  br label %copying\ncopying:"
        yield "  %ci = phi i64 [0, %entry], [%ci.next, %column.done]\n  br label %column\ncolumn:"
        yield "  %cj = phi i64 [0, %copying], [%cj.next, %column]"
        yield f"  %ca = mul i64 %ci, {down}\n  %cb = mul i64 %cj, {across}\n  %cc = add i64 %ca, %cb"
        yield "  %cp = getelementptr double, ptr %given, i64 %cc\n  %cx = load double, ptr %cp, align 1"
        yield f"  %cd = mul i64 %ci, {self.stage.columns}\n  %ce = add i64 %cd, %cj"
        yield "  %cq = getelementptr double, ptr %right, i64 %ce\n  store double %cx, ptr %cq, align 1"
        yield f"  %cj.next = add i64 %cj, 1\n  %cj.more = icmp ult i64 %cj.next, {self.stage.columns}"
        yield "  br i1 %cj.more, label %column, label %column.done\ncolumn.done:"
        yield f"  %ci.next = add i64 %ci, 1\n  %ci.more = icmp ult i64 %ci.next, {self.stage.inner}"
        yield "  br i1 %ci.more, label %copying, label %copied\ncopied:"

    def _rows(self, p: str, before: str, first: int, end: int, count: int) -> Iterator[str]:
        """Rows from the first to the end, so many at a time; names begin with `p`."""
        stage, number = self.stage, self.number
        down, across = stage.left.strides
        each = [(row, vector) for row in range(count) for vector in range(self.vectors)]
        yield f"  br label %{p}.row\n{p}.row:"
        yield f"  %{p}i = phi i64 [{first}, %{before}], [%{p}i.next, %{p}.store]"
        yield f"  %{p}a = mul i64 %{p}i, {down}\n  br label %{p}.sum\n{p}.sum:"
        yield f"  %{p}k = phi i64 [0, %{p}.row], [%{p}k.next, %{p}.sum]"
        for row, vector in each:
            start = f"[zeroinitializer, %{p}.row]"
            yield f"  %{p}s{row}.{vector} = phi {number} {start}, [%{p}t{row}.{vector}, %{p}.sum]"
        yield f"  %{p}r = mul i64 %{p}k, {self.step}"
        for vector in range(self.vectors):
            yield f"  %{p}y{vector}.i = add i64 %{p}r, {vector * self.lanes}"
            yield f"  %{p}y{vector}.at = getelementptr double, ptr %right, i64 %{p}y{vector}.i"
            yield self._loaded(f"%{p}y{vector}", vector)
        yield f"  %{p}c = mul i64 %{p}k, {across}\n  %{p}d = add i64 %{p}a, %{p}c"
        for row in range(count):
            x = f"%{p}x{row}"
            yield f"  {x}.i = add i64 %{p}d, {row * down}\n  {x}.at = getelementptr double, ptr %left, i64 {x}.i"
            yield f"  {x} = load double, ptr {x}.at, align 1"
            yield f"  {x}.1 = insertelement {number} poison, double {x}, i64 0"
            zeros = f"<{self.lanes} x i32> zeroinitializer"
            yield f"  {x}.all = shufflevector {number} {x}.1, {number} poison, {zeros}"
        for row, vector in each:
            given = f"{number} %{p}x{row}.all, {number} %{p}y{vector}, {number} %{p}s{row}.{vector}"
            yield f"  %{p}t{row}.{vector} = call {number} @llvm.fma.v{self.lanes}f64({given})"
        yield f"  %{p}k.next = add i64 %{p}k, 1\n  %{p}k.more = icmp ult i64 %{p}k.next, {stage.inner}"
        yield f"  br i1 %{p}k.more, label %{p}.sum, label %{p}.store\n{p}.store:"
        for row, vector in each:
            place = f"%{p}o{row}.{vector}"
            yield f"  {place}.a = add i64 %{p}i, {row}\n  {place}.b = mul i64 {place}.a, {stage.columns}"
            yield f"  {place}.c = add i64 {place}.b, {vector * self.lanes}"
            yield f"  {place} = getelementptr double, ptr %out, i64 {place}.c"
            yield self._stored(f"%{p}t{row}.{vector}", place, vector)
        yield f"  %{p}i.next = add i64 %{p}i, {count}\n  %{p}i.more = icmp ult i64 %{p}i.next, {end}"
        yield f"  br i1 %{p}i.more, label %{p}.row, label %{p}.done\n{p}.done:"

    def _mask(self, vector: int) -> str | None:
        """The lanes of a vector in which there are columns; None where there are in all."""
        left = self.stage.columns - vector * self.lanes
        if left >= self.lanes:
            return None
        return f"<{', '.join(f'i1 {int(lane < left)}' for lane in range(self.lanes))}>"

    def _loaded(self, name: str, vector: int) -> str:
        mask = self._mask(vector)
        if mask is None:
            return f"  {name} = load {self.number}, ptr {name}.at, align 1"
        given = f"ptr {name}.at, i32 1, <{self.lanes} x i1> {mask}, {self.number} zeroinitializer"
        return f"  {name} = call {self.number} @llvm.masked.load.v{self.lanes}f64.p0({given})"

    def _stored(self, value: str, place: str, vector: int) -> str:
        mask = self._mask(vector)
        if mask is None:
            return f"  store {self.number} {value}, ptr {place}, align 1"
        given = f"{self.number} {value}, ptr {place}, i32 1, <{self.lanes} x i1> {mask}"
        return f"  call void @llvm.masked.store.v{self.lanes}f64.p0({given})"


def needed(lanes: int) -> str:
    """The declaration of what a product calls."""
    number = f"<{lanes} x double>"
    return f"declare {number} @llvm.fma.v{lanes}f64({number}, {number}, {number})"
