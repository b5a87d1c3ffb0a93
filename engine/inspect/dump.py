"""The dump of a graph: the nodes behind some values, numbered in the order they were made, and drawn in several forms.

A part of a graph that is used twice is listed once. One walk finds the nodes; the forms only write the result.
"""

from __future__ import annotations

from collections.abc import Sequence

from agrad.engine import interop
from agrad.engine.core.tensor import Tensor
from agrad.engine.inspect.boxes import as_boxes
from agrad.engine.inspect.forms import as_dot, as_json, as_mermaid, as_program, as_text, as_tree
from agrad.engine.inspect.nodes import listed, selected
from agrad.engine.inspect.pictures import as_file, as_svg
from agrad.engine.inspect.rows import GraphRows


class Dump(GraphRows):
    """The graph behind one value, or several, with its forms, each a method that takes the digits of a number."""

    text, tree, boxes, json, program = as_text, as_tree, as_boxes, as_json, as_program
    dot, mermaid, svg, picture = as_dot, as_mermaid, as_svg, as_file

    def page(self, precision: int | None = 10, heading: str = "") -> str:
        """A page in HTML that steps through the graph: see `inspect.page`."""
        from agrad.engine.inspect.page import as_page  # here, since few graphs are shown as pages

        return as_page(self, precision, heading)

    def __str__(self) -> str:
        return self.text()

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        """For a notebook: the text and, the picture; with the extra `plot`, also as PNG."""
        draw = interop.notebook.pictures
        return {"text/plain": self.text()} | draw(lambda form: self.svg() if form == "svg" else self.picture(form))


def dump(
    root: Tensor | Sequence[Tensor],
    name: str | Sequence[str] | None = None,
    depth: int | None = None,
    since: Sequence[Tensor] = (),
) -> Dump:
    """The graph behind a value, or several, constants with a name or more than one entry included.

    With `depth`, only the nodes at most so many operations behind a value; with `since`, only those on a path from
    these to a value, and what they were computed from. Raises AgradError of kind `type` or `domain` for an invalid
    depth, and of kind `grad` where no path leads from one of `since` to a value.
    """
    values = [root] if isinstance(root, Tensor) else list(root)
    roots = list(dict.fromkeys(value.node for value in values))
    names = [name] if isinstance(name, str) else name or [node.spell() for node in roots]
    ordered = listed(*roots)
    kept = selected(roots, ordered, depth, since)
    wanted = ordered if kept is None else [node for node in ordered if node.seq in kept]
    return Dump(list(dict.fromkeys(names)), values, ordered, wanted)
