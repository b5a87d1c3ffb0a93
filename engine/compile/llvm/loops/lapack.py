"""LLVM's code of calls of LAPACK and BLAS: a matrix is factorised, and systems of equations are solved with it.

They read an array of rows as one of columns, so the factors are those of the transpose: M.T = P L U. A vector is solved
for in place. Of several right sides, the columns of a matrix that lies in rows, the transposed system is solved from
the right: S.T = Y.T inv(U) inv(L) inv(P), and with the transpose of M, S.T = Y.T P inv(L.T) inv(U.T).
"""

from __future__ import annotations

from collections.abc import Iterator

from agrad.engine.compile.llvm.loops.factors import pointers
from agrad.engine.compile.llvm.loops.kernel import Memory
from agrad.engine.compile.llvm.loops.stages import Factorise, Solve

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
