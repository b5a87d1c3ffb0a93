"""Names: reading and binding them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agrad.engine.core.context import current
from agrad.engine.core.graph import Node, touch
from agrad.engine.core.op import FUNCTIONS
from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError, Hint, Label, Note
from agrad.grammar.diagnostics import Span, suggest
from agrad.grammar.pytorch import names as pytorch_names
from agrad.grammar.results import Noted
from agrad.grammar.runtime.builtins import CONSTANTS, as_tensor, is_object, is_result, meaning
from agrad.grammar.runtime.bytecode import Frame
from agrad.grammar.runtime.errors.name_errors import of_a_module, unknown, unknown_in
from agrad.grammar.runtime.operations import adapted, as_array
from agrad.grammar.runtime.vm.core import MISSING, Core
from agrad.grammar.values.lists import List


class Names(Core):
    """The instructions that read, bind and delete names."""

    def look_up(self, name: str, span: Span) -> Any:
        """The value of a name that the innermost scope does not have."""
        found = meaning(name, self.frames[-1].scopes[1:], MISSING)
        if found is not MISSING:
            return found
        if name in ("_", "ans"):
            if self.session.answer is None:
                raise AgradError("name", f"{name} is the last answer, and there is none yet", labels=[Label(span)])
            return self.session.answer
        if is_result(name):
            return self.session.numbered(name, span)
        if name == "__name__":
            return "__main__"
        if name in ("dict", "set"):
            from agrad.grammar.values import dicts  # here, since few scripts have one

            return dicts.Dict if name == "dict" else dicts.Set
        if name == "make_dot":
            from agrad.grammar.values.pictures import make_dot  # here, since few scripts have it

            return lambda y, params=None: make_dot(y, self.session.write)
        raise self.unknown(name, span)

    def unknown(self, name: str, span: Span) -> AgradError:
        """The error for an unknown name, with suggestions."""
        if name in self.session.absent:
            return of_a_module(name, self.session.absent[name], span)
        return unknown(name, span, [*self.session.names, *self.frames[-1].scopes[0]])

    def _module(self, frame: Frame, detail: tuple[str, str], span: Span) -> None:
        name, module = detail
        first, *path = module.split(".")
        own = meaning(first, frame.scopes, None)
        if own is not None:
            from agrad.grammar.runtime import objects  # here, since few scripts use the name of a module for a value

            frame.stack.append(adapted(objects.member(own, [*path, name])))
            return
        if module in pytorch_names.DRAWERS:
            frame.stack.append(self._drawer(module, name, span))
            return
        function = pytorch_names.function(module, name)
        if function is None:
            function = pytorch_names.constant(module, name)
            if function is None:
                raise unknown_in(module, name, span)
        frame.stack.append(function)

    def _drawer(self, module: str, name: str, span: Span) -> Any:
        """What `plt.name` calls."""
        if self.figure is None:
            from agrad.grammar.values.figures import Figure  # here, since few scripts draw

            self.figure = Figure(lambda plot: self.session.emit(plot), self.session.draw)
        found = self.figure.member(name)
        if found is None:
            from agrad.grammar.values.figures import DRAWING

            close = [Hint(f"{module}.{one}") for one in suggest(name, DRAWING) or DRAWING[:2]]
            raise AgradError("name", f"agrad has no {module}.{name}", labels=[Label(span)], fixes=close)
        return found

    def _store(self, frame: Frame, detail: tuple[str, bool], span: Span) -> None:
        name, again = detail
        value = frame.stack.pop()
        names = frame.scopes[0]
        if len(frame.scopes) == 1 and again:
            self._note_lost_leaf(name, names.get(name), value, span)
            note = self.growth.stored(name, names.get(name), value, span)
            if note is not None:
                self.session.emit(Noted(note))
        self.bind(names, name, value)

    def bind(self, names: dict[str, Any], name: str, value: Any) -> None:
        """Bind a name; at the top level, a statement that fails undoes that."""
        if names is self.session.names or self.expecting:
            self.session.remember_name(names, name)
        if type(value) is List and value.name is None:
            value.name = name
        if isinstance(value, Tensor) and (value.node.name is None or self._is_strange(value.node, names)):
            touch(value.node)
            value.node.name = name
        elif is_object(value):
            from agrad.grammar.runtime import objects  # here, since few calculations have objects

            objects.bound(name, value)
        names[name] = value

    def _is_strange(self, node: Node, names: dict[str, Any]) -> bool:
        """Whether the name of a value refers to something else at the top level, so that the value gets a new name."""
        known = self.session.names.get(node.name or "")
        return names is self.session.names and not (isinstance(known, Tensor) and known.node is node)

    def _note_lost_leaf(self, name: str, old: Any, new: Any, span: Span) -> None:
        """Note `w = w - …` of a leaf: users of PyTorch expect an update and get a new value."""
        if not (isinstance(old, Tensor) and old.requires_grad and old.is_leaf) or new is old or old.name != name:
            return  # the leaf still has its own name
        if isinstance(new, Tensor) and new.requires_grad and new.is_leaf:
            return
        now = "was computed" if isinstance(new, Tensor) and new.requires_grad else "is a plain value"
        note = Note(
            f"{name} is no longer a leaf: the new {name} {now}",
            labels=[Label(span)],
            fixes=[Hint(f"no_grad: {name} -= …   to update the leaf in place"), Hint(f"set {name} = …   for new data")],
        )
        self.session.emit(Noted(note))

    def _variable(self, frame: Frame, name: str, span: Span) -> None:
        value = as_tensor(as_array(frame.stack.pop()), f"var {name}")
        current().origin = span  # where the leaf comes from: computing a number sets no place, or an earlier one
        note = self.cut_paths.at_leaf(name, value, span)
        if note is not None:
            self.session.emit(Noted(note))
        self.bind(frame.scopes[0], name, FUNCTIONS["tensor"].call(value, requires_grad=True))

    def _delete(self, frame: Frame, name: str, span: Span) -> None:
        if name not in frame.scopes[0]:
            if name in CONSTANTS or name in FUNCTIONS:
                raise AgradError("name", f"{name} is built into agrad, and cannot be deleted", labels=[Label(span)])
            problem = self.unknown(name, span)
            likely = [f"del {one}" for one in suggest(name, frame.scopes[0])]
            problem.fixes = likely or ["vars   lists the names"]
            raise problem
        self.session.remember_name(frame.scopes[0], name)
        log = current().undo_log
        if log is not None:
            log.remember_first((id(frame.scopes[0]), "order"), _in_order(frame.scopes[0]))
        del frame.scopes[0][name]


def _in_order(names: dict[str, Any]) -> Callable[[], None]:
    """A function that restores the present order of names, some of which may be deleted in the meantime."""
    order = list(names)
    kept: dict[str, Any] = {}  # outside `undo`, which runs again if a Ctrl-C interrupts it: no name is lost then

    def undo() -> None:
        kept.update({name: names[name] for name in order if name in names})
        names.clear()
        names.update(kept)

    return undo
