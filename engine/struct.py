"""Classes of typed fields, like dataclasses, but without the time to create them at every start.

A record is a `Struct`, unless it is a tuple, a `NamedTuple`, which is unpacked, replaced in a field, or compared by
order; or its fields change, or very many are made, in a module that few calculations load: a `dataclass` with slots,
whose methods are faster, and take a millisecond to compile. Where every calculation makes very many, as of nodes, or an
object does more than to hold its fields, the slots are written by hand. What several classes have in common that do not
know of each other is a `Protocol`.
"""

from __future__ import annotations

from typing import Any, Literal, Self, dataclass_transform


def computed(*, init: Literal[False] = False) -> Any:
    """A field that is no argument: `__post_init__` sets it."""
    return computed


@dataclass_transform(frozen_default=True, field_specifiers=(computed,))
class StructType(type):
    """Makes a slotted class of the annotations in its body, as `dataclass` does by compiling methods for each class.

    With `eq=False` its objects are compared by identity. `frozen` and `kw_only` are for the type checker.
    """

    fields: tuple[str, ...]
    defaults: dict[str, Any]

    def __new__(  # noqa: D102
        cls,
        name: str,
        bases: tuple[type, ...],
        body: dict[str, Any],
        *,
        eq: bool = True,
        frozen: bool = True,
        kw_only: bool = False,
    ) -> StructType:
        kinds = body.get("__annotations__", {})
        slots = tuple(field for field, kind in kinds.items() if not str(kind).startswith("ClassVar"))
        values = {field: body.pop(field) for field in slots if field in body}
        if not eq:
            body |= {"__eq__": object.__eq__, "__hash__": object.__hash__}
        base = bases[0] if bases else object
        fields = (*getattr(base, "fields", ()), *(field for field in slots if values.get(field) is not computed))
        made = super().__new__(cls, name, bases, {**body, "__slots__": slots, "__match_args__": fields})
        made.fields = fields
        made.defaults = {**getattr(base, "defaults", {}), **values}
        return made


class Struct(metaclass=StructType):
    """The base of a class whose annotations are its fields, by position or by name; class attributes are defaults."""

    def __init__(self, *values: Any, **named: Any) -> None:
        """Set the fields. Raises TypeError for one that is unknown, given twice, or missing."""
        fields, defaults = type(self).fields, type(self).defaults
        rest = fields[len(values) :]
        if len(values) > len(fields) or not named.keys() <= set(rest):
            raise TypeError(f"{type(self).__name__} has the fields {', '.join(fields)}")
        for name, value in zip(fields, values, strict=False):
            setattr(self, name, value)
        for name in rest:
            if name in named:
                setattr(self, name, named[name])
            elif name in defaults:
                setattr(self, name, defaults[name])
            else:
                raise TypeError(f"{type(self).__name__} needs {name}")
        self.__post_init__()

    def __post_init__(self) -> None:
        """Set the fields that are `computed` from the others."""

    def replaced(self, **named: Any) -> Self:
        """A copy with other values in some fields."""
        return type(self)(**{name: getattr(self, name) for name in type(self).fields} | named)

    def __eq__(self, other: object) -> bool:
        """Whether another has the same class and fields."""
        return type(other) is type(self) and self._values() == other._values()

    def __hash__(self) -> int:
        """A hash of the fields."""
        return hash((type(self), self._values()))

    def __repr__(self) -> str:
        """The fields by name."""
        fields = zip(type(self).fields, self._values(), strict=True)
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in fields)})"

    def _values(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in type(self).fields)
