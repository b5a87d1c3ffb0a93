"""Attributes of values, and the methods that are not functions of the engine's table; columns and entries of tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any

import agrad
from agrad.engine import autodiff, ops, units
from agrad.engine.autodiff.backward import backward
from agrad.engine.autodiff.reverse import register_hook
from agrad.engine.core.arguments import axis_of
from agrad.engine.core.graph import Node, sharers
from agrad.engine.core.guards import number
from agrad.engine.core.op import FUNCTIONS, Signature
from agrad.engine.core.tensor import Tensor, tensor
from agrad.engine.errors import AgradError, Hint, Label, Note, WrongAttribute
from agrad.engine.ops.tables import Table, Texts, as_operand, column, matrix
from agrad.engine.ops.tensor_methods import METHOD_FORMS, extreme, overwrite
from agrad.engine.struct import Struct
from agrad.engine.values import describe, format_number, spread, whole
from agrad.grammar.diagnostics import Span, suggest
from agrad.grammar.elsewhere import NO_METHODS, RENAMED
from agrad.grammar.runtime.builtins import as_tensor, taken
from agrad.grammar.values.lists import List, extend, in_lists, opened, place_in, plain, settled, sorted_parts


class Attribute(Struct):
    """An attribute: what reads it, and whether that depends on the value alone: a loop that does may be compiled.

    `meaning`: for help and completion.
    """

    read: Callable[[Tensor], Any]
    meaning: str = ""
    pure: bool = False


def _u(x: Tensor) -> Any:
    """The standard uncertainty, 0 of what depends on nothing uncertain. AgradError of kind `grad` where it is lost."""
    if message := autodiff.uncertainty.lost(x):
        raise AgradError("grad", message, notes=["no_grad, detach(), .data and .grad give plain numbers"])
    found = autodiff.uncertainty.uncertainty(x)
    made = tensor(spread(0.0, x.shape) if found is None else found)
    units.keep(x.node, made.node, is_difference=True)
    return made


ATTRIBUTES: dict[str, Attribute] = {
    "grad": Attribute(lambda x: x.grad, "the gradient, or None"),
    "data": Attribute(Tensor.detach, "the value, without its graph"),
    "shape": Attribute(lambda x: tuple(float(length) for length in x.shape), "the length of each axis", True),
    "ndim": Attribute(lambda x: float(x.ndim), "the number of axes", True),
    "T": Attribute(lambda x: FUNCTIONS["transpose"].call(x), "the transpose", True),
    "u": Attribute(_u, "its standard uncertainty"),
    "requires_grad": Attribute(lambda x: x.requires_grad, "whether a backward reaches it"),
    "is_leaf": Attribute(lambda x: x.is_leaf, "whether it was not computed"),
    "grad_fn": Attribute(lambda x: x.grad_fn, "the node that computed it, or None"),
    "_version": Attribute(lambda x: float(x.version), "how often its data were written"),
}

NODE_ATTRIBUTES = {"next_functions": "the nodes of its operands", "variable": "the leaf that it stands for"}


def _write(name: str) -> Callable[[Tensor, Any], Tensor]:
    """A method such as add_: the operator that writes in place."""

    def call(x: Tensor, other: Any, alpha: Any = 1.0) -> Tensor:
        other = other if alpha == 1.0 else FUNCTIONS["mul"].call(alpha, other)
        return getattr(x, f"__i{name}__")(other)  # type: ignore[no-any-return]

    return call


class ListMethod(Struct, eq=False):
    """A method of lists, or of texts. It is called with the value, and binds its arguments by name."""

    form: Signature  # of the arguments after the value itself
    run: Callable[..., Any]

    def __call__(self, value: Any, *args: Any, **keywords: Any) -> Any:
        """Call it; AgradError of kind `arity` where the arguments do not fit."""
        _, given = self.form.bind(args, keywords)
        return self.run(value, **given)


class Method(ListMethod, eq=False):
    """A method of numbers and arrays, and whether its result depends on the operands alone, as in a compiled loop.

    `meaning`: for help and completion.
    """

    meaning: str = ""
    pure: bool = False

    def __call__(self, value: Any, *args: Any, **keywords: Any) -> Any:
        """Call it on a value; AgradError of kind `arity` where the arguments do not fit."""
        _, given = self.form.bind(args, keywords)
        if type(value) is not Tensor:
            value = as_tensor(value, f"{self.form.name.removeprefix('x')}()")
        return self.run(value, **given)


_PLAIN = "The value, without its graph."
_METHODS: dict[str, tuple[str, str, Callable[..., Any]]] = {
    **{
        name: (form, f"The {what} entry, along an axis if one is given.", extreme(name))
        for (name, form), what in zip(METHOD_FORMS.items(), ("largest", "smallest"), strict=True)
    },
    "float": ("", "The value itself: every number is a float64.", lambda x: x),
    "bool": ("", "A mask: where it is not 0.", lambda x: ops.creation.of_type(x, "bool")),
    "item": ("", "The number, without its graph.", lambda x: taken(x, "item", number)),
    "tolist": ("", _PLAIN, lambda x: in_lists(x.tolist())),
    "detach": ("", _PLAIN, Tensor.detach),
    "size": (
        "axis=None",
        "The shape, or the length of one axis.",
        lambda x, axis: x.shape if axis is None else float(x.shape[axis_of("x.size", x.shape, axis)]),
    ),
    "dim": ("", "The number of axes.", lambda x: float(x.ndim)),
    "numel": ("", "The number of entries.", lambda x: float(x.size)),
    "view": ("*shape", "The same entries in another shape.", lambda x, shape: FUNCTIONS["reshape"].call(x, shape)),
    "t": ("", "The transpose.", lambda x: FUNCTIONS["transpose"].call(x)),
    "backward": (
        "gradient=None, retain_graph=None, create_graph=False, fresh=False",
        "Adds its derivative to the gradient of every leaf it depends on.",
        lambda x, **options: backward(x, **options),
    ),
    "forward": (
        "",
        "Computes it again from the current values of the leaves.",
        lambda x: agrad.engine.program.replay.forward(x),
    ),
    "register_hook": ("hook", "Calls a function with each gradient that arrives; h.remove() ends that.", register_hook),
    "retain_grad": ("", "Keeps its gradient in later backward passes.", Tensor.retain_grad),
    "requires_grad_": (
        "requires_grad=True",
        "Lets a leaf require grad, or no longer.",
        lambda x, requires_grad: x.requires_grad_(requires_grad),
    ),
    "zero_": ("", "Writes 0 into every entry.", Tensor.zero_),
    "copy_": ("value", "Writes other entries into it.", Tensor.copy_),
    "fill_": ("value", "Writes one number into every entry.", Tensor.copy_),
    "add_": ("other, alpha=1", "Adds in place, as +=.", _write("add")),
    "sub_": ("other, alpha=1", "Subtracts in place, as -=.", _write("sub")),
    "mul_": ("other", "Multiplies in place, as *=.", _write("mul")),
    "div_": ("other", "Divides in place, as /=.", _write("truediv")),
}
_PURE = {*METHOD_FORMS, *"float size dim numel view t".split()}
METHODS = {
    name: Method(Signature(f"x.{name}", f"; {text}"), run, meaning, name in _PURE)
    for name, (text, meaning, run) in _METHODS.items()
}

# The methods of lists: Python's, with the same effect.


def _is_equal(a: Any, b: Any) -> bool:
    if a is b:
        return True
    pair = [settled(side) for side in (a, b)]
    if all(isinstance(side, Tensor | float) for side in pair):
        shapes = [getattr(side, "shape", ()) for side in pair]
        return shapes[0] == shapes[1] == () and bool(plain(pair[0]) == plain(pair[1]))
    return type(a) is type(b) and isinstance(a, str) and a == b


def _index(xs: List, x: Any) -> float:
    for position, part in enumerate(xs.parts):
        if _is_equal(part, x):
            return float(position)
    shown = format_number(plain(x)) if isinstance(x, float) else describe(settled(x))
    raise AgradError("type", f"the list has no entry that is {shown}")


_OF_LISTS: dict[str, tuple[str, Callable[..., Any]]] = {
    "append": ("x", lambda xs, x: opened(xs, x).append(x)),
    "extend": ("values", extend),
    "insert": ("index, x", lambda xs, index, x: opened(xs, x).insert(whole(index, "an index"), x)),
    "pop": ("index=-1", lambda xs, index: opened(xs).pop(place_in(xs, index))),
    "remove": ("x", lambda xs, x: opened(xs).__delitem__(int(_index(xs, x)))),
    "clear": ("", lambda xs: xs.change([])),
    "reverse": ("", lambda xs: xs.change(xs.parts[::-1])),
    "index": ("x", _index),
    "count": ("x", lambda xs, x: float(sum(_is_equal(part, x) for part in xs.parts))),
    "sort": ("key=None, reverse=False", lambda xs, key, reverse: xs.change(sorted_parts(xs.parts, key, reverse))),
    "copy": ("", lambda xs: List(xs.parts, xs.joins)),
}
# Those that a vector of numbers has as well: it becomes a list.
LENGTHENING = frozenset({"append", "extend", "insert", "pop", "remove", "clear"})
LIST_METHODS = {name: ListMethod(Signature(f"xs.{name}", f"; {form}"), run) for name, (form, run) in _OF_LISTS.items()}


def refuse_special(name: str) -> None:
    """Refuse the attributes of texts that are Python's own."""
    if name[:1] == "_":
        raise AgradError("name", f"there is no attribute .{name}")


