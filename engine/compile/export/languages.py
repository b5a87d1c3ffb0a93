"""The languages, by the endings of their files."""

from __future__ import annotations

from agrad.engine.compile.export.c import C
from agrad.engine.compile.export.javascript import JavaScript
from agrad.engine.compile.export.python import Python
from agrad.engine.compile.export.source import Language

LANGUAGES: dict[str, type[Language]] = {"c": C, "js": JavaScript, "py": Python}
