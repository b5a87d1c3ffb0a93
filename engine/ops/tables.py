"""Tables: columns of numbers and of texts, with names, as `load_csv` gives them.

One index is a column, `t["speed"]` or `t[0]`, as of a data frame; a slice or a mask is rows. Two indices are rows and
columns, `t[0, :]`, as of a matrix. Where numbers are needed, a table is the matrix of its columns, which must all be of
numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NoReturn

from agrad.engine import units
from agrad.engine.core.arguments import tidy_slice
from agrad.engine.core.graph import leaf
from agrad.engine.core.op import OPERATORS, OPS
from agrad.engine.core.tensor import Tensor, bare, tensor
from agrad.engine.errors import AgradError, Hint, UnknownColumn
from agrad.engine.text import align, counted, display_width, printable, truncate
from agrad.engine.values import describe, format_number, mask_type, np, whole

_EDGE = 5  # rows at each end of a long table that are shown
_MOST = 20  # rows of a table that is shown whole
_CELL = 30  # characters of a text that is shown
_SHORT = 6  # columns that are named in the short form of a table


class Texts:
    """A column of texts, None where there is none. It has entries, slices and comparisons, and no arithmetic."""

    __slots__ = ("name", "texts")
    is_object = True
    __hash__ = None  # type: ignore[assignment]  # `==` gives a mask

    def __init__(self, name: str, texts: Iterable[str | None]) -> None:
        self.name = name
        self.texts = list(texts)

    def __len__(self) -> int:
        return len(self.texts)

    def __iter__(self) -> Iterator[str | None]:
        return iter(self.texts)

    def __contains__(self, text: object) -> bool:
        return text in self.texts

    def __getitem__(self, index: Any) -> Any:
        """One text, or those of a slice, a mask, or several places. Raises AgradError of kind `shape`."""
        if isinstance(index, slice):
            return Texts(self.name, self.texts[tidy_slice(index)])
        if is_array(index):
            return Texts(self.name, [self.texts[place] for place in _places(index, len(self), "texts")])
        return self.texts[_place(index, len(self), "texts")]

    def __eq__(self, other: object) -> Any:
        return compared(self, other, True)

    def __ne__(self, other: object) -> Any:
        return compared(self, other, False)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NoReturn:
        """Refuse a column of texts where numbers are needed. Raises AgradError of kind `type`."""
        found = next((text for text in self.texts if text), "")
        shown = truncate(f'"{printable(found)}"', _CELL)
        fixes = [Hint(f"{_spelled(self.name)} == {shown}   is a mask")]
        raise AgradError("type", f"the column {self.name} holds texts, such as {shown}, and no numbers", fixes=fixes)

    def __repr__(self) -> str:
        return self._shown(str)

    def _shown(self, text: Callable[[Any], str]) -> str:
        places = shown_rows(len(self))
        shown = ["…" if place is None else repr(self.texts[place]) for place in places]
        return f"[{', '.join(shown)}]" + (f"   {len(self)} texts" if None in places else "")

    def _parts(self) -> list[Any]:
        return []


def compared(column: Texts, other: Any, equal: bool) -> Tensor:
    """A mask of the entries that are, or are not, equal to a text, or to those of another column. Raises AgradError."""
    if other is None or isinstance(other, str):
        others: Sequence[str | None] = [other] * len(column)
    elif isinstance(other, Texts):
        others = other.texts
        if len(others) != len(column):
            raise AgradError("shape", f"{column.name} has {len(column)} texts, and {other.name} {len(others)}")
    else:
        message = f"the column {column.name} holds texts: it is compared with a text, not with {describe(other)}"
        raise AgradError("type", message, fixes=[Hint(f'{_spelled(column.name)} == "…"')])
    found = [(one == another) is equal for one, another in zip(column.texts, others, strict=True)]
    mask = np.array(found, dtype=np.float64).view(mask_type())
    return bare(leaf(mask))


class NoColumn(AgradError, AttributeError):
    """A table has no such column: an AttributeError, so that `hasattr` is false."""


class Table:
    """Columns of one length, with names: Tensors of numbers, and `Texts`. Which columns it has cannot be changed.

    Its attributes are the columns, before all others but `columns`, so that its own begin with `_`.
    """

    __slots__ = ("_columns", "_matrix", "_names", "_source", "_state")
    is_object = True
    __hash__ = None  # type: ignore[assignment]  # as of an array
    __array_ufunc__ = None  # an operator of numpy's arrays leaves the operation to the table

    def __init__(self, names: Iterable[str], columns: Iterable[Any], source: str = "the table") -> None:
        self._names, self._columns, self._source = tuple(names), tuple(columns), source
        self._matrix: Tensor | None = None
        self._state: tuple[Any, ...] = ()  # of the columns, when the matrix was made

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return self._names

    def __len__(self) -> int:
        """The number of rows."""
        return len(self._columns[0]) if self._columns else 0

    def __getattr__(self, name: str) -> Any:
        """A column; or else what the matrix of the columns has, such as `T`. Raises AgradError of kind `name`."""
        if name.startswith("__"):
            raise AttributeError(name)
        if name not in self._names and name == "shape":
            return len(self), len(self._columns)
        if name not in self._names and hasattr(Tensor, name):
            return getattr(matrix(self), name)
        try:
            return column(self, name)
        except AgradError as problem:
            raise NoColumn(problem.kind, problem.message, notes=problem.notes, fixes=problem.fixes) from None

    def __getitem__(self, index: Any) -> Any:
        """A column, several columns by a list, rows by a slice or a mask, or both by two indices. Raises AgradError."""
        if isinstance(index, tuple):
            if len(index) != 2:
                raise AgradError("shape", f"a table has rows and columns, and {len(index)} indices are given")
            return _cut(self, *index)
        if isinstance(index, list):
            return chosen(self, index)
        if isinstance(index, slice) or _is_mask(index):
            return _rows(self, index)
        if is_array(index):
            message = "one index of several numbers may mean rows or columns of a table"
            fixes = [Hint("t[[0, 2], :]   for rows"), Hint("t[:, [0, 2]]   for columns")]
            raise AgradError("type", message, fixes=fixes)
        return column(self, index)

    def __setitem__(self, index: Any, value: Any) -> NoReturn:
        """Refuse to write. Raises AgradError of kind `type`."""
        fixes = [Hint("x = tensor(t)   is an array, which can be written to")]
        raise AgradError("type", "the entries of a table cannot be assigned to", fixes=fixes)

    def __iter__(self) -> NoReturn:
        """Refuse a loop, in which rows or columns might be meant. Raises AgradError of kind `type`."""
        fixes = ["for row in tensor(t): …", "for name in t.columns: …", "x, y = t.T   of columns of numbers"]
        raise AgradError("type", "a table is read by rows or by columns", fixes=[Hint(fix) for fix in fixes])

    def __contains__(self, name: object) -> bool:
        """Whether a column has that name."""
        return name in self._names

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """The matrix, for numpy: a copy."""
        return np.array(matrix(self).numpy(), dtype=dtype)

    def __repr__(self) -> str:
        return text(self, 6)

    def _shown(self, shown: Callable[[Any], str]) -> str:
        return f"<{described(self)}>"

    def _parts(self) -> list[Any]:
        return list(self._columns)


def install() -> None:
    """Give tables the operators of arrays: those of their matrices."""
    for operator in OPERATORS.values():
        for name in (f"__{operator.method}__", f"__r{operator.method}__"):
            if name in vars(Tensor):
                setattr(Table, name, _operator(name))


def _operator(name: str) -> Callable[..., Any]:
    def call(self: Table, *others: Any) -> Any:
        return getattr(matrix(self), name)(*(matrix(x) if isinstance(x, Table) else x for x in others))

    return call


def measured(table: Table) -> Table:
    """A table whose columns have the units at the ends of their names: see `of_header`. Raises AgradError."""
    names, columns = [*table._names], [*table._columns]
    for place, one in enumerate(columns):
        name, unit = units.unit.of_header(names[place])
        if unit is not None and isinstance(one, Tensor):
            names[place], columns[place] = name, units.quantity.of_unit(one, unit)
    return Table(names, columns, table._source)


# Parts


def column(table: Table, name: Any) -> Any:
    """A column by its name, or by its number from 0; a negative one counts from the end. Raises AgradError."""
    names = table._names
    if not isinstance(name, str):
        return table._columns[_number(table, name)]
    places = [place for place, known in enumerate(names) if known == name]
    if len(places) == 1:
        return table._columns[places[0]]
    if places:
        fixes = [Hint(f"t[:, {place}]") for place in places]
        raise AgradError("name", f"{table._source} has {len(places)} columns {name}", fixes=fixes)
    listed = ", ".join(names[:20]) + (", …" if len(names) > 20 else "")
    facts = UnknownColumn(name, names, False)
    message = f"{table._source} has no column {name}"
    raise AgradError("name", message, notes=[f"its columns are {listed}"], facts=facts)


def _number(table: Table, index: Any) -> int:
    """A number of a column, from 0. Raises AgradError of kind `shape`."""
    count, place = len(table._columns), whole(index, "the number of a column")
    if not -count <= place < count:
        columns = f"{table._source} has {counted(count, 'column')}: there is no column {place}"
        message = f"one index of a table is a column, and {columns}"
        fixes = [Hint(f"t[{place}, :]   for a row")] if -len(table) <= place < len(table) else []
        raise AgradError("shape", message, fixes=fixes)
    return place % count


def chosen(table: Table, several: Iterable[Any]) -> Table:
    """Some columns, by names or numbers, as a table. Raises AgradError."""
    columns = [
        (one if isinstance(one, str) else table._names[_number(table, one)], column(table, one)) for one in several
    ]
    return Table([name for name, _ in columns], [found for _, found in columns], table._source)


def _rows(table: Table, rows: Any) -> Table:
    """Some rows, of all columns."""
    if _is_mask(rows) and len(rows) != len(table):
        raise AgradError("shape", f"the mask has {len(rows)} entries, and {table._source} {counted(len(table), 'row')}")
    return Table(table._names, [one[rows] for one in table._columns], table._source)


def _cut(table: Table, rows: Any, columns: Any) -> Any:
    """`t[rows, columns]`, as of a matrix: a table, a column, the numbers of a row, or an entry."""
    if not isinstance(columns, list | slice) and not is_array(columns):
        return column(table, columns)[rows]
    count = len(table._columns)
    if isinstance(columns, slice):
        columns = range(count)[tidy_slice(columns)]
    elif is_array(columns):
        columns = _places(columns, count, "columns")
    part = chosen(table, columns)
    if isinstance(rows, list):
        rows = tensor(rows)
    if isinstance(rows, slice) or is_array(rows):
        return _rows(part, rows)
    return matrix(part)[_place(rows, len(table), "rows")]


def is_array(index: Any) -> bool:
    """Whether an index is an array of several places, or a mask."""
    return bool(getattr(index, "shape", ()))


def _is_mask(index: Any) -> bool:
    return is_array(index) and type(getattr(index, "value", index)) is mask_type()


def _places(index: Any, count: int, what: str) -> list[int]:
    """The places that a mask, or an array of numbers, selects. Raises AgradError of kind `shape`."""
    entries = np.asarray(index.tolist())
    if not _is_mask(index):
        return [_place(float(one), count, what) for one in entries.ravel()]
    if len(entries) != count:
        raise AgradError("shape", f"the mask has {len(entries)} entries, and there are {count} {what}")
    found: list[int] = np.flatnonzero(entries).tolist()
    return found


def _place(index: Any, count: int, what: str) -> int:
    place = whole(index, "an index")
    if not -count <= place < count:
        raise AgradError("shape", f"index {place} is out of range: there are {count} {what}")
    return place


# As numbers


def matrix(table: Table) -> Tensor:
    """The columns side by side, as an array. Raises AgradError of kind `type` if one of them holds texts.

    While the columns stay as they are, it is made once.
    """
    texts = [one.name for one in table._columns if isinstance(one, Texts)]
    if texts:
        numbers = ", ".join(f'"{name}"' for name in table._names if name not in texts)
        what = f"the column {texts[0]} holds" if len(texts) == 1 else f"the columns {', '.join(texts)} hold"
        fixes = [Hint(f"t[[{numbers}]]   is the table without texts")] if numbers else []
        raise AgradError("type", f"{what} texts, so that the table is no array of numbers", fixes=fixes)
    state = tuple([part for one in table._columns for part in (id(one.node), one.node.stamp, one.version)])
    if table._matrix is None or table._state != state or table._matrix.node.recorded:
        table._matrix, table._state = OPS["stack"].call(list(table._columns), 1), state
    return table._matrix


def as_operand(value: Any) -> Any:
    """The matrix of a table; any other value itself. Raises AgradError for texts, which have no arithmetic."""
    if isinstance(value, Texts):
        value.__array__()
    return matrix(value) if isinstance(value, Table) else value


# As text


def text(table: Table, precision: int | None, width: int = 80) -> str:
    """A table in aligned columns: all rows, or the first and the last; as many columns as fit."""
    names, columns = table._names[:width], table._columns[:width]  # as many as may fit
    heads, rows = shown(Table(names, columns), precision)
    widths = [max(map(display_width, cells)) for cells in zip(heads, *rows, strict=True)]
    fitting = _fitting(widths, width)
    right = {place for place in range(fitting) if isinstance(table._columns[place], Tensor)}
    left = len(table._names) - fitting
    some = ", ".join([*heads[fitting:], *map(_short, table._names[width : 2 * width])])
    more = [truncate(f"{counted(left, 'more column')}: {some}", width)] if left else []
    return "\n".join([*align([row[:fitting] for row in [heads, *rows]], right), *more, counted(len(table), "row")])


def shown(table: Table, precision: int | None) -> tuple[list[str], list[list[str]]]:
    """The names of the columns and the entries, as texts: of a long table the first rows, points, and the last."""
    places, columns = shown_rows(len(table)), table._columns
    of = [units.unit_of(one) for one in columns]
    cells = [[_cell(one, place, precision, unit) for place in places] for one, unit in zip(columns, of, strict=True)]
    heads = [f"{name} ({unit.text})" if unit else name for name, unit in zip(table._names, of, strict=True)]
    return list(map(_short, heads)), [list(row) for row in zip(*cells, strict=True)]


def _cell(one: Any, place: int | None, precision: int | None, unit: Any) -> str:
    if place is None:
        return "…"
    if isinstance(one, Texts):
        return _short(one.texts[place] or "")
    found = float(one.read_only()[place])
    return format_number(found if unit is None else unit.of_si(found), precision)


def _short(name: str) -> str:
    return truncate(printable(name).replace("\n", " ").replace("\t", " "), _CELL)


def shown_rows(count: int) -> list[int | None]:
    """The rows that are shown of so many; None for those that are left out."""
    if count <= _MOST:
        return list(range(count))
    return [*range(_EDGE), None, *range(count - _EDGE, count)]


def _fitting(widths: Sequence[int], width: int) -> int:
    """How many columns of these widths fit side by side; at least one."""
    taken = 0
    for place, one in enumerate(widths):
        taken += one + 2 * (place > 0)
        if place and taken > width:
            return place
    return len(widths)


def described(table: Table) -> str:
    """A table in a few words."""
    names = list(map(_short, table._names))
    some = ", ".join(names[:_SHORT]) + (", …" if len(names) > _SHORT else "")
    return f"table of {counted(len(table), 'row')}: {some}"


def _spelled(name: str) -> str:
    return f"t.{name}" if name.isidentifier() else f't["{name}"]'
