"""Classes of typed fields, as dataclasses are, that take no time to define: those are made at every start."""

from __future__ import annotations

from typing import Any, ClassVar, dataclass_transform


@dataclass_transform(frozen_default=True)
class Struct:
    """The base of a class whose annotations are its fields, by position or by name; class attributes are defaults."""

    fields: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        own = vars(cls).get("__annotations__", {})
        cls.fields += tuple(name for name, kind in own.items() if not str(kind).startswith("ClassVar"))
        type.__setattr__(cls, "__match_args__", cls.fields)  # which mypy derives itself

    def __init__(self, *values: Any, **named: Any) -> None:
        """Set the fields. Raises TypeError for one that there is not, is given twice, or is missing."""
        fields = self.fields
        if len(values) > len(fields) or not named.keys() <= set(fields[len(values) :]):
            raise TypeError(f"{type(self).__name__} has the fields {', '.join(fields)}")
        self.__dict__.update(zip(fields, values, strict=False), **named)
        for name in fields[len(values) :]:
            if name not in named and not hasattr(type(self), name):
                raise TypeError(f"{type(self).__name__} needs {name}")

    def __eq__(self, other: object) -> bool:
        """Whether another has the same class and fields."""
        return type(other) is type(self) and self._values() == other._values()

    def __hash__(self) -> int:
        """A hash of the fields."""
        return hash((type(self), self._values()))

    def __repr__(self) -> str:
        """The fields by name."""
        fields = zip(self.fields, self._values(), strict=True)
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in fields)})"

    def _values(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in self.fields)
