"""Programs of functions: a graph as straight-line code, to be computed on other data, in other ways.

    parts(trace(lambda x, y: x*ag.sin(y) + 1, (2.0, 3.0), ("x", "y")))

    inputs     x, y
    t3 = sin(y)
    t4 = mul(x, t3)  # x*sin(y)
    t5 = add(t4, 1)  # x*sin(y) + 1
    outputs    t5

The nodes of a graph are the symbols: a program is read from the graph of a function's result, and that of a gradient
from the graph that the rules record when they run on such nodes, so that no rule is written twice. A guard of the graph
becomes a `GuardCheck`: where it has another outcome, the program is not that of the function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeAlias

from agrad.engine import units
from agrad.engine.autodiff.backward import grad, or_zeros
from agrad.engine.autodiff.transforms import refuse_lost
from agrad.engine.core import graph
from agrad.engine.core.context import Tracing, current, scope
from agrad.engine.core.graph import Guard, Node, alive, by_seq, collect, collecting_later, leaf, new_node, sharers
from agrad.engine.core.graph_errors import freed_error
from agrad.engine.core.guards import bits, look_behind, note_read, take
from agrad.engine.core.numpy_warnings import quiet
from agrad.engine.core.op import OPS
from agrad.engine.core.tensor import Tensor, bare, handle, tensor
from agrad.engine.core.versions import rewritten
from agrad.engine.errors import AgradError, Hint, Label
from agrad.engine.program.ir import GuardCheck, Input, Program, Step, computed, identified, needed
from agrad.engine.values import Shape, Value, coerce, describe, format_shape, np, shape_of

Making: TypeAlias = Callable[[list[Tensor], list[Tensor]], list[Tensor]]


def trace(
    f: Callable[..., Any], examples: Sequence[object], names: Sequence[str] = (), wrt: Sequence[int] | None = None
) -> Program:
    """The program of a function, traced at some values: numbers, arrays, or functions that make them.

    An argument that is not among `wrt` (all) requires no gradient, and may be an index. A list as the result is one of
    several. Raises what the function raises, and AgradError of kind `type` if a result is neither a number nor an
    array.
    """
    with traced(f, examples, wrt, names) as (ys, xs):
        return extract(ys, xs, names, current().guard)


def sole(program: Program) -> None:
    """AgradError of kind `shape` where the result is not one number."""
    if len(program.outputs) != 1:
        raise AgradError("shape", f"the function has {len(program.outputs)} results: a gradient needs one number")
    _require_number(program.shape(program.outputs[0]))


def _require_number(shape: Shape) -> None:
    if shape:
        message = f"the result has shape {format_shape(shape)}: a gradient needs one number"
        raise AgradError("shape", message, fixes=[Hint("sum the entries up")])


def gradients(y: Tensor, xs: Sequence[Tensor], create_graph: bool = True) -> list[Tensor]:
    """The gradients of one number, with their graph; 0 by what it does not depend on."""
    _require_number(y.shape)
    return or_zeros(y, xs, lambda used: grad(y, used, create_graph))


def check_kept(
    program: Program, f: Callable[..., Any], values: Sequence[Value], wrt: Sequence[int], names: Sequence[str]
) -> None:
    """AgradError of kind `grad` where the function has lost its graph: see `refuse_lost`.

    `program` is that of the function at these values. Where plain data were read in it, and its result does not depend
    on an argument, the function is traced again to find out where they were read.
    """
    is_read = any(check.read is bits for check in program.checks)
    if is_read and not set(wrt) <= {*needed(program.outputs, (), program.operands)}:
        reads: list[tuple[Node, Any]] = []
        with traced(f, values, wrt, names, reads) as (ys, xs):
            refuse_lost("compile", f, ys, {place: xs[place] for place in wrt}, reads)


@contextmanager
def traced(
    f: Callable[..., Any],
    examples: Sequence[object],
    wrt: Sequence[int] | None = None,
    names: Sequence[str] = (),
    reads: list[tuple[Node, Any]] | None = None,
) -> Iterator[tuple[list[Tensor], list[Tensor]]]:
    """The results of a function on placeholders for some values, and these placeholders, within the recording.

    `reads` is told what values were taken as plain data, and where.
    """
    tracing = current().tracing
    # The program of this function may hold any argument of a function that is being traced around it.
    for x in tracing.inputs if tracing is not None else ():
        take(x.node, x.value)
    with recording():
        given = [entered(x, wrt is None or place in wrt).clone() for place, x in enumerate(examples)]  # to be written
        xs = [bare(x.node, x.value) for x in given]
        with scope(tracing=Tracing(xs, names), reads=reads):  # plain data that it reads from its arguments makes guards
            try:
                y = f(*given)
            except ValueError as error:  # of NumPy, where an entry of an array was to hold a graph
                if isinstance(error.__cause__, AgradError):
                    raise error.__cause__ from None
                raise
        results = y if isinstance(y, list) else [y]
        for one in results:
            if isinstance(one, tuple | list | str) or callable(one) or one is None:
                raise AgradError("type", f"a function whose result is {describe(one)}, not a number or an array")
        for x in xs:
            check_unwritten(x.node)
        units.plain_only([*examples, *results], "what is compiled or solved")
        yield [one if isinstance(one, Tensor) else tensor(one) for one in results], xs


def infer_units(known: Any, f: Callable[..., Any], examples: Sequence[Any], names: Sequence[str]) -> None:
    """Call a function on placeholders, from which `known`, the units of it, and of what it decided, follow."""

    def called(*xs: Any) -> Any:
        with known.given(xs):
            value = f(*xs)
        number = known.inferred(value)
        known.work.of(units.quantity.conditions(current().guard))
        return number

    with traced(called, examples, names=names):
        pass


def recording() -> scope:
    """Record, also inside no_grad, without guards."""
    return scope(recording=True, guard=None)


def entered(example: object, requires_grad: bool = True) -> Tensor:
    """A leaf that is recorded."""
    node = leaf(plain(example), requires_grad)
    node.recorded = True
    return bare(node)


def data_of(x: object) -> object:
    """The value of a Tensor without its graph; in a function being traced, reading it makes a guard."""
    if not isinstance(x, Tensor):
        return x
    note_read(x.node)
    if current().tracing is not None:
        take(x.node, x.value)
    return x.value


def plain(x: object) -> Value:
    """A number, or a contiguous array: the rounding of a sum depends on the memory layout."""
    value = coerce(data_of(x), copy=False)
    return value if isinstance(value, float) else np.ascontiguousarray(value)


def of_graph(program: Program, values: Sequence[Value], places: Sequence[int], made: Making) -> Program:
    """The program of what is made of the results of another, and of its inputs, as a graph at some values.

    It is differentiated by the inputs at some places, and has the checks of the other.
    """
    count, names = len(program.outputs), [given.name for given in program.inputs]
    with as_graph(program, values, places) as (results, xs):
        found = extract([*made(results[:count], xs), *results[count:]], xs, names, current().guard)
    return checked(found, program.checks)


@contextmanager
def as_graph(
    program: Program, values: Sequence[Value], wrt: Sequence[int]
) -> Iterator[tuple[list[Tensor], list[Tensor]]]:
    """A program as a graph: the values of its outputs and of the slots that its checks read, and its inputs."""
    with placeholders(values, wrt) as xs:
        yield inlined(program, xs), xs


@contextmanager
def placeholders(values: Sequence[Value], wrt: Sequence[int]) -> Iterator[list[Tensor]]:
    """Leaves with some values, from which a program is recorded; it is differentiated by those at some places."""
    with recording(), scope(listener=None, undefined=None), quiet():
        yield [entered(value, place in wrt) for place, value in enumerate(values)]


def inlined(program: Program, xs: Sequence[Tensor]) -> list[Tensor]:
    """A program computed on values with a graph, the first ones: its outputs, and the slots that its checks read."""
    slots: list[Any] = [*map(valued, xs[: len(program.inputs)]), *program.constants]
    for step in program.steps:
        slots.append(recorded(step.op, tuple([slots[x] for x in step.operands]), step.attrs))
    return [handle_of(slots[slot]) for slot in (*program.outputs, *[check.slot for check in program.checks])]


def valued(x: Tensor) -> Node:
    """The node of a value, which keeps it: that of an array does not unless it is saved."""
    x.node.value = x.value
    return x.node


def recorded(op: Any, operands: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
    """The node of an operation with what it computes; a constant where all operands are."""
    values: Any = tuple([x.value if type(x) is Node else x for x in operands])
    out = computed(op, values, attrs)
    if not any(type(x) is Node for x in operands):
        return out
    return new_node(op, operands, attrs or None, out, shape_of(out), True in graph.live(op, operands))


def handle_of(x: Any) -> Tensor:
    """The Tensor of a node or a constant."""
    if type(x) is Node:
        return handle(x, x.value if x.shape else None)
    return handle(new_node(None, (), None, x, shape_of(x), False))


def checked(program: Program, checks: Sequence[GuardCheck]) -> Program:
    """The program with its last outputs turned into the slots that the checks read."""
    count = len(program.outputs) - len(checks)
    outputs, slots = program.outputs[:count], program.outputs[count:]
    moved = tuple([replace(check, slot=slot) for check, slot in zip(checks, slots, strict=True)])
    return replace(program, outputs=outputs, checks=(*program.checks, *moved))


# A program extracted from the nodes of a graph.


def extract(
    outputs: Sequence[Tensor], inputs: Sequence[Tensor], names: Sequence[str] = (), chosen: Guard | None = None
) -> Program:
    """The program that computes some values from others. A value that does not depend on `inputs` is a constant.

    Its checks are the guards under which the values were computed, and those up to `chosen`.

    Raises AgradError of kind `freed` where a part of the graph is gone, and of kind `guard` where something was
    computed from an input without recording.
    """
    with collecting_later():
        return _Extraction([y.node for y in outputs], [x.node for x in inputs], names, chosen).program()


class _Extraction:
    """The state of one extraction, from nodes to slots."""

    def __init__(self, outputs: list[Node], inputs: list[Node], names: Sequence[str], chosen: Guard | None) -> None:
        self.outputs, self.inputs = outputs, inputs
        self.given = set(inputs)
        self.leaves = {leaf for x in inputs for leaf in alive(graph.roots_of(x))}
        self.keys: dict[int, object] = {}
        self.slots: dict[Any, int] = {node: slot for slot, node in enumerate(inputs)}
        self.constants: list[Value] = []
        self.names = list(names) or [x.name or "" for x in inputs]
        self.resolved: dict[Node, Node | Value] = {}
        self.operands: dict[Node, list[Node | Value]] = {}  # of everything that has to be computed
        self.guards: set[Guard] = set()
        self._add_guards(chosen)
        self._need(outputs)
        self.found_guards: list[Guard] = []
        while self.guards.difference(self.found_guards):  # a guard may depend on others
            self.found_guards = [*self.guards]
            self._need([guard.node for guard in self._of_inputs() if guard.node is not None])

    def _need(self, roots: Iterable[Node]) -> None:
        """Find everything that has to be computed for some nodes, and the guards under which it was computed."""
        stack, known = [self._resolve(x) for x in roots], self.operands
        while stack:
            node = stack.pop()
            if type(node) is not Node or node in known or node in self.given:
                continue
            if node.freed is not None:
                raise freed_error(collect([node]), self.outputs[0], "compiled")
            if node.op is not None and node.op.role == "opaque":
                what = f"{node.title} is a Function with a backward of its own"
                raise AgradError("guard", f"this cannot be compiled: {what}")
            known[node] = found = [x if type(x) is not Node or x in known else self._resolve(x) for x in node.inputs]
            stack += found
            if node.guard is not None:
                self._add_guards(node.guard)

    def _add_guards(self, guard: Guard | None) -> None:
        while guard is not None and guard not in self.guards:
            self.guards.add(guard)
            guard = guard.parent

    def _of_inputs(self) -> list[Guard]:
        """The guards that depend on the same leaves as the inputs."""
        look_behind(self.found_guards)
        return [guard for guard in self.found_guards if not self.leaves.isdisjoint(alive(guard.roots))]

    def _resolve(self, node: Node) -> Node | Value:
        """What a node stands for: an input, an operation, or a constant."""
        if node.op is not None and node.extra is None and node.op.role != "tied":
            return node
        if node not in self.resolved:
            self.resolved[node] = self._find(node)
        return self.resolved[node]

    def _find(self, node: Node) -> Node | Value:
        while node not in self.given:
            if node.op is None:
                source = self._source(node)
                if source is None:
                    assert node.value is not None
                    return node.value
                stopped = new_node(OPS["stop"], (source,), None, source.value, source.shape, False)  # detached from it
                stopped.seq, stopped.guard = node.seq, node.guard
                return stopped
            check_unwritten(node)
            if node.op.role != "tied":
                return node
            operand = node.inputs[0]
            if type(operand) is not Node:
                return operand
            node = operand
        return node

    def _source(self, constant: Node) -> Node | None:
        """The value in the graph that a constant shares its data with; AgradError if it is cut off from an input."""
        if constant.recorded or constant.storage is None:
            return None
        for other in sharers(constant):
            if other in self.given or other.op is not None:
                return other
        for source in alive(constant.storage.roots):
            if source in self.leaves:
                raise _cut_off(constant.spell(), source, constant.storage.cut or constant.origin)
        return None

    def program(self) -> Program:
        """Slots for everything that is needed."""
        ordered: list[Any] = sorted(self.operands, key=by_seq)
        slots = self.slots
        operands = [[x if type(x) is Node else self._place(x) for x in self.operands[node]] for node in ordered]
        outputs = [self._place(self._resolve(node)) for node in self.outputs]
        guards = self._about_inputs(ordered)
        first = len(self.inputs) + len(self.constants)
        slots.update(zip(ordered, range(first, first + len(ordered)), strict=True))
        inputs = tuple(_named(self.names, [x.shape for x in self.inputs]))
        pairs = zip(ordered, operands, strict=True)
        steps = [Step(node.op, tuple([slots[x] for x in xs]), node.attrs or {}, node.shape) for node, xs in pairs]
        reads: Any = [(slots[self._resolve(one.node)], one) for one in guards if one.node is not None]
        checks = [GuardCheck(slot, one.read, one.outcome, one.text) for slot, one in reads]
        return Program(inputs, tuple(self.constants), tuple(steps), tuple([slots[x] for x in outputs]), tuple(checks))

    def _place(self, x: Any) -> Any:
        """The key of an operand: its node, or the constant."""
        if type(x) is Node:
            return x
        if isinstance(x, float):
            key: object = repr(x)  # 0 and -0 are two constants
        else:  # arrays with the same entries, of which there are many: a use may be a copy
            key = self.keys.get(id(x)) or self.keys.setdefault(id(x), identified(x))
        if key not in self.slots:
            self.slots[key] = len(self.inputs) + len(self.constants)
            self.constants.append(x if isinstance(x, float) else x.copy("K"))  # others may write to theirs
        return key

    def _about_inputs(self, ordered: list[Node]) -> list[Guard]:
        """The guards that depend on an input, the oldest first."""
        guards = self._of_inputs()
        moving = set(self.given)
        for node in ordered if guards else ():
            if any(type(x) is Node and x in moving for x in self.operands[node]):
                moving.add(node)
        found = []
        for guard in sorted(guards, key=lambda guard: guard.stamp):
            if guard.node is None:
                behind = next(leaf for leaf in alive(guard.roots) if leaf in self.leaves)
                raise _cut_off(guard.name, behind, guard.origin)
            if self._resolve(guard.node) in moving:
                found.append(guard)
        return found


def _cut_off(name: str, behind: Node, origin: Any) -> AgradError:
    message = f"{name} was computed from {behind.spell()} without recording"
    labels = [Label(origin, "cut off here")] if origin is not None else []
    fixes = [Hint("compute it without detach and outside no_grad")]
    return AgradError("guard", f"this cannot be compiled: {message}", labels=labels, fixes=fixes)


def check_unwritten(node: Node) -> None:
    """Refuse a value that is no longer the result of its operation."""
    if rewritten(node) and node.storage is not None and not node.storage.successor:
        labels = [Label(node.origin, "computed here")] if node.origin is not None else []
        fixes = [Hint("write to it outside no_grad, or make a new value")]
        message = f"this cannot be compiled: {node.spell()} was written to without recording"
        raise AgradError("guard", message, labels=labels, fixes=fixes)


def _named(names: Sequence[str], shapes: Sequence[Shape]) -> Iterator[Input]:
    """Inputs with distinct names."""
    taken: set[str] = set()
    for place, shape in enumerate(shapes):
        name = names[place] if place < len(names) and names[place] not in taken else ""
        name = name or ("x" if len(shapes) == 1 else f"x{place}")
        while name in taken:
            name += "_"
        taken.add(name)
        yield Input(name, shape)