def attribute(value: Any, name: str) -> Any:
    """`value.name`."""
    if isinstance(value, str):
        refuse_special(name)
    if isinstance(value, str) and hasattr(value, name):
        raise AgradError("type", f"{name} is a function: call it, with brackets", fixes=[Hint(f".{name}(…)")])
    if isinstance(value, Node):
        if name in NODE_ATTRIBUTES:
            return getattr(value, name)
        if name.startswith("_saved_"):
            return agrad.engine.inspect.nodes.saved(value, name)
        raise _unknown(value, name, NODE_ATTRIBUTES)
    if name in ATTRIBUTES:
        if type(value) is List:
            if name in ("grad", "data", "grad_fn"):
                raise AgradError("type", f"a list has no .{name}: its entries have", fixes=[Hint(f"xs[0].{name}")])
            value = value.stacked()
        return ATTRIBUTES[name].read(as_tensor(value, f".{name}"))
    if name in METHODS or name in FUNCTIONS:
        message = f"{name} is a function: call it, with brackets"
        raise AgradError("type", message, fixes=[Hint(f".{name}()")], facts=WrongAttribute(name, (f".{name}()",)))
    raise _unknown(value, name, {**ATTRIBUTES, **METHODS})


def method(value: Any, name: str) -> Callable[..., Any]:
    """What `value.name(…)` calls, with the value as its first argument."""
    if value is None and name not in ("clone", "detach"):
        raise AgradError(
            "grad",
            f"there is no gradient to call .{name}() on: it is none",
            fixes=[Hint("run backward first"), Hint("zero_grad  (clears all gradients)")],
        )
    if type(value) is List:
        return _list_method(value, name)
    if isinstance(value, tuple | Node):
        raise _unknown(value, name, {})
    if name in METHODS:
        return METHODS[name]
    if name in FUNCTIONS or name in RENAMED:
        return FUNCTIONS[RENAMED.get(name, name)].call
    base = RENAMED.get(name[:-1], name[:-1])
    if name.endswith("_") and base in FUNCTIONS and FUNCTIONS[base].pure:
        return _in_place(name, FUNCTIONS[base].call)
    if name in ATTRIBUTES:
        as_tensor(value, f".{name}")  # what has no attributes is refused as without the brackets
        message = f"{name} is not a function: leave out the brackets"
        raise AgradError("type", message, fixes=[Hint(f".{name}")], facts=WrongAttribute(f"{name}()", (f".{name}",)))
    raise _unknown(value, name, {*ATTRIBUTES, *METHODS, *FUNCTIONS})


