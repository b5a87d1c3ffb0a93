"""A program extracted from the nodes of a graph."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from agrad.engine.core.graph import Node, collect, collecting_later, new_node
from agrad.engine.core.graph_errors import freed_error
from agrad.engine.core.guards import Guard, look_behind
from agrad.engine.core.op import OPS
from agrad.engine.core.tensor import Tensor
from agrad.engine.core.versions import leaves_of, rewritten, roots_of, sharers
from agrad.engine.errors import AgradError, Hint, Label
from agrad.engine.program.ir import GuardCheck, Input, Program, Step
from agrad.engine.program.passes import identified
from agrad.engine.values import Shape, Value


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
        self.leaves = set().union(*(leaves_of(roots_of(x)) for x in inputs))
        self.keys: dict[int, object] = {}
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
        stack = list(roots)
        while stack:
            node = self._resolve(stack.pop())
            if type(node) is not Node or node in self.operands or node in self.given:
                continue
            if node.freed is not None:
                raise freed_error(collect([node]), self.outputs[0], "compiled")
            if node.op is not None and node.op.is_opaque:
                raise AgradError(
                    "guard", f"this cannot be compiled: {node.title} is a Function with a backward of its own"
                )
            self.operands[node] = found = [self._resolve(x) if type(x) is Node else x for x in node.inputs]
            stack += [x for x in found if type(x) is Node and x not in self.operands]
            if node.guard is not None:
                self._add_guards(node.guard)

    def _add_guards(self, guard: Guard | None) -> None:
        while guard is not None and guard not in self.guards:
            self.guards.add(guard)
            guard = guard.parent

    def _of_inputs(self) -> list[Guard]:
        """The guards that depend on the same leaves as the inputs."""
        look_behind(self.found_guards)
        return [guard for guard in self.found_guards if self.leaves & leaves_of(guard.roots)]

    def _resolve(self, node: Node) -> Node | Value:
        """The slot of a node: an input, an operation, or a constant."""
        found = self.resolved.get(node)
        if found is None:
            is_step = node.op is not None and node.extra is None and not node.op.tied_by and node not in self.given
            self.resolved[node] = found = node if is_step else self._find(node)
        return found

    def _find(self, node: Node) -> Node | Value:
        while node not in self.given:
            if node.op is None:
                source = self._source(node)
                if source is None:
                    assert node.value is not None
                    return node.value
                return _stopped(node, source)
            check_unwritten(node)
            if not node.op.tied_by:
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
        for root in constant.storage.roots:
            if root() in self.leaves:
                raise _cut_off(constant.spell(), root(), constant.storage.cut or constant.origin)
        return None

    def program(self) -> Program:
        """Slots for everything that is needed."""
        ordered = sorted(self.operands, key=lambda node: node.seq)
        slots: dict[Any, int] = {node: slot for slot, node in enumerate(self.inputs)}
        constants: list[Value] = []
        place = self._place
        operands = [
            [x if type(x) is Node else place(x, slots, constants) for x in self.operands[node]] for node in ordered
        ]
        outputs = [self._place(self._resolve(node), slots, constants) for node in self.outputs]
        guards = self._about_inputs(ordered)
        first = len(self.inputs) + len(constants)
        slots.update((node, first + number) for number, node in enumerate(ordered))
        return Program(
            tuple(_named(self.names, [x.shape for x in self.inputs])),
            tuple(constants),
            tuple([_step(node, [slots[x] for x in xs]) for node, xs in zip(ordered, operands, strict=True)]),
            tuple([slots[x] for x in outputs]),
            tuple([GuardCheck(slots[self._resolve(g.node)], g.read, g.outcome, g.text) for g in guards]),  # type: ignore[arg-type]
        )

    def _place(self, x: Any, slots: dict[Any, int], constants: list[Value]) -> Any:
        """The key of an operand: its node, or the constant."""
        if type(x) is Node:
            return x
        key = repr(x) if isinstance(x, float) else self._key(x)  # 0 and -0 are two constants
        if key not in slots:
            slots[key] = len(self.inputs) + len(constants)
            constants.append(x if isinstance(x, float) else x.copy("K"))  # others may write to theirs
        return key

    def _key(self, x: Any) -> object:
        """Equal for arrays with the same entries, of which there are many if each use of a small one is a copy."""
        if id(x) not in self.keys:
            self.keys[id(x)] = identified(x)
        return self.keys[id(x)]

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
                raise _cut_off(guard.name, next(root() for root in guard.roots if root() in self.leaves), guard.origin)
            if self._resolve(guard.node) in moving:
                found.append(guard)
        return found


def _stopped(alias: Node, source: Node) -> Node:
    """What was detached from a value, with its record."""
    node = new_node(OPS["stop"], (source,), None, source.value, source.shape, False)
    node.seq, node.guard = alias.seq, alias.guard
    return node


def _step(node: Node, operands: list[int]) -> Step:
    assert node.op is not None
    return Step(node.op, tuple(operands), node.attrs or {}, node.shape)


def _cut_off(name: str, behind: Node | None, origin: Any) -> AgradError:
    leaf = behind.spell() if behind is not None else "an input"
    return AgradError(
        "guard",
        f"this cannot be compiled: {name} was computed from {leaf} without recording",
        labels=[Label(origin, "cut off here")] if origin is not None else [],
        fixes=[Hint("compute it without detach and outside no_grad")],
    )


def check_unwritten(node: Node) -> None:
    """Refuse a value that is no longer the result of its operation."""
    if rewritten(node) and node.storage is not None and not node.storage.successor:
        raise AgradError(
            "guard",
            f"this cannot be compiled: {node.spell()} was written to without recording",
            labels=[Label(node.origin, "computed here")] if node.origin is not None else [],
            fixes=[Hint("write to it outside no_grad, or make a new value")],
        )


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
