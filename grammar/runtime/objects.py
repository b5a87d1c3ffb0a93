"""Classes and objects: those of the user, and the engine's modules, optimisers and data loaders.

A class of the language is a class of Python whose functions are methods of the language; so an object of it, or a
module, is the same thing for the engine and for the language. Only what belongs to the interface of an object can be
reached: no name of Python's own.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from importlib import import_module
from inspect import signature
from types import FunctionType
from typing import Any

from agrad.engine.autodiff.autograd import Function, FunctionContext
from agrad.engine.core.op import OPERATORS, Signature
from agrad.engine.errors import AgradError, Hint, WrongAttribute
from agrad.engine.nn.module import Module, name_parameters
from agrad.engine.nn.objects import Object, stores_of
from agrad.engine.nn.utils.data import Dataset
from agrad.engine.values import describe
from agrad.grammar.diagnostics import suggest
from agrad.grammar.pytorch import NAMESPACES
from agrad.grammar.runtime import attributes
from agrad.grammar.runtime.builtins import OF_CLASS, Bound, Closure, is_object
from agrad.grammar.values.lists import quoted

# The methods that Python calls itself; those of operators are called by the machine, and kept under names of their own.
_SPECIAL = frozenset(
    "__init__ __call__ __len__ __getitem__ __setitem__ __delitem__ __iter__ __repr__ __str__ __bool__ __float__".split()
)
_OPERATORS = frozenset(
    f"__{prefix}{operator.method}__" for operator in OPERATORS.values() for prefix in ("", "r", "i")
) | frozenset("__pos__ __abs__ __contains__ __hash__".split())
_OPERATOR = "operator "  # before the name of the method of an operator: no name of the language has a space
_CALLER = (TypeError, ValueError, KeyError, IndexError, AttributeError)


class Record(Object):
    """The base of a class that inherits from nothing."""

    def _shown(self, text: Callable[[Any], str]) -> str:
        for name in ("__str__", "__repr__"):
            if type(found := _found(type(self), name)) is Closure:
                return text(found(self))
        if self in _SHOWING:
            return "…"
        _SHOWING.append(self)
        try:
            fields = ", ".join(f"{name}={quoted(value, text)}" for name, value in self.__dict__.items())
        finally:
            _SHOWING.pop()
        return f"{type(self).__name__}({fields})"


_SHOWING: list[Record] = []  # those that are being printed, one inside the other


BASES = (Module, Dataset, Function, Record)


class Parent:
    """`super`, in the methods of a class."""

    __slots__ = ("owner",)
    is_object = True

    def __init__(self) -> None:
        self.owner: type = Record

    def __call__(self, *args: Any) -> Any:
        """`super()` and `super(Net, self)`: the object, with the methods of the base."""
        owner, instance = args if len(args) == 2 and isinstance(args[0], type) else (self.owner, None)
        return self.of(instance, owner)

    @staticmethod
    def of(instance: Any, owner: type) -> Any:
        """An object with the methods of the base."""
        if not isinstance(instance, owner):
            raise AgradError("type", f"super needs an object of {owner.__name__}", fixes=["super().__init__()"])
        return super(owner, instance)

    def _shown(self, text: Callable[[Any], str]) -> str:
        return "function super()"


_MACHINE = "_machine"


def make_class(name: str, base: Any, body: Mapping[str, Any], machine: Any, parent: Parent) -> type:
    """A class of the language. Raises AgradError for a base that is neither a module nor nothing."""
    if base is None:
        base = Record
    elif not (isinstance(base, type) and issubclass(base, BASES)):
        what = f"the class {base.__name__}" if isinstance(base, type) else describe(base)
        fixes = [f"class {name}(nn.Module): …", f"class {name}: …"]
        raise AgradError("type", f"{name} cannot inherit from {what}", fixes=[Hint(fix) for fix in fixes])
    own: dict[str, Any] = {"__module__": "agrad", _MACHINE: machine}
    for attribute, value in body.items():
        if attribute.startswith("__") and attribute.endswith("__"):
            if attribute not in _SPECIAL | _OPERATORS:
                raise AgradError("name", f"{name}.{attribute}: agrad does not call this method of a class")
            if attribute in _OPERATORS:
                attribute = _OPERATOR + attribute
        if isinstance(value, Closure):
            kind = "staticmethod"  # a function from outside of the class
            if value.around[0] is OF_CLASS:
                kind = value.definition.kind
                value = Closure(value.definition, value.defaults, machine, (machine.session.names,), value.run)
            value = _KINDS[kind](value) if kind in _KINDS else value
        own[attribute] = value
    parent.owner = made = type(name, (base,), own)
    return made


_KINDS: dict[str, Callable[[Closure], Any]] = {
    "staticmethod": staticmethod,
    "property": lambda function: property(lambda instance: function(instance)),
}


def operator_of(kind: type, name: str) -> Closure | None:
    """The method of a class for an operator, such as `__add__`; None if there is none."""
    if not issubclass(kind, Object):
        return None
    found = _found(kind, _OPERATOR + name if name in _OPERATORS else name)
    return found if type(found) is Closure else None


# Attributes


def attribute(value: Any, name: str) -> Any:
    """`value.name` of an object, a class or `super()`. Raises AgradError where there is no such attribute."""
    if name == "__name__" and (isinstance(value, type) or isinstance(getattr(value, name, None), str)):
        return value.__name__
    if name == "__class__" and isinstance(value, Object):
        return type(value)
    if name in _OPERATORS and type(value) not in (Bound, Parent):
        name = _OPERATOR + name
    if type(value) not in (Bound, Parent) and (not name.startswith("_") or _is_own(value, name)):
        try:
            return getattr(value, name)
        except AttributeError:
            pass
    raise _unknown(value, name)


def _is_own(value: Any, name: str) -> bool:
    """Whether a name that begins with `_` was given by the user, or is the `__init__` of a base."""
    if isinstance(value, super):
        return name == "__init__"
    kind = value if isinstance(value, type) else type(value)
    if any(name in one.__dict__ for one in kind.__mro__ if _MACHINE in one.__dict__):
        return name != _MACHINE and not (name.startswith("__") and name not in _SPECIAL)
    return not name.startswith("__") and name in getattr(value, "__dict__", ()) and name not in _INTERNAL


_INTERNAL = frozenset({"_parameters", "_modules", "_buffers", "_settings", "_volatile", "_before", "_after"})


def names_of(value: Any) -> set[str]:
    """The names of the attributes of an object."""
    own = {name for entries in stores_of(value) for name in entries} if isinstance(value, Object) else set()
    names = own | set(dir(value if isinstance(value, type) else type(value)))
    return {name for name in names if name[0] != "_" and name.isidentifier()}


# Classes of what functions return, beside those that a script names.
_RETURNED = {
    "agrad.engine.autodiff.reverse": "Handle",
    "agrad.engine.autodiff.autograd": "FunctionContext",
    "agrad.grammar.values.figures": "Picture",
}


def all_names() -> set[str]:
    """The names of the attributes of all classes of the engine, and of `super()`."""
    modules = (import_module(place) for place in set(NAMESPACES.values()))
    classes = {one for module in modules for one in vars(module).values() if isinstance(one, type)}
    known = {one for one in classes if issubclass(one, Object | dict)}
    known |= {getattr(import_module(place), name) for place, name in _RETURNED.items()}
    kinds = {base for one in known for base in one.__mro__}
    starts = [one.__dict__.get(name) for one in kinds for name in ("__init__", "build", "begin")]
    written = {name for one in starts if isinstance(one, FunctionType) for name in one.__code__.co_names}  # self.x = …
    forms = [getattr(one, "form", "") for one in kinds]
    written |= {name for form in forms if isinstance(form, str) for name in Signature("", f"; {form}").attributes}
    return {name for one in kinds for name in dir(one) if name[0] != "_"} | written | _SPECIAL


def _unknown(value: Any, name: str) -> AgradError:
    if isinstance(value, super):
        return AgradError("name", f"the base has no attribute {name}")
    what = value.__name__ if isinstance(value, type) else type(value).__name__
    instead = tuple(f".{word}" for word in suggest(name, names_of(value)))
    facts = WrongAttribute(name, instead)
    return AgradError("name", f"{what} has no attribute .{name}", fixes=[Hint(word) for word in instead], facts=facts)


def member(value: Any, names: Sequence[str]) -> Any:
    """`value.a.b`, where the last may be a method that is called."""
    for name in names:
        if is_object(value):
            value = attribute(value, name)
        elif name in attributes.ATTRIBUTES:
            value = attributes.attribute(value, name)
        else:
            value = partial(attributes.method(value, name), value)
    return value


def methods_of(value: Any) -> list[Closure]:
    """The functions of the user that are methods of an object, of its parts, or of a class."""
    kinds = {value if isinstance(value, type) else type(value)}
    if isinstance(value, Module) and "_modules" in value.__dict__:
        kinds |= {type(part) for part in value.modules()}
    found = [one for kind in kinds for base in kind.__mro__ for one in base.__dict__.values()]
    return [one for one in found if type(one) is Closure]


def set_attribute(target: Any, name: str, value: Any) -> None:
    """`target.name = value`."""
    if not isinstance(target, Object | FunctionContext):
        raise AgradError("type", f".{name} of {describe(target)} cannot be assigned to")
    if name in _INTERNAL or name == _MACHINE or (name.startswith("__") and name.endswith("__")):
        raise AgradError("name", f".{name} of an object cannot be assigned to")
    setattr(target, name, value)


def bound(name: str, value: Any) -> None:
    """An object was given a name: the parameters of a module are called by it, such as `net.fc.weight`."""
    if isinstance(value, Module) and "_modules" in value.__dict__:
        name_parameters(name, value)


def entry(value: Any, index: Any) -> Any:
    """An entry of an object. Raises AgradError where there is none."""
    if isinstance(value, dict):
        if not isinstance(index, Hashable) or index not in value:
            known = [f'"{key}"' if isinstance(key, str) else describe(key) for key in value]
            there = f"there are {', '.join(known[:20])}" if known else "it is empty"
            raise AgradError("name", f"there is no entry {describe(index)}: {there}")
        return value[index]
    if isinstance(value, type) or not hasattr(type(value), "__getitem__"):
        raise AgradError("type", f"{describe(value)} has no entries")
    return value[index]


# Calls


def entered(function: Any, args: tuple[Any, ...]) -> tuple[Closure, tuple[Any, ...]] | None:
    """The function of the user that a call runs, with its arguments; None where the call is one of Python."""
    if type(function) is Bound:
        return function.closure, (function.instance, *args)
    if isinstance(function, Object):
        method = _found(type(function), "__call__")
        if isinstance(function, Module) and function.has_hooks:
            return None  # the module calls its hooks, and its forward
        if isinstance(function, Module) and type(method) is not Closure:
            method = _found(type(function), "forward")
        if type(method) is Closure:
            return method, (function, *args)
    return None


def _found(kind: type, name: str) -> Any:
    return next((one.__dict__[name] for one in kind.__mro__ if name in one.__dict__), None)


def call(function: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Call a class, or a method of the engine's objects. Raises AgradError where the arguments do not fit."""
    try:
        return function(*args, **keywords)
    except AgradError:
        raise
    except _CALLER as error:
        name = getattr(function, "__name__", type(function).__name__)
        try:
            form = signature(function)
        except (TypeError, ValueError):
            raise AgradError("type", f"{name}: {error}") from None
        given = [f"{x.name}" if x.default is x.empty else f"{x.name}={x.default!r}" for x in form.parameters.values()]
        usage = f"{name}({', '.join(given)})"
        try:
            form.bind(*args, **keywords)
        except TypeError as misfit:
            raise AgradError("arity", f"{name}: {misfit}: {usage}") from None
        raise AgradError("type", f"{name} does not take these values: {usage}") from None
