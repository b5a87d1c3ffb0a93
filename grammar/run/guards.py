"""What the code of Python's reading calls: attributes by tables of what may be reached, and the log of what is changed.

What a script can reach is decided by the exact type of a value: of a list the methods in a table, of an instance of a
class of the script what that class and the instance have, of a function its name. Nothing leads to a frame, to code, to
the names of a module, or to a class whose methods are not known. A list, a dict, a set, an instance, a class or a cell
is copied at its first change in a statement, so that the statement can be taken back. No iterator that a script can get
gives more than a million values without running code of Python, which can be stopped.
"""

from __future__ import annotations

import builtins as real
import operator
import re
import sys
import types
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Collection
from functools import partial
from importlib import import_module
from types import CellType, CodeType, FrameType, FunctionType, GeneratorType, MethodType, ModuleType, TracebackType
from typing import Any

from agrad.engine.core.context import current, remember_order, restored
from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError, Label, Note
from agrad.engine.nn.objects import Object, stores_of
from agrad.engine.values import MISSING
from agrad.grammar import reach, runtime
from agrad.grammar.diagnostics import Span
from agrad.grammar.reach import REACH, is_special
from agrad.grammar.results import Noted, Quit, Represented
from agrad.grammar.run import python
from agrad.grammar.run.machine import Machine
from agrad.grammar.run.places import File, innermost
from agrad.grammar.run.python import SPECIAL
from agrad.grammar.runtime import crossing, modules
from agrad.grammar.runtime import python_builtins as builtins
from agrad.grammar.runtime.builtins import is_result
from agrad.grammar.syntax import ast

READ, WRITE, SIZED, TAKEN = "read", "write", "sized", "taken"
_SWEPT = 10_000  # entries of the log, among which those are looked for that nothing else refers to
_LEFT = 2  # references to such an object: of its entry, and of the one who counts
_DEEPEST = 3000  # calls in each other: from Python to C and back they take some kB of the stack each
# The types that have a row in the tables.
_KINDS: tuple[Any, ...] = (
    *(list, dict, set, frozenset, tuple, str, bytes, int, bool, float, complex, range, slice, property, deque, Counter),
    *(OrderedDict, partial, re.Pattern, re.Match, GeneratorType, type({}.keys()), type({}.items())),
)
_DUNDERS, _DENIED = map(reach.reachable, ("dunders", "denied"))
_OF_CLASSES = {(dict, "fromkeys"), (str, "maketrans"), (float, "fromhex")}
# Types whose values may be asked for their type.
_TYPES = frozenset({type(None), type(...), type(NotImplemented), FunctionType, GeneratorType, MethodType, type(len)})
# What no attribute of the engine's objects leads to.
_CLOSED = (CodeType, FrameType, ModuleType, TracebackType)
_WRITABLE = frozenset({"grad", "data", "requires_grad", "name"})  # of a tensor
_SHOWN = frozenset({"_version", "_base"})  # of a tensor, though their names are private
_NODE = frozenset({"name", "next_functions", "metadata", "saved_tensors"})
_STORES = ("_parameters", "_buffers", "_modules")  # of a module, which has what is assigned there
_SILENT = re.compile(r"[ \t]*;[ \t]*(#.*)?$", re.MULTILINE)  # behind a value that is not shown

# The log

_COPY: dict[Any, Any] = {list: list, dict: dict, set: set, deque: list, Counter: dict, OrderedDict: dict}


