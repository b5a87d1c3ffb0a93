"""LLVM's code of loops whose iterations depend on each other: running sums and the like, and loops of their own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from agrad.engine.compile.llvm.ir_builder import Code
from agrad.engine.compile.llvm.loops.kernel import Memory
from agrad.engine.compile.llvm.loops.stages import Repeat, Running
from agrad.engine.compile.llvm.loops.views import View, strides_of
from agrad.engine.compile.symbols.symbol import Symbol
from agrad.engine.program.ir import Program
from agrad.engine.values import Shape


class RunningCode:
    """The text of a function that computes entries one after the other along an axis, and the code in it."""

    def __init__(self, name: str, program: Program, stage: Running, memory: Memory) -> None:
        self.program, self.stage, self.memory = program, stage, memory
        self.code = Code(1)
        self.bases = [self._base(number, view) for number, view in enumerate(stage.reads)]
        body = list(self._nest())
        head = f"define internal void @{name}(ptr %tab, ptr %num) {{\nentry:"
        self.text = "\n".join((head, memory.array(stage.slot, "%out"), *self.bases, *body, "  ret void", "}"))

    def _base(self, number: int, view: View) -> str:
        """The lines that give addresses to what an operand is read from."""
        if not self.program.shape(view.slot):
            known = self.memory.value(view.slot) is not None
            return "" if known else self.memory.number(view.slot, f"%in{number}")
        table = "" if view.table is None else self.memory.table(view, f"%places{number}") + "\n"
        return table + self.memory.array(view.slot, f"%in{number}")

    def _nest(self) -> Iterator[str]:
        """A loop over each other axis; in these the first entry, then the loop over those that follow."""
        shape, axis = self.stage.shape, self.stage.axis
        others = [other for other, length in enumerate(shape) if other != axis and length > 1]
        before = "entry"
        for other in others:
            yield f"  br label %h{other}\nh{other}:"
            yield f"  %i{other} = phi i64 [0, %{before}], [%i{other}.next, %l{other}]"
            before = f"h{other}"
        places = dict.fromkeys(range(len(shape)), "0") | {other: f"%i{other}" for other in others}
        yield "  br label %row\nrow:"
        first, lines = self._entry(places, None)
        yield from lines
        if shape[axis] > 1:
            made, lines = self._entry(places | {axis: "%k"}, self.code.argument("%y"))
            yield "  br label %next\nnext:\n  %k = phi i64 [1, %row], [%k.next, %next]"
            yield f"  %y = phi double [{first}, %row], [{made}, %next]"
            yield from lines
            yield f"  %k.next = add i64 %k, 1\n  %k.more = icmp ult i64 %k.next, {shape[axis]}"
            yield "  br i1 %k.more, label %next, label %over\nover:"
        for other in reversed(others):
            yield f"  br label %l{other}\nl{other}:\n  %i{other}.next = add i64 %i{other}, 1"
            yield f"  %m{other} = icmp ult i64 %i{other}.next, {shape[other]}"
            yield f"  br i1 %m{other}, label %h{other}, label %d{other}\nd{other}:"

    def _entry(self, places: Mapping[int, str], last: Symbol | None) -> tuple[str, list[str]]:
        """The entry at these places, which is the first or follows the last one, and the lines that compute it."""
        begin, lines = len(self.code.lines), self.code.lines
        operands = [self._operand(number, view, places) for number, view in enumerate(self.stage.reads)]
        found = self.stage.first(*operands) if last is None else self.stage.following(last, *operands)
        to = self._address("%out", "double", 0, strides_of(self.stage.shape), places)
        lines.append(f"  store double {found.text}, ptr {to}, align 1")
        return found.text, lines[begin:]

    def _operand(self, number: int, view: View, places: Mapping[int, str]) -> Symbol:
        if not self.program.shape(view.slot):
            value = self.memory.value(view.slot)
            return self.code.constant(value) if value is not None else self._loaded(f"%in{number}")
        if view.table is None:
            return self._loaded(self._address(f"%in{number}", "double", view.offset, view.strides, places))
        at = self._address(f"%places{number}", "i64", 0, strides_of(self.stage.shape), places)
        name = f"%g{len(self.code.lines)}"
        lines = (
            f"  {name}.place = load i64, ptr {at}\n  {name} = getelementptr double, ptr %in{number}, i64 {name}.place"
        )
        self.code.lines.append(lines)
        return self._loaded(name)

    def _loaded(self, at: str) -> Symbol:
        name = f"%g{len(self.code.lines)}"
        self.code.lines.append(f"  {name} = load double, ptr {at}, align 1")
        return self.code.argument(name)

    def _address(self, base: str, unit: str, offset: int, strides: Shape, places: Mapping[int, str]) -> str:
        lines, at = self.code.lines, str(offset)
        for axis, stride in enumerate(strides):
            if stride and places[axis] != "0":
                name = f"%g{len(lines)}"
                lines.append(f"  {name}.by = mul i64 {places[axis]}, {stride}\n  {name} = add i64 {at}, {name}.by")
                at = name
        name = f"%g{len(lines)}"
        lines.append(f"  {name} = getelementptr {unit}, ptr {base}, i64 {at}")
        return name


def repeat_code(name: str, stage: Repeat, memory: Memory) -> str:
    """A function that runs a loop of its own: from its first state, rows, and what is the same, to rows and sums."""
    code, count = stage.code, stage.count
    state, row, _ = code.sizes
    sums = len(code.program.outputs) - code.width
    addresses = "ptr %in, ptr %rows, ptr %same, ptr %out, ptr %sums"
    return "\n".join(
        (
            f"define internal void @{name}(ptr %tab, ptr %num) {{",
            memory.array(stage.operand, "%in"),
            memory.array(stage.slot, "%out"),
            f"  %rows = getelementptr double, ptr %in, i64 {state}",
            f"  %same = getelementptr double, ptr %in, i64 {state + count * row}",
            f"  %sums = getelementptr double, ptr %out, i64 {count * code.width}",
            *([f"  call void @fill(ptr %sums, i64 {sums})"] if sums else []),
            f"  call void inttoptr (i64 {code.address} to ptr)({addresses}, i64 {count})",
            "  ret void",
            "}",
        )
    )
