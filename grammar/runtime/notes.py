"""Notes on what runs without an error: gradients that end, losses that spread, graphs that grow, results with nan."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from math import floor, inf, isfinite, log10
from operator import add, mul, sub
from types import FrameType
from typing import Any, NamedTuple
from weakref import ref

import agrad
from agrad.engine import autodiff, units
from agrad.engine.autodiff.backward import is_gradient
from agrad.engine.core.context import UndoLog, current
from agrad.engine.core.graph import Node, Uncertainty, alive, behind, collect, roots_of
from agrad.engine.core.op import OPS
from agrad.engine.core.tensor import Tensor
from agrad.engine.core.versions import changed_behind, was_cut
from agrad.engine.errors import AgradError, Hint, Label, Note
from agrad.engine.values import format_bytes, format_number, format_shape, has_nan, np
from agrad.grammar.diagnostics import Source, Span
from agrad.grammar.syntax import ast
from agrad.grammar.syntax.errors.messages import corrected
from agrad.grammar.syntax.parser import parse
from agrad.grammar.values.lists import parts_of
from agrad.lazy import pattern

READERS = frozenset({"float", "item", "tolist"})  # what gives plain numbers
_FACTOR = pattern(r" ?\* ?([^\W\d]\w*)(?![\w(\[.])")
# Statements in which a plain number is not computed with.
_ASKING = r"\s*(print|if|elif|while|assert)\b"


def at_leaf(name: str, value: Any, span: Span, told: set[tuple[str, int]]) -> Note | None:
    """The note on `var u = x**2` of a leaf x; none on `var x = x/2`, a leaf that takes the place of another.

    `told`: the places that have a note, each of which has one.
    """
    if not isinstance(value, Tensor) or not value.requires_grad or (value.is_leaf and value.name is None):
        return None
    found = [leaf for leaf in alive(roots_of(value.node)) if leaf.requires_grad]
    # But for uncertain numbers: with these a new leaf stays correlated.
    behind = list(dict.fromkeys(leaf.name for leaf in found if leaf.uncertainty is None and leaf.name is not None))
    in_function, place = current().reads is not None, (span.text, span.start)
    if name in behind or not (behind or in_function) or place in told:
        return None
    told.add(place)
    fixes: list[str] = [Hint(f"var {name} = detach(…)   for a leaf that begins at this value")]
    typed = re.match(r"var[ \t]+", span.text)
    if typed is not None:
        fixes.insert(0, corrected(Span(span.source, span.start, span.start + typed.end()), ""))
    lost = f"no gradient goes through it to {', '.join(behind)}"
    message = f"{name} is a new leaf: {lost if behind else 'the derivative takes it for a constant'}"
    return Note(message, labels=[Label(span)], fixes=fixes)


def at_number(value: Any, span: Span, told: set[tuple[str, int]]) -> Note | None:
    """The note on `float(x)` and `x.item()`, while a derivative of the function in which it stands is computed."""
    if current().reads is None or not isinstance(value, Tensor) or not value.requires_grad:
        return None
    place = span.text, span.start
    if re.match(_ASKING, span.source.line_at(span.start)) or place in told:
        return None
    told.add(place)
    message = f"{span.text} is a plain number: the derivative takes it for a constant"
    fixes = [Hint("x   itself, for its part of the derivative"), Hint("detach(x)   where a constant is meant")]
    return Note(message, labels=[Label(span)], fixes=fixes)


def of_lost_leaf(name: str, old: Any, new: Any, span: Span) -> Note | None:
    """The note on a leaf that its own name no longer reaches: users of PyTorch expect an update and get a new value."""
    if not (isinstance(old, Tensor) and old.requires_grad and old.is_leaf) or new is old or old.name != name:
        return None
    is_value = isinstance(new, Tensor) and new.requires_grad
    if is_value and new.is_leaf:
        return None
    fixes = [Hint(f"no_grad: {name} -= …   to update the leaf in place"), Hint(f"set {name} = …   for new data")]
    message = f"{name} is no longer a leaf: the new {name} {'was computed' if is_value else 'is a plain value'}"
    return Note(message, labels=[Label(span)], fixes=fixes)


def of_origin(values: list[Any], span: Span, tell: Callable[[Note], object]) -> None:
    """Note values that were computed from data that have changed since, or from uncertain ones in no_grad."""
    for value in values:
        if not isinstance(value, Tensor):
            continue
        changed = changed_behind(value.node)
        message = autodiff.uncertainty.lost(value) if was_cut(value.node) else ""
        if message:
            tell(Note(message, labels=[Label(span)]))
        listener = current().listener
        if changed is not None and listener is not None and not is_gradient(value):
            held = value.node.op is not None and all(node.freed is None for node in collect([value.node]))
            fixes = [f"forward {value.node.name}"] if value.node.name and held else []
            message = f"{value.node.spell()} still has its old value: {changed.spell()} has changed since"
            listener(Note(message, labels=[Label(span)], fixes=fixes))


def of_second_order(value: Any, span: Span, tell: Callable[[Note], object]) -> None:
    """Note a result that is far from linear in what is uncertain, so that its uncertainty says too little; or that it
    has none, and why.
    """
    try:
        u: Any = autodiff.uncertainty.uncertainty(value) if Uncertainty.exists else None
    except AgradError as error:
        if error.kind != "stale":  # of which the origin is told
            tell(Note(f"the uncertainty is not known: {error.message}", labels=[Label(span)]))
        return
    second = autodiff.uncertainty.doubtful(value) if u is not None else None
    if second is not None:
        least = 0.05 * 10.0 ** floor(log10(u)) if u else 0.0  # of the printed digits
        bias = f"a bias of {format_number(second.bias, 2)} and " if abs(second.bias) >= least else ""
        terms = f"the second adds {bias}u = {format_number(second.u, 2)} more"
        fixes = [f"budget {span.text} order 2", f"budget {span.text} samples 1e6"]
        if not any(second):
            terms, fixes = "the slope is 0 here, as at a kink or on a step", fixes[1:]
        elif not all(map(isfinite, second)):
            terms, fixes = "the second is not finite here", fixes[1:]
        tell(Note(f"the uncertainty is of the first order: {terms}", labels=[Label(span)], fixes=fixes))


# Notes on what other calculators compute in another way: whole numbers of any size, and powers of matrices.

_BITS = 400  # of whole numbers that are written out, and of those on the way to them


_WHOLE: Mapping[str, Callable[[int, int], int]] = {"+": add, "-": sub, "*": mul, "**": pow}


def of_power(tree: ast.Expr, value: Any, names: Mapping[str, Any]) -> Note | None:
    """The note on an expression of whole numbers that is not exact, or has the power of a square matrix, by entries,
    or `|v|` of an array.

    Only of operators between what is written; of arguments of a call the entries may be meant, as in sum((A - B)^2).
    """
    if isinstance(value, float) and (exact := _exactly(tree)) is not None and exact != value:
        told = f"whole numbers are exact up to 2**53 only: {tree.span.text} is {exact}, and this number is {value:.0f}"
        return Note(told, labels=[Label(tree.span)])
    waiting = [tree]
    while waiting:
        match waiting.pop():
            case ast.Binary(
                "**", (ast.Name() | ast.List()) as base, ast.Number(2.0 | 3.0) | ast.Unary("-", ast.Number(1.0))
            ) as found:
                name = base.span.text
                if _is_square(value if isinstance(base, ast.List) and found is tree else names.get(name)):
                    power = int(found.right.value) if isinstance(found.right, ast.Number) else -1
                    product = " @ ".join([name] * power) or f"inv({name})"
                    told = f"{found.span.text} is the power of each entry; that of the matrix is {product}"
                    fix = corrected(found.span, product if found is tree or power < 0 else f"({product})")
                    return Note(told, labels=[Label(found.span)], fixes=[fix])
            case ast.Call(ast.Name("abs"), (inner,)) as found if found.span.text[0] == "|":
                array = value if found is tree else names.get(inner.id) if isinstance(inner, ast.Name) else None
                if isinstance(array, Tensor) and (len(array.shape) == 1 or _is_square(array)):
                    is_vector = len(array.shape) == 1
                    meant = f"{'norm' if is_vector else 'det'}({inner.span.text})"
                    what = "length of a vector" if is_vector else "determinant"
                    told = f"{found.span.text} is the absolute value of each entry; the {what} is {meant}"
                    return Note(told, labels=[Label(found.span)], fixes=[corrected(found.span, meant)])
            case ast.Binary(_, left, right):
                waiting += [right, left]
            case ast.Unary(_, operand):
                waiting.append(operand)
    return None


class Computed(NamedTuple):
    """By what a number was computed: the formula, as it was typed, and the names of the numbers in it."""

    text: str
    names: frozenset[str]
    value: Any = None  # the number, of a graph a weak reference

    def is_of(self, value: Any) -> bool:
        """Whether it is the formula of a value that a name has now."""
        return (self.value() if type(self.value) is ref else self.value) is value


_LONGEST = 200  # characters of a formula


def formula(tree: ast.Expr, names: Mapping[str, Any], known: Mapping[str, Computed]) -> Computed | None:
    """The formula of an expression by numbers that have names, and those that these were computed from."""
    if any(isinstance(one, ast.Attribute) for one in ast.nodes(tree)):  # x.item() is meant to be a constant
        return None
    used = {one.id for one in ast.loads(tree) if isinstance(names.get(one.id), float | Tensor)}
    found = {name: known[name] for name in used if name in known and known[name].is_of(names[name])}
    text = _with(tree, found, tree.span)
    is_one = used and len(text) < _LONGEST
    return Computed(text, frozenset(used.union(*(one.names for one in found.values())))) if is_one else None


def _with(tree: Any, formulas: Mapping[str, Computed], whole: Span) -> str:
    """A text in which formulas, in brackets, stand for some names in a tree."""
    text = whole.text
    for one in sorted(ast.loads(tree), key=lambda one: -one.span.start):
        at = one.span.start - whole.start
        if one.id in formulas and text.startswith(one.id, at):
            before, behind, inner = text[:at], text[at + len(one.id) :], formulas[one.id].text
            text = f"{before}{inner}{behind}" if before[-1:] + behind[:1] == "()" else f"{before}({inner}){behind}"
    return text


def of_constant(statement: Any, names: Mapping[str, Any], known: Mapping[str, Computed]) -> Note | None:
    """The note on `d/dx (x*y)` and `plot x*y for x in 0..1` after `x = 3; y = x^2`, in which y is the number 9."""
    for node in ast.nodes(statement) if known else ():
        match node:
            case ast.Call(ast.Name(".leibniz"), (_, ast.Name(x), *_)) if getattr(names.get(x), "requires_grad", False):
                return None  # which follows the graph of y
            case ast.Lambda(parameters, value) | ast.Define(_, parameters, (ast.Return(value),)):
                own = {one.name for one in parameters}
            case ast.Unknowns(unknowns, value):
                own = {one.id for one in unknowns}
            case ast.Each(value, ast.Name(name)):
                own = {name}
            case _:
                continue
        for one in ast.loads(value):
            made = known.get(one.id)
            if made and one.id not in own and made.is_of(names.get(one.id)) and (by := sorted(own & made.names)):
                told = f"{one.id} is a constant here, though it was computed from {by[0]}: {one.id} = {made.text}"
                return Note(told, labels=[Label(one.span)], fixes=[_with(value, {one.id: made}, statement.span)])
    return None


def of_near(statement: ast.Statement) -> Note | None:
    """The note on `a ~= b` outside of an assertion, which in MATLAB is what `a != b` is here.

    There is none on a line that shows whether what a function gives is right, as in `sin(pi/6) ~= 0.5`.
    """
    if "~=" not in statement.span.text:
        return None
    asserted = {part for one in ast.nodes(statement) if isinstance(one, ast.Assert) for part in ast.nodes(one)}
    for one in ast.nodes(statement):
        if isinstance(one, ast.Near) and one.tolerance is None and one not in asserted:
            called = any(isinstance(part, ast.Call) for part in ast.nodes(one))
            if called and isinstance(statement, ast.Evaluate | ast.Print):
                continue
            a, b = one.left.span, one.right.span
            place = Span(a.source, a.start, b.end)
            told = f"{place.text} is true where the two are equal to 9 digits; `!=` is not equal"
            texts = f"{a.text} != {b.text}", f"{place.text} +- 1e-9"
            return Note(told, labels=[Label(place)], fixes=[corrected(place, text) for text in texts])
    return None


def _is_square(value: Any) -> bool:
    """Whether a value is a square matrix of more than one number."""
    return isinstance(value, Tensor) and len(value.shape) == 2 and 1 < value.shape[0] == value.shape[1]


def _exactly(tree: ast.Expr, most: int = 50) -> int | None:
    """The value of an expression of whole numbers; None for all else, and where that is very long or deep."""
    if not most:
        return None
    match tree:
        case ast.Number(float(value)) if value.is_integer():
            return int(value)  # the parser notes what is read as another number
        case ast.Unary("-", operand):
            return None if (x := _exactly(operand, most - 1)) is None else -x
        case ast.Binary("+" | "-" | "*" | "**" as sign, left, right):
            x, y = _exactly(left, most - 1), _exactly(right, most - 1)
            if x is None or y is None or (sign == "**" and not (y >= 0 and y * x.bit_length() <= _BITS)):
                return None
            made = _WHOLE[sign](x, y)
            return made if made.bit_length() <= _BITS else None
    return None


# The note on a loss in which a prediction of shape (n, 1) meets a target of shape (n): each entry with each.

_MOST = 2000  # nodes of a graph that are looked at
_DEEP = 8  # operations entry by entry behind a matrix product


def of_spread_loss(loss: Tensor) -> Note | None:
    """The note on a loss, for the first backward at a place."""
    for node in islice(behind([loss.node]), _MOST):
        shapes = _spread(node)
        if shapes is not None:
            left, right = map(format_shape, shapes)
            message = f"{node.spell()} of shapes {left} and {right} is the difference of every pair of entries"
            column = "the left" if len(shapes[0]) == 2 else "the right"
            fixes = [Hint(f"squeeze(x, 1) of {column} side, for the differences entry by entry")]
            labels = [Label(node.origin)] if node.origin is not None else []
            return Note(f"{message}, of shape {format_shape(node.shape)}", labels=labels, fixes=fixes)
    return None


def _spread(node: Node) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """The shapes of a difference of (n, 1), which a matrix product made, and (n); None of any other node."""
    if node.op is not OPS["sub"] or len(node.shape) != 2:
        return None
    shapes = [getattr(x, "shape", ()) for x in node.inputs]
    n = node.shape[0]
    if n == 1 or sorted(shapes, key=len) != [(n,), (n, 1)]:
        return None
    column = node.inputs[shapes.index((n, 1))]
    return (shapes[0], shapes[1]) if type(column) is Node and _is_product(column, _DEEP) else None


def _is_product(node: Node, deep: int) -> bool:
    """Whether a column comes from a matrix product, and was not made one to be spread."""
    if node.op is OPS["matmul"]:
        return True
    if node.op is None or node.op.reach != "pointwise" or not deep:
        return False
    return any(_is_product(x, deep - 1) for x in node.inputs if type(x) is Node and x.shape == node.shape)


# Detects a graph that grows behind a name from statement to statement: `total = total + loss`.
#
# Each such line is correct and costs the same; together they keep every graph alive. A sum that is built in one loop
# and then differentiated is not a leak: rounds are counted by what comes in between, a backward or another statement.

ROUNDS = 10
_NEAR = 32  # how many nodes behind a new value are searched for the old one


class Growth:
    """For how many rounds the graph behind each name has been growing. It keeps no graph alive."""

    __slots__ = ("_grown", "_round", "_told")

    def __init__(self) -> None:
        self._round = 0
        self._grown: dict[str, tuple[int, int, int]] = {}  # by name: its node's seq, rounds, the last round counted
        self._told: set[str] = set()

    def next_round(self) -> None:
        """Begin a new round: a statement of the top level begins, or a backward runs."""
        self._round += 1

    def stored(self, name: str, old: Any, new: Any, span: Span) -> Note | None:
        """Count a name that is rebound to a value computed from its old one; returns a note once."""
        if type(new) is not Tensor or not new.node.requires_grad or new.node.op is None:
            if self._grown:
                self._grown.pop(name, None)
            return None
        node = new.node
        seq, rounds, last = self._grown.get(name, (0, 0, 0))
        if node.seq == seq:
            return None  # nothing new: x = x
        before = node.inputs[0] if old is new else old.node if type(old) is Tensor else None
        if type(before) is Node and before.requires_grad:
            if not _built_on(before, node):
                self._grown.pop(name, None)
                return None
            if before.seq != seq:
                rounds = 0
        else:
            rounds = 0  # the first round, onto a plain number
        if rounds == 0 or last != self._round:
            rounds += 1
        self._grown[name] = node.seq, rounds, self._round
        if rounds != ROUNDS or last == self._round or name in self._told:
            return None
        self._told.add(name)
        return _growth_note(name, node, span)


def _built_on(before: Node, node: Node) -> bool:
    """Whether a value was computed from an older one, in a few steps."""
    queue, seen = [node], {node}
    for one in queue:
        for operand in one.inputs:
            if operand is before:
                return True
            if type(operand) is Node and operand.seq > before.seq and len(seen) < _NEAR and operand not in seen:
                seen.add(operand)
                queue.append(operand)
    return False


def _growth_note(name: str, node: Node, span: Span) -> Note:
    statement = current().statement
    if not isinstance(statement, Span):
        statement = span
    memory = agrad.engine.inspect.memory.held(node)
    size = f"{memory.nodes} nodes, {format_bytes(memory.bytes)}"
    number = _without_history(name, node, statement)
    fixes = [f"{number}   to add the value alone"] if number else []
    return Note(
        f"the graph of {name} has grown for {ROUNDS} iterations: {size}, and nothing frees it",
        labels=[Label(statement)],
        fixes=[*fixes, f"{name} = {name}.detach()   to drop its graph so far"],
    )


def _without_history(name: str, node: Node, statement: Span) -> str | None:
    """`total = total + loss` or `total += loss` as typed, with the plain value of loss."""
    added = node.inputs[-1]
    if type(added) is not Node or not added.requires_grad:
        return None
    try:
        (typed,) = parse(Source("fix", statement.text))
    except (AgradError, ValueError):  # a statement of several lines
        return None
    match typed:
        case ast.Assign((ast.Name(id=target),), ast.Binary("+" | "-", ast.Name(id=first), other)):
            if target != first:
                return None
        case ast.Augment(ast.Name(id=target), "+" | "-", other):
            pass
        case _:
            return None
    span, text = other.span, other.span.text
    simple = isinstance(other, ast.Name | ast.Call | ast.Index | ast.Attribute)
    simple = simple or getattr(other, "left", other).span.start > span.start  # in brackets already
    plain = f"{text if simple else f'({text})'}.{'detach' if node.shape else 'item'}()"
    return typed.span.text[: span.start] + plain + typed.span.text[span.end :]


# The note on a statement whose result is nan: which operation is not defined at its operands.

_NAME = pattern(r"[^\W\d]\w*")


def note_on_nan(
    result: Any, kept: list[Any], log: UndoLog, span: Span | None, names: Mapping[str, Any], printed: bool
) -> Note | None:
    """The note, if there is one: none for a nan that was there before.

    `result`: what the statement gives; `kept`: the operations that were not defined; `names`: those of the session, of
    which `log` knows the old values; `printed`: whether it printed a nan.
    """
    bound = {key[1] for key in log.undos if isinstance(key, tuple) and key[0] == id(names)}

    def filled(value: Tensor) -> bool:
        return value.node.shape != () and id(value.value) in log.undos

    tensors = [value for value in names.values() if kept and isinstance(value, Tensor)]
    written = [value for value in tensors if value.node in log.undos or filled(value)]
    parts = parts_of([*result, *[names.get(name) for name in bound], *written], objects=False)
    for value in filter(_is_nan, [*parts][::-1]):  # the first of them
        node = value.node if isinstance(value, Tensor) else None
        # A value is as before the statement; a gradient was told of by the backward pass that made it.
        if isinstance(value, Tensor) and (is_gradient(value) or (value.node.stamp <= log.since and not filled(value))):
            continue
        is_known, note = False, None
        if node is not None and node.recorded:
            is_known, note = agrad.engine.inspect.undefined.undefined_behind(node, lambda node: node.seq > log.since)
        if is_known:
            return note
        begun = agrad.engine.inspect.undefined.first_note(kept)
        if begun is not None:
            return begun
        words = set(_NAME.findall(span.text)) if span is not None else {"nan"}
        before = [*log.held, *[names.get(name) for name in words - bound]]
        if "grad" in words:
            before += [value.grad for value in before if isinstance(value, Tensor)]
        if not words & {"nan", "import"} and not any(map(_is_nan, parts_of(before, objects=False))):
            assert span is not None
            number = int(np.isnan(value.value).sum()) if node is not None and node.shape else 0
            told = f" in {number} of {value.size} entries" if number else ""
            return Note(f"{span.text} is nan{told}", labels=[Label(span)])  # as inf - inf, at which nothing raises
        return None
    return agrad.engine.inspect.undefined.first_note(kept) if printed else None


def _is_nan(value: Any) -> bool:
    return isinstance(value, float | Tensor) and has_nan(value.value if isinstance(value, Tensor) else value)


# Numbers that were typed and that a float64 cannot hold: what they become.


def became(text: str, value: float) -> str:
    """What a number that was typed became, in words; nothing where it is the same, or not a whole number in full."""
    if value == inf:
        return "inf: a float64 holds numbers up to 1.8e308"
    digits = text.replace("_", "")
    if digits.isdecimal() or digits[:2].lower() in ("0x", "0b", "0o"):
        whole = int(digits) if digits.isdecimal() else int(digits, 0)
        return "" if int(value) == whole else f"{int(value)}: whole numbers are exact up to 2**53"
    if value == 0.0 and re.match(r"[\d.]*[1-9]", digits):  # and not `d2/dx2`
        return "0: a float64 holds numbers down to 5e-324"
    return ""


def of_unit(both: list[str], first: str, is_product: bool, span: Span) -> Note:
    """The note on names that have values, and are the name of a unit, which begins with the `first`."""
    meant = "a product" if is_product else "a unit"
    other = units.unit.word(first) if is_product else ""
    fixes = [Hint(span.text[: -len(first)] + other)] if other and span.text.endswith(first) else []
    message = f"{', '.join(both)} has a value, and is the name of a unit: `{span.text}` is read as {meant}"
    return Note(message, labels=[Label(span)], fixes=fixes)


def of_factor(word: str, span: Span) -> tuple[str, Note | None]:
    """The name by which a quantity is multiplied, and the note on it where a unit that ends so goes on: `5 N*m`."""
    found = _FACTOR.match(span.source.text, span.end)
    if found is None or not span.text.endswith(word) or f"{word}·{found[1]}" not in units.unit.near(word + found[1]):
        return "", None
    whole = Span(span.source, span.start, found.end())
    message = f"`{whole.text}` is multiplied by {found[1]}, which has a value"
    fix = Hint(f"{span.text.removesuffix(word)}{word}·{found[1]}   has that unit")
    return found[1], Note(message, labels=[Label(whole)], fixes=[fix])


def of_unsorted(name: str, span: Span) -> Note:
    """The note on `x.sort()` of what is no list."""
    message = f".sort() gives the entries in order, and {name} stays as it is"
    return Note(message, labels=[Label(span)], fixes=[f"{name} = sorted({name})"])


def counters(places: Sequence[tuple[FrameType, Span]]) -> str:
    """The counters of the loops around places in frames, the outermost first; "" outside of loops."""
    told: dict[str, str] = {}
    for frame, place in places:
        for loop in frame.f_code.co_filename.loops(place):  # type: ignore[attr-defined]
            for name in ast.names_of(getattr(loop, "target", None)):
                value = frame.f_locals.get(name, frame.f_globals.get(name))
                if isinstance(value, Tensor) and not value.shape:
                    value = value.node.value
                if type(value) is float or type(value) is int:
                    told[name] = f"{name} = {format_number(value)}"
    return ", ".join(told.values())
