"""LLVM's code of stages that are no loop over the entries of a result.

Small products of matrices; sums by places; entries that are computed from the one before, such as running sums; loops
of their own; and calls of LAPACK and BLAS, by which matrices are factorised, and systems of equations solved.

These read an array of rows as one of columns, so the factors are those of the transpose: M.T = P L U. A vector is
solved for in place. Of several right sides, the columns of a matrix that lies in rows, the transposed system is solved
from the right: S.T = Y.T inv(U) inv(L) inv(P), and with the transpose of M, S.T = Y.T P inv(L.T) inv(U.T).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from agrad.engine.compile.llvm.ir_builder import Code
from agrad.engine.compile.llvm.kernel import Memory
from agrad.engine.compile.llvm.stages import (
    Factorise,
    Product,
    Repeat,
    Running,
    Scatter,
    Solve,
    View,
    pointers,
    strides_of,
)
from agrad.engine.compile.symbols import Symbol
from agrad.engine.program.ir import Program
from agrad.engine.values import Shape

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


class RunningCode:
    """The text of a function that computes entries one after the other along an axis, and the code in it."""

    def __init__(self, name: str, program: Program, stage: Running, memory: Memory) -> None:
        self.program, self.stage, self.memory = program, stage, memory
        self.code = Code(1)
        self.bases = [self._base(number, view) for number, view in enumerate(stage.reads)]
        body = list(self._nest())
        head = f"define internal void @{name}(ptr %tab, ptr %num) {{\nentry:"
        self.text = "\n".join((head, memory.array(stage.slot, "%out"), *self.bases, *body, "  ret void", "}"))

    def _base(self, number: int, view: View) -> str:
        """The lines that give addresses to what an operand is read from."""
        if not self.program.shape(view.slot):
            known = self.memory.value(view.slot) is not None
            return "" if known else self.memory.number(view.slot, f"%in{number}")
        table = "" if view.table is None else self.memory.table(view, f"%places{number}") + "\n"
        return table + self.memory.array(view.slot, f"%in{number}")

    def _nest(self) -> Iterator[str]:
        """A loop over each other axis; in these the first entry, then the loop over those that follow."""
        shape, axis = self.stage.shape, self.stage.axis
        others = [other for other, length in enumerate(shape) if other != axis and length > 1]
        before = "entry"
        for other in others:
            yield f"  br label %h{other}\nh{other}:"
            yield f"  %i{other} = phi i64 [0, %{before}], [%i{other}.next, %l{other}]"
            before = f"h{other}"
        places = dict.fromkeys(range(len(shape)), "0") | {other: f"%i{other}" for other in others}
        yield "  br label %row\nrow:"
        first, lines = self._entry(places, None)
        yield from lines
        if shape[axis] > 1:
            made, lines = self._entry(places | {axis: "%k"}, self.code.argument("%y"))
            yield "  br label %next\nnext:\n  %k = phi i64 [1, %row], [%k.next, %next]"
            yield f"  %y = phi double [{first}, %row], [{made}, %next]"
            yield from lines
            yield f"  %k.next = add i64 %k, 1\n  %k.more = icmp ult i64 %k.next, {shape[axis]}"
            yield "  br i1 %k.more, label %next, label %over\nover:"
        for other in reversed(others):
            yield f"  br label %l{other}\nl{other}:\n  %i{other}.next = add i64 %i{other}, 1"
            yield f"  %m{other} = icmp ult i64 %i{other}.next, {shape[other]}"
            yield f"  br i1 %m{other}, label %h{other}, label %d{other}\nd{other}:"

    def _entry(self, places: Mapping[int, str], last: Symbol | None) -> tuple[str, list[str]]:
        """The entry at these places, which is the first or follows the last one, and the lines that compute it."""
        begin, lines = len(self.code.lines), self.code.lines
        operands = [self._operand(number, view, places) for number, view in enumerate(self.stage.reads)]
        found = self.stage.first(*operands) if last is None else self.stage.following(last, *operands)
        to = self._address("%out", "double", 0, strides_of(self.stage.shape), places)
        lines.append(f"  store double {found.text}, ptr {to}, align 1")
        return found.text, lines[begin:]

    def _operand(self, number: int, view: View, places: Mapping[int, str]) -> Symbol:
        if not self.program.shape(view.slot):
            value = self.memory.value(view.slot)
            return self.code.constant(value) if value is not None else self._loaded(f"%in{number}")
        if view.table is None:
            return self._loaded(self._address(f"%in{number}", "double", view.offset, view.strides, places))
        at = self._address(f"%places{number}", "i64", 0, strides_of(self.stage.shape), places)
        name = f"%g{len(self.code.lines)}"
        lines = (
            f"  {name}.place = load i64, ptr {at}\n  {name} = getelementptr double, ptr %in{number}, i64 {name}.place"
        )
        self.code.lines.append(lines)
        return self._loaded(name)

    def _loaded(self, at: str) -> Symbol:
        name = f"%g{len(self.code.lines)}"
        self.code.lines.append(f"  {name} = load double, ptr {at}, align 1")
        return self.code.argument(name)

    def _address(self, base: str, unit: str, offset: int, strides: Shape, places: Mapping[int, str]) -> str:
        lines, at = self.code.lines, str(offset)
        for axis, stride in enumerate(strides):
            if stride and places[axis] != "0":
                name = f"%g{len(lines)}"
                lines.append(f"  {name}.by = mul i64 {places[axis]}, {stride}\n  {name} = add i64 {at}, {name}.by")
                at = name
        name = f"%g{len(lines)}"
        lines.append(f"  {name} = getelementptr {unit}, ptr {base}, i64 {at}")
        return name


def repeat_code(name: str, stage: Repeat, memory: Memory) -> str:
    """A function that runs a loop of its own: from its first state, rows, and what is the same, to rows and sums."""
    code, count = stage.code, stage.count
    state, row, _ = code.sizes
    sums = len(code.program.outputs) - code.width
    addresses = "ptr %in, ptr %rows, ptr %same, ptr %out, ptr %sums"
    return "\n".join(
        (
            f"define internal void @{name}(ptr %tab, ptr %num) {{",
            memory.array(stage.operand, "%in"),
            memory.array(stage.slot, "%out"),
            f"  %rows = getelementptr double, ptr %in, i64 {state}",
            f"  %same = getelementptr double, ptr %in, i64 {state + count * row}",
            f"  %sums = getelementptr double, ptr %out, i64 {count * code.width}",
            *([f"  call void @fill(ptr %sums, i64 {sums})"] if sums else []),
            f"  call void inttoptr (i64 {code.address} to ptr)({addresses}, i64 {count})",
            "  ret void",
            "}",
        )
    )


HELPERS = (
    *[f'@{letter}.letter = private constant [1 x i8] c"{letter}"' for letter in "LUNTR"],
    "@one.number = private constant double 1.0",
    "@one.count = private constant i32 1",
    "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)",
    """define internal void @exchange(ptr %rows, ptr %pivots, i64 %size, i64 %columns, i1 %backward) {
entry:
  %last = sub i64 %size, 1
  br label %row
row:
  %n = phi i64 [0, %entry], [%n.next, %done]
  %m = sub i64 %last, %n
  %i = select i1 %backward, i64 %m, i64 %n
  %at = getelementptr i32, ptr %pivots, i64 %i
  %pivot = load i32, ptr %at
  %wide = sext i32 %pivot to i64
  %other = sub i64 %wide, 1
  %a = mul i64 %i, %columns
  %b = mul i64 %other, %columns
  %p = getelementptr double, ptr %rows, i64 %a
  %q = getelementptr double, ptr %rows, i64 %b
  %same = icmp eq i64 %i, %other
  br i1 %same, label %done, label %entryof
entryof:
  %k = phi i64 [0, %row], [%k.next, %entryof]
  %pk = getelementptr double, ptr %p, i64 %k
  %qk = getelementptr double, ptr %q, i64 %k
  %x = load double, ptr %pk, align 1
  %y = load double, ptr %qk, align 1
  store double %y, ptr %pk, align 1
  store double %x, ptr %qk, align 1
  %k.next = add i64 %k, 1
  %k.more = icmp ult i64 %k.next, %columns
  br i1 %k.more, label %entryof, label %done
done:
  %n.next = add i64 %n, 1
  %n.more = icmp ult i64 %n.next, %size
  br i1 %n.more, label %row, label %over
over:
  ret void
}""",
)


def _call(name: str, *operands: str) -> str:
    known = pointers()
    assert known is not None
    given = ", ".join(f"ptr {one}" for one in operands)
    return f"  call void inttoptr (i64 {known[name]} to ptr)({given})"


def _letter(letter: str) -> str:
    return f"@{letter}.letter"


def factorise_code(name: str, stage: Factorise, memory: Memory) -> str:
    """A function that copies a matrix and factorises the copy; where it is singular, the call has failed."""
    lu, pivots = memory.factors(stage.matrix)
    size = stage.size
    return "\n".join(
        (
            f"define internal void @{name}(ptr %tab, ptr %num) {{",
            memory.array(stage.matrix, "%matrix"),
            memory.array(lu, "%lu"),
            memory.array(pivots, "%pivots"),
            f"  %size = alloca i32\n  store i32 {size}, ptr %size\n  %info = alloca i32\n  store i32 0, ptr %info",
            f"  call void @llvm.memcpy.p0.p0.i64(ptr %lu, ptr %matrix, i64 {8 * size * size}, i1 false)",
            _call("dgetrf", "%size", "%size", "%lu", "%size", "%pivots", "%info"),
            "  %code = load i32, ptr %info\n  %failed = icmp ne i32 %code, 0",
            "  br i1 %failed, label %fail, label %over\nfail:",
            memory.number(memory.failed, "%flag"),
            "  store double 1.0, ptr %flag\n  br label %over\nover:\n  ret void\n}",
        )
    )


def solve_code(name: str, stage: Solve, memory: Memory) -> str:
    """A function that solves a system with a matrix that is factorised, or triangular."""
    size, columns = stage.system.size, stage.columns or 1
    lines = [f"define internal void @{name}(ptr %tab, ptr %num) {{"]
    lines += [memory.array(stage.right, "%right"), memory.array(stage.slot, "%out")]
    lines.append(f"  %size = alloca i32\n  store i32 {size}, ptr %size\n  %info = alloca i32\n  store i32 0, ptr %info")
    lines.append(f"  %columns = alloca i32\n  store i32 {columns}, ptr %columns")
    lines.append(f"  call void @llvm.memcpy.p0.p0.i64(ptr %out, ptr %right, i64 {8 * size * columns}, i1 false)")
    if stage.system.is_lower:
        lines.append(memory.array(stage.system.matrix, "%factor"))
        lines += _by_triangle(stage)
    else:
        lu, pivots = memory.factors(stage.system.matrix)
        lines += [memory.array(lu, "%factor"), memory.array(pivots, "%pivots"), *_by_factors(stage)]
    return "\n".join((*lines, "  ret void", "}"))


def _by_triangle(stage: Solve) -> Iterator[str]:
    """With the lower triangle of the rows, which is the upper one of the columns."""
    back = stage.system.is_transposed
    if stage.columns is None:
        turned, given = _letter("N" if back else "T"), ("%size", "%factor", "%size", "%out", "@one.count")
        yield _call("dtrsv", _letter("U"), turned, _letter("N"), *given)
    else:
        yield _from_the_right("U", "T" if back else "N", "N")


def _by_factors(stage: Solve) -> Iterator[str]:
    back, size = stage.system.is_transposed, stage.system.size
    if stage.columns is None:
        given = ("%size", "@one.count", "%factor", "%size", "%pivots", "%out", "%size", "%info")
        yield _call("dgetrs", _letter("N" if back else "T"), *given)
        return
    exchange = f"  call void @exchange(ptr %out, ptr %pivots, i64 {size}, i64 {stage.columns}, i1 {int(not back)})"
    if back:
        yield exchange
        yield _from_the_right("L", "T", "U")
        yield _from_the_right("U", "T", "N")
    else:
        yield _from_the_right("U", "N", "N")
        yield _from_the_right("L", "N", "U")
        yield exchange


def _from_the_right(triangle: str, turned: str, diagonal: str) -> str:
    """The result, transposed, times the inverse of a triangle; U as the diagonal is one of ones."""
    letters = [_letter(x) for x in ("R", triangle, turned, diagonal)]
    given = ("%columns", "%size", "@one.number", "%factor", "%size", "%out", "%columns")
    return _call("dtrsm", *letters, *given)
