"""LLVM's code of stages that are no loop over the entries of a result.

Steps on numbers; small products of matrices; sums by places; entries that are computed from the one before, such as
running sums; loops of their own; and calls of LAPACK and BLAS, by which matrices are factorised, and systems of
equations solved.

These read an array of rows as one of columns, so the factors are those of the transpose: M.T = P L U. A vector is
solved for in place. Of several right sides, the columns of a matrix that lies in rows, the transposed system is solved
from the right: S.T = Y.T inv(U) inv(L) inv(P), and with the transpose of M, S.T = Y.T P inv(L.T) inv(U.T).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from agrad.engine.compile.llvm import stages
from agrad.engine.compile.llvm.ir_builder import Code, counted, load, nested, of_vectors, splat, store
from agrad.engine.compile.llvm.memory import Memory, entry, zeros
from agrad.engine.compile.llvm.schedule import Schedule
from agrad.engine.compile.symbols import Symbol, lower
from agrad.engine.values import Shape, size_of

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


def scatter_code(name: str, stage: stages.Scatter, memory: Memory) -> str:
    """A function that adds the entries of an array into zeros, in their order, each at a place that a table lists."""
    added = (
        "  %p = getelementptr i64, ptr %places, i64 %i\n  %place = load i64, ptr %p",
        "  %from = getelementptr double, ptr %in, i64 %i\n  %x = load double, ptr %from, align 1",
        "  %to = getelementptr double, ptr %out, i64 %place\n  %y = load double, ptr %to, align 1",
        "  %sum = fadd double %y, %x\n  store double %sum, ptr %to, align 1",
    )
    given = memory.array(stage.slot, "%out"), memory.array(stage.operand, "%in"), memory.table(stage.places, "%places")
    count, length = [size_of(memory.program.shape(slot)) for slot in (stage.operand, stage.slot)]
    return _stage(name, *given, zeros("%out", length), *counted("i", "entry", count, added))


def product_code(name: str, routine: str, stage: stages.Product, memory: Memory) -> str:
    """A function that calls the routine of a product with its matrices."""
    lines = [memory.array(stage.slot, "%out")]
    for side, view in (("left", stage.left), ("right", stage.right)):
        lines += [memory.array(view.slot, f"%{side}.0"), *entry(f"%{side}", "double", f"%{side}.0", view.offset)]
    return _stage(name, *lines, f"  call void @{routine}(ptr %out, ptr %left, ptr %right)")


def kind_of(stage: stages.Product) -> object:
    """What products that have the same routine have in common."""
    return stage.rows, stage.inner, stage.columns, stage.left.strides, stage.right.strides


class Routine:
    """The text of a product of two matrices: some rows at a time, whose sums stay in registers."""

    def __init__(self, name: str, stage: stages.Product, lanes: int) -> None:
        self.stage, self.lanes = stage, lanes
        self.number = f"<{lanes} x double>"
        self.is_copied = stage.right.strides[1] != 1 and stage.columns > 1  # its rows do not lie side by side
        given = "ptr noalias %out, ptr %left, ptr %given"
        head = f"define internal void @{name}({given}) noinline {of_vectors(lanes)} {{"
        self.text = "\n".join((head, "entry:", *self._body(), "  ret void", "}"))

    def _body(self) -> Iterator[str]:
        stage, before = self.stage, "entry"
        if self.is_copied:  # the right matrix with its rows side by side
            down, across = stage.right.strides
            copied = (
                f"  %ca = mul i64 %ci, {down}\n  %cb = mul i64 %cj, {across}\n  %cc = add i64 %ca, %cb",
                "  %cp = getelementptr double, ptr %given, i64 %cc\n  %cx = load double, ptr %cp, align 1",
                f"  %cd = mul i64 %ci, {stage.columns}\n  %ce = add i64 %cd, %cj",
                "  %cq = getelementptr double, ptr %right, i64 %ce\n  store double %cx, ptr %cq, align 1",
            )
            yield f"  %right = alloca [{stage.inner * stage.columns} x double], align 64"
            yield from nested([("ci", stage.inner), ("cj", stage.columns)], copied)
            before = "ci.done"
        else:
            yield "  %right = getelementptr double, ptr %given, i64 0"
        whole = stage.rows // _ROWS * _ROWS
        if whole:
            yield from counted("bi", before, whole, self._rows("b", _ROWS), step=_ROWS)
            before = "bi.done"
        if whole < stage.rows:
            yield from counted("ri", before, stage.rows, self._rows("r", 1), first=whole)

    def _rows(self, p: str, count: int) -> Iterator[str]:
        """So many rows at once; names begin with `p`."""
        stage, number = self.stage, self.number
        vectors = range(-(-stage.columns // self.lanes))
        down, across = stage.left.strides
        each = [(row, vector) for row in range(count) for vector in vectors]
        yield f"  %{p}a = mul i64 %{p}i, {down}"
        sums = []
        for row, vector in each:
            start = f"[zeroinitializer, %{p}i.loop]"
            sums.append(f"  %{p}s{row}.{vector} = phi {number} {start}, [%{p}t{row}.{vector}, %{p}k.end]")
        yield from counted(f"{p}k", f"{p}i.loop", stage.inner, self._added(p, count, across, down), phis=sums)
        for row, vector in each:
            place = f"%{p}o{row}.{vector}"
            yield f"  {place}.a = add i64 %{p}i, {row}\n  {place}.b = mul i64 {place}.a, {stage.columns}"
            yield f"  {place}.c = add i64 {place}.b, {vector * self.lanes}"
            yield f"  {place} = getelementptr double, ptr %out, i64 {place}.c"
            yield store(f"%{p}t{row}.{vector}", place, self.lanes, self._mask(vector))

    def _added(self, p: str, count: int, across: int, down: int) -> Iterator[str]:
        """A column of the left matrix times a row of the right one, added to the sums."""
        stage, number, vectors = self.stage, self.number, range(-(-self.stage.columns // self.lanes))
        # from one row of the right to the next
        yield f"  %{p}r = mul i64 %{p}k, {stage.columns if self.is_copied else stage.right.strides[0]}"
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
        left = self.stage.columns - vector * self.lanes
        return f"<{', '.join(f'i1 {int(lane < left)}' for lane in range(self.lanes))}>"


class RunningCode:
    """The text of a function that computes entries one after the other along an axis."""

    def __init__(self, name: str, stage: stages.Running, memory: Memory, code: Code) -> None:
        self.stage, self.memory, self.code = stage, memory, code
        opening = [memory.array(stage.slot, "%out")]
        for number, view in enumerate(stage.reads):
            if memory.program.shape(view.slot):
                opening += [memory.table(view, f"%places{number}")] if view.table is not None else []
                opening.append(memory.array(view.slot, f"%in{number}"))
            elif memory.value(view.slot) is None:
                opening.append(memory.number(view.slot, f"%in{number}"))
        self.text = _stage(name, *opening, *self._nest())

    def _nest(self) -> Iterator[str]:
        """A loop over each other axis; in these the first entry, then the loop over those that follow."""
        shape, axis = self.stage.shape, self.stage.axis
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
        operands = [self._operand(number, view, places) for number, view in enumerate(self.stage.reads)]
        found = self.stage.first(*operands) if last is None else self.stage.following(last, *operands)
        to = self._address("%out", "double", 0, stages.strides_of(self.stage.shape), places)
        lines.append(f"  store double {found.text}, ptr {to}, align 1")
        return found.text, lines[begin:]

    def _operand(self, number: int, view: stages.View, places: Mapping[int, str]) -> Symbol:
        if not self.memory.program.shape(view.slot):
            value = self.memory.value(view.slot)
            return self.code.constant(value) if value is not None else self._loaded(f"%in{number}")
        if view.table is None:
            return self._loaded(self._address(f"%in{number}", "double", view.offset, view.strides, places))
        at = self._address(f"%places{number}", "i64", 0, stages.strides_of(self.stage.shape), places)
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


def repeat_code(name: str, stage: stages.Repeat, memory: Memory) -> str:
    """A function that runs a loop of its own: from its first state, rows, and what is the same, to rows and sums."""
    code, count = stage.code, stage.count
    memory.kept.append(code)
    state, row, _ = code.sizes
    sums = len(code.program.outputs) - code.width
    addresses = "ptr %in, ptr %rows, ptr %same, ptr %out, ptr %sums"
    return _stage(
        name,
        memory.array(stage.operand, "%in"),
        memory.array(stage.slot, "%out"),
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


def solve_code(name: str, stage: stages.Solve, memory: Memory) -> str:
    """A function that solves a system with a matrix that is factorised, or triangular."""
    size, columns = stage.system.size, stage.columns or 1
    lines = [memory.array(stage.right, "%right"), memory.array(stage.slot, "%out")]
    lines += _passed(size=size, info=0, columns=columns)
    lines.append(f"  call void @llvm.memcpy.p0.p0.i64(ptr %out, ptr %right, i64 {8 * size * columns}, i1 false)")
    if stage.system.is_lower:
        lines.append(memory.array(stage.system.matrix, "%factor"))
    else:
        lu, pivots = memory.factored[stage.system.matrix]
        lines += [memory.array(lu, "%factor"), memory.array(pivots, "%pivots")]
    return _stage(name, *lines, *_solved(stage))


def _solved(stage: stages.Solve) -> Iterator[str]:
    """With the lower triangle of the rows, which is the upper one of the columns, or with the factors."""
    back, is_vector = stage.system.is_transposed, stage.columns is None
    if stage.system.is_lower and is_vector:
        yield _call("dtrsv", "U", "N" if back else "T", "N", "%size", "%factor", "%size", "%out", "@one.count")
    elif stage.system.is_lower:
        yield _from_the_right("U", "T" if back else "N", "N")
    elif is_vector:
        given = ("%size", "@one.count", "%factor", "%size", "%pivots", "%out", "%size", "%info")
        yield _call("dgetrs", "N" if back else "T", *given)
    elif back:
        yield from _exchanged(stage, "%n")
        yield from (_from_the_right("L", "T", "U"), _from_the_right("U", "T", "N"))
    else:
        yield from (_from_the_right("U", "N", "N"), _from_the_right("L", "N", "U"))
        yield from _exchanged(stage, "%m")


def _exchanged(stage: stages.Solve, row: str) -> Iterator[str]:
    """Each row of the result exchanged with another, from the first on (`%n`) or from the last (`%m`)."""
    size, columns = stage.system.size, stage.columns
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
