"""What a refusal says, as a whole: its kind, and all the lines that a traceback would show."""

import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from rows import functions
from transcript import sections

import agrad.engine as ag

REFUSALS = Path(__file__).parents[1] / "engine" / "refusals.txt"


@dataclass(frozen=True)
class Place:
    """A place of a program, as a language tells the engine of it."""

    text: str
    where: str


def leaf(value, name=None):
    made = ag.tensor(value, requires_grad=True)
    made.name = name
    return made


def named(name, value):
    """A computed value with the name that a language would give it."""
    value.name = name
    return value


def refusal(call):
    """`kind: message`, and the lines below it."""
    with pytest.raises(ag.AgradError) as caught:
        call()
    return f"{caught.value.kind}: {caught.value}"


def refuses(call, message=None, kind=None):
    """The error that a call is refused with, of these words (a pattern) and this kind."""
    with pytest.raises(ag.AgradError, match=message) as caught:
        call()
    assert kind is None or caught.value.kind == kind, caught.value.kind
    return caught.value


def refusals(title, names):
    """A table of tests/engine/refusals.txt: calls, the kinds of their errors (`-`: of any), and words of their messages."""
    rows = [row.split(" | ") for row in sections(REFUSALS)[title][0].splitlines()]
    return [
        (functions("", call, names)[call], None if kind == "-" else kind, re.escape(message))
        for call, kind, message in rows
    ]


def lines(*parts):
    """What `refusal` returns, written down line by line."""
    return "\n  ".join(parts)
