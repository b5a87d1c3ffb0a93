"""The languages, by the endings of their files."""

from __future__ import annotations

from collections.abc import Callable

from agrad.engine.compile.export.c import C
from agrad.engine.compile.export.derive import Derived
from agrad.engine.compile.export.formulas import in_agrad, in_latex
from agrad.engine.compile.export.javascript import JavaScript
from agrad.engine.compile.export.loops import in_loops
from agrad.engine.compile.export.numpy_arrays import in_numpy
from agrad.engine.compile.export.python import Python
from agrad.engine.compile.export.source import source

# Of a value with its derivatives, the name of the function, and the expression, for a comment.
LANGUAGES: dict[str, Callable[[Derived, str, str], str]] = {
    "c": lambda what, name, text: source(what, C(), name, text, in_loops),
    "js": lambda what, name, text: source(what, JavaScript(), name, text, in_loops),
    "py": lambda what, name, text: source(what, Python(), name, text, in_numpy),
    "ag": in_agrad,
    "tex": in_latex,
}
