"""The interface of a backend. `registry` lists the backends; the module of each defines its `BACKEND`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from agrad.engine.program.ir import Program
from agrad.engine.values import Array, Value, np


class Code(Protocol):
    """A compiled program. Several threads may call it at once."""

    @property
    def call(self) -> Callable[..., tuple[Value, ...]]:
        """The function from values, floats and contiguous arrays of the shapes of the inputs, to the outputs.

        It raises Diverged if a check of the program does not hold, and the errors of operations.
        """

    def source(self) -> str:
        """The code as text, for people to read."""


class NativeCode(Code, Protocol):
    """A compiled program of numbers without checks."""

    def packed(self, *values: float) -> bytes:
        """The outputs of `call` as the bytes of an array."""

    def raw(self, given: bytes) -> bytearray:
        """The outputs as bytes, for all inputs as bytes."""

    def shortcut(self, ask: Callable[..., Any], known: Sequence[Value] | None, is_single: bool) -> Callable[..., Any]:
        """A function from inputs to the first output and a tuple of the rest, or with `is_single` a tuple of all.

        Where its arguments are not numbers, or arrays of its shapes, or not those `known` (any if None), it calls `ask`
        with them.
        """

    def map(self, columns: Sequence[Array], outs: Sequence[Array], threads: int | None = None) -> None:
        """Write the outputs of each row of the columns into the arrays `outs`, on `threads` threads or all cores."""


class Backend(ABC):
    """A way to compute programs. Its results are bit for bit those of `Program.run`."""

    def require(self) -> None:  # noqa: B027 - most need nothing
        """Raise AgradError of kind `extra` if the backend cannot be used here, for example if a package is missing."""

    def supports(self, program: Program) -> str | None:
        """Why the backend cannot compile a program, in words; None if it can. `python` supports every program."""
        return None

    @abstractmethod
    def compile(self, program: Program) -> Code:
        """Compile a program that is supported."""


class NativeBackend(Backend):
    """A backend for programs of numbers, which may round differently.

    Its programs are simplified, and have no checks: the values that these read are further outputs, and the caller
    evaluates the checks.
    """

    @abstractmethod
    def compile(self, program: Program) -> NativeCode:
        """Compile a program that is supported."""


def row_of(columns: Sequence[Array], row: int) -> tuple[Value, ...]:
    """The values of one row."""
    return tuple([float(x[row]) if x.ndim == 1 else np.ascontiguousarray(x[row], np.float64) for x in columns])
