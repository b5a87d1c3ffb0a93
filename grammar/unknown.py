"""What to say of a name that stands for nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable

from agrad.engine.errors import AgradError, Label
from agrad.engine.op import FUNCTIONS
from agrad.grammar.diagnostics import Span, suggest
from agrad.grammar.functions import CONSTANTS
from agrad.grammar.mistakes import wrong
from agrad.grammar.pytorch import KNOWN_ELSEWHERE, PREFIXES
from agrad.grammar.words import COMMAND_WORDS, SHAPES


def unknown(name: str, span: Span, known: Iterable[str]) -> AgradError:
    """An unknown name, with what may have been meant: of the names that are known, and agrad's own."""
    if name in SHAPES and alone(span):
        return wrong("shape", span, word=name, usage=SHAPES[name])
    called = span.source.text[span.end :].lstrip().startswith("(")
    if name == "print" or (name in PREFIXES and not called):
        return _no_value(name, span)
    found = suggest(name, {*known, *CONSTANTS, *FUNCTIONS}) or suggest(name, COMMAND_WORDS)
    close = [f"did you mean {' or '.join(found)}?"] if found else []
    if name in KNOWN_ELSEWHERE and (called or name != "d"):  # d is as good a name as any
        close = [KNOWN_ELSEWHERE[name]]
    elif name in SHAPES and not called:
        close = [SHAPES[name]]
    elif called and not close:
        close = [f"def {name}(x) = …   defines it", "help   lists the functions there are"]
    fixes = close or [f"give it one: {name} = 1"]
    message = f"there is no function {name}" if called else f"{name} has no value"
    return AgradError("name", message, labels=[Label(span)], fixes=fixes, name=name, close=close)


def _no_value(name: str, span: Span) -> AgradError:
    """What has a meaning of its own in the language, but none where a value should be."""
    message = f"{name} is no value: it stands before a function, as in {name}.sin(x)"
    fixes = []
    if name == "print":
        message = "print is a statement: it takes values alone, with no sep= and no end=, and gives none"
        fixes = ['print a, b   or print f"{a}, {b}"']
    return AgradError("name", message, labels=[Label(span)], fixes=fixes, close=True)


def alone(span: Span) -> bool:
    """Whether what stands there is all of its statement, as a command without its operands is."""
    text = span.source.text
    before, behind = (
        re.split(r"[;:\n\r]", text[: span.start])[-1],
        re.split(r"[;#\n\r]", text[span.end :], maxsplit=1)[0],
    )
    return not before.strip() and not behind.strip()


def unknown_in(module: str, name: str, span: Span) -> AgradError:
    """The same for a name with the prefix of a module: torch.sni."""
    close = suggest(name, [*FUNCTIONS, *CONSTANTS])
    fixes = [f"did you mean {' or '.join(close)}?"] if close else ["help   lists what there is"]
    if name in KNOWN_ELSEWHERE:
        fixes = [KNOWN_ELSEWHERE[name]]
    elif "optim" in module:
        fixes = [KNOWN_ELSEWHERE["optim"]]
    return AgradError("name", f"agrad has no {module}.{name}", labels=[Label(span)], fixes=fixes)
