"""The note on a statement whose result is nan: which operation is not defined at its operands."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from agrad.engine.core.context import UndoLog
from agrad.engine.core.tensor import Tensor, is_gradient
from agrad.engine.errors import Label, Note
from agrad.engine.inspect.undefined import first_note, undefined_behind
from agrad.engine.values import has_nan, np
from agrad.grammar.diagnostics import Span
from agrad.grammar.values.lists import List

_NAME = re.compile(r"[^\W\d]\w*")


def note_on(
    result: Any, kept: list[Any], log: UndoLog, span: Span | None, names: Mapping[str, Any], printed: bool
) -> Note | None:
    """The note, if there is one: none for a nan that was there before.

    `result`: what the statement gives; `kept`: the operations that were not defined; `names`: those of the session, of
    which `log` knows the old values; `printed`: whether it printed a nan.
    """
    bound = {key[1] for key in log.undos if isinstance(key, tuple) and key[0] == id(names)}
    written = [value for value in names.values() if kept and isinstance(value, Tensor) and _is_written(value, log)]
    for value in filter(_is_nan, _parts([*result, *[names.get(name) for name in bound], *written])):
        node = value.node if isinstance(value, Tensor) else None
        if isinstance(value, Tensor) and _was_there(value, log):
            continue
        is_known, note = False, None
        if node is not None and node.recorded:
            is_known, note = undefined_behind(node, lambda node: node.seq > log.since)
        if is_known:
            return note
        begun = first_note(kept)
        if begun is not None:
            return begun
        words = set(_NAME.findall(span.text)) if span is not None else {"nan"}
        before = [*log.held, *[names.get(name) for name in words - bound]]
        if "grad" in words:
            before += [value.grad for value in before if isinstance(value, Tensor)]
        if "nan" not in words and not any(map(_is_nan, _parts(before))):
            assert span is not None
            return Note(
                f"{span.text} is nan{_counted(value)}", labels=[Label(span)]
            )  # such as inf - inf, at which nothing raises
        return None
    return first_note(kept) if printed else None


def _was_there(value: Tensor, log: UndoLog) -> bool:
    """Whether a value is as before the statement; a gradient was told of by the backward pass that made it."""
    is_filled = value.node.shape != () and id(value.value) in log.undos
    return (value.node.stamp <= log.since and not is_filled) or is_gradient(value)


def _parts(values: Iterable[Any]) -> Iterable[Any]:
    for value in values:
        if isinstance(value, tuple | List):
            yield from _parts(value)
        elif type(value) is float or isinstance(value, Tensor):
            yield value


def _is_nan(value: Any) -> bool:
    return has_nan(value.value if isinstance(value, Tensor) else value)


def _counted(value: Any) -> str:
    if not isinstance(value, Tensor) or not value.shape:
        return ""
    return f" in {int(np.isnan(value.value).sum())} of {value.size} entries"


def _is_written(value: Tensor, log: UndoLog) -> bool:
    return value.node in log.undos or (value.node.shape != () and id(value.value) in log.undos)
