"""`make_dot(y).render("g")`, as torchviz has it: the graph of a value, written to a file."""

from __future__ import annotations

from collections.abc import Callable
from os.path import splitext
from typing import Any

from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError
from agrad.engine.values import describe

_FORMS = {".svg": "svg", ".json": "json"}  # any other ending: the language of Graphviz


class Picture:
    """The graph of a value."""

    __slots__ = ("_root", "_write")
    is_object = True

    def __init__(self, root: Tensor, write: Callable[[str, str], None]) -> None:
        self._root = root
        self._write = write

    @property
    def source(self) -> str:
        """The graph in the language of Graphviz."""
        return self._drawn("dot")

    def _drawn(self, form: str) -> str:
        from agrad.engine.inspect.dump.dump import FORMATS, dump  # here, since few sessions draw a graph

        return FORMATS[form](dump(self._root), 10)

    def render(self, filename: str = "graph", format: str | None = None, **options: Any) -> None:
        """Write the graph; the ending of the file, or `format`, gives the form: .svg, or .gv for Graphviz."""
        ending = splitext(filename)[1]
        if not ending:
            ending = ".svg" if format == "svg" else ".gv"
            filename += ending
        self._write(filename, f"{self._drawn(_FORMS.get(ending, 'dot'))}\n")

    def _shown(self, text: Callable[[Any], str]) -> str:
        return self._drawn("text")


def make_dot(y: Any, write: Callable[[str, str], None]) -> Picture:
    """The graph of a value. Raises AgradError of kind `type` for what has none."""
    if not isinstance(y, Tensor):
        raise AgradError("type", f"make_dot needs a value with a graph, not {describe(y)}")
    return Picture(y, write)
