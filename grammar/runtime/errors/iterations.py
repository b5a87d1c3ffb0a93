"""In which iteration of the loops around it something happened: `epoch = 2, i = 5`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import Label, Note
from agrad.engine.values import format_number
from agrad.grammar.runtime.bytecode import Do, Frame

_STORING = (Do.UNPACK, Do.UNPACK_REST, Do.STORE)


def iteration(frames: Iterable[Frame]) -> str:
    """The counters of the loops that run, the outermost first; "" outside of loops."""
    told: dict[str, str] = {}
    for frame in frames:
        for name in _counters(frame):
            value = frame.scopes[0].get(name)
            if isinstance(value, Tensor) and not value.shape:
                value = value.node.value
            if type(value) is float:
                told[name] = f"{name} = {format_number(value)}"
    return ", ".join(told.values())


def _counters(frame: Frame) -> Iterator[str]:
    """The names that the loops around the running instruction of a frame give values to."""
    instructions, running = frame.code.instructions, frame.pc - 1
    for place, (do, end, _) in enumerate(instructions[:running]):
        if do is not Do.NEXT or not place < running < end:
            continue
        for do, detail, _ in instructions[place + 1 :]:
            if do not in _STORING:
                break
            if do is Do.STORE:
                yield detail[0]


def noted(note: Note, frames: Iterable[Frame]) -> Note:
    """A note with the iteration behind the mark of its place."""
    told = iteration(frames) if note.of_numbers else ""
    if not told or not note.labels or note.labels[0].text:
        return note
    first = Label(note.labels[0].origin, f"at {told}")
    return Note(note.message, [first, *note.labels[1:]], note.fixes, note.notes, note.follows, note.of_numbers)
