"""The languages, by the endings of their files."""

from __future__ import annotations

from collections.abc import Callable

from agrad.engine.compile.export.c import C
from agrad.engine.compile.export.derive import Derived
from agrad.engine.compile.export.formulas import in_agrad, in_latex
from agrad.engine.compile.export.javascript import JavaScript
from agrad.engine.compile.export.python import Python
from agrad.engine.compile.export.source import source

# Of a value with its derivatives, the name of the function, and the expression, for a comment.
LANGUAGES: dict[str, Callable[[Derived, str, str], str]] = {
    "c": lambda what, name, text: source(what, C(), name, text),
    "js": lambda what, name, text: source(what, JavaScript(), name, text),
    "py": lambda what, name, text: source(what, Python(), name, text),
    "ag": in_agrad,
    "tex": in_latex,
}
