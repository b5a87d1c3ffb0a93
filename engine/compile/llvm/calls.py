"""How Python calls machine code: one function in machine code for all programs, without the overhead of ctypes (1 µs).

It takes floats out of their objects, calls the code of a program, and makes floats of what that found. What it has to
know of the program is in the tuple that it is bound to.
"""

from __future__ import annotations

import ctypes
import struct
import sys
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from agrad.engine.compile.llvm.target import llvmlite

TUPLE, PAIR, BYTES = range(3)  # what is made of the outputs; a pair: the first, and a tuple of the rest

# What the code below calls of Python.
_PYTHON = {
    "PyFloat_AsDouble": "double (ptr)",
    "PyFloat_FromDouble": "ptr (double)",
    "PyErr_Occurred": "ptr ()",
    "PyErr_Clear": "void ()",
    "PyErr_SetString": "void (ptr, ptr)",
    "PyTuple_New": "ptr (i64)",
    "PyTuple_Pack": "ptr (i64, ...)",
    "Py_DecRef": "void (ptr)",
    "PyBytes_FromStringAndSize": "ptr (ptr, i64)",
    "PyObject_Vectorcall": "ptr (ptr, ptr, i64, ptr)",
}

# Where Python's objects have what is read and written here without a call, as their sizes tell: the type is the last
# word of what all objects begin with, and a float's number, a tuple's entries and the text of bytes come last.
_LAYOUT = {
    "type_at": object.__basicsize__ - 8,
    "number_at": float.__basicsize__ - 8,
    "entries_at": tuple.__basicsize__,
    "text_at": bytes.__basicsize__ - 1,
    "float": f"inttoptr (i64 {id(float)} to ptr)",
    "none": f"inttoptr (i64 {id(None)} to ptr)",
    "type_error": f"inttoptr (i64 {id(TypeError)} to ptr)",
    "pair": PAIR,
    "bytes": BYTES,
}
_COUNTED = 16  # bytes that all objects begin with where references are counted in the first four of them

_READ = """
define internal i1 @read(ptr %given, ptr noalias %in, i64 %count) {{
entry:
  br label %reading
reading:
  %i = phi i64 [0, %entry], [%next, %store]
  %more = icmp ult i64 %i, %count
  br i1 %more, label %one, label %done
one:
  %at = getelementptr ptr, ptr %given, i64 %i
  %object = load ptr, ptr %at
  %type.at = getelementptr i8, ptr %object, i64 {type_at}
  %type = load ptr, ptr %type.at
  %plain = icmp eq ptr %type, {float}
  br i1 %plain, label %take, label %convert
take:
  %number.at = getelementptr i8, ptr %object, i64 {number_at}
  %number = load double, ptr %number.at
  br label %store
convert:
  %converted = call double @PyFloat_AsDouble(ptr %object)
  %doubtful = fcmp oeq double %converted, -1.0
  br i1 %doubtful, label %ask, label %store
ask:
  %error = call ptr @PyErr_Occurred()
  %wrong = icmp ne ptr %error, null
  br i1 %wrong, label %done, label %store
store:
  %x = phi double [%number, %take], [%converted, %convert], [%converted, %ask]
  %slot = getelementptr double, ptr %in, i64 %i
  store double %x, ptr %slot
  %next = add i64 %i, 1
  br label %reading
done:
  %good = phi i1 [true, %reading], [false, %ask]
  ret i1 %good
}}
"""