class Python(builtins.Builtins, Machine):
    """The machine of Python's reading: the helpers of its code, and the builtins of its scripts."""

    most_frames = _DEEPEST

    def __init__(self, session: Any) -> None:
        super().__init__(session)
        self.classes: set[Any] = set()  # of the script
        self.open: set[Any] = set()  # those whose instances have nothing but what the script gives them
        self.readable: dict[str, set[Any]] = {}  # by the name of an attribute, the types that have it to be read
        self.looked_into: set[Any] = set()  # those whose instances CPython has read for patterns
        self.named: set[Any] = set()  # tuples with names
        self.generic: set[Any] = set()  # what `class A(Generic[T])` inherits, which is nothing
        self.builtin_of: set[Any] = set()  # the exceptions of Python that a script knows
        self.table: dict[Any, dict[str, str]] = {}
        self.quick: set[Any] = {float}  # types of a first operand with which no result is too large
        self.shown: dict[Any, dict[str, str]] = {}  # what was read of the engine's objects, and of modules
        self.global_names: set[str] = set()  # that functions may bind
        self.deleting = False  # whether the statement may delete names
        self.told_xor = False  # whether it was told what ^ is
        self.until_sweep = _SWEPT  # entries of the log
        self.modules = modules.Modules(self)
        self.type: Any = builtins.StandIn("type", (builtins.Type,), {"of": staticmethod(self.type_of)})
        self.large = builtins.large
        for kind in _KINDS:
            rows = {flag: REACH[flag].get(kind.__name__, "").split() for flag in (READ, WRITE, SIZED)}
            self.table[kind] = {name: flag for flag, names in rows.items() for name in names}
        self.table[builtins.Range] = self.table[range]
        self.table[builtins.Attributes] = dict.fromkeys([*self.table[dict]], READ)
        self.builtins.clear()
        self.builtins.update(self._builtins())

    # Code

    def statement(self, tree: Any) -> Any:
        """What runs a statement."""
        code = python.code_of(tree)
        self.global_names |= tree.globals
        for name in tree.attributes - self.readable.keys():
            known = {kind for kind, flags in (self.shown | self.table).items() if flags.get(name) is READ}
            self.readable[name] = self.builtins[f".{name}."] = self.open | known
        return code

    def run(self, code: CodeType) -> Any:
        """Run the code of a statement."""
        hook, tree = sys.unraisablehook, code.co_filename.tree  # type: ignore[attr-defined]
        self.deleting = tree.deletes
        self._know_answers(tree)
        sys.unraisablehook = partial(_unheard, hook)
        try:
            found = super().run(code)
            self._keep_recording()
            session, log = self.session, current().undo_log
            if log is not None and not session.steps.depth and len(session.loading) < 2:  # one of several files
                # No statement is undone: generators that the log alone keeps end now, while they can print.
                log.held.clear()
                log.undos = dict.fromkeys(log.undos, lambda: None)
            return found
        except builtins.Exit as end:
            raise Quit(*end.args) from None
        finally:
            sys.unraisablehook = hook

    def _know_answers(self, tree: Any) -> None:
        """Let `_` and `_5` be answers of the session, where it has no such names."""
        self.builtins.pop("_", None)
        if self.session.last:
            self.builtins["_"] = self.session.answer
        for name in tree.reads:
            if is_result(name) and name not in self.session.names:
                self.builtins[name] = self.session.record.result(int(name[1:]), name, tree.span)

    def on_shown(self, value: Any) -> None:
        """The value of an expression that is a statement, which a prompt shows as Python's does."""
        if value is None:
            return
        session, span = self.session, innermost(sys._getframe(1)).f_code.co_filename.tree.span
        session.last = (value,)
        behind = span.source.text[span.end :]
        is_last = not re.sub(r"#.*", "", behind).strip()
        if not span.source.is_file and session.shows[is_last] and not _SILENT.match(behind):
            session.emit(Represented(repr(value), value))

    def _keep_recording(self) -> None:
        """Let what `torch.set_grad_enabled` has set be so in the next statements, too."""
        context, is_on = self.session.context, current().recording
        if context.recording is not is_on:
            self.log_state("recording", lambda: not is_on, partial(setattr, context, "recording"))
            context.recording = is_on

    def _remembered(self, binds: Collection[str]) -> tuple[Any, dict[str, Any]]:
        """The values of names that a statement may bind, or a function that it calls."""
        if self.deleting:
            remember_order(self.session.names)
        return super()._remembered({*binds, *self.global_names})

    def _changed(self, log: Any, before: dict[str, Any]) -> None:
        """Forget the values of the names that a statement has not bound; tensors get the names."""
        names = self.session.names
        for name in [name for name in before if name[0] == "."]:
            names.pop(name, None)
        super()._changed(log, before)
        for name, was in before.items():
            now = names.get(name)
            if isinstance(now, Tensor) and now is not was:
                self.on_named(name, now)
            elif isinstance(now, Object) and now is not was and hasattr(now, "_modules"):
                import_module("agrad.engine.nn.module").name_parameters(name, now)

    # Errors

    def worded(self, error: Exception, frame: FrameType, place: Span, is_deep: bool) -> Exception:
        """An exception of Python as an error of agrad's, with its type in the message."""
        return runtime.exceptions.of_python(self, error, frame, place)

    def names_of(self, x: Any) -> set[str]:
        """The attributes of a value that a script may know."""
        kind = x if isinstance(x, type) else type(x)
        if isinstance(x, modules.Module):
            return {*reach.names_in(vars(x)[".name"]), *(one for one in vars(x) if one[0] != ".")}
        is_known = kind in self.classes or self.is_ours(kind)
        found = {*self.table.get(kind, ())}
        if is_known and hasattr(x, "__dict__"):
            found.update(*(stores_of(x) if "_parameters" in vars(x) else [vars(x)]))
        for one in kind.__mro__:
            found.update(vars(one) if one in self.classes or self.is_ours(one) else ())
        return {one for one in found if one[0] != "_" and one not in _DENIED}

    # The log of what a statement changes

    def logged(self, x: Any) -> Any:
        """Something that is about to be changed, whose state is logged."""
        log = current().undo_log
        if log is None or id(x) in log.undos:
            return x
        copy = _COPY.get(type(x))
        if copy is not None:
            self._log(log, x, copy(x))
        return x

    def _log(self, log: Any, x: Any, before: Any) -> None:
        """Log what something was; what only the log keeps was made, and left, by the statement: it is forgotten."""
        log.undos[id(x)] = partial(restored, x, before)
        self.until_sweep -= 1
        if self.until_sweep < 0:
            of_objects = [(key, undo) for key, undo in log.undos.items() if type(key) is int]
            while of_objects:
                key, undo = of_objects.pop()
                if sys.getrefcount(undo.args[0]) <= _LEFT:
                    del log.undos[key]
            self.until_sweep = max(_SWEPT, len(log.undos))

    def log_state(self, key: str, get: Callable[[], Any], restore: Callable[[Any], None]) -> None:
        """Log the state of something of the session."""
        log = current().undo_log
        if log is not None and key not in log.undos:
            log.remember(("python", key), partial(restore, get()))

    def log_object(self, x: Any) -> None:
        """Log the attributes of an instance, a class or a function."""
        log = current().undo_log
        if log is not None and id(x) not in log.undos:
            self._log(log, x, dict(vars(x)))

    def on_cells(self, probe: Any) -> None:
        """Log the names of functions around that one binds."""
        log = current().undo_log
        for cell in probe.__closure__ if log is not None else ():
            if id(cell) not in log.undos:  # type: ignore[union-attr]
                self._log(log, cell, MISSING if cell == CellType() else cell.cell_contents)

    # Attributes

    def on_attr(self, x: Any, name: str) -> Any:
        """`x.name`. Raises AttributeError for what a script cannot reach."""
        kind = type(x)
        if kind in self.open and not is_special(name):
            return getattr(x, name)
        known = self.table.get(kind) or self.shown.get(kind)
        if known is not None:
            flag = known.get(name)
            if flag is READ:
                return getattr(x, name)
            if flag is TAKEN:
                return self.taken(getattr(x, name))
            if flag is WRITE:
                return modules.named(getattr(x, name), name, lambda *_, **__: self.logged(x))
            if flag is SIZED:
                checked = getattr(self, f"_{kind.__name__}_{name}", None)
                if checked is not None:
                    return self.renamed(lambda *args, **options: checked(x, *args, **options), getattr(x, name))
                return modules.named(getattr(x, name), name, partial(builtins.afford_method, name, x))
        return self._special(x, name) if is_special(name) else self._other(x, kind, name)

    def _method(self) -> Callable[[Any, str], Any]:
        """What gives `x.name` that is called at once: what it changes is logged now."""
        find, shown, attr, logged = self.table.get, self.shown.get, self.on_attr, self.logged

        def method(x: Any, name: str) -> Any:
            known = find(type(x)) or shown(type(x))
            flag = None if known is None else known.get(name)
            if flag is WRITE:
                log = current().undo_log
                if log is not None and id(x) not in log.undos:
                    logged(x)
                return getattr(x, name)
            return getattr(x, name) if flag is READ else attr(x, name)

        return method

    def _mine(self) -> Callable[[Any, str], Any]:
        """What gives something that gets an attribute, or loses it."""
        opened, other, log_object = self.open, self.on_mine, self.log_object

        def mine(x: Any, name: str) -> Any:
            if type(x) not in opened:
                return other(x, name)
            log = current().undo_log
            if log is not None and id(x) not in log.undos:
                log_object(x)
            return x

        return mine

    def _special(self, x: Any, name: str) -> Any:
        """An attribute with a meaning of Python's own."""
        word, kind = name[2:-2], type(x)
        if word == "class":
            return self.type_of(x)
        if word == "version" and isinstance(x, modules.Package):
            return modules.version(x)
        is_told = isinstance(x, type) or kind in (FunctionType, MethodType, type(len))
        if word in ("name", "qualname", "module", "doc"):
            is_own = word == "name" and (name in getattr(x, "__dict__", ()) or name in vars(kind))
            if is_told or is_own or (word == "doc" and kind in self.classes):
                found = getattr(x, name, None)
                return found if isinstance(found, str) else None
            raise self.missing(x, name)
        if word == "dict" and kind in self.open:
            return builtins.Attributes(x, self.on_mine)
        if kind in self.classes or (isinstance(x, type) and x in self.classes) or kind is super:
            return self._of_class(x, name)
        if word in _DUNDERS and (kind in self.table or kind.__module__ == "builtins") and not isinstance(x, type):
            return getattr(x, name)
        if word in _DUNDERS | {"enter", "exit", "call", "init"} and self.is_ours(kind):
            return getattr(x, name)
        raise self.missing(x, name)

    def _other(self, x: Any, kind: Any, name: str) -> Any:
        """An attribute of what is none of Python's own values."""
        if kind is super or kind in self.classes or (isinstance(x, type) and x in self.classes):
            return self._of_class(x, name)
        if isinstance(x, type):
            flag = self.table.get(x, {}).get(name)
            if flag is READ or (x, name) in _OF_CLASSES:
                return getattr(x, name)
            if flag is WRITE:
                return lambda value, *args, **options: getattr(x, name)(self.logged(value), *args, **options)
            if flag is SIZED:
                return lambda value, *args, **options: self.on_attr(value, name)(*args, **options)
            if self.is_ours(x) and self._is_shown(x, name):
                return self.taken(getattr(x, name))
        elif isinstance(x, modules.Module):
            if name[0] not in "_.":
                self._show(kind, name, READ)
                return getattr(x, name)
        elif isinstance(x, BaseException) and name in ("args", "value"):
            return getattr(x, name)
        elif kind is FunctionType or kind is MethodType:
            function = x.__func__ if kind is MethodType else x
            if self.is_function(function) and name in vars(function):
                return vars(function)[name]
            if name == "from_iterable":
                return getattr(function, name)
        elif kind.__module__ == "dataclasses" and name in ("name", "type", "default"):
            return getattr(x, name)
        elif self.is_ours(kind) and self._is_shown(kind, name):
            found = self.taken(getattr(x, name))
            if name == "numpy":
                return lambda **given: self.taken(found(**given))
            is_method = type(found) is MethodType and isinstance(x, Tensor)
            self._show(kind, name, READ if is_method else TAKEN)
            return found
        raise self.missing(x, name)

    def _show(self, kind: Any, name: str, flag: str) -> None:
        """Note how an attribute of a type is read."""
        self.shown.setdefault(kind, {})[name] = flag
        if flag is READ and name in self.readable:
            self.readable[name].add(kind)

    def _of_class(self, x: Any, name: str) -> Any:
        """An attribute of an instance of a class of the script, of such a class, or of `super()`."""
        kind = type(x)
        if is_special(name) and name[2:-2] not in SPECIAL:
            raise self.missing(x, name)
        if kind is super:
            mro = x.__self_class__.__mro__
            mro = mro[mro.index(x.__thisclass__) + 1 :]
        else:
            mro = x.__mro__ if isinstance(x, type) else kind.__mro__
            own = getattr(x, "__dict__", {}) if not isinstance(x, type) else {}
            if name in own:
                return getattr(x, name)
            for store in _STORES:
                if type(own.get(store)) is dict and name in own[store]:
                    return own[store][name]
        cls = next((one for one in mro if name in vars(one)), None)
        if cls is None:
            may = name[0] != "_" and not isinstance(x, type) and any(map(self.is_ours, mro))
        elif cls in self.classes or is_special(name):
            return getattr(x, name)
        elif issubclass(cls, BaseException):
            may = name in ("args", "value")
        elif cls in self.named or issubclass(tuple, cls):
            may = name[0] != "_" or name in modules.OF_TUPLES
        else:
            may = self.is_ours(cls) and name[0] != "_" and name not in _DENIED
        if may:
            return self.taken(getattr(x, name))
        raise self.missing(x, name)

    @staticmethod
    def _is_shown(kind: Any, name: str) -> bool:
        """Whether an object of the engine may be asked for an attribute."""
        if name[0] == "_":
            is_saved = kind.__module__ == "torch.autograd" and name.startswith("_saved_")
            return is_saved or (name in _SHOWN and issubclass(kind, Tensor))
        return name not in _DENIED and (kind.__name__ != "Node" or name in _NODE)

    @staticmethod
    def is_ours(kind: Any) -> bool:
        """Whether a class is one of the engine's."""
        of = str(getattr(kind, "__module__", ""))  # which no class of a script can choose
        is_named = of.startswith(("agrad.engine.", "agrad.torch", "agrad.numpy")) or of == "torch.autograd"
        return is_named or (isinstance(kind, type) and issubclass(kind, Tensor))

    @staticmethod
    def is_function(x: Any) -> bool:
        """Whether this is a function that the script has defined."""
        return type(x) is FunctionType and isinstance(x.__code__.co_filename, File)

    @staticmethod
    def renamed(function: Any, like: Any) -> Any:
        """A function with the name of another."""
        for name in ("__name__", "__qualname__", "__doc__", "__module__"):
            if isinstance(getattr(like, name, None), str | None):
                setattr(function, name, getattr(like, name, None))
        return function

    def add_kind(self, kind: Any, like: Any) -> None:
        """A type with the methods of another."""
        self.table[kind] = self.table[like]
        _COPY[kind] = like

    @staticmethod
    def taken(found: Any) -> Any:
        """What an attribute of the engine gives, unless it leads further."""
        if isinstance(found, _CLOSED):
            raise AttributeError("this attribute cannot be reached")
        if type(found).__module__ == "numpy" and not isinstance(found, Tensor):
            return modules.as_array(found)
        return found

    @staticmethod
    def missing(x: Any, name: str) -> AttributeError:
        """The error for an attribute that is not there, or cannot be reached."""
        what = f"type object {x.__name__!r}" if isinstance(x, type) else f"{type(x).__name__!r} object"
        return AttributeError(f"{what} has no attribute {name!r}", name=name, obj=x)

    def on_mine(self, x: Any, name: str) -> Any:
        """Something that gets an attribute, or loses it."""
        kind = type(x)
        if self.is_function(x) and is_special(name):
            before = getattr(x, name)
            self.log_state(f"{id(x)} {name}", lambda: before, partial(setattr, x, name))
        elif (
            (kind in self.classes or self.is_function(x) or (isinstance(x, type) and x in self.classes))
            or (self.is_ours(kind) and getattr(kind, "is_object", False) and (name[0] != "_" or name == "__name__"))
            or (isinstance(x, modules.Package) and vars(x)[".name"] == "torch.backends.cudnn" and name[0] != ".")
        ):
            if hasattr(x, "__dict__"):
                self.log_object(x)
        elif not isinstance(x, Tensor) or name not in _WRITABLE:
            if isinstance(x, modules.Module | type) or kind in self.table:
                what = f"type {x.__name__!r}" if isinstance(x, type) else f"{kind.__name__!r} object"
                raise (TypeError if isinstance(x, type) else AttributeError)(f"cannot set {name!r} attribute of {what}")
            raise self.missing(x, name)
        return x

    def on_loaded(self, x: Any, name: str) -> tuple[Any, Callable[[Any], None]]:
        """The value of `x.name`, and what gives it another."""
        return self.on_attr(x, name), lambda value: setattr(self.on_mine(x, name), name, value)

    def on_entry(self, x: Any, index: Any) -> tuple[Any, Callable[[Any], None]]:
        """The value of `x[index]`, and what gives it another."""
        return x[index], lambda value: operator.setitem(self.logged(x), index, value)

    @staticmethod
    def on_augmented(place: tuple[Any, Callable[[Any], None]], value: Any, function: Callable[[Any, Any], Any]) -> None:
        """`x.name += value`, `x[index] += value`."""
        before, store = place
        store(function(before, value))

    def xor(self, a: Any, b: Any) -> Any:
        """`a ^ b`: of whole numbers it is told once what that is."""
        if type(a) is int and type(b) is int and not self.told_xor:
            place, self.told_xor = self.here(), True
            message = "in Python ^ is the exclusive or of whole numbers, and ** the power"
            self.session.emit(Noted(Note(message, [Label(place)], [place.text.replace("^", "**")])))
        return a ^ b

    # What runs next

    def on_caught(self, kinds: Any) -> Any:
        """What a handler catches: exceptions that a script may have."""
        for one in kinds if type(kinds) is tuple else (kinds,):
            if not (isinstance(one, type) and issubclass(one, Exception)):
                raise TypeError("catching classes that do not inherit from Exception is not allowed")
        return kinds

    def on_manager(self, x: Any) -> Any:
        """What `with` enters: the script's own are not told of what stops them."""
        kind = type(x)
        if self.is_ours(kind):
            return x
        if not (kind in self.classes and hasattr(kind, "__enter__") and hasattr(kind, "__exit__")):
            raise TypeError(f"{kind.__name__!r} object does not support the context manager protocol")
        return _Manager(x)

    def on_command_inside(self, start: int, number: int) -> Any:
        """A command inside of a block; the value of a new leaf."""
        frame = sys._getframe(1)
        node = frame.f_code.co_filename.tree.commands[start][number]  # type: ignore[attr-defined]
        machine = self.session.machine
        if isinstance(node, ast.Variable):
            made = machine.on_variable(((node.name.id, True), node.span), self._operand(node.value))
            return crossing.for_python(made, {})
        if not isinstance(node, ast.Command):
            raise AgradError("syntax", "this is no command", labels=[Label(node.span)])
        values = [self._operand(one) for one in ast.operands_of(node)]
        operands, options = ast.given_to(node, tuple(values))
        names = self.scopes_of(frame)[0]
        self.session.commands[node.word].perform(self.session, node, operands, options, names, node.span)
        return None

    def _operand(self, tree: ast.Expr) -> Any:
        machine = self.session.machine
        return machine.evaluate(machine.expression(tree))

    # Classes

    def build(self, body: Any, name: str, *bases: Any) -> Any:
        """What `class` calls."""
        made: Any = real.__build_class__(body, name, *bases)
        self.classes.add(made)
        if self._has_more(made) and not self.looked_into.isdisjoint(made.__mro__):
            raise TypeError(f"{name} cannot inherit from a class that a pattern has looked into, and from the engine")
        if all(one is object or (one in self.classes and one in self.open) for one in bases):
            for kinds in (self.open, *self.readable.values()):
                kinds.add(made)
        return made

    def on_base(self, base: Any) -> Any:
        """A class that one of the script may inherit from."""
        if any(base is one for one in self.generic):
            return base if base is modules.NAMED else _Generic
        is_class = isinstance(base, type)  # only then is equality what it seems
        if is_class and (base is object or base in self.classes | self.named | self.builtin_of):
            return base
        if is_class and self.is_ours(base) and not issubclass(base, Tensor):
            return base
        what = base.__name__ if is_class else type(base).__name__
        raise TypeError(f"a class cannot inherit from {what} here")

    def _has_more(self, cls: Any) -> bool:
        """Whether the instances of a class of the script have what it did not give them."""
        return not self.classes | self.named >= {*cls.__mro__} - {object, tuple}

    def on_pattern(self, cls: Any, attributes: tuple[str, ...], places: int) -> Any:
        """A class in a pattern, whose attributes CPython reads by itself."""
        if not isinstance(cls, type):
            return cls
        if cls in self.classes or cls in self.named:
            matched = getattr(cls, "__match_args__", ())
            is_plain = type(matched) is tuple and all(type(one) is str and not is_special(one) for one in matched)
            below = (one for one in self.classes if cls in one.__mro__)
            if is_plain and not any(map(self._has_more, [cls, *below])):
                self.looked_into.add(cls)
                return cls
        if attributes or (places and cls not in self.table) or places > 1:
            raise TypeError(f"a pattern cannot look into {cls.__name__} here")
        return cls

    def type_of(self, x: Any) -> Any:
        """`type(x)`."""
        kind = type(x)
        if kind is range or kind is builtins.Range:
            return builtins.Range
        if kind in (map, builtins.Map):
            return builtins.Map
        if kind is builtins.Attributes:
            return dict
        if issubclass(kind, type):
            return self.type
        if isinstance(x, Exception) or any(kind in known for known in (self.classes, self.table, self.named, _TYPES)):
            return kind
        if kind.__module__ == "numpy" and kind.__name__ == "number":  # which np.float64 is to a script
            return x.dtype._class
        if self.is_ours(kind) or kind in (zip, filter, enumerate, reversed, super):
            return kind
        raise TypeError("the type of this cannot be reached")

    def _builtins(self) -> dict[str, Any]:
        """The builtins of a script, and the helpers of its code."""
        exceptions = {name: getattr(real, name) for name in reach.reachable("exceptions")}
        self.builtin_of = {*exceptions.values()}
        found: dict[str, Any] = self.functions() | exceptions | {"type": self.type}
        found |= {f".{name}": getattr(self, name) for name in ("mult", "pow", "lshift", "mod", "xor", "floordiv")}
        found |= {".method": self._method(), ".mine": self._mine(), ".command": self.on_command_inside}
        words = "shown attr loaded entry augmented cells poll caught manager base pattern spec"
        found |= {f".{name}": getattr(self, f"on_{name}") for name in words.split()}
        found |= {".logged": self.logged, ".stop": False, ".values": _held, ".slice": slice}
        # Python's own range, of any length, for a loop of the script.
        found[".native"] = lambda function: range if function is builtins.Range else function
        found |= {".type": type, ".quick": self.quick, ".reals": frozenset({int, float}), ".int": int}
        found |= {".AssertionError": AssertionError, ".Exception": Exception}
        found |= {"__build_class__": self.build, "__import__": self.modules.imported, "__name__": "__main__"}
        return found


class _Generic:
    """What a class inherits from `Generic[T]`."""


def _held(*values: Any) -> types.SimpleNamespace:
    """What the patterns of a statement look up before."""
    return types.SimpleNamespace(**{f"v{place}": value for place, value in enumerate(values, 1)})


class _Manager:
    """What `with` enters for an object of the script: it is told of exceptions that it could catch."""

    def __init__(self, inner: Any) -> None:
        self.inner, self.enter, self.exit = inner, type(inner).__enter__, type(inner).__exit__

    def __enter__(self) -> Any:
        return self.enter(self.inner)

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> Any:
        is_told = error is None or isinstance(error, Exception)
        return is_told and self.exit(self.inner, kind, error, None)


def _unheard(hook: Any, lost: Any) -> None:
    """What is raised while an object goes, where no one hears it; but a signal is not the object's."""
    if lost.exc_type is KeyboardInterrupt:
        hook(lost)
