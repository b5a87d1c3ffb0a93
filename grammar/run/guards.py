"""What the code of Python's reading calls: attributes by tables of what may be reached, the log of what is changed, and
the builtins.

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
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Collection, Iterable, Iterator, MutableMapping, Sequence
from functools import partial
from importlib import import_module
from types import CellType, CodeType, FrameType, FunctionType, GeneratorType, MethodType, ModuleType, TracebackType
from typing import Any, NoReturn

from agrad.engine.core.context import current, remember_order
from agrad.engine.core.op import FUNCTIONS
from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError, Hint, Label, Note
from agrad.engine.nn.objects import Object, stores_of
from agrad.grammar import reach
from agrad.grammar.diagnostics import Span, suggest
from agrad.grammar.elsewhere import ABSENT, MODULES
from agrad.grammar.reach import REACH
from agrad.grammar.results import Noted, Quit, Represented
from agrad.grammar.run import crossing, python
from agrad.grammar.run.code import operands_of
from agrad.grammar.run.machine import MISSING, Machine, given_to
from agrad.grammar.run.places import File, frames
from agrad.grammar.run.python import SPECIAL, is_special
from agrad.grammar.runtime import modules
from agrad.grammar.runtime.builtins import is_result
from agrad.grammar.syntax import ast
from agrad.grammar.syntax.readings import is_script

READ, WRITE, SIZED = "read", "write", "sized"
_BITS = 4_000_000  # of a whole number: arithmetic on larger ones takes seconds, and nothing can stop it
_SWEPT = 10_000  # entries of the log, among which those are looked for that nothing else refers to
_LEFT = 2  # references to such an object: of its entry, and of the one who counts
_MANY = 1_000_000  # values of an iterator that runs no code of Python; also characters that a format fills up to
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
_string: Any = import_module("_string")  # what the formats of texts are made of
_CONVERSIONS: dict[str, Callable[[Any], str]] = {"r": repr, "s": str, "a": ascii}
_NUMBERED = "manual field specification", "automatic field numbering"
_SILENT = re.compile(r"[ \t]*;[ \t]*(#.*)?$", re.MULTILINE)  # behind a value that is not shown
_OPERATORS = "add sub mult matmult div mod pow lshift rshift bitor bitxor bitand floordiv".split()
_REAL = dict(
    zip(_OPERATORS, "add sub mul matmul truediv mod pow lshift rshift or_ xor and_ floordiv".split(), strict=True)
)


class Large(AgradError, MemoryError):
    """A result that would be too large: a MemoryError to the script."""


class _Exit(BaseException):
    """`exit()`: no script catches it."""


class _StandIn(type):
    """The type of what stands for a type of Python, `real`, whose values are its own, too."""

    real: type

    def __instancecheck__(cls, value: object) -> bool:
        return type(value) is cls or isinstance(value, cls.real)

    def __subclasscheck__(cls, kind: type) -> bool:
        return kind is cls or issubclass(kind, cls.real)

    def __repr__(cls) -> str:
        return repr(cls.real)


class Range(metaclass=_StandIn):
    """A range: Python's own where it is short; one that is long runs code of Python for each number."""

    __slots__ = ("numbers",)
    real = range
    numbers: Any  # the range of Python

    def __new__(cls, *args: Any) -> Any:
        """A range of Python, or one of these."""
        return cls.of(range(*args))

    @classmethod
    def of(cls, numbers: range) -> Any:
        """What stands for a range of Python."""
        if max((numbers.stop - numbers.start) // numbers.step, 0) <= _MANY:  # `len` has a limit
            return numbers
        made = object.__new__(cls)
        made.numbers = numbers
        return made

    def __getattr__(self, name: str) -> Any:
        """`start`, `stop`, `step`, `index`, `count`."""
        return getattr(self.numbers, name)

    def __len__(self) -> int:
        return len(self.numbers)

    def __bool__(self) -> bool:
        return True

    def __getitem__(self, index: Any) -> Any:
        found = self.numbers[index]
        return self.of(found) if type(found) is range else found

    def __iter__(self) -> Iterator[int]:
        return modules.through(self.numbers)

    def __reversed__(self) -> Iterator[int]:
        return modules.through(reversed(self.numbers))

    def __contains__(self, value: object) -> bool:
        return type(value) is int and value in self.numbers

    def __eq__(self, other: object) -> bool:
        return type(other) is Range and other.numbers == self.numbers

    def __hash__(self) -> int:
        return hash(self.numbers)

    def __repr__(self) -> str:
        return repr(self.numbers)


Sequence.register(Range)


def large(message: str) -> Large:
    """The error for what would be too large."""
    return Large("limit", message)


def _afford(entries: float, what: str) -> None:
    """Refuse a sequence of more entries than there may be."""
    limits = current().limits
    if entries > limits.entries:
        raise large(f"{what} would need more memory than the limit of {limits.memory / 1e9:.3g} GB")


def _afford_text(characters: float) -> None:
    """Refuse a text of more characters than there may be."""
    _afford(characters / 8, "this text")


def _afford_bits(bits: int) -> None:
    """Refuse a whole number that would be too long."""
    if bits > _BITS:
        raise large(f"a whole number of more than {_BITS} bits")


# How many characters a method makes of a text, or more.
_LENGTHS: dict[str, Callable[..., float]] = {
    "replace": lambda text, old, new, *_, **__: text.count(old) * len(new),
    "translate": lambda text, table: len(text) * max([1, *(len(one) for one in table.values() if type(one) is str)]),
    "expandtabs": lambda text, tabsize=8: text.count("\t") * tabsize,
    **dict.fromkeys(("center", "ljust", "rjust", "zfill"), lambda text, width, *_: width if type(width) is int else 0),
}


# The log

_COPY: dict[Any, Callable[[Any], Any]] = {
    list: list,
    dict: dict,
    set: set,
    deque: list,
    Counter: dict,
    OrderedDict: dict,
}


def _restored(x: Any, before: Any) -> None:
    """Give a container, an instance, a class or a cell what it had."""
    if isinstance(x, list | set | deque):
        x.clear()
        x.update(before) if isinstance(x, set) else x.extend(before)
    elif isinstance(x, dict):
        x.clear()
        for key, value in before.items():
            x[key] = value
    elif type(x) is CellType:
        if before is MISSING:
            del x.cell_contents
        else:
            x.cell_contents = before
    elif isinstance(x, type):
        for name in [name for name in vars(x) if name not in before]:
            type.__delattr__(x, name)
        for name, value in before.items():
            if vars(x).get(name, MISSING) is not value and name not in ("__dict__", "__weakref__"):
                type.__setattr__(x, name, value)
    else:
        own = vars(x)
        own.clear()
        own.update(before)


class Python(Machine):
    """The machine of Python's reading: the helpers of its code, and the builtins of its scripts."""

    most_frames = _DEEPEST

    def __init__(self, session: Any) -> None:
        super().__init__(session)
        self.classes: set[Any] = set()  # of the script
        self.open: set[Any] = set()  # those whose instances have nothing but what the script gives them
        self.named: set[Any] = set()  # tuples with names
        self.generic: set[Any] = set()  # what `class A(Generic[T])` inherits, which is nothing
        self.builtin_of: set[Any] = set()  # the exceptions of Python that a script knows
        self.table: dict[Any, dict[str, str]] = {}
        self.global_names: set[str] = set()  # that functions may bind
        self.deleting = False  # whether the statement may delete names
        self.told_xor = False  # whether it was told what ^ is
        self.until_sweep = _SWEPT  # entries of the log
        self.modules = modules.Modules(self)
        self.type: Any = _StandIn("type", (Type,), {"of": staticmethod(self.type_of)})
        self.large = large
        for kind in _KINDS:
            rows = {flag: REACH[flag].get(kind.__name__, "").split() for flag in (READ, WRITE, SIZED)}
            self.table[kind] = {name: flag for flag, names in rows.items() for name in names}
        self.table[Range] = self.table[range]
        self.table[_Attributes] = dict.fromkeys([*self.table[dict]], READ)
        self.builtins.clear()
        self.builtins.update(self._builtins())

    # Code

    def statement(self, tree: Any) -> Any:
        """What runs a statement."""
        code = python.code_of(tree)
        self.global_names |= tree.globals
        return code

    def run(self, code: CodeType) -> Any:
        """Run the code of a statement."""
        hook, tree = sys.unraisablehook, code.co_filename.tree  # type: ignore[attr-defined]
        self.deleting = tree.deletes
        self._know_answers(tree)
        sys.unraisablehook = _unheard
        try:
            found = super().run(code)
            self._keep_recording()
            return found
        except _Exit:
            raise Quit from None
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
        session, span = self.session, next(frames(sys._getframe(1))).f_code.co_filename.tree.span  # type: ignore[attr-defined]
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
        if isinstance(error, Quit) or (isinstance(error, AgradError) and not isinstance(error, Large)):
            return error
        if isinstance(error, MemoryError) and not isinstance(error, Large):
            return error
        name, (message, _, fix) = type(error).__name__, _text(error).partition("\n  fix: ")
        if isinstance(error, Large):
            name, message = "MemoryError", error.message
        elif isinstance(error, RecursionError):
            message = f"{frame.f_code.co_name.strip('<>')}: calls are nested too deeply"
        kinds = {kind: tuple([getattr(real, one) for one in row.split()]) for kind, row in REACH["kinds"].items()}
        kind: Any = next((kind for kind, bases in kinds.items() if isinstance(error, bases)), "type")
        if isinstance(error, TypeError) and re.search(r"argument|missing \d|takes \d", message):
            kind = "arity"
        made = AgradError(kind, f"{name}: {message}" if message else name)
        made.fixes = self._fixes(error, frame, place) or ([Hint(fix)] if fix else [])
        made.notes = self._notes(error)
        return made

    def _fixes(self, error: Exception, frame: FrameType, place: Span) -> list[str]:
        """What to type instead."""
        name = getattr(error, "name", None)
        if isinstance(error, AttributeError) and error.obj is None and ".grad" in place.text:
            return ["run backward first"]
        if isinstance(error, AttributeError) and isinstance(name, str):
            before, dot, behind = place.text.rpartition(f".{name}")
            return [f"{before}.{one}{behind}" for one in suggest(name, self.names_of(error.obj)) if dot]
        if isinstance(error, ModuleNotFoundError):
            known = [*reach.names(), *reach.PACKAGES]
            return [f"import {one}" for one in suggest(str(error).split("'")[1], known)]
        if type(error) is NameError and isinstance(name, str):
            there = [*self.session.names, *frame.f_locals, *(one for one in self.builtins if one[0] not in "._")]
            close = suggest(name, there)
            known = [MODULES[name]] if name in MODULES else []
            found = [module for module in ("math", "torch") if name in reach.names_in(module) and not known]
            known += [f"from {module} import {name}" for module in found]
            if not (known or close) and name in FUNCTIONS and not is_script(place.source):
                known = [f"calculator   goes back to the language that has {name}"]
            return [*close, *known]
        if isinstance(error, TypeError) and "for ^: 'float'" in str(error):
            return [place.text.replace("^", "**")]
        return []

    def names_of(self, x: Any) -> set[str]:
        """The attributes of a value that a script may know."""
        kind = x if isinstance(x, type) else type(x)
        if isinstance(x, modules.Module):
            return {*reach.names_in(vars(x)[".name"]), *(one for one in vars(x) if one[0] != ".")}
        is_known = self.own(kind) or self.is_ours(kind)
        found = {*self.table.get(kind, ())}
        if is_known and hasattr(x, "__dict__"):
            found.update(*(stores_of(x) if "_parameters" in vars(x) else [vars(x)]))
        for one in kind.__mro__:
            found.update(vars(one) if one in self.classes or self.is_ours(one) else ())
        return {one for one in found if one[0] != "_" and one not in _DENIED}

    def _notes(self, error: Exception) -> list[str]:
        """What else is known of an exception."""
        cause = error.__cause__
        if isinstance(error, ModuleNotFoundError):
            instead = ABSENT.get(str(error).split("'")[1])
            return [*([instead] if instead else []), f"a script can import {', '.join(reach.names())}"]
        if isinstance(error, TypeError) and "'float' object cannot be interpreted as an integer" in str(error):
            return ["a number of the calculator is a float: int(n) is a whole one"]
        if isinstance(error, NameError) and error.name in (absent := REACH["absent"]):
            return [absent[error.name]]
        return [f"caused by {type(cause).__name__}: {_text(cause)}"] if isinstance(cause, Exception) else []

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
        log.undos[id(x)] = partial(_restored, x, before)
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
        known = self.table.get(kind)
        if known is not None:
            flag = known.get(name)
            if flag is READ:
                return getattr(x, name)
            if flag is WRITE:
                method = getattr(x, name)
                return lambda *args, **options: (self.logged(x), method(*args, **options))[1]
            if flag is SIZED:
                checked = getattr(self, f"_{kind.__name__}_{name}", None)
                if checked is not None:
                    return lambda *args, **options: checked(x, *args, **options)
                length = partial(_LENGTHS[name], x)
                return modules.named(getattr(x, name), name, lambda *args, **more: _afford_text(length(*args, **more)))
        return self._special(x, name) if is_special(name) else self._other(x, kind, name)

    def _method(self) -> Callable[[Any, str], Any]:
        """What gives `x.name` that is called at once: what it changes is logged now."""
        find, attr, logged = self.table.get, self.on_attr, self.logged

        def method(x: Any, name: str) -> Any:
            known = find(type(x))
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
            if is_told or (word == "doc" and self.own(kind)) or (word == "name" and name in getattr(x, "__dict__", ())):
                found = getattr(x, name, None)
                return found if isinstance(found, str) else None
            raise self.missing(x, name)
        if word == "dict" and kind in self.open:
            return _Attributes(x, self.on_mine)
        if self.own(kind) or (isinstance(x, type) and self.own(x)) or kind is super:
            return self._of_class(x, name)
        if word in _DUNDERS and (kind in self.table or kind.__module__ == "builtins") and not isinstance(x, type):
            return getattr(x, name)
        if word in _DUNDERS | {"enter", "exit", "call", "init"} and self.is_ours(kind):
            return getattr(x, name)
        raise self.missing(x, name)

    def _other(self, x: Any, kind: Any, name: str) -> Any:
        """An attribute of what is none of Python's own values."""
        if kind is super or self.own(kind) or (isinstance(x, type) and self.own(x)):
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
            return (lambda **given: self.taken(found(**given))) if name == "numpy" else found
        raise self.missing(x, name)

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
            may = name[0] != "_" or name in ("_fields", "_replace", "_asdict", "_make")
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

    def own(self, kind: Any) -> bool:
        """Whether a class is one of the script."""
        return kind in self.classes

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
        for name in ("__name__", "__qualname__", "__doc__"):
            if isinstance(getattr(like, name, None), str):
                setattr(function, name, getattr(like, name))
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
            or (isinstance(x, modules.Package) and vars(x)[".name"] == "torch.backends.cudnn")
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

    # What may be large

    def mult(self, a: Any, b: Any) -> Any:
        """`a * b`."""
        if isinstance(a, Tensor) or isinstance(b, Tensor):
            return a * b
        if isinstance(a, int) and isinstance(b, int):
            _afford_bits(a.bit_length() + b.bit_length())
        elif float not in (type(a), type(b)):
            for x, times in ((a, b), (b, a)):
                if isinstance(x, str | list | tuple | deque | bytes):
                    times = times if isinstance(times, int) else _index(times)
                    count = times if isinstance(times, int) else 0
                    _afford(len(x) * count / (8 if isinstance(x, str | bytes) else 1), "this")
        return a * b

    def pow(self, a: Any, b: Any) -> Any:
        """`a ** b`."""
        if isinstance(a, int) and isinstance(b, int):
            _afford_bits((abs(a).bit_length() - 1) * b)
        return a**b

    def lshift(self, a: Any, b: Any) -> Any:
        """`a << b`."""
        if isinstance(a, int) and isinstance(b, int) and a:
            _afford_bits(a.bit_length() + b)
        return a << b

    def xor(self, a: Any, b: Any) -> Any:
        """`a ^ b`: of whole numbers it is told once what that is."""
        if type(a) is int and type(b) is int and not self.told_xor:
            place, self.told_xor = self.here(), True
            message = "in Python ^ is the exclusive or of whole numbers, and ** the power"
            self.session.emit(Noted(Note(message, [Label(place)], [place.text.replace("^", "**")])))
        return a ^ b

    def mod(self, a: Any, b: Any) -> Any:
        """`a % b`: the remainder, or a format."""
        if isinstance(a, str | bytes):
            self.on_spec(a if isinstance(a, str) else a.decode("latin-1"))
            if b"*" in a if isinstance(a, bytes) else "*" in a:
                for one in b if isinstance(b, tuple) else (b,):
                    if isinstance(one, int) and abs(one) > _MANY:
                        raise large("so wide a field")
        return a % b

    def _in_place(self, name: str) -> Callable[[Any, Any], Any]:
        function = getattr(operator, f"i{_REAL[name].rstrip('_')}")
        checked: Any = getattr(self, name, None)

        def apply(a: Any, b: Any) -> Any:
            self.logged(a)
            if checked is None:
                return function(a, b)
            if not isinstance(a, list | deque):
                made = getattr(type(a), f"__i{_REAL[name]}__", None)
                return checked(a, b) if made is None else function(a, b)
            _afford(len(a) * b if isinstance(b, int) else 0, "this list")
            return function(a, b)

        return apply

    @staticmethod
    def on_spec(text: Any) -> str:
        """A format, unless it asks for very many characters."""
        if type(text) is str and re.search(r"\d{7}", text):
            raise large("so wide a field")
        return text  # type: ignore[no-any-return]

    def format(self, value: Any, spec: Any = "", /) -> str:
        """`format`."""
        return format(value, self.on_spec(spec))

    def _str_format(self, text: str, /, *args: Any, **options: Any) -> str:
        return self._fill(text, args, options, [], 2)

    def _fill(self, text: str, args: Any, options: Any, used: list[str], depth: int) -> str:
        """A text with its fields, which reach what code could reach; `used`: in which way they are numbered."""
        if depth < 0:
            raise ValueError("Max string recursion exceeded")
        pieces = []
        for literal, field, spec, conversion in _string.formatter_parser(text):
            pieces.append(literal)
            if field is None:
                continue
            first, rest = _string.formatter_field_name_split(field)
            if type(first) is int or first == "":
                way = _NUMBERED[first == ""]
                if used and used[0] != way:
                    raise ValueError(f"cannot switch from {used[0]} to {way}")
                used.append(way)
                first = first if first != "" else len(used) - 1
                if first >= len(args):
                    raise IndexError(f"Replacement index {first} out of range for positional args tuple")
                value = args[first]
            else:
                value = options[first]
            for is_attribute, part in rest:
                value = self.getattr(value, part) if is_attribute else value[part]
            value = _CONVERSIONS[conversion](value) if conversion else value
            pieces.append(self.format(value, self._fill(spec, args, options, used, depth - 1) if spec else ""))
        return "".join(pieces)

    def _str_join(self, text: str, parts: Iterable[Any], /) -> str:
        parts = parts if type(parts) in (list, tuple) else list(parts)
        _afford_text(len(text) * len(parts))  # type: ignore[arg-type]
        return text.join(parts)

    @staticmethod
    def _coding(name: Any) -> Any:
        known = ("utf8", "utf16", "utf32", "ascii", "latin1", "iso88591")
        if str(name).lower().replace("-", "").replace("_", "") not in known:
            raise LookupError(f"unknown encoding: {name}")
        return name

    def _str_encode(self, text: str, encoding: str = "utf-8", errors: str = "strict") -> bytes:
        return text.encode(self._coding(encoding), errors)

    def _bytes_decode(self, text: bytes, encoding: str = "utf-8", errors: str = "strict") -> str:
        return text.decode(self._coding(encoding), errors)

    def _list_sort(self, values: list[Any], /, *, key: Any = None, reverse: Any = False) -> None:
        found = self.sorted(values, key=key, reverse=reverse)
        self.logged(values)[:] = found

    # What runs next

    def on_polled(self) -> bool:
        """A comprehension goes on."""
        self.on_poll()
        return True

    @staticmethod
    def on_native(function: Any) -> Any:
        """Python's own range, of any length, for a loop of the script."""
        return range if function is Range else function

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
        if not (self.own(kind) and hasattr(kind, "__enter__") and hasattr(kind, "__exit__")):
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
        values = [self._operand(one) for one in operands_of(node)]
        operands, options = given_to(node, tuple(values))
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
        if all(one is object or (one in self.classes and one in self.open) for one in bases):
            self.open.add(made)
        return made

    def on_base(self, base: Any) -> Any:
        """A class that one of the script may inherit from."""
        if any(base is one for one in self.generic):
            return _Generic
        is_class = isinstance(base, type)  # only then is equality what it seems
        if is_class and (base is object or base in self.classes | self.named | self.builtin_of):
            return base
        if is_class and self.is_ours(base) and not issubclass(base, Tensor):
            return base
        what = base.__name__ if is_class else type(base).__name__
        raise TypeError(f"a class cannot inherit from {what} here")

    def on_pattern(self, cls: Any, attributes: tuple[str, ...], places: int) -> Any:
        """A class in a pattern, whose attributes CPython reads by itself."""
        if not isinstance(cls, type):
            return cls
        if cls in self.classes or cls in self.named:
            matched = getattr(cls, "__match_args__", ())
            is_plain = type(matched) is tuple and all(type(one) is str and not is_special(one) for one in matched)
            if is_plain and (cls in self.open or cls in self.named):
                return cls
        if attributes or (places and cls not in self.table) or places > 1:
            raise TypeError(f"a pattern cannot look into {cls.__name__} here")
        return cls

    def type_of(self, x: Any) -> Any:
        """`type(x)`."""
        kind = type(x)
        if kind is range or kind is Range:
            return Range
        if kind is _Attributes:
            return dict
        if issubclass(kind, type):
            return self.type
        if self.own(kind) or kind in self.table or kind in self.named or kind in _TYPES or isinstance(x, Exception):
            return kind
        if self.is_ours(kind) or kind in (map, zip, filter, enumerate, reversed, super):
            return kind
        raise TypeError("the type of this cannot be reached")

    # Builtins

    def getattr(self, x: Any, name: Any, *default: Any) -> Any:
        """`getattr`."""
        self._checked_name(name)
        try:
            return self.on_attr(x, name)
        except AttributeError:
            if default:
                return default[0]
            raise

    def hasattr(self, x: Any, name: Any) -> bool:
        """`hasattr`."""
        return self.getattr(x, name, MISSING) is not MISSING

    def setattr(self, x: Any, name: Any, value: Any) -> None:
        """`setattr`."""
        setattr(self.on_mine(x, self._checked_name(name, True)), name, value)

    def delattr(self, x: Any, name: Any) -> None:
        """`delattr`."""
        delattr(self.on_mine(x, self._checked_name(name, True)), name)

    @staticmethod
    def _checked_name(name: Any, written: bool = False) -> str:
        if type(name) is not str:
            raise TypeError(f"attribute name must be string, not {type(name).__name__!r}")
        if is_special(name) and (written or name[2:-2] not in SPECIAL | python.TOLD):
            raise AttributeError(f".{name} cannot be reached")
        return name

    def vars(self, x: Any = None) -> Any:
        """`vars(x)`."""
        if type(x) not in self.open:
            raise TypeError("vars() argument must be an object of a class of the script")
        return _Attributes(x, self.on_mine)

    def print(self, *values: Any, sep: Any = " ", end: Any = "\n", file: Any = None, flush: Any = False) -> None:
        """`print`."""
        if file is not None and getattr(file, ".name", "") not in ("sys.stdout", "sys.stderr"):
            raise TypeError("print writes into no file here")
        between, after = " " if sep is None else sep, "\n" if end is None else end
        if not (isinstance(between, str) and isinstance(after, str)):
            wrong = ("sep", sep) if not isinstance(between, str) else ("end", end)
            raise TypeError(f"{wrong[0]} must be None or a string, not {type(wrong[1]).__name__}")
        pieces: list[str] = []
        try:
            for value in values:
                pieces += [str(value), between]
            pieces[-1:] = [after] if pieces else []
            pieces = pieces or [after]
        finally:  # a part may have failed: those before it are shown
            self.session.machine.write("".join(pieces))

    def sorted(self, iterable: Iterable[Any], /, *, key: Any = None, reverse: Any = False) -> list[Any]:
        """`sorted`, whose key is called from Python: a sort of C's takes much of its stack."""
        values = list(iterable)
        if key is None:
            values.sort(reverse=reverse)
            return values
        keys = [key(one) for one in values]
        order = sorted(range(len(values)), key=keys.__getitem__, reverse=reverse)
        return [values[place] for place in order]

    @staticmethod
    def _best(function: Any, *args: Any, key: Any = None, **options: Any) -> Any:
        """`max` or `min`, whose key is called from Python, too."""
        if key is None:
            return function(*args, **options)
        values = list(args[0] if len(args) == 1 else args)
        keys = [key(one) for one in values]
        return values[function(range(len(keys)), key=keys.__getitem__)] if keys else function(values, **options)

    def sum(self, iterable: Iterable[Any], /, start: Any = 0) -> Any:
        """`sum`: of what is longer after each step, in steps."""
        if isinstance(start, str | list | tuple):
            if isinstance(start, str):
                return sum(iterable, start)
            for one in iterable:
                start = start + one
                _afford(len(start), "this sum")
            return start
        return sum(iterable, start)

    def iter(self, x: Any, *sentinel: Any) -> Iterator[Any]:
        """`iter`."""
        return modules.through(iter(x, *sentinel)) if sentinel else iter(x)

    def power(self, base: Any, exp: Any, mod: Any = None) -> Any:
        """`pow`."""
        if mod is None:
            return self.pow(base, exp)
        sizes = [one.bit_length() for one in (exp, mod) if isinstance(one, int)]
        if len(sizes) == 2 and sizes[0] * sizes[1] ** 2 > 1e12:
            raise large("so large a power")
        return pow(base, exp, mod)

    def round(self, number: Any, ndigits: Any = None) -> Any:
        """`round`."""
        if isinstance(number, int) and isinstance(ndigits, int) and ndigits < -_MANY:
            return 0
        return round(number, ndigits) if ndigits is not None else round(number)

    def dir(self, *given: Any) -> list[str]:
        """`dir`: the names of the session, or the attributes of a value that a script may know."""
        return sorted(self.names_of(given[0]) if given else self.session.names)

    def help(self, x: Any = None) -> None:
        """`help`: how a function is called, and what it does."""
        text = getattr(x, "__doc__", None)
        name = getattr(x, "__name__", type(x).__name__)
        self.print(text.strip() if isinstance(text, str) and text.strip() else f"there is no help on {name}")

    @staticmethod
    def exit(*_: Any) -> NoReturn:
        """`exit()`."""
        raise _Exit

    def _builtins(self) -> dict[str, Any]:
        """The builtins of a script, and the helpers of its code."""
        exceptions = reach.reachable("exceptions")
        found: dict[str, Any] = {name: getattr(real, name) for name in reach.reachable("builtins") | exceptions}
        self.builtin_of = {found[name] for name in exceptions}
        for name in "getattr hasattr setattr delattr vars dir help print sorted sum iter round format exit".split():
            found[name] = modules.named(getattr(self, name), name)
        found |= {"type": self.type, "range": Range, "pow": modules.named(self.power, "pow"), "quit": found["exit"]}
        found |= {name: modules.named(partial(self._best, getattr(real, name)), name) for name in ("max", "min")}
        found |= {f".i{name}": self._in_place(name) for name in _OPERATORS}
        found |= {f".{name}": getattr(self, name) for name in ("mult", "pow", "lshift", "mod", "xor")}
        found |= {".method": self._method(), ".mine": self._mine(), ".command": self.on_command_inside}
        words = "shown attr loaded entry augmented cells poll polled native caught manager base pattern spec"
        found |= {f".{name}": getattr(self, f"on_{name}") for name in words.split()}
        found |= {".logged": self.logged, ".open": self.open, ".stop": False, ".values": _Values, ".slice": slice}
        found |= {".type": type, ".float": float, ".reals": frozenset({int, float}), ".Exception": Exception}
        found[".AssertionError"] = AssertionError
        found |= {"__build_class__": self.build, "__import__": self.modules.imported, "__name__": "__main__"}
        return found


class Type(metaclass=_StandIn):
    """`type` as a script has it: it tells types, and makes none."""

    real = type

    def __new__(cls, *args: Any) -> Any:
        """The type of a value."""
        if len(args) != 1:
            raise TypeError("type() takes 1 argument here: classes are made by `class`")
        return cls.of(args[0])  # type: ignore[attr-defined]


class _Attributes(dict[str, Any]):
    """`vars(x)`: what is written into it, the object gets, but for names to which libraries give a meaning."""

    __slots__ = ("_mine", "_of")

    def __init__(self, of: Any, mine: Callable[[Any, str], Any]) -> None:
        super().__init__(vars(of))
        self._of, self._mine = of, mine

    def __setitem__(self, name: str, value: Any) -> None:
        if type(name) is not str or is_special(name):
            raise AttributeError(f"an object has no attribute {name!r} here")
        vars(self._mine(self._of, name))[name] = value
        super().__setitem__(name, value)

    def __delitem__(self, name: str) -> None:
        super().__delitem__(name)
        del vars(self._mine(self._of, name))[name]

    def __ior__(self, other: Any) -> Any:  # type: ignore[misc]
        self.update(other)
        return self

    def popitem(self) -> tuple[str, Any]:
        """The last attribute, which the object loses."""
        name = next(reversed(self))
        return name, self.pop(name)

    def clear(self) -> None:
        """Take all attributes from the object."""
        for name in [*self]:
            del self[name]

    def pop(self, name: str, *default: Any) -> Any:
        """The attribute, which the object loses."""
        found = super().pop(name, *default)
        vars(self._mine(self._of, name)).pop(name, None)
        return found

    update, setdefault = MutableMapping.update, MutableMapping.setdefault  # which call these


def _index(times: Any) -> Any:
    """How often a sequence is repeated, as an object says that has no product of its own."""
    kind = type(times)
    if hasattr(kind, "__index__") and not hasattr(kind, "__rmul__"):
        return operator.index(times)
    return times


class _Generic:
    """What a class inherits from `Generic[T]`."""


class _Values:
    """What the patterns of a statement look up before."""

    def __init__(self, *values: Any) -> None:
        vars(self).update({f"v{place}": value for place, value in enumerate(values, 1)})


class _Manager:
    """What `with` enters for an object of the script: it is told of exceptions that it could catch."""

    def __init__(self, inner: Any) -> None:
        self.inner, self.enter, self.exit = inner, type(inner).__enter__, type(inner).__exit__

    def __enter__(self) -> Any:
        return self.enter(self.inner)

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> Any:
        is_told = error is None or isinstance(error, Exception)
        return is_told and self.exit(self.inner, kind, error, None)


def _text(error: BaseException) -> str:
    """What an exception says."""
    try:
        return str(error)
    except Exception:  # of a class of the script
        return ""


def _unheard(_: object) -> None:
    """What is raised while an object goes, where no one hears it."""