# To make a float and to free it takes 6 ns, and most are gone before the next call but one. So floats are lent: one
# that nobody else has a reference to is written again, and another takes the place of one that is still in use.
_FLOATS = """
define internal ptr @number(double %y, ptr %lent) alwaysinline {{
  %any = icmp ne ptr %lent, null
  br i1 %any, label %look, label %make
make:
  %one = call ptr @PyFloat_FromDouble(double %y)
  ret ptr %one
look:
  %old = load ptr, ptr %lent
  %references = load i32, ptr %old
  %unused = icmp eq i32 %references, 1
  br i1 %unused, label %reuse, label %renew
reuse:
  store i32 2, ptr %old
  %number.at = getelementptr i8, ptr %old, i64 {number_at}
  store double %y, ptr %number.at
  ret ptr %old
renew:
  %new = call ptr @PyFloat_FromDouble(double %y)
  %made = icmp ne ptr %new, null
  br i1 %made, label %lend, label %failed
lend:
  store i32 2, ptr %new
  store ptr %new, ptr %lent
  call void @Py_DecRef(ptr %old)
  ret ptr %new
failed:
  ret ptr null
}}

define internal ptr @tuple(ptr %from, i64 %count, ptr %lent) {{
entry:
  %result = call ptr @PyTuple_New(i64 %count)
  %there = icmp ne ptr %result, null
  br i1 %there, label %begin, label %failed
begin:
  %entries = getelementptr i8, ptr %result, i64 {entries_at}
  %any = icmp ne ptr %lent, null
  br label %writing
writing:
  %j = phi i64 [0, %begin], [%following, %set]
  %left = icmp ult i64 %j, %count
  br i1 %left, label %one, label %done
one:
  %place = getelementptr double, ptr %from, i64 %j
  %y = load double, ptr %place
  %step = select i1 %any, i64 %j, i64 0
  %lent.at = getelementptr ptr, ptr %lent, i64 %step
  %number = call ptr @number(double %y, ptr %lent.at)
  %made = icmp ne ptr %number, null
  br i1 %made, label %set, label %drop
set:
  %entry.at = getelementptr ptr, ptr %entries, i64 %j
  store ptr %number, ptr %entry.at
  %following = add i64 %j, 1
  br label %writing
drop:
  call void @Py_DecRef(ptr %result)
  br label %failed
done:
  ret ptr %result
failed:
  ret ptr null
}}

define internal ptr @pair(ptr %from, i64 %count, ptr %lent) {{
  %y = load double, ptr %from
  %value = call ptr @number(double %y, ptr %lent)
  %made = icmp ne ptr %value, null
  br i1 %made, label %more, label %failed
more:
  %behind = getelementptr double, ptr %from, i64 1
  %fewer = sub i64 %count, 1
  %any = icmp ne ptr %lent, null
  %step = select i1 %any, i64 1, i64 0
  %lent.behind = getelementptr ptr, ptr %lent, i64 %step
  %rest = call ptr @tuple(ptr %behind, i64 %fewer, ptr %lent.behind)
  %complete = icmp ne ptr %rest, null
  br i1 %complete, label %both, label %drop
both:
  %result = call ptr (i64, ...) @PyTuple_Pack(i64 2, ptr %value, ptr %rest)
  call void @Py_DecRef(ptr %rest)
  br label %drop
drop:
  %found = phi ptr [null, %more], [%result, %both]
  call void @Py_DecRef(ptr %value)
  ret ptr %found
failed:
  ret ptr null
}}
"""

