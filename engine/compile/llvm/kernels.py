"""LLVM's code around the straight-line code of a program: a function from array to array, and a loop over rows."""

from __future__ import annotations

from collections.abc import Sequence

# One block of rows at a time. Dense columns are read and written as they are, and a number that is the same in each row
# is read once for all lanes; strided columns, and the rows of a last block that is not full, go one by one through
# %room, so that nothing outside the rows is touched.
_COLUMNS = """
define internal {number} @take(ptr %column, i64 %stride, i64 %row, i64 %left, ptr %room) alwaysinline {{
  %offset = mul i64 %row, %stride
  %at = getelementptr i8, ptr %column, i64 %offset
  %dense = icmp eq i64 %stride, 8
  %full = icmp sge i64 %left, {lanes}
  %direct = and i1 %dense, %full
  br i1 %direct, label %whole, label %other
whole:
  %block = load {number}, ptr %at, align 1
  ret {number} %block
other:
  %same = icmp eq i64 %stride, 0
  br i1 %same, label %one, label %some
one:
  %x = load double, ptr %column, align 1
  %lane = insertelement {number} poison, double %x, i32 0
  %lanes = shufflevector {number} %lane, {number} poison, <{lanes} x i32> zeroinitializer
  ret {number} %lanes
some:
  %rows = select i1 %full, i64 {lanes}, i64 %left
  call void @copy(ptr %at, i64 %stride, i64 %rows, ptr %room)
  %gathered = load {number}, ptr %room, align 64
  ret {number} %gathered
}}

define internal void @put(ptr %column, i64 %row, i64 %left, {number} %block, ptr %room) alwaysinline {{
  %at = getelementptr double, ptr %column, i64 %row
  %full = icmp sge i64 %left, {lanes}
  br i1 %full, label %whole, label %some
whole:
  store {number} %block, ptr %at, align 8
  ret void
some:
  store {number} %block, ptr %room, align 64
  call void @copy(ptr %room, i64 8, i64 %left, ptr %at)
  ret void
}}

define internal void @copy(ptr %from, i64 %stride, i64 %rows, ptr %to) noinline {{
  br label %next
next:
  %row = phi i64 [0, %0], [%following, %next]
  %offset = mul i64 %row, %stride
  %source = getelementptr i8, ptr %from, i64 %offset
  %x = load double, ptr %source, align 1
  %place = getelementptr double, ptr %to, i64 %row
  store double %x, ptr %place, align 8
  %following = add i64 %row, 1
  %more = icmp slt i64 %following, %rows
  br i1 %more, label %next, label %done
done:
  ret void
}}

define void @rows(ptr %columns, ptr %strides, ptr %outs, i64 %first, i64 %end) {attributes} {{
entry:
  %room = alloca [{lanes} x double], align 64
  store {number} zeroinitializer, ptr %room, align 64
{opening}
  br label %block
block:
  %row = phi i64 [%first, %entry], [%next, %body]
  %left = sub i64 %end, %row
  %more = icmp sgt i64 %left, 0
  br i1 %more, label %body, label %done
body:
{body}
  %next = add i64 %row, {lanes}
  br label %block
done:
  ret void
}}
"""


def compute_kernel(lines: Sequence[str], inputs: int, outputs: Sequence[str]) -> str:
    """The function `compute`, from an array of inputs to one of outputs; the inputs are called %x0, %x1, …"""
    # With a frame pointer, an instruction on the stack is one byte shorter than with the stack pointer; the time of a
    # long program is about that of fetching its bytes.
    attribute = '"frame-pointer"="all"'
    head = [f"define void @compute(ptr noalias %in, ptr noalias %out) {attribute} {{"]
    for i in range(inputs):
        head += [f"  %p{i} = getelementptr double, ptr %in, i64 {i}", f"  %x{i} = load double, ptr %p{i}"]
    tail = []
    for i, text in enumerate(outputs):
        tail += [f"  %q{i} = getelementptr double, ptr %out, i64 {i}", f"  store double {text}, ptr %q{i}"]
    return "\n".join((*head, *lines, *tail, "  ret void\n}"))


