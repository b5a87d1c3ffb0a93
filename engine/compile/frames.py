"""LLVM's code around the straight line of a program: a function that Python calls, and a loop over rows."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from agrad.engine.compile.vectors import llvmlite

# What the function below calls of Python.
_PYTHON = {
    "PyFloat_AsDouble": "double (ptr)",
    "PyFloat_FromDouble": "ptr (double)",
    "PyErr_Occurred": "ptr ()",
    "PyErr_SetString": "void (ptr, ptr)",
    "PyTuple_New": "ptr (i64)",
    "PyTuple_SetItem": "i32 (ptr, i64, ptr)",
    "Py_DecRef": "void (ptr)",
    "PyBytes_FromStringAndSize": "ptr (ptr, i64)",
}

_CALL = """
@misfit = private constant [{length} x i8] c"{message}\\00"

define ptr @call(ptr %self, ptr %given, i64 %count) {{
entry:
  %in = alloca [{inputs} x double]
  %out = alloca [{outputs} x double]
  %fits = icmp eq i64 %count, {inputs}
  br i1 %fits, label %reading, label %misfit
misfit:
  call void @PyErr_SetString(ptr inttoptr (i64 {type_error} to ptr), ptr @misfit)
  ret ptr null
reading:
  %i = phi i64 [0, %entry], [%next, %read]
  %more = icmp ult i64 %i, {inputs}
  br i1 %more, label %read_one, label %compute
read_one:
  %at = getelementptr ptr, ptr %given, i64 %i
  %object = load ptr, ptr %at
  %x = call double @PyFloat_AsDouble(ptr %object)
  %slot = getelementptr double, ptr %in, i64 %i
  store double %x, ptr %slot
  %next = add i64 %i, 1
  %doubtful = fcmp oeq double %x, -1.0
  br i1 %doubtful, label %ask, label %read
ask:
  %error = call ptr @PyErr_Occurred()
  %wrong = icmp ne ptr %error, null
  br i1 %wrong, label %failed, label %read
read:
  br label %reading
compute:
  call void @compute(ptr %in, ptr %out)
{result}
failed:
  ret ptr null
}}
"""

_TUPLE = """
  %result = call ptr @PyTuple_New(i64 {outputs})
  %there = icmp ne ptr %result, null
  br i1 %there, label %writing, label %failed
writing:
  %j = phi i64 [0, %compute], [%following, %wrote]
  %left = icmp ult i64 %j, {outputs}
  br i1 %left, label %write_one, label %done
write_one:
  %place = getelementptr double, ptr %out, i64 %j
  %y = load double, ptr %place
  %number = call ptr @PyFloat_FromDouble(double %y)
  %made = icmp ne ptr %number, null
  br i1 %made, label %wrote, label %drop
wrote:
  %set = call i32 @PyTuple_SetItem(ptr %result, i64 %j, ptr %number)
  %following = add i64 %j, 1
  br label %writing
done:
  ret ptr %result
drop:
  call void @Py_DecRef(ptr %result)
  br label %failed
"""

_BYTES = """
  %result = call ptr @PyBytes_FromStringAndSize(ptr %out, i64 {size})
  ret ptr %result
"""

# One block of rows at a time. Dense columns are read and written as they are; strided ones, and the rows of a last
# block that is not full, go one by one through %room, so that nothing outside the rows is touched.
_COLUMNS = """
define internal {number} @take(ptr %column, i64 %stride, i64 %row, i64 %left, ptr %room) alwaysinline {{
  %offset = mul i64 %row, %stride
  %at = getelementptr i8, ptr %column, i64 %offset
  %dense = icmp eq i64 %stride, 8
  %full = icmp sge i64 %left, {lanes}
  %direct = and i1 %dense, %full
  br i1 %direct, label %whole, label %some
whole:
  %block = load {number}, ptr %at, align 1
  ret {number} %block
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


def call_frame(inputs: int, outputs: int, packed: bool = False) -> str:
    """The function `call`, which takes floats of Python and gives a tuple of them; it computes by `compute`.

    `packed`: it gives them as the bytes of an array.
    """
    message = f"the program takes {inputs} numbers"
    result = _BYTES.format(size=8 * outputs) if packed else _TUPLE.format(outputs=outputs)
    frame = _CALL.format(
        inputs=inputs,
        outputs=outputs,
        length=len(message) + 1,
        message=message,
        type_error=id(TypeError),
        result=result.strip("\n"),
    )
    return "\n".join((*_declared(), frame))


def _declared() -> Iterator[str]:
    for name, kind in _PYTHON.items():
        result, _, operands = kind.partition(" ")
        yield f"declare {result} @{name}{operands}"


@cache
def introduce_python() -> None:
    """Tell LLVM where Python's functions are: not everywhere it finds them by itself."""
    for name in _PYTHON:
        address = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
        llvmlite().add_symbol(name, address)


def compute_frame(lines: Sequence[str], inputs: int, outputs: Sequence[str]) -> str:
    """The function `compute`, from an array of inputs to one of outputs; the inputs are called %x0, %x1, …"""
    head = ["define internal void @compute(ptr noalias %in, ptr noalias %out) {"]
    for i in range(inputs):
        head += [f"  %p{i} = getelementptr double, ptr %in, i64 {i}", f"  %x{i} = load double, ptr %p{i}"]
    tail = []
    for i, text in enumerate(outputs):
        tail += [f"  %q{i} = getelementptr double, ptr %out, i64 {i}", f"  store double {text}, ptr %q{i}"]
    return "\n".join((*head, *lines, *tail, "  ret void\n}"))


def rows_frame(lines: Sequence[str], inputs: int, outputs: Sequence[str], lanes: int) -> str:
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


class _Definition(ctypes.Structure):
    """A PyMethodDef: how Python is told of a function in machine code."""

    _fields_ = (("name", ctypes.c_char_p), ("code", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p))


_FASTCALL = 0x80  # the code takes an array of objects, and their number


class Holder:
    """Keeps alive what the code of a function stands in, and its definition, which Python reads at each call."""

    def __init__(self, kept: Any, address: int) -> None:
        self.kept = kept
        self.definition = _Definition(b"call", address, _FASTCALL, None)


def as_function(kept: Any, address: int) -> Any:
    """A function of Python whose code is at an address. It has no overhead of ctypes, which would cost 1 µs a call."""
    make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
    holder = Holder(kept, address)
    return make(("PyCFunction_NewEx", ctypes.pythonapi))(ctypes.addressof(holder.definition), holder, None)