# %self is the tuple that `as_function` makes. Of the floats lent there are two for each output, so that results may be
# held until the next ones have come.
_CALL = """
define internal ptr @entry(ptr %self, i64 %place) alwaysinline {{
  %entries = getelementptr i8, ptr %self, i64 {entries_at}
  %at = getelementptr ptr, ptr %entries, i64 %place
  %object = load ptr, ptr %at
  ret ptr %object
}}

define internal ptr @lendable(ptr %self, i64 %outputs) {{
  %floats = call ptr @entry(ptr %self, i64 3)
  %none = icmp eq ptr %floats, {none}
  br i1 %none, label %nothing, label %choose
nothing:
  ret ptr null
choose:
  %some = getelementptr i8, ptr %floats, i64 {entries_at}
  %others = getelementptr ptr, ptr %some, i64 %outputs
  %first = load ptr, ptr %some
  %references = load i32, ptr %first
  %unused = icmp eq i32 %references, 1
  %lent = select i1 %unused, ptr %some, ptr %others
  ret ptr %lent
}}

define ptr @call(ptr %self, ptr %given, i64 %count) {{
  %facts = call ptr @entry(ptr %self, i64 0)
  %ask = call ptr @entry(ptr %self, i64 1)
  %known = call ptr @entry(ptr %self, i64 2)
  %inputs.at = getelementptr i8, ptr %facts, i64 {text_at}
  %outputs.at = getelementptr i64, ptr %inputs.at, i64 1
  %kind.at = getelementptr i64, ptr %inputs.at, i64 2
  %compute.at = getelementptr i64, ptr %inputs.at, i64 3
  %message = getelementptr i64, ptr %inputs.at, i64 4
  %inputs = load i64, ptr %inputs.at, align 1
  %outputs = load i64, ptr %outputs.at, align 1
  %kind = load i64, ptr %kind.at, align 1
  %compute = load ptr, ptr %compute.at, align 1
  %in = alloca double, i64 %inputs
  %out = alloca double, i64 %outputs
  %strict = icmp eq ptr %ask, {none}
  %fits = icmp eq i64 %count, %inputs
  br i1 %fits, label %reading, label %misfit
misfit:
  br i1 %strict, label %saying, label %asking
saying:
  call void @PyErr_SetString(ptr {type_error}, ptr %message)
  ret ptr null
reading:
  %good = call i1 @read(ptr %given, ptr %in, i64 %inputs)
  br i1 %good, label %compare, label %wrong
wrong:
  br i1 %strict, label %failed, label %forget
failed:
  ret ptr null
forget:
  call void @PyErr_Clear()
  br label %asking
compare:
  %any = icmp eq ptr %known, {none}
  br i1 %any, label %computing, label %look
look:
  %bits = getelementptr i8, ptr %known, i64 {text_at}
  %size = mul i64 %inputs, 8
  %difference = call i32 @memcmp(ptr %in, ptr %bits, i64 %size)
  %same = icmp eq i32 %difference, 0
  br i1 %same, label %computing, label %asking
asking:
  %answer = call ptr @PyObject_Vectorcall(ptr %ask, ptr %given, i64 %count, ptr null)
  ret ptr %answer
computing:
  call void %compute(ptr %in, ptr %out)
  %lent = call ptr @lendable(ptr %self, i64 %outputs)
  switch i64 %kind, label %tuple [i64 {pair}, label %pair i64 {bytes}, label %bytes]
tuple:
  %numbers = call ptr @tuple(ptr %out, i64 %outputs, ptr %lent)
  ret ptr %numbers
pair:
  %two = call ptr @pair(ptr %out, i64 %outputs, ptr %lent)
  ret ptr %two
bytes:
  %length = mul i64 %outputs, 8
  %array = call ptr @PyBytes_FromStringAndSize(ptr %out, i64 %length)
  ret ptr %array
}}
"""


def call_frame() -> str:
    """The function `call`, as LLVM's code. Python's functions are introduced: not everywhere LLVM finds them itself."""
    lines = ["declare i32 @memcmp(ptr, ptr, i64)"]
    for name, kind in _PYTHON.items():
        address = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
        llvmlite().add_symbol(name, address)
        result, _, operands = kind.partition(" ")
        lines.append(f"declare {result} @{name}{operands}")
    return "\n".join((*lines, (_READ + _FLOATS + _CALL).format(**_LAYOUT)))


class _Definition(ctypes.Structure):
    """A PyMethodDef: how Python is told of a function in machine code."""

    _fields_ = (("name", ctypes.c_char_p), ("code", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p))


_FASTCALL = 0x80  # the code takes an array of objects, and their number


@cache
def _definition(call: int, name: str) -> _Definition:
    """That of the function above, which stands at this address; Python reads it at each call, so it stays."""
    return _Definition(name.encode(), call, _FASTCALL, None)


class Compiled(tuple[Any, ...]):
    """What such a function is bound to: Python calls it a method of this."""

    __slots__ = ()


def as_function(
    call: int,
    program: tuple[int, int, int],
    kind: int,
    kept: Any,
    ask: Callable[..., Any] | None = None,
    known: Sequence[float] | None = None,
) -> Any:
    """A function of Python that computes a program: the numbers of its inputs and outputs, and its code's address.

    `call` is the address of the function above, and `kept` what the code of the program stands in. Where the arguments
    are not `known`, for which None says any numbers, it gives them to `ask`, and raises TypeError without.
    """
    inputs, outputs, compute = program
    facts = struct.pack("4q", inputs, outputs, kind, compute) + f"the program takes {inputs} numbers".encode()
    bits = None if known is None else struct.pack(f"{len(known)}d", *known)
    floats = _lent(outputs) if ask is not None else None
    make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
    bound = Compiled((facts, ask, bits, floats, kept))
    definition = _definition(call, "call" if ask is None else "value_and_grad")
    return make(("PyCFunction_NewEx", ctypes.pythonapi))(ctypes.addressof(definition), bound, None)


def _lent(outputs: int) -> tuple[float, ...] | None:
    """Two floats for each output, that nobody else has; None where references are counted in another way."""
    if object.__basicsize__ != _COUNTED or sys.byteorder != "little":
        return None
    return tuple([float(place) for place in range(2 * outputs)])
