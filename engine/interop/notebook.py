"""Values and graphs in a notebook: as HTML and pictures, beside the text."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import Any

from agrad.engine.core.graph import leaf
from agrad.engine.core.tensor import Tensor, handle
from agrad.engine.errors import AgradError
from agrad.engine.ops.tables import Table, described, shown
from agrad.engine.text import Grid
from agrad.engine.values import coerce, format_shape, format_value, np

_ROWS, _COLUMNS = 20, 12  # of an array that is shown whole; of a larger one, the first and the last
_FRAME = 560  # the height of a page, in pixels


def pictures(draw: Callable[[str], str | bytes]) -> dict[str, str]:
    """A picture as SVG, and as PNG for PDF and for notebooks that are not trusted, by MIME type.

    `draw`: the picture in a form. Nothing where a library is missing that it needs, or where it is too large for it.
    """
    made: dict[str, str] = {}
    for form, kind in (("svg", "image/svg+xml"), ("png", "image/png")):
        try:
            found = draw(form)
        except AgradError as problem:
            if problem.kind not in ("extra", "limit"):
                raise
            continue
        if isinstance(found, bytes):
            found = found.decode() if form == "svg" else b64encode(found).decode()
        made[kind] = found
    return made


def html_of(value: Any, precision: int | None, u: Any = None) -> str:
    """A table, or an array of one or two axes, in HTML, with a line that says its shape; empty for any other value.

    `u`: the uncertainties of the entries, if they have any.
    """
    if isinstance(value, Table):
        heads, cells = shown(value, precision)
        return f"{table(cells, heads)}<p>{escape(described(value))}</p>"
    if not isinstance(value, Tensor) or not 1 <= value.ndim <= 2 or not value.size:
        return ""
    rows, doubts = (None if x is None else np.atleast_2d(x) for x in (value.read_only(), u))
    assert rows is not None

    def entry(i: int | None, j: int | None) -> str:
        if i is None or j is None:
            return "…"
        return format_value(float(rows[i, j]), precision, None if doubts is None else doubts[i, j])

    down, across = _places(rows.shape[0], _ROWS), _places(rows.shape[1], _COLUMNS)
    texts = [[entry(i, j) for j in across] for i in down]
    said = f"shape {format_shape(value.shape)}"
    if value.requires_grad:
        said += ", a leaf that requires grad" if value.is_leaf else f", {value.grad_fn!r}"
    return f"{table(texts)}<p>{escape(said)}</p>"


def _places(size: int, most: int) -> list[int | None]:
    """The rows, or columns, that are shown; None for those that are left out."""
    if size <= most:
        return list(range(size))
    half = most // 2
    return [*range(half), None, *range(size - half, size)]


def table(rows: Sequence[Sequence[str]], heads: Sequence[str] = ()) -> str:
    """Rows of text as a table in HTML, with the heads of its columns."""
    top = "".join(f"<th>{escape(head)}</th>" for head in heads)
    lines = ["".join(f"<td>{escape(entry)}</td>" for entry in row) for row in rows]
    head = f"<thead><tr>{top}</tr></thead>" if heads else ""
    return f"<table>{head}<tbody>{''.join(f'<tr>{line}</tr>' for line in lines)}</tbody></table>"


def of_parts(parts: Iterable[str | Grid]) -> str:
    """What a result is made of, lines and tables, in HTML."""
    made = []
    for part in parts:
        if isinstance(part, Grid):
            filled = [place for place, cells in enumerate(zip(*part.rows, strict=True)) if any(cells)]
            heads, *rows = [[row[place] for place in filled] for row in part.rows]
            made.append(table(rows, heads))
        elif part:
            made.append(f"<p>{escape(part.strip()).replace(chr(10), '<br>')}</p>")
    return "".join(made)


def framed(page: str) -> str:
    """A page in a frame of its own, in which its scripts run and can reach nothing of the notebook."""
    attributes = f'sandbox="allow-scripts" style="width:100%;height:{_FRAME}px;border:0"'
    return f'<iframe {attributes} srcdoc="{escape(page)}"></iframe>'


def given(value: object, requires_grad: bool) -> tuple[Tensor, str]:
    """A leaf on the data of an array, and why they are a copy: empty where they are shared.

    While the leaf is used, nothing else may write to the array. What is written to the leaf does not reach the array.
    Raises AgradError of kind `type` or `shape` for what is not made of numbers.
    """
    if isinstance(value, Tensor):
        value = value.read_only()
    array = np.asarray(value)
    number = coerce(array, copy=False)
    if isinstance(number, float):
        return handle(leaf(number, requires_grad)), ""
    shared = np.ascontiguousarray(number)  # the rounding of a sum depends on the layout
    why = ""
    if not isinstance(value, np.ndarray):
        why = "" if np.may_share_memory(shared, array) and hasattr(value, "__array__") else f"a {type(value).__name__}"
    elif array.dtype != np.float64:
        why = f"{array.dtype} to float64"
    elif shared is not number:
        why = "whose entries are not next to each other"
    shared = shared.view()
    shared.flags.writeable = False
    return handle(leaf(shared, requires_grad)), why


def taken(value: Tensor, others: Sequence[tuple[str, Any]]) -> tuple[Any, str]:
    """A float, or the array of a value that is not used any more, and why it is a copy: empty where it is none.

    The array may be written to, and shares its data with none of the others, which have names.
    """
    found: Any = value.read_only() if isinstance(value.value, float) else value.value
    if isinstance(found, float):
        return found, ""
    for name, other in others:
        data = other.value if isinstance(other, Tensor) else other
        if isinstance(data, np.ndarray) and np.may_share_memory(found, data):
            return found.copy(), f"which has the data of {name}"
    return (found, "") if found.flags.writeable else (found.copy(), "whose data are read only")
