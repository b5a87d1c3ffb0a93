"""einsum: sums of products, in the notation of indices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agrad.engine.core.context import afford
from agrad.engine.core.dispatch import by_array, in_family
from agrad.engine.errors import AgradError
from agrad.engine.ops.arrays.indexing import scatter
from agrad.engine.ops.arrays.shaping import collapse, expand, reshape
from agrad.engine.values import Shape, describe, format_number, format_shape, np, shape_of, size_of, whole_as_float

row, composed = in_family("linear algebra")

_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_FEWEST_PRODUCTS = 512  # of one product of matrices, from which on a call of BLAS pays
_MOST_PRODUCTS = 10**12  # an hour, during which numpy does not react to Ctrl-C


def explicit(subscripts: Any, shapes: list[Shape]) -> tuple[tuple[str, ...], str]:
    """The letters of each operand and of the result, with `...` and a missing result spelt out."""
    if not isinstance(subscripts, str):
        raise AgradError("type", f'einsum: subscripts like "ij,jk->ik" come first, not {describe(subscripts)}')
    inputs, arrow, output = subscripts.replace(" ", "").partition("->")
    terms = inputs.split(",")
    if len(terms) != len(shapes):
        raise AgradError("arity", f'einsum "{subscripts}" needs {len(terms)} operands, not {len(shapes)}')
    if not all(letter in _LETTERS for term in (*terms, output) for letter in term.replace("...", "")):
        raise AgradError("type", f'einsum "{subscripts}": indices are letters')
    free = [letter for letter in _LETTERS if letter not in subscripts]
    widths = [len(s) - len(t.replace("...", "")) if "..." in t else 0 for t, s in zip(terms, shapes, strict=True)]
    dots = "".join(free[: max(0, *widths)])
    full = []
    for term, shape, width in zip(terms, shapes, widths, strict=True):
        letters = term.replace("...", dots[len(dots) - width :] if width > 0 else "")
        if len(letters) != len(shape):
            raise AgradError("shape", f'einsum "{subscripts}": {term or "a number"} does not fit {format_shape(shape)}')
        full.append(letters)
    if not arrow:
        every = "".join(full)
        output = dots + "".join(sorted(letter for letter in set(every) - set(dots) if every.count(letter) == 1))
    output = output.replace("...", dots)
    if len(set(output)) < len(output) or not set(output) <= set("".join(full)):
        raise AgradError("type", f'einsum "{subscripts}": the result names each index of the operands at most once')
    return tuple(full), output


def _prepared(*xs: Any, subscripts: Any) -> dict[str, Any]:
    shapes = [shape_of(x) for x in xs]
    terms, output = explicit(subscripts, shapes)
    sizes: dict[str, int] = {}
    for term, shape in zip(terms, shapes, strict=True):
        for letter, length in zip(term, shape, strict=True):
            known = sizes.setdefault(letter, length)
            if length != known and 1 not in (length, known):
                raise AgradError("shape", f'einsum "{subscripts}": index {letter} has lengths {known} and {length}')
            sizes[letter] = length if known == 1 else known
    afford("einsum", tuple(sizes[letter] for letter in output))
    products = size_of(tuple(sizes.values()))
    if len(xs) < 3 and products > _MOST_PRODUCTS:
        count = format_number(whole_as_float(products), 3)
        raise AgradError("limit", f'einsum "{subscripts}" would add up {count} products, one by one')
    return {"subscripts": (terms, output, tuple(shapes), sizes)}


def _by_matmul(xs: Any, terms: tuple[str, ...], output: str, sizes: dict[str, int]) -> Any:
    """The product of two as one of matrices, for each index that both and the result have; None where that is slower.

    numpy's own einsum adds up such products one by one.
    """
    if output and output[-1] not in terms[1]:  # neighbours in the result are neighbours in the product
        xs, terms = xs[::-1], terms[::-1]
    first, second = terms
    shared, alone = set(first) & set(second), set(first) ^ set(second)
    if not alone <= {*output} or any(len({*term}) < len(term) for term in terms):
        return None
    if any(x.shape != tuple([sizes[letter] for letter in term]) for x, term in zip(xs, terms, strict=True)):
        return None
    each = [letter for letter in output if letter in shared]
    left, right = [[letter for letter in output if letter in alone and letter in term] for term in terms]
    summed = [letter for letter in first if letter not in output]
    count, rows, columns, inner = [size_of(tuple([sizes[x] for x in some])) for some in (each, left, right, summed)]
    if not summed or rows * columns * inner < _FEWEST_PRODUCTS:
        return None
    a = xs[0].transpose([first.index(x) for x in (*each, *left, *summed)]).reshape(count, rows, inner)
    b = xs[1].transpose([second.index(x) for x in (*each, *summed, *right)]).reshape(count, inner, columns)
    found = np.empty([sizes[x] for x in output])
    view = found.transpose([output.index(x) for x in (*each, *left, *right)])
    whole = view.reshape(count, rows, columns)
    if np.may_share_memory(whole, found):
        np.matmul(a, b, out=whole)
    else:
        view[...] = np.matmul(a, b).reshape(view.shape)
    return found


def _rule(g: Any, out: Any, *xs: Any, subscripts: Any, which: int) -> Any:
    """g and the other operands, summed to the letters of this one."""
    terms, output, shapes, sizes = subscripts
    term, shape = terms[which], shapes[which]
    others = [place for place in range(len(terms)) if place != which]
    known = set(output).union(*(terms[place] for place in others))
    letters = "".join(dict.fromkeys(term))
    found = "".join(letter for letter in letters if letter in known)
    inputs = ",".join([output, *(terms[place] for place in others)])
    c = sum_of_products([g, *(xs[place] for place in others)], f"{inputs}->{found}")
    if found != letters:  # an index that is summed away in this operand alone
        c = reshape(c, tuple(sizes[letter] if letter in known else 1 for letter in letters))
    c = _fitted(c, tuple(shape[term.index(letter)] for letter in letters))
    if len(letters) < len(term):  # a diagonal
        lengths = shape_of(c)
        grid = dict(zip(letters, np.indices(lengths, sparse=True), strict=True))
        return scatter(c, tuple(grid[letter] for letter in term), shape)
    return c


def _fitted(c: Any, shape: Shape) -> Any:
    """A gradient in the shape of its operand: summed where that has length 1, spread where the gradient has."""
    have = shape_of(c)
    if have == shape:
        return c
    least = tuple(1 if length == 1 else other for other, length in zip(have, shape, strict=True))
    return expand(collapse(c, least), shape)


def _units(operands: Sequence[Any], attrs: Any) -> str:
    letters = _LETTERS[: len(operands)]
    return f"{', '.join(letters)} -> {letters}"


@by_array(
    row,
    "*xs; subscripts",
    name="einsum",
    units=_units,
    rules={"xs": ("xs", _rule)},
    prepare=_prepared,
    reach="mixed",
    moves_entries=True,
)
def sum_of_products(*xs: Any, subscripts: Any) -> Any:
    """Sums of products of entries, in the notation of indices."""
    terms, output, _, sizes = subscripts
    if len(xs) == 2 and all(terms) and all(x.dtype.char == "d" for x in xs):  # symbols are objects
        product = _by_matmul(xs, terms, output, sizes)
        if product is not None:
            return product
    return np.einsum(f"{','.join(terms)}->{output}", *xs, optimize=len(xs) > 2)


@composed(signature="subscripts; *operands", total=True, data=("operands",))
def einsum(subscripts: Any, operands: Any) -> Any:
    """Sums of products of entries, in the notation of indices: einsum("ij,jk->ik", A, B).

    derivative: g and the other operands, summed to the indices of the one
    example: einsum("i,i->", [1, 2], [3, 4]) == 11
    """
    return sum_of_products(operands if isinstance(operands, tuple) else (operands,), subscripts)