def _in_place(name: str, function: Callable[..., Any]) -> Callable[..., Tensor]:
    """A method such as clamp_: the function, whose value is written over what it is computed from."""

    def call(x: Any, *args: Any, **keywords: Any) -> Tensor:
        x = as_tensor(x, f"{name}()")
        found = function(x, *args, **keywords)
        if not isinstance(found, Tensor) or found.shape != x.shape:
            message = f".{name} would change the shape, and agrad has no such method: assign the result of .{name[:-1]}"
            raise AgradError("shape", message, fixes=[Hint(f"x = x.{name[:-1]}(…)")])
        return overwrite(x, found, name)

    return call


def _list_method(value: List, name: str) -> Callable[..., Any]:
    """A method of a list: its own, or one of the array of its entries, if that does not write."""
    if name in LIST_METHODS:
        return LIST_METHODS[name]
    if name in METHODS and (name.endswith("_") or name in ("retain_grad", "backward")):
        fixes = [Hint(f"for x in xs: x.{name}(…)"), Hint(f"xs[0].{name}(…)")]
        raise AgradError("type", f"a list has no .{name}: its entries have", fixes=fixes)
    found = method(value.stacked(), name)
    return lambda xs, *args, **keywords: found(xs.stacked() if type(xs) is List else xs, *args, **keywords)


