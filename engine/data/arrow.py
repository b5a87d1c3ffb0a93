"""pyarrow, which is an extra: imported only when it reads or writes something."""

from __future__ import annotations

from typing import Any

from agrad.engine.errors import AgradError


def pyarrow(part: str = "") -> Any:
    """A module of the library, for which mypy has no types. Raises ImportError."""
    from importlib import import_module

    return import_module(f"pyarrow.{part}" if part else "pyarrow")


def require_pyarrow(what: str) -> Any:
    """The library, for what cannot do without it. Raises AgradError of kind `limit` where it is not installed."""
    try:
        return pyarrow()
    except ImportError:
        fixes = ['pip install "agrad[data]"']
        raise AgradError("limit", f"{what} needs pyarrow, which is not here", fixes=fixes) from None
