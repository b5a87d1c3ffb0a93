"""`plt` and `make_dot` of pasted scripts: plots are drawn by agrad or written to a file, and so are graphs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from os.path import splitext
from typing import Any

from agrad.engine import inspect
from agrad.engine.core.tensor import Tensor, tensor
from agrad.engine.errors import AgradError, Hint
from agrad.engine.values import describe
from agrad.grammar.results import LINES, Curve, Plot

# What changes how a picture looks, and has no meaning on a terminal.
IGNORED = frozenset(
    """figure grid legend xlim ylim tight_layout axhline axvline text annotate close clf cla axis xticks yticks
    colorbar style pause ion ioff suptitle""".split()
)


class Figure:
    """The curves that were drawn and not shown yet."""

    def __init__(self, show: Callable[[Plot], None], write: Callable[[Plot, str], None]) -> None:
        self._show = show
        self._write = write
        self.clear()

    def clear(self) -> None:
        """Begin a new picture."""
        self.curves: list[Curve] = []
        self.axis = ""

    def members(self) -> dict[str, Callable[..., Any]]:
        """All that `plt` has."""
        ignored: dict[str, Callable[..., Any]] = {name: lambda *args, **options: None for name in IGNORED}
        return ignored | {name: getattr(self, name) for name in DRAWING}

    def plot(self, *args: Any, label: Any = None, **style: Any) -> None:
        """Lines; a format with a marker and no line draws points."""
        data = [_numbers(one) for one in args if not isinstance(one, str)]
        looks = next((one for one in args if isinstance(one, str)), "")
        points = any(mark in looks for mark in "o.x+*sd") and "-" not in looks
        self._add(data, "points" if points else LINES[len(self.curves) % len(LINES)], label)

    def scatter(self, x: Any, y: Any, *args: Any, label: Any = None, **style: Any) -> None:
        """Points."""
        self._add([_numbers(x), _numbers(y)], "points", label)

    def _add(self, data: Sequence[list[float]], style: Any, label: Any) -> None:
        if not 1 <= len(data) <= 2:
            raise AgradError("arity", "plt.plot takes y, or x and y: call it once for each curve")
        x, y = data if len(data) == 2 else ([float(place) for place in range(len(data[0]))], data[0])
        if len(x) != len(y):
            raise AgradError("shape", f"plt.plot: x has {len(x)} entries, and y has {len(y)}")
        self.curves.append(Curve(label if isinstance(label, str) else f"curve {len(self.curves) + 1}", x, y, style))

    def xlabel(self, text: Any, **style: Any) -> None:
        """The name of the axis."""
        self.axis = str(text)

    def ylabel(self, text: Any, **style: Any) -> None:
        """The name of the curve, if it has none and is the only one; `title` is the same."""
        if len(self.curves) == 1 and self.curves[0].name == "curve 1":
            only = self.curves[0]
            self.curves = [Curve(str(text), only.x, only.y, only.style)]

    title = ylabel

    def show(self, *args: Any, **options: Any) -> None:
        """Draw the picture."""
        curves, axis = tuple(self.curves), self.axis
        self.clear()
        if curves:
            self._show(Plot(curves, axis))

    def savefig(self, path: Any, **options: Any) -> None:
        """Write the picture to a file; it can still be shown."""
        if not isinstance(path, str):
            raise AgradError("type", f"plt.savefig needs the name of a file, not {describe(path)}")
        if not self.curves:
            raise AgradError("file", "plt.savefig: nothing is drawn", fixes=[Hint("plt.plot(x, y)   first")])
        self._write(Plot(tuple(self.curves), self.axis), path)

    def subplots(self, *args: Any, **options: Any) -> None:
        """Several pictures: refused, since `ax.plot` of one would be lost."""
        message = "plt.subplots: agrad draws one picture after the other, and has no axes"
        raise AgradError("type", message, fixes=[Hint("plt.plot(x, y); plt.show()   for each")])


DRAWING = ("plot", "scatter", "xlabel", "ylabel", "title", "show", "savefig", "subplots")


def _numbers(value: Any) -> list[float]:
    """The entries of a vector."""
    if isinstance(value, range | tuple | list):
        value = tensor([one.item() if isinstance(one, Tensor) and not one.shape else one for one in value])
    if not isinstance(value, Tensor) or len(value.shape) != 1:
        what = "a matrix" if isinstance(value, Tensor) and value.shape else describe(value)
        raise AgradError("type", f"a curve is a vector of numbers, and this is {what}")
    found: list[float] = value.detach().tolist()
    return found


# `make_dot(y).render("g")`, as torchviz has it: the graph of a value, written to a file.

_FORMS = {".svg": "svg", ".json": "json"}  # any other ending: the language of Graphviz


class Picture:
    """The graph of a value."""

    __slots__ = ("_root", "_write")
    is_object = True

    def __init__(self, root: Any, write: Callable[[str, str], None]) -> None:
        """Raises AgradError of kind `type` for what has no graph."""
        if not isinstance(root, Tensor):
            raise AgradError("type", f"make_dot needs a value with a graph, not {describe(root)}")
        self._root = root
        self._write = write

    @property
    def source(self) -> str:
        """The graph in the language of Graphviz."""
        return self._drawn("dot")

    def _drawn(self, form: str) -> str:
        return str(getattr(inspect.dump.dump(self._root), form)(10))

    def render(self, filename: str = "graph", format: str | None = None, **options: Any) -> None:
        """Write the graph; the ending of the file, or `format`, gives the form: .svg, or .gv for Graphviz."""
        ending = splitext(filename)[1]
        if not ending:
            ending = ".svg" if format == "svg" else ".gv"
            filename += ending
        self._write(filename, f"{self._drawn(_FORMS.get(ending, 'dot'))}\n")

    def _shown(self, text: Callable[[Any], str]) -> str:
        return self._drawn("text")
