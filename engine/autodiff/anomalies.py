"""Notes on gradients that are inf or nan."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any, NoReturn

from agrad.engine.autodiff.reverse import walk
from agrad.engine.core.context import current, scope
from agrad.engine.core.dispatch import compute
from agrad.engine.core.graph import Input, Node
from agrad.engine.core.numpy_warnings import quiet
from agrad.engine.core.op import OPS, Op, Remedy
from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError, Hint, Label, Note
from agrad.engine.text import divided, is_balanced, without_brackets
from agrad.engine.values import Shape, format_number, has_nan, is_finite, np, shape_of, spread
from agrad.lazy import pattern

# A derivative as a value, or of a function: the steps in it have the same text, but other operations.
_INSIDE = r"(torch\.autograd\.|functional\.)*(grad|jacobian|hessian|hvp|jvp|vjp)\("

# What an index may stand behind as it is: a name, an attribute, an index or a call, or what is in brackets.
_ATOM = pattern(r"[\w.]+(\[[^\[\]]*\])?$|[\w.]*\([^()]*(\([^()]*\)[^()]*)*\)$")


def say_not_finite(order: list[Node], seeds: dict[Node, Any], found: dict[Node, Any]) -> None:
    """Tell the listener where the first inf or nan of a backward pass came from: a value, or else a derivative."""
    context = current()
    values = [_plain(value) for value in found.values()]
    listener = _raise_anomaly if context.anomalies and any(map(has_nan, values)) else context.listener
    if listener is None or all(map(is_finite, values)):
        return
    seeds = {node: _plain(seed) for node, seed in seeds.items()}
    culprits: list[tuple[Node, int, Any, Any]] = []

    def watch(node: Node, position: int, g: Any, c: Any) -> None:
        if not culprits and is_finite(g) and not is_finite(c):
            culprits.append((node, position, g, c))

    walk(order, seeds, False, watch=watch, hooks=False)
    if culprits:
        listener(_note_on(order, *culprits[0]))
    elif (note := on_values(order)) is not None:
        listener(note)
    elif listener is _raise_anomaly:
        listener(Note("a gradient is nan"))


def say_still_not_finite(found: dict[Node, Any]) -> None:
    """Tell the listener of finite gradients that are added to those of earlier passes, which were not finite."""
    context = current()
    before = {node: node.grad for node in found if node.collected is not None}
    names = [
        node.spell() for node, one in before.items() if one and not is_finite(one.value) and is_finite(found[node])
    ]
    if names and context.listener is not None:
        several = "are" if len(names) > 1 else "is"
        gradients = ", ".join(f"{name}.grad" for name in names)
        message = f"{gradients} {several} still inf or nan: a backward adds to what was there"
        fixes = [f"zero_grad {' '.join(name for name in names if name.isidentifier())}".strip()]
        labels = [Label(context.statement)] if context.statement is not None else []
        context.listener(Note(message, labels=labels, fixes=fixes))


def _note_on(order: list[Node], node: Node, position: int, g: Any, c: Any) -> Note:
    """The note on the first contribution that is not finite: that of a node to an operand, from its cotangent g."""
    with scope(undefined=None), quiet():
        values = _values(order)
        begun = _begun(node, values, has_nan(c) or has_nan(values[node]))
        if begun is not None:
            begun, told = _first_of(begun, order, values)
            note = not_finite_note(begun, values[begun], values)
            labels = [Label(note.labels[0].origin, told)] if told and note.labels else note.labels
            fixes = in_logarithm(begun, order) or note.fixes
            return Note(note.message, labels, fixes, follows=note.follows, of_numbers=True, is_of_value=True)
        note = not_finite_note(node, c, values, _slope(node, position, g, c))
        if np.max(np.abs(g)) > LARGE:  # its product with a derivative that is finite is what is not
            message = note.message.replace("the derivative of", "the gradient through", 1)
            return Note(message, note.labels, note.fixes, of_numbers=True)
        return note


def on_values(order: list[Node]) -> Note | None:
    """The note on the first value that is not finite, of a pass whose seed was not, or that went forward."""
    with scope(undefined=None), quiet():
        values = _values(order)
        for node in reversed(order):
            if node.op is not None and _begun(node, values, True) is node:
                return not_finite_note(node, values[node], values)
    return None


class _Values(dict[Node, Any]):
    """The values of nodes: those that they keep, and in this those that they do not."""

    def __missing__(self, node: Node) -> Any:
        return node.value

    def read(self, node: Node) -> list[Any]:
        """The operands of a node, as far as they are known."""
        return [self[x] if isinstance(x, Node) else x for x in node.inputs]

    def bad(self, node: Node) -> list[Node]:
        """The operands of a node that are not finite."""
        return [x for x in node.inputs if isinstance(x, Node) and not is_finite(self[x])]


def _values(order: list[Node]) -> _Values:
    """The value of each node; one that was not kept is computed again, if its operands are known."""
    values = _Values()
    for node in reversed(order):
        operands: list[Any] = values.read(node) if node.value is None else [None]
        if node.op is not None and all(x is not None for x in operands):
            values[node] = compute(node.op, tuple(operands), node.attrs or {})
    return values


def _begun(node: Node, values: _Values, is_nan: bool) -> Node | None:
    """The node behind this one whose value is the first that is not finite; None if all that it reads are finite.

    `is_nan`: what was found is nan: infinite data do not make it so by themselves.
    """
    meant: dict[Node, bool] = {}
    while True:
        behind = [x for x in values.bad(node) if not (is_nan and _is_meant(x, values, meant))]
        if not behind:
            return node if not is_finite(values[node]) else None
        node = behind[0]


def _first_of(node: Node, order: list[Node], values: _Values) -> tuple[Node, str]:
    """Of the nodes that a loop has made from the same text, the first that is not finite, and which one that is."""
    if node.op is None or node.origin is None:
        return node, ""
    same = sorted((one for one in order if one.origin == node.origin and one.op is node.op), key=lambda one: one.seq)
    if len(same) < 2:
        return node, ""
    for count, one in enumerate(same, 1):
        if not is_finite(values[one]) and all(map(is_finite, values.read(one))):
            return one, f"number {count} of the {len(same)} times that it was computed"
    return node, ""


def _is_meant(node: Node, values: _Values, known: dict[Node, bool]) -> bool:
    """Whether a value is infinite by data, as the scores of a masked softmax are: these are not where it began."""
    stack = [node]
    while stack:
        one = stack[-1]
        value, bad = values[one], values.bad(one)
        waiting = [x for x in bad if x not in known]
        if waiting and not has_nan(value):
            stack.extend(waiting)
            continue
        given = any(not isinstance(x, Node) and not is_finite(x) for x in one.inputs)
        by_data = (one.op is None and not one.requires_grad) or given or (bool(bad) and all(known.get(x) for x in bad))
        known[one] = by_data and not has_nan(value)
        stack.pop()
    return known[node]


def _slope(node: Node, position: int, g: Any, c: Any) -> Any:
    """The derivative of a node by an operand, entry by entry, where its product with g = 0 is c, else None."""
    slopes: list[Any] = []

    def watch(_: Node, at: int, __: Any, slope: Any) -> None:
        if at == position:
            slopes.append(slope)

    if shape_of(c) == node.shape and bool(np.all(np.asarray(g)[~np.isfinite(c)] == 0.0 if np.ndim(g) else g == 0.0)):
        walk([node], {node: spread(1.0, node.shape)}, False, watch=watch, hooks=False)
    return slopes[0] if slopes and shape_of(slopes[0]) == node.shape else None


def _raise_anomaly(note: Note) -> NoReturn:
    """Make an error of the note."""
    raise AgradError("grad", note.message, labels=note.labels, fixes=note.fixes)


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, Tensor) else value


def not_finite_note(node: Node, found: Any, values: _Values, slope: Any = None) -> Note:
    """Where the first inf or nan of a pass began, and what to write there instead.

    `found`: the value of the node, or a contribution of its rule, which is a derivative `slope` times a cotangent;
    `values`: those of the nodes.
    """
    if node.op is None:
        return _came_in(node, found)
    is_value = found is values[node]
    here = ("" if is_value else "the derivative of ") + _named(node)
    index = None if isinstance(found, float) else np.unravel_index(int(np.argmin(np.isfinite(found))), found.shape)
    first, factor = _entry(found, index), _entry(slope, index)
    operands = values.read(node)
    shown, product = [], ""
    if node.op.reach == "pointwise" or index is None:
        named = [_shown(x, value, found, index, node.spell()) for x, value in zip(node.inputs, operands, strict=True)]
        shown = list(dict.fromkeys(filter(None, named)))
    elif is_value:
        here += f"[{_place(index)}]"
    else:
        product = f": {node.op.fails.no_derivative}" if node.op.fails.no_derivative else ""
    place = f" at {', '.join(shown)}" if shown else ""
    number = format_number(first)
    if first != first and math.isinf(factor):
        number, product = format_number(factor), f", and 0 * {format_number(factor)} is nan"
    labels, fixes = [], []
    if node.origin is not None:
        labels = [Label(node.origin)]
        pointwise = node.op.reach == "pointwise"
        numbers = [_entry(value, index, shape_of(found)) if pointwise else _largest(value) for value in operands]
        fixes = remedies(node.op, node.origin.text, numbers, index is not None)
    return Note(
        f"a gradient is inf or nan: {here} is {number}{place}{product}",
        labels=labels,
        fixes=fixes,
        of_numbers=True,
        is_of_value=is_value,
    )


def _came_in(leaf: Node, value: Any) -> Note:
    """The note on a leaf that is not finite itself: data, or what updates have made of it."""
    bad = np.isnan(value) if has_nan(value) else ~np.isfinite(value)
    index = None if isinstance(value, float) else np.unravel_index(int(np.argmax(bad)), value.shape)
    at = "" if index is None else f"[{_place(index)}]"
    message = f"a gradient is inf or nan: {leaf.spell()}{at} is {format_number(_entry(value, index))} already"
    labels = [Label(leaf.origin)] if leaf.origin is not None else []
    return Note(message, labels=labels, follows=True, of_numbers=True)


def _named(node: Node) -> str:
    """The text of a node, or its operation where that says more."""
    name = node.spell()
    if node.op is not None and node.name is None:
        if node.origin is None:
            return node.op.name
        if re.match(_INSIDE, name):
            return f"{node.op.name} in {name}"
    return name


def _entry(value: Any, index: Any, shape: Shape = ()) -> float:
    """A number, or the entry of an array, spread to a shape if it is given; nan where there is none."""
    if isinstance(value, float):
        return value
    return math.nan if value is None or index is None else float(spread(value, shape or value.shape)[index])  # type: ignore[index]


def _largest(value: Any) -> float:
    """The largest entry in size."""
    return 0.0 if value is None or not np.size(value) else float(np.abs(value).max())


def _place(index: Any) -> str:
    return ", ".join(str(int(i)) for i in index)


def _shown(operand: Input, value: Any, found: Any, index: Any, here: str) -> str:
    """An operand with its value, or the entry of an array at the same index; nothing for a nameless constant."""
    if not isinstance(operand, Node):
        return ""
    name = operand.spell()
    inside = name == here  # a step of the same expression, which has no name
    if isinstance(value, float):
        return format_number(value) if inside else f"{name} = {format_number(value)}"
    if value is None or index is None or value.ndim > found.ndim:
        return "" if inside else name
    places = index[len(index) - value.ndim :]  # of an array that is spread
    index = tuple([0 if length == 1 else place for length, place in zip(value.shape, places, strict=True)])
    entry = format_number(float(value[index]))
    whole = name if _ATOM.match(name) or without_brackets(name) != name else f"({name})"
    return entry if inside else f"{whole}[{_place(index)}] = {entry}"


# What to write instead of an operation that gave inf or nan, or whose derivative did.
#
# The fixes are texts in the language, made from the text of the operation: `sqrt(x)` becomes `sqrt(x + 1e-12)`. There
# is none for an operation whose text is not known, as from Python, or whose operand no rule here knows how to keep
# away.

_CALL = pattern(r"\(*((?:\w+\.)*)(\w+)\((.*)\)$", re.DOTALL)
_METHOD = pattern(r"(.+)\.(\w+)\(\)$", re.DOTALL)
_NEAR_ZERO = "1e-12"
LARGE = 1e100  # beyond what any calculation means to reach


def remedies(op: Op, text: str, operands: Sequence[float], is_array: bool = False) -> list[str]:
    """Fixes for an operation with its text and the numbers at which it failed: [] where none is known.

    `is_array`: whether the numbers are entries of arrays.
    """
    text = without_brackets(" ".join(text.split()))
    if len(operands) == 2 and op.operator is not None:
        fixes = _of_two(op.operator.sign, text, *operands)
    elif len(operands) == 1 and op.fails.remedy is not None and op.fails.remedy.holds(operands[0]):
        fixes = _of_one(text, op.fails.remedy, is_array)
    else:
        fixes = []
    if not fixes and any(LARGE < abs(x) < math.inf for x in operands):
        return [Hint("numbers that grow without bound in a loop need a smaller step: lr=…, or clip_grad_norm_")]
    return fixes


def in_logarithm(node: Node, order: Sequence[Node]) -> list[str]:
    """What to write instead of the logarithm of a sum of exponentials, of which a node is one: `softplus(x)`."""
    text = node.origin.text if node.op is OPS["exp"] and node.origin is not None else ""
    called = _CALL.match(without_brackets(text))
    users = [one for one in order if any(x is node for x in one.inputs)]
    if called is None or not is_balanced(called[3]) or len(users) != 1 or users[0].op is None:
        return []
    first = users[0]
    logs = [one for one in order if one.op is OPS["log"] and one.inputs[0] is first]
    if first.op is OPS["log1p"] or (
        logs and first.op is OPS["add"] and any(type(x) is float and x == 1.0 for x in first.inputs)
    ):
        return [f"softplus({called[3]})   is log(1 + exp({called[3]})), without overflow"]
    if logs and first.op is OPS["sum"] and not first.shape:
        return [f"logsumexp({called[3]})   is log(sum(exp({called[3]}))), without overflow"]
    return []


def _of_one(text: str, case: Remedy, is_array: bool) -> list[str]:
    """A function of one number: another function that is the same, or the function of another number."""
    method = _METHOD.match(text)
    if method is not None and is_balanced(method[1]):
        changed = case.operand.format(without_brackets(method[1]))
        return [f"{changed if changed.startswith('clip') else f'({changed})'}.{method[2]}()   {case.does}"]
    called = _CALL.match(text)
    if called is None or not is_balanced(called[3]) or not called[3]:
        return []
    prefix, name, inner = called.groups()
    inside = _CALL.match(inner)
    if name == "log" and inside is not None and is_balanced(inside[3]) and inside[3]:
        op = OPS.get(inside[2])
        if op is not None and op.fails.logarithm:
            return [f"{op.fails.logarithm}({inside[3]})   is the same, and finite"]
    if len(divided(inner)) > 1:
        return []
    shifted = [f"{prefix}{name}({inner} - max({inner}))   is the same, where it is divided by its sum"]
    fixes = [f"{prefix}{name}({case.operand.format(inner)})   {case.does}"]
    return [*shifted, *fixes] if name == "exp" and is_array else fixes


def _of_two(sign: str, text: str, x: float, y: float) -> list[str]:
    """A quotient, a product or a power; of other operators there is none."""
    parts = divided(text, sign)
    if len(parts) < 2:
        return []
    left, right = sign.join(parts[:-1]).strip(), parts[-1].strip()
    if sign == "**":
        return _of_power(without_brackets(parts[0]), sign.join(parts[1:]).strip(), x, y)
    if sign == "*":
        for one, other in ((left, right), (right, left)):
            called = _CALL.match(without_brackets(other))
            if called is not None and called[2] == "log" and is_balanced(called[3]) and called[3] and x * y != x * y:
                return [f"xlogy({without_brackets(one)}, {called[3]})   is 0 where {without_brackets(one)} is 0"]
        return []
    return _of_quotient(text, left, right, x, y) if sign == "/" else []


def _of_power(base: str, exponent: str, x: float, y: float) -> list[str]:
    """A power of 0 whose derivative is infinite, or a root of a negative number: of odd degree there is one."""
    if x == 0.0:
        return [f"clip({base}, {_NEAR_ZERO})**{exponent}   has a base above 0"]
    degree = 1.0 / y if x < 0.0 and y % 1.0 else 0.0
    if abs(degree % 2.0 - 1.0) < 1e-9:
        return [f"sign({base})*abs({base})**{exponent}   is the real root"]
    return []


def _of_quotient(text: str, left: str, right: str, x: float, y: float) -> list[str]:
    """A softmax that is written out, or a division by 0."""
    above, whole = _CALL.match(without_brackets(left)), right.replace("torch.", "")
    if above is not None and above[2] == "exp" and is_balanced(above[3]):
        if whole in (f"exp({above[3]}).sum()", f"sum(exp({above[3]}))"):
            return [f"softmax({above[3]})   is the same, without overflow"]
    elif whole.startswith((f"{left}.sum(", f"sum({left}")) and (x != x or x == y):
        return [Hint(f"softmax(z, …), if {left} is exp(z): it does not overflow, and its sum is not 0")]
    right = without_brackets(right)
    if y or not re.search(r"[^\W\d]", right):  # by a number nothing else is meant
        return []
    if x == 0.0:
        limit = Hint(f"where({right} == 0, c, {text})   is c there: the limit, if there is one")
        return [f"{left}/({right} + {_NEAR_ZERO})   is 0 where {right} is 0", limit]
    return [f"{left}/({right} + {_NEAR_ZERO})   is finite where {right} is 0"]
