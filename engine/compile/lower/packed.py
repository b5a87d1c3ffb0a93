"""Machine code for numbers, called with arrays: entry by entry in, entry by entry out."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any

from agrad.engine.compile.backend import NativeCode
from agrad.engine.values import Array, Shape, Value, np, size_of

_ROWS = 8192  # of columns that are computed at once


class Unpacking:
    """From entries, as machine code writes them, to numbers and arrays of some shapes."""

    def __init__(self, shapes: Sequence[Shape]) -> None:
        ends = [0]
        for shape in shapes:
            ends.append(ends[-1] + 8 * size_of(shape))
        self._parts = list(zip(ends, shapes, strict=False))
        self._numbers = None if any(shapes) else struct.Struct(f"{len(shapes)}d").unpack_from
        self.size = ends[-1]  # in bytes

    def parts(self, found: bytearray) -> list[Value]:
        """The parts, of which the arrays share their memory with what they are read from."""
        return [
            np.ndarray(shape, "d", found, start) if shape else struct.unpack_from("d", found, start)[0]
            for start, shape in self._parts
        ]

    def read(self, buffer: Any) -> tuple[Value, ...]:
        """The same from a buffer that is used again."""
        if self._numbers is not None:
            return self._numbers(buffer)
        return tuple(self.parts(bytearray(memoryview(buffer)[: self.size])))


def packing(shapes: Sequence[Shape]) -> Callable[..., bytes]:
    """The function from floats and contiguous arrays of some shapes to the bytes that machine code reads."""
    return _joined if any(shapes) else struct.Struct(f"{len(shapes)}d").pack


def _joined(*values: Value) -> bytes:
    return b"".join([struct.pack("d", value) if isinstance(value, float) else value.tobytes() for value in values])


class Packed:
    """The code of a program of numbers as that of one of arrays: inputs and outputs of these shapes."""

    def __init__(self, native: NativeCode, inputs: Sequence[Shape], outputs: Sequence[Shape]) -> None:
        self.native = native
        self._kinds: list[tuple[Any, Shape]] = [(np.ndarray, shape) if shape else (float, ()) for shape in inputs]
        self._double = np.dtype(np.float64)
        self._outputs = Unpacking(outputs).parts
        self._array, self._only = np.ndarray, inputs[0] if len(inputs) == 1 and inputs[0] else None

    def call(self, *values: Value) -> tuple[Value, ...]:
        """The outputs, arrays of their own, for floats and contiguous arrays."""
        return tuple(self._outputs(self.native.raw(_joined(*values))))

    def quickly(self, args: tuple[Any, ...]) -> list[Value] | None:
        """The outputs for floats and arrays of the shapes of the inputs, in any layout; None for anything else."""
        if self._only is not None and len(args) == 1:
            (one,) = args
            if type(one) is not self._array or one.shape != self._only or one.dtype is not self._double:
                return None
            return self._outputs(self.native.raw(one.tobytes()))
        if len(args) != len(self._kinds):
            return None
        parts = []
        for x, (kind, shape) in zip(args, self._kinds, strict=True):
            if type(x) is not kind or (shape and (x.shape != shape or x.dtype is not self._double)):
                return None
            parts.append(x.tobytes() if shape else struct.pack("d", x))
        return self._outputs(self.native.raw(parts[0] if len(parts) == 1 else b"".join(parts)))

    def shortcut(self, ask: Callable[..., Any], known: Sequence[Value] | None, is_single: bool) -> Callable[..., Any]:
        """A function from values to the first output and a tuple of the rest, or with `is_single` the one other.

        Where its arguments are not floats and arrays of its shapes, or not those `known` (any if None), it calls `ask`
        with them.
        """
        if known is not None:
            return ask
        quickly = self.quickly

        def call(*args: Any) -> Any:
            found = quickly(args)
            if found is None:
                return ask(*args)
            return found[0], found[1] if is_single else tuple(found[1:])

        return call

    def source(self) -> str:
        """The code of the numbers."""
        return self.native.source()

    def packed(self, *values: float) -> bytes:
        """The outputs of the numbers as bytes."""
        return self.native.packed(*values)

    def raw(self, given: bytes) -> bytearray:
        """The bytes of all outputs, of those of all inputs."""
        return self.native.raw(given)

    def map(self, columns: Sequence[Array], outs: Sequence[Array], threads: int | None = None) -> None:
        """Write the outputs of each row of the columns, whose rows are of the shapes of the inputs, into `outs`."""
        rows = len(outs[0])
        for start in range(0, rows, _ROWS):
            here = slice(start, start + _ROWS)
            given = [column for table in columns for column in table[here].reshape(-1, _width(table)).T]
            made = [np.empty((_width(out), len(out[here]))) for out in outs]
            self.native.map(given, [column for table in made for column in table], threads)
            for out, table in zip(outs, made, strict=True):
                out[here] = table.T.reshape(out[here].shape)


def _width(table: Array) -> int:
    """The entries of a row."""
    return size_of(table.shape[1:])
