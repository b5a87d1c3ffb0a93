"""pyarrow, which is an extra: imported only when it reads or writes something."""

from __future__ import annotations

from typing import Any

from agrad.engine.errors import AgradError, Hint
from agrad.engine.extras import extra

WIDE = 10_000  # columns of CSV: for more, pyarrow takes 10 kB each, and ends the process where that is not available


def pyarrow(part: str = "") -> Any:
    """A module of the library, for which mypy has no types. Raises ImportError, also where it is broken."""
    try:
        return require_pyarrow("reading or writing it", part)
    except AgradError as problem:
        raise ImportError(problem.message) from None


def require_pyarrow(what: str, part: str = "") -> Any:
    """The same for `what`, which needs it. Raises AgradError of kind `limit`."""
    return extra(f"pyarrow.{part}" if part else "pyarrow", what, "pyarrow", "data")


def as_text(name: str, column: Any, form: str) -> Any:
    """A column of pyarrow's as CSV and JSON can hold it: numbers and booleans unchanged, texts for the rest.

    Raises AgradError of kind `file` if the entries have no text, such as lists, or it is not UTF-8.
    """
    pa = pyarrow()
    kind = column.type
    if isinstance(kind, pa.BaseExtensionType):
        return _text_of_extension(name, column, form)
    if pa.types.is_dictionary(kind):
        return as_text(name, column.cast(kind.value_type), form)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind) or pa.types.is_null(kind):
        return column
    try:
        return column.cast(pa.string())
    except pa.ArrowInvalid:
        if pa.types.is_timestamp(kind):
            return _text_of_utc(column)
    except (pa.ArrowNotImplementedError, pa.ArrowTypeError):
        pass
    is_binary = any(word in str(kind) for word in ("binary", "string"))
    why = "bytes that are not UTF-8 text" if is_binary and not pa.types.is_nested(kind) else str(kind)
    fixes = [Hint(f"leave {name} out of --keep")]
    raise AgradError("file", f"the column {name} holds {why}, which {form} cannot hold", fixes=fixes)


def _text_of_utc(column: Any) -> Any:
    """Times in a zone that this system does not know: in UTC, in which they are stored."""
    pa, compute = pyarrow(), pyarrow("compute")
    texts = column.view(pa.int64()).view(pa.timestamp(column.type.unit)).cast(pa.string())
    return compute.binary_join_element_wise(texts, "Z", "")


def _text_of_extension(name: str, column: Any, form: str) -> Any:
    """The texts of an extension type of pyarrow: of its storage type, except for UUIDs."""
    if column.type.extension_name != "arrow.uuid":
        return as_text(name, column.storage, form)
    from uuid import UUID  # here, since few columns hold one

    entries = [None if entry is None else str(UUID(bytes=entry)) for entry in column.storage.to_pylist()]
    return pyarrow().array(entries, pyarrow().string())
