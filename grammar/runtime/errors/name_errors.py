"""What to say of a name that stands for nothing, and of a call of what is no function."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from agrad.engine.core.op import FUNCTIONS
from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError, Label, UnknownName
from agrad.grammar.diagnostics import Span, suggest
from agrad.grammar.runtime.builtins import CONSTANTS
from agrad.grammar.runtime.errors.graph_fixes import apart
from agrad.grammar.runtime.operations import describe_value
from agrad.grammar.runtime.pytorch_names import KNOWN_ELSEWHERE, PREFIXES
from agrad.grammar.syntax.errors.messages import syntax_error
from agrad.grammar.syntax.keywords import COMMAND_WORDS, SHAPES


def unknown(name: str, span: Span, known: Iterable[str]) -> AgradError:
    """An unknown name, with what may have been meant: of the names that are known, and agrad's own."""
    if name in SHAPES and alone(span):
        behind = Span(span.source, span.end, span.end)
        problem = syntax_error("shape", behind, word=name, usage=SHAPES[name])
        problem.at = behind
        return problem
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
        close = [f"def {name}(x) = …   defines it", "help   lists the functions"]
    fixes = close or [f"give it one: {name} = {_compared(span) or 1}"]
    message = f"there is no function {name}" if called else f"{name} has no value"
    return AgradError("name", message, labels=[Label(span)], fixes=fixes, facts=UnknownName(name, bool(close)))


def _compared(span: Span) -> str:
    """What a name is said to equal where that is all that its statement says, as in `x == 2`; or nothing."""
    text = span.source.text
    before = re.split(r"[;:\n\r]", text[: span.start])[-1]
    found = re.match(r"[ \t]*==([^;#\n\r]+)", text[span.end :])
    if before.strip() or found is None or re.search(r"[=<>~\"']|\b(and|or|not|is|if)\b", found[1]):
        return ""
    value = found[1].strip()
    return value if all(value.count(opener) == value.count(closer) for opener, closer in ("()", "[]")) else ""


def _no_value(name: str, span: Span) -> AgradError:
    """What has a meaning of its own in the language, but none where a value should be."""
    message = f"{name} is not a value: it is a prefix of functions, as in {name}.sin(x)"
    fixes = []
    if name == "print":
        message = "print is a statement: it takes values only, without sep= or end=, and returns nothing"
        fixes = ['print a, b   or print f"{a}, {b}"']
    return AgradError("name", message, labels=[Label(span)], fixes=fixes, facts=UnknownName(name, True))


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
    fixes = [f"did you mean {' or '.join(close)}?"] if close else ["help   lists all names"]
    if name in KNOWN_ELSEWHERE:
        fixes = [KNOWN_ELSEWHERE[name]]
    elif "optim" in module:
        fixes = [KNOWN_ELSEWHERE["optim"]]
    return AgradError("name", f"agrad has no {module}.{name}", labels=[Label(span)], fixes=fixes)


def not_called(value: Any, args: tuple[Any, ...], span: Span) -> AgradError:
    """What to say of a call of what is no function: `x(3)`, where `x*(3)` may be meant."""
    name, given = apart(span.text)
    fixes = []
    if name in FUNCTIONS:
        fixes = [f"del {name}   brings the function back"]
    elif len(args) == 1 and all(isinstance(one, Tensor | float) for one in (value, *args)):
        fixes = [f"{name}*{given}"]
    elif given == "()":
        fixes = [name]
    return AgradError("type", f"{describe_value(value)} cannot be called", labels=[Label(span)], fixes=fixes)
