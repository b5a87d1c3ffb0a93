"""The graph as data: the nodes behind some values, numbered in the order they were made, and drawn in several forms.

The numbers start at 1 and are the same from run to run, in every form and for every part of a graph; a part
that is used twice is listed once. One walk finds the nodes; the forms only write the result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from agrad.engine.core.graph import collect
from agrad.engine.core.tensor import Tensor
from agrad.engine.core.versions import out_of_date
from agrad.engine.inspect.nodes import listed, selected
from agrad.engine.inspect.rows import GraphRows, RowBuilder


class Dump(GraphRows):
    """The graph behind one value, or several, with its forms; each form is loaded when it is called."""

    def text(self, precision: int | None = 10) -> str:
        """A heading and a line per node, in columns."""
        from agrad.engine.inspect import forms

        return forms.as_text(self, precision)

    def tree(self, precision: int | None = 10) -> str:
        """The value at the top, and below each node, indented, what it was computed from."""
        from agrad.engine.inspect import forms

        return forms.as_tree(self, precision)

    def dot(self, precision: int | None = 10) -> str:
        """A digraph in Graphviz's language, with edges from operand to result."""
        from agrad.engine.inspect import forms

        return forms.as_dot(self, precision)

    def mermaid(self, precision: int | None = 10) -> str:
        """A flowchart in Mermaid's language, which Markdown pages on the web can draw."""
        from agrad.engine.inspect import forms

        return forms.as_mermaid(self, precision)

    def boxes(self, precision: int | None = 10) -> str:
        """Boxes and lines, each value below what it was computed from; text where that does not fit the width."""
        from agrad.engine.inspect import boxes

        return boxes.as_boxes(self, precision)

    def program(self, precision: int | None = 10) -> str:
        """The computation of the value as straight-line code. AgradError if a part of the graph is gone."""
        from agrad.engine.inspect import forms

        return forms.as_program(self, precision)

    def svg(self, precision: int | None = 10) -> str:
        """A picture, which web browsers can draw. Needs the extra `plot`."""
        from agrad.engine.inspect import pictures

        return pictures.as_svg(self, precision)

    def tikz(self, precision: int | None = 10) -> str:
        """The same picture as a document for LaTeX. Needs the extra `plot`."""
        from agrad.engine.inspect import pictures

        return pictures.as_tikz(self, precision)

    def picture(self, form: str, precision: int | None = 10) -> bytes:
        """The same picture as a file: of `png` or `pdf`. Needs the extra `plot`."""
        from agrad.engine.inspect import pictures

        return pictures.as_file(self, precision, form)

    def page(self, precision: int | None = 10) -> str:
        """A page in HTML that steps through the graph: see `inspect.page`. Needs the extra `plot`."""
        from agrad.engine.inspect import page

        return page.as_page(self, precision)

    def __str__(self) -> str:
        return self.text()

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        """For a notebook: the text and, where the extra `plot` is installed, the picture."""
        from agrad.engine.interop.notebook import bundle_of_graph

        return bundle_of_graph(self)

    def json(self) -> str:
        """One object, in full precision, with every node that was asked for: see `forms.json`."""
        from agrad.engine.inspect import forms

        return forms.as_json(self)


FORMATS: dict[str, Callable[[Dump, int | None], str]] = {
    "text": Dump.text,
    "tree": Dump.tree,
    "boxes": Dump.boxes,
    "dot": Dump.dot,
    "mermaid": Dump.mermaid,
    "program": lambda dump, precision: dump.program(precision),
    "svg": Dump.svg,
    "tikz": Dump.tikz,
    "page": lambda dump, precision: dump.page(precision),  # a comparison has its own
    "json": lambda dump, precision: dump.json(),
}


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
    builder = RowBuilder(values, ordered, wanted, out_of_date(collect(roots)))
    return Dump(list(dict.fromkeys(names)), roots, ordered, wanted, builder)
