"""Objects with attributes, as a failed statement and `undo` restore them."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

from agrad.engine.core.context import remember_entry, remember_order
from agrad.engine.errors import AgradError
from agrad.engine.values import describe


class NoAttribute(AgradError, AttributeError):
    """An object has no such attribute: an AttributeError, so that `hasattr` is false."""


class Object:
    """Something with attributes of its own. Each write is logged while a statement of the language runs."""

    is_object = True  # which the language asks for, without loading this module

    def __setattr__(self, name: str, value: Any) -> None:
        remember_entry(self.__dict__, name)
        self.__dict__[name] = value

    def __delattr__(self, name: str) -> None:
        if name not in self.__dict__:
            raise no_attribute(self, name)
        remember_entry(self.__dict__, name)
        remember_order(self.__dict__)
        del self.__dict__[name]

    def __getattr__(self, name: str) -> Any:
        raise no_attribute(self, name)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def _parts(self) -> list[Any]:
        """The values of its attributes."""
        return [value for entries in stores_of(self) for value in entries.values()]


def no_attribute(value: object, name: str) -> NoAttribute:
    """The error for an attribute that an object does not have. Python adds similar names to a traceback."""
    problem = NoAttribute("name", f"{type(value).__name__} has no attribute .{name}")
    problem.name, problem.obj = name, value
    return problem


def stores_of(value: object) -> list[dict[str, Any]]:
    """The mappings that hold the attributes of an object."""
    own = value.__dict__
    return [own, *(own[name] for name in ("_parameters", "_buffers", "_modules") if name in own)]


class Entries(dict[Any, Any]):
    """A dict, each write to which is logged while a statement of the language runs."""

    is_object = True

    update = MutableMapping.update  # which writes entry by entry, unlike that of dict
    setdefault = MutableMapping.setdefault

    def __setitem__(self, key: Any, value: Any) -> None:
        remember_entry(self, key)
        super().__setitem__(key, value)

    def __delitem__(self, key: Any) -> None:
        if key not in self:
            raise AgradError("name", f"there is no entry {describe(key)}")
        remember_entry(self, key)
        remember_order(self)
        super().__delitem__(key)

    def pop(self, key: Any, *default: Any) -> Any:
        """As of a dict. Raises AgradError where there is no such entry, and no default."""
        if key not in self:
            if not default:
                raise AgradError("name", f"there is no entry {describe(key)}")
            return default[0]
        value = self[key]
        del self[key]
        return value

    def clear(self) -> None:
        """As of a dict."""
        for key in list(self):
            del self[key]

    def _parts(self) -> list[Any]:
        """Its keys and values."""
        return [*self, *self.values()]
