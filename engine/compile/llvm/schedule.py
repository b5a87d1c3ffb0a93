"""The stages in which a program of arrays is computed.

A step is one of these kinds:

kernel   an operation entry by entry, computed in a loop over its shape, the *space*
sum      the sum of the entries of such a result, or of any array, over some axes; or the largest, or smallest
number   an operation on numbers
product  the product of two small matrices
scatter  an operation that adds entries into zeros, several in one place
join     an array that consists of others, each of which is stored where it belongs
running  a result each of whose entries is computed from the one before, along an axis
solve    a system of equations with a matrix that several have, or a triangle
repeat   a loop whose iterations have machine code of their own
view     an operation that only moves entries: where it is used, its entries are read where they lie
copy     the same where it has to be an array
library  anything else: its own array function

The *level* of a step is the number of loops that have to be over before it. All kernels of one space and one level
become one loop; what it computes is stored only where something else needs it. The levels of a branch of a tree of
paths are above those of all branches before it, so that no loop has steps of several.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator
from itertools import groupby

from agrad.engine.compile.llvm import stages
from agrad.engine.compile.llvm.functions import written
from agrad.engine.compile.llvm.ir_builder import of_step
from agrad.engine.compile.paths import Paths, straight
from agrad.engine.compile.symbols import UnwrittenError
from agrad.engine.core.op import OPS
from agrad.engine.program.ir import Program, Step
from agrad.engine.values import Shape, np, size_of

_MOST, _PRODUCTS = 128, 2**18  # rows and columns, and products, of small matrices: larger ones take BLAS less time


class Schedule:
    """The stages of a program, or of all branches of a tree of paths, in order."""

    def __init__(self, program: Program | Paths, held: Collection[int] = ()) -> None:
        """`held` are inputs that are the same in several calls."""
        self.paths = straight(program) if isinstance(program, Program) else program
        self.program, self.held = program, held = self.paths.program, held
        self.kinds: dict[int, str] = {}
        self.views: dict[int, stages.View] = {}
        self.sums: dict[int, stages.Sum] = {}
        self.scatters: dict[int, stages.View] = {}
        self.joins: dict[int, list[stages.Join]] = {}
        self.copies: dict[int, stages.View] = {}
        self.shapes = program.shapes
        self.systems = stages.systems(program, held)
        self.levels = dict.fromkeys(range(program.first), 0)
        self.lowered: dict[tuple[str, str], bool | None] = {}
        for slot, step in enumerate(program.steps, program.first):
            self.kinds[slot] = self._kind(slot, step)
        self.stored: set[int] = set()  # results of kernels that are needed as arrays
        self._need_arrays()
        self.lowest: list[int] = []  # level of each branch
        for one in self.paths.branches:
            self.lowest.append(lowest := max(self.levels.values(), default=-1) + 1 if one.before is not None else 0)
            for slot in range(one.first, one.end):
                self.levels[slot] = max([lowest, *[self._ready(x, space) for x, space in self._reads(slot)]])
        self.kernels: dict[tuple[Shape, int], stages.Kernel] = {}
        self.alike: dict[int, list[int]] = {}  # the steps of which most is computed with one, and itself
        self._fuse()
        staged = list(self._factorised(self._stages()))
        self.stages = [stage for _, stage in staged]
        self.belongs = [branch for branch, _ in staged]  # the number of the branch of each stage

    # What a step is

    def _kind(self, slot: int, step: Step) -> str:
        shape, shapes = step.shape, [self.shapes[x] for x in step.operands]
        if step.op.reach == "pointwise" and "axis" not in step.attrs and self.calls(step) is not None:
            if not any((shape, *shapes)):
                return "number"
            if shape and size_of(shape):
                return "kernel"
        # Functions of LLVM, of which nan is the larger and the smaller; any is the largest truth, all the smallest.
        largest, smallest = (OPS["amax"], OPS["any"]), (OPS["amin"], OPS["all"])
        extreme = "maximum" if step.op in largest else "minimum" if step.op in smallest else ""
        if len(shapes) == 1 and (extreme or step.op.sums is not None) and shapes[0] and size_of(shapes[0]):
            axes, divisor = step.op.sums(shapes[0], step.attrs) if step.op.sums else (step.attrs["axis"], 1.0)
            kept = stages.strides_of(tuple([1 if axis in axes else length for axis, length in enumerate(shapes[0])]))
            strides = tuple([0 if axis in axes else stride for axis, stride in enumerate(kept)])
            are_truths = step.op in (OPS["any"], OPS["all"])
            self.sums[slot] = stages.Sum(slot, step.operands[0], strides, 0, divisor, extreme, are_truths)
            return "sum"
        if slot in self.systems and step.op is OPS["solve"]:
            return "solve"
        if step.op.runs is not None and size_of(shape) and all(one == shape for one in shapes):
            return "running"
        if step.op.role == "loop" and step.attrs["body"].is_one_call(step.attrs["count"]):
            return "repeat"
        is_small = step.op is OPS["matmul"] and all(len(x) == 2 and 0 < min(x) <= max(x) <= _MOST for x in shapes)
        if is_small and size_of(shapes[0]) * shape[1] <= _PRODUCTS:
            return "product"
        if step.op.role == "adding" and self._adds(slot, step):
            return "scatter" if slot in self.scatters else "sum"
        if len(shapes) == 1 and step.op.role != "copy":
            base = self.base(step.operands[0])
            view = stages.moved(step.op, base, shapes[0], shape, step.attrs)
            if view is not None:
                self.views[slot] = view
                return "view"
        return "join" if self._joins(slot, step, shapes) else "library"

    def _joins(self, slot: int, step: Step, shapes: list[Shape]) -> bool:
        """Whether a result consists of its operands."""
        found = stages.placed(step.op, shapes, step.shape, step.attrs)
        if found is None:
            return False
        parts = [(x, stages.affine(slot, where)) for x, where in zip(step.operands, found, strict=True) if where.size]
        if all(view is not None for _, view in parts):
            self.joins[slot] = [stages.Join(slot, x, one.strides, one.offset) for x, one in parts if one is not None]
        return slot in self.joins

    def _adds(self, slot: int, step: Step) -> bool:
        """Whether a step adds into zeros: a sum, if in vectors of neighbours, each entry at a place of its own."""
        shape = self.shapes[step.operands[0]]
        view = stages.moved(OPS["getitem"], stages.dense(slot, step.shape), step.shape, shape, step.attrs)
        if view is None:
            return False
        wide = [stride for stride, length in zip(view.strides, shape, strict=True) if length > 1]
        places = stages.places(view, shape)
        if view.table is not None or (wide and wide[-1] != 1) or np.bincount(places.ravel()).max() > 1:
            self.scatters[slot] = stages.View(slot, 0, stages.strides_of(shape), places)
            return True
        self.sums[slot] = stages.Sum(slot, step.operands[0], view.strides, view.offset)
        return True

    def base(self, slot: int) -> stages.View:
        """Where the entries of a slot lie."""
        return self.views.get(slot) or stages.dense(slot, self.shapes[slot])

    def source(self, slot: int) -> int:
        """The slot of the array in which these are."""
        view = self.views.get(slot)
        return slot if view is None else view.slot

    def calls(self, step: Step) -> bool | None:
        """Whether a step calls functions of the C library; None where there is no machine code for it."""
        key = step.op.name, repr(step.attrs)
        if key not in self.lowered:
            try:
                self.lowered[key] = bool(of_step(step).called)
            except UnwrittenError:
                self.lowered[key] = None
        return self.lowered[key]

    def step(self, slot: int) -> Step:
        """The step of a slot."""
        return self.program.steps[slot - self.program.first]

    def kind(self, slot: int) -> str:
        """Its kind; `given` for inputs and constants."""
        return self.kinds.get(slot, "given")

    # What has to be there as an array

    def _need_arrays(self) -> None:
        """Find what is stored: a view that is more than read in a loop is copied, or one of the library's as well."""
        wanted = list(self.program.outputs)
        by_library: set[int] = set()
        for slot, step in enumerate(self.program.steps, self.program.first):
            kind = self.kinds[slot]
            if kind in ("library", "scatter", "repeat"):
                wanted += step.operands
            if slot in self.systems:
                wanted.append(self.systems[slot].matrix)
            if kind == "solve":
                wanted.append(step.operands[1])
            if kind == "library":
                by_library.update(step.operands)
            if kind == "product":
                bases = [(x, self.base(x)) for x in step.operands]
                wanted += [x for x, base in bases if base.table is not None or not self.shapes[base.slot]]
            if (space := self._space(slot, step)) is not None:
                views = [(x, self.views[x]) for x in step.operands if x in self.views]
                wanted += [x for x, view in views if not stages.broadcast(view, self.shapes[x], space)]
        while wanted:
            slot = wanted.pop()
            if self.kind(slot) == "view":
                is_view = self.step(slot).op.role == "view" and slot in by_library
                self.kinds[slot] = "library" if is_view else "copy"
                self.copies[slot] = self.views.pop(slot)
                if is_view:
                    wanted += self.step(slot).operands
                    by_library.update(self.step(slot).operands)
            self.stored.add(slot)
        self._settle_views()
        reads = [one for slot in self.kinds for one in self._reads(slot)]
        self.stored.update([self.source(x) for x, space in reads if not self.is_direct(x, space)])

    def _settle_views(self) -> None:
        """A view of what has become an array is one of that array."""
        changed = {*self.copies}
        for slot, kind in self.kinds.items() if changed else ():
            step = self.step(slot)
            if kind not in ("view", "copy") or step.operands[0] not in changed:
                continue
            changed.add(slot)
            base = self.base(step.operands[0])
            view = stages.moved(step.op, base, self.shapes[step.operands[0]], step.shape, step.attrs)
            assert view is not None
            (self.views if kind == "view" else self.copies)[slot] = view

    def _space(self, slot: int, step: Step) -> Shape | None:
        """The shape over which a kernel, or a sum, loops; () for a number."""
        kind = self.kinds[slot]
        if kind == "sum":
            return self.shapes[step.operands[0]]
        return step.shape if kind in ("kernel", "number") else None

    def _reads(self, slot: int) -> list[tuple[int, Shape | None]]:
        """What a step reads, each with the shape of the loop in which that is computed, too, if it has this shape."""
        kind, step = self.kinds[slot], self.step(slot)
        if kind == "view":
            return []
        if kind == "solve":
            return [(self.systems[slot].matrix, None), (step.operands[1], None)]
        if kind == "join":
            return [(part.operand, self.shapes[part.operand]) for part in self.joins[slot]]
        space = self._space(slot, step)
        return [(x, space) for x in step.operands]

    def accesses(self, stage: stages.Stage) -> tuple[list[int], set[int]]:
        """The arrays that the machine code of a stage writes, and those that it reads."""
        match stage:
            case stages.Kernel():
                made = [*stage.stores, *[one.slot for one in stage.sums], *[one.slot for one in stage.joins]]
                return made, {view.slot for view in stage.reads.values()}
            case stages.Alone():
                return [stage.slot], {self.source(x) for x, _ in self._reads(stage.slot)}
            case stages.Factorise():
                return [], {stage.matrix}
        return [], set()

    def is_direct(self, slot: int, space: Shape | None) -> bool:
        """Whether a slot is computed in the same loop."""
        return self.kind(slot) == "kernel" and self.shapes[slot] == space

    # When

    def _ready(self, operand: int, space: Shape | None) -> int:
        """The level from which on something can be read."""
        if self.is_direct(operand, space):
            return self.levels[operand]
        base = self.source(operand)
        return self.levels[base] + (self.kind(base) in ("kernel", "sum", "join", "copy"))

    # Kernels

    def _fuse(self) -> None:
        wanted: dict[tuple[Shape, int], list[int]] = {}

        def kernel(space: Shape, level: int, *slots: int) -> stages.Kernel:
            """The one of a space and a level, in which some slots are wanted."""
            for slot in slots:
                wanted.setdefault((space, level), []).append(slot)
            return self.kernels.setdefault((space, level), stages.Kernel(space, level))

        for slot, step in enumerate(self.program.steps, self.program.first):
            kind, level = self.kinds[slot], self.levels[slot]
            if kind == "sum":
                kernel(self.shapes[step.operands[0]], level, step.operands[0]).sums.append(self.sums[slot])
            elif kind == "kernel" and slot in self.stored:
                kernel(step.shape, level, slot).stores.append(slot)
            elif kind == "copy":
                one = kernel(step.shape, level)
                one.reads[slot] = self.copies[slot]
                one.joins.append(stages.Join(slot, slot, stages.strides_of(step.shape), 0))
            for part in self.joins.get(slot, ()):
                space = self.shapes[part.operand]
                level = max(self._ready(part.operand, space), self.lowest[self.paths.at(slot)])
                kernel(space, level, part.operand).joins.append(part)
        groups: dict[tuple[int, ...], list[int]] = {}
        for slot, step in enumerate(self.program.steps, self.program.first):
            if written(step.op) and self.kinds[slot] == "kernel":
                self.alike[slot] = groups.setdefault(step.operands, [])
                self.alike[slot].append(slot)
        home: dict[int, stages.Kernel] = {}
        for key in sorted(wanted, key=lambda key: key[1]):
            for slot in wanted[key]:
                self._take(slot, self.kernels[key], home)

    def _take(self, slot: int, kernel: stages.Kernel, home: dict[int, stages.Kernel]) -> None:
        """Have a slot, and all that leads to it, computed in a kernel, or read there."""
        stack = [slot]
        while stack:
            x = stack[-1]
            if x in kernel.steps or x in kernel.reads:
                stack.pop()
                continue
            if not self.is_direct(x, kernel.space):
                kernel.reads[x] = self.read(x, kernel.space)
                stack.pop()
                continue
            before = next((home[y] for y in self.alike.get(x, (x,)) if y in home), None)
            if before is not None and not self.paths.leads_to(*map(self._branch, (before.level, kernel.level))):
                before = None
            if before is not None and before is not kernel and (x in self.stored or self.calls(self.step(x))):
                if x not in before.stores:  # computed there, at some expense, or most of it: it is kept
                    before.steps[x] = None
                    before.stores.append(x)
                    self.stored.add(x)
                kernel.reads[x] = stages.dense(x, kernel.space)
                stack.pop()
                continue
            missing = [y for y in self.step(x).operands if y not in kernel.steps and y not in kernel.reads]
            if missing:
                stack += missing
                continue
            kernel.steps[stack.pop()] = None
            home.setdefault(x, kernel)

    def _branch(self, level: int) -> int:
        """The number of the branch with the stages of a level."""
        return bisect_right(self.lowest, level) - 1

    def read(self, slot: int, space: Shape) -> stages.View:
        """The entries of a slot as those of a larger shape."""
        view = stages.broadcast(self.base(slot), self.shapes[slot], space)
        assert view is not None
        return view

    # In which order

    def _stages(self) -> Iterator[tuple[int, stages.Stage]]:
        """The stages, each with the number of its branch."""
        last = max([*self.levels.values(), 0])
        steps: dict[int, list[int]] = {}
        for slot, kind in self.kinds.items():
            if kind in ("number", "library", "product", "scatter", "running", "repeat", "solve"):
                steps.setdefault(self.levels[slot], []).append(slot)
        kernels: dict[int, list[stages.Kernel]] = {}
        for kernel in self.kernels.values():
            kernels.setdefault(kernel.level, []).append(kernel)
        for level in range(last + 1):
            for stage in (*self._between(steps.get(level, ())), *kernels.get(level, ())):
                yield self._branch(level), stage

    def _factorised(self, given: Iterable[tuple[int, stages.Stage]]) -> Iterator[tuple[int, stages.Stage]]:
        """The stages, with each matrix, unless it is constant or held, factorised before the first that needs it so."""
        known = {*range(len(self.program.inputs), self.program.first), *self.held}
        done: dict[int, list[int]] = {}  # the branches in which a matrix is factorised
        for branch, stage in given:
            one = self.systems.get(stage.slot) if isinstance(stage, stages.Library | stages.Alone) else None
            if one is not None and not one.is_lower and one.matrix not in known:
                factored = done.setdefault(one.matrix, [])
                if not any(self.paths.leads_to(place, branch) for place in factored):
                    factored.append(branch)
                    yield branch, stages.Factorise(one.matrix, one.size)
            yield branch, stage

    def _between(self, slots: Iterable[int]) -> Iterator[stages.Stage]:
        """Steps outside of loops."""
        for are_numbers, group in groupby(slots, lambda slot: self.kinds[slot] == "number"):
            some = tuple(group)
            if are_numbers:
                yield stages.Numbers(some)
                continue
            for slot in some:
                kind = self.kinds[slot]
                yield stages.Library(slot) if kind == "library" else stages.Alone(slot, kind)