def set_attribute(target: Any, name: str, value: Any) -> None:
    """`target.name = value`."""
    if type(target) is List and name in ("grad", "data", "requires_grad"):
        fixes = [Hint(f"for x in xs: x.{name} = …")]
        raise AgradError("type", f"a list has no .{name}: its entries have", fixes=fixes)
    if not isinstance(target, Tensor) or name not in ("grad", "data", "requires_grad"):
        what = f".{name} of {describe(target) if not isinstance(target, Tensor) else 'a value'}"
        raise AgradError("type", f"{what} cannot be assigned to", notes=["grad, data and requires_grad can"])
    if name == "requires_grad":
        target.requires_grad_(bool(value))
    elif name == "grad":
        target.grad = value
    elif isinstance(value, Tensor) and value.node in sharers(target.node):
        pass  # `x.data += 1` has written it
    elif len(sharers(target.node)) > 1:
        message = "this value shares its data with another, which PyTorch would leave as it is"
        fixes = [Hint("x[...] = …   writes into both"), Hint("x.detach().clone()   shares nothing")]
        raise AgradError("type", message, fixes=fixes)
    else:
        target.data = value


# What the `uncertainties` of Python have: the value, and how far off it may be.
_OF_OTHERS = {**dict.fromkeys(("n", "nominal_value"), "data"), **dict.fromkeys(("s", "std_dev", "stddev"), "u")}


def _unknown(value: Any, name: str, known: Iterable[str]) -> AgradError:
    if name in NO_METHODS:
        why, advice = NO_METHODS[name]
        return AgradError("name", f"agrad has no .{name}: {why}", fixes=[Hint(advice)])
    if name[0] != "_" and hasattr(import_module("agrad.torch").Tensor, name):
        return AgradError("name", f".{name} is PyTorch's, and read from an import on", fixes=["import torch"])
    close = [_OF_OTHERS[name]] if name in _OF_OTHERS else suggest(name, sorted(known))
    instead = tuple(f".{word}" for word in close)
    fixes = [Hint(word) for word in instead]
    return AgradError("name", f"there is no attribute .{name}", fixes=fixes, facts=WrongAttribute(name, instead))


# Tables in the language: their columns as attributes, their indices, their rows in arithmetic.
#
# A table is `engine/ops/tables`'s. Where the language needs an array, it takes its matrix.


def table_attribute(value: Any, name: str) -> Any:
    """`t.name`: a column, the names of all, or what the matrix has. Raises AgradError."""
    if isinstance(value, Texts):
        return attribute(as_operand(value), name)
    if name == "columns":
        return value.columns
    if name in value.columns or not _is_of_arrays(name):
        return column(value, name)
    return (len(value), len(value.columns)) if name == "shape" else attribute(matrix(value), name)


def table_callee(value: Any, name: str) -> Any:
    """The array that `t.name(…)` is a method of. Raises AgradError where there is no such method."""
    if isinstance(value, Table) and (name in value.columns or not _is_of_arrays(name)):
        column(value, name)
        message = f"{name} is a column, and no function: leave out the brackets"
        raise AgradError("type", message, fixes=[Hint(f".{name}")], facts=WrongAttribute(f"{name}()", (f".{name}",)))
    return as_operand(value)


def _is_of_arrays(name: str) -> bool:
    return name in ATTRIBUTES or name in METHODS or name in FUNCTIONS


def table_entry(table: Table, index: Any) -> Any:
    """`t[index]`, where lists are as they are written: of names, or of numbers. Raises AgradError."""
    parts = tuple(map(_plain, index)) if isinstance(index, tuple) else _plain(index)
    return column(table, parts) if isinstance(parts, str) else table[parts]


def _plain(index: Any) -> Any:
    if type(index) is not List:
        return index
    return list(index) if any(isinstance(part, str) for part in index) else index.stacked()


def note_on_index(table: Table, index: Any, span: Span) -> Note | None:
    """What to say of an index that is a column of a table and would be a row of a matrix; None if it cannot be."""
    number = index if isinstance(index, float) else getattr(index, "value", None)
    if not isinstance(number, float) or not number.is_integer():
        return None
    place = int(number)
    if not (-len(table) <= place < len(table) and -len(table.columns) <= place < len(table.columns)):
        return None
    message = f"one index of a table is a column, here {table.columns[place]}, and not a row"
    name = span.text.partition("[")[0]
    has_texts = any(isinstance(table[:, one], Texts) for one in range(len(table.columns)))
    end = place + 1 if place != -1 else ""
    row = f"{name}[{place}:{end}]" if has_texts else f"{name}[{place}, :]"
    fixes = [Hint(f"{name}[:, {place}]   says the column"), Hint(f"{row}   is the row")]
    return Note(message, labels=[Label(span)], fixes=fixes)
