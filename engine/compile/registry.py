"""The table of backends, and what a backend has to do.

To add one, write a module that defines `BACKEND`, and give it a row here. The module is imported when the backend is
first used. `specializations` chooses between the backends.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from agrad.engine.errors import AgradError, Hint

if TYPE_CHECKING:
    from agrad.engine.program.ir import GuardCheck, Program
    from agrad.engine.values import Array, Shape, Value

AUTO = "auto"  # not a backend: REFERENCE at first, NATIVE when that is faster
REFERENCE, NATIVE = "python", "llvm"
BACKENDS = {  # the module of each, and a description
    "python": ("agrad.engine.compile.python_backend", "Python code and NumPy, bit for bit as without compilation"),
    "llvm": ("agrad.engine.compile.llvm.backend", "machine code for functions of numbers (with the extra jit)"),
}
CHOICES = (AUTO, *BACKENDS)


def load(name: str) -> Backend:
    """A backend by its name."""
    found: Backend = import_module(BACKENDS[name][0]).BACKEND
    return found


def require_choice(name: str) -> None:
    """Raise AgradError of kind `type` for an unknown backend."""
    if name not in CHOICES:
        raise AgradError("type", f"there is no backend {name!r}", fixes=[Hint(f'backend="{x}"') for x in CHOICES])


def described(separator: str) -> str:
    """The name of each backend, with a description."""
    return separator.join([f"{name}: {text}" for name, (_, text) in BACKENDS.items()])


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
    """A compiled program without checks."""

    def shortcut(
        self, ask: Callable[..., Any], known: Sequence[Value] | None, is_single: bool, checks: Sequence[GuardCheck] = ()
    ) -> Callable[..., Any]:
        """A function from inputs to the first output and a tuple of the rest, or with `is_single` a tuple of all.

        Where its arguments are not numbers, or arrays of its shapes, or not those `known` (any if None), or one of the
        checks does not hold, which read its last outputs, it calls `ask` with them.
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


Shapes: TypeAlias = "tuple[Sequence[Shape], Sequence[Shape]]"  # of inputs and outputs


class NativeBackend(Backend):
    """A backend which may round differently, and gives `NativeCode`.

    Its programs are simplified, and have no checks: the values that these read are further outputs, and the caller
    evaluates the checks. Beside a program of numbers, `compile` takes the `Shapes` of what these are the entries of.
    """
