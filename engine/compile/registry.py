"""The table of backends. To add one, write a module that defines `BACKEND`, and give it a row here.

The module is imported when the backend is first used. `backend` defines the interface, and `specializations`
chooses between the backends.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from agrad.engine.errors import AgradError, Hint

if TYPE_CHECKING:
    from agrad.engine.compile.backend import Backend

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
