"""`u·v` and `u × v` of arrays: on paper the dot product and the cross product, and not a product of entries."""

from __future__ import annotations

import re
from typing import Any

from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError, Label
from agrad.engine.ops.tables import Table
from agrad.engine.values import Shape, broadcast, shape_of
from agrad.grammar.diagnostics import Span
from agrad.grammar.syntax.errors.fixes import corrected
from agrad.grammar.values.lists import List


def has_axes(value: Any) -> bool:
    """Whether a value is an array, a list or a table, and not one number."""
    return type(value) in (List, Table) or (isinstance(value, Tensor) and value.shape != ())


def refuse_ambiguous(left: Any, right: Any, sides: tuple[Span, Span], sign: Span) -> None:
    """Raise AgradError for `·` and `×` of two arrays, with the products that their shapes allow, if any."""
    shapes = [_shape(value) for value in (left, right)]
    fixes = []
    if sign.text == "×" and shapes == [(3,), (3,)]:
        whole = Span(sign.source, sides[0].start, sides[1].end)
        fixes = [f"{corrected(whole, f'cross({sides[0].text}, {sides[1].text})')}   the cross product"]
    place = _with_blanks(sign)
    if _multiply(*shapes):
        what = "the dot product" if len(shapes[0]) == len(shapes[1]) == 1 else "the product of matrices"
        fixes.append(f"{corrected(place, ' @ ')}   {what}")
    if _spread(*shapes):
        fixes.append(f"{corrected(place, '*')}   entry by entry")
    if not fixes:
        return  # `*` says which shapes these are
    dot = "the dot product" if sign.text != "×" else "the cross product"
    message = f"`{sign.text}` of two arrays is {dot} to some, and a product entry by entry to others"
    raise AgradError("type", message, labels=[Label(sign)], fixes=fixes)


def _shape(value: Any) -> Shape:
    array = value.stacked() if type(value) is List else value.__array__() if type(value) is Table else value
    return array.shape if isinstance(array, Tensor) else shape_of(array)


def _multiply(a: Shape, b: Shape) -> bool:
    """Whether `@` takes arrays of these shapes."""
    return a[-1] == b[-2:][0] and _spread(a[:-2], b[:-2])


def _spread(a: Shape, b: Shape) -> bool:
    try:
        broadcast(a, b)
    except AgradError:
        return False
    return True


def _with_blanks(sign: Span) -> Span:
    """A sign with the blanks on both sides."""
    before = re.search(r"[ \t]*$", sign.source.text[: sign.start])
    behind = re.compile(r"[ \t]*").match(sign.source.text, sign.end)
    assert before is not None
    assert behind is not None
    return Span(sign.source, before.start(), behind.end())