def repeat_kernel(
    lines: Sequence[str], sizes: tuple[int, int, int], outputs: Sequence[str], width: int, attributes: str = ""
) -> str:
    """The function `repeat`: a body that runs again and again, from its state.

    The inputs %x0, %x1, … are the state, a row and what is the same in each iteration, with these `sizes`. The first
    `width` outputs, of which the first are the new state, are a row of the table; the others are added to sums.
    """
    state, row, same = sizes
    table = "ptr %state, ptr noalias %rows, ptr noalias %same, ptr %table, ptr noalias %sums"
    entry, body = [f"define void @repeat({table}, i64 %count) {attributes} {{", "entry:"], []

    def load(place: int, array: str, i: int) -> list[str]:
        return [
            f"  %p{place} = getelementptr double, ptr {array}, i64 {i}",
            f"  %x{place} = load double, ptr %p{place}",
        ]

    for i in range(same):
        entry += load(state + row + i, "%same", i)
    entry += ["  br label %next", "next:", "  %turn = phi i64 [0, %entry], [%following, %body]"]
    entry += ["  %from = phi ptr [%state, %entry], [%made, %body]", "  %more = icmp slt i64 %turn, %count"]
    entry += ["  br i1 %more, label %body, label %done", "body:"]
    for name, array, step in (("row", "rows", row), ("made", "table", width)):
        body += [
            f"  %at.{name} = mul i64 %turn, {step}",
            f"  %{name} = getelementptr double, ptr %{array}, i64 %at.{name}",
        ]
    for i in range(state):
        body += load(i, "%from", i)
    for i in range(row):
        body += load(state + i, "%row", i)
    after = []
    for i, text in enumerate(outputs):
        array, place = ("%made", i) if i < width else ("%sums", i - width)
        after.append(f"  %q{i} = getelementptr double, ptr {array}, i64 {place}")
        if i >= width:
            after += [f"  %before{i} = load double, ptr %q{i}", f"  %sum{i} = fadd double %before{i}, {text}"]
        after.append(f"  store double {text if i < width else f'%sum{i}'}, ptr %q{i}")
    after += ["  %following = add i64 %turn, 1", "  br label %next", "done:", "  ret void", "}"]
    return "\n".join((*entry, *body, *lines, *after))


def rows_kernel(lines: Sequence[str], inputs: int, outputs: Sequence[str], lanes: int) -> str:
    """The function `rows`, which computes rows of columns; the inputs are called %x0, %x1, …"""
    number = f"<{lanes} x double>"
    opening, before, after = [], [], []
    for i in range(inputs):
        opening += _pointer("column", "columns", i)
        opening += [f"  %r{i} = getelementptr i64, ptr %strides, i64 {i}", f"  %stride{i} = load i64, ptr %r{i}"]
        given = f"ptr %column{i}, i64 %stride{i}, i64 %row, i64 %left, ptr %room"
        before.append(f"  %x{i} = call {number} @take({given})")
    for i, text in enumerate(outputs):
        opening += _pointer("out", "outs", i)
        after.append(f"  call void @put(ptr %out{i}, i64 %row, i64 %left, {number} {text}, ptr %room)")
    width = 64 * lanes
    return _COLUMNS.format(
        number=number,
        lanes=lanes,
        opening="\n".join(opening),
        body="\n".join((*before, *lines, *after)),
        attributes=f'"prefer-vector-width"="{width}" "min-legal-vector-width"="{width}"',
    )


def _pointer(name: str, array: str, i: int) -> list[str]:
    return [
        f"  %at.{name}{i} = getelementptr ptr, ptr %{array}, i64 {i}",
        f"  %{name}{i} = load ptr, ptr %at.{name}{i}",
    ]
