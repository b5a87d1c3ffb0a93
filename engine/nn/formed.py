"""What modules, optimisers and schedulers have in common: settings, which a form declares, as attributes."""

from __future__ import annotations

from functools import cache
from typing import Any

from agrad.engine.core.arguments import is_sequence, wholes_of
from agrad.engine.core.devices import need_processor
from agrad.engine.core.op import REQUIRED, Signature
from agrad.engine.errors import AgradError
from agrad.engine.nn.module import Module
from agrad.engine.nn.parameter import parameter
from agrad.engine.values import np, whole


@cache
def _form(name: str, form: str) -> Signature:
    return Signature(name, f"; {form}")


def _form_of(owner: Any) -> Signature:
    return _form(f"{owner.home}.{type(owner).__name__}", owner.form)


def settings_of(owner: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> dict[str, Any]:
    """The settings that an object is made with, by name.

    They are whole numbers where the form has a whole number or nothing; but for its `reals`.
    """
    form = _form_of(owner)
    given = form.bind(args, keywords)[1]
    for name, usual in form.attributes.items():
        value, is_whole = given[name], (usual is REQUIRED or type(usual) is int) and name not in owner.reals
        if is_whole and value is not None and not isinstance(value, str | bool | Module):
            given[name] = _whole(type(owner).__name__, name, value, usual is REQUIRED and name != "dim")
        elif usual is None and isinstance(value, float) and value.is_integer():  # as the language writes it
            given[name] = int(value)
    return given


def _whole(kind: str, name: str, value: Any, is_count: bool) -> Any:
    if is_sequence(value):
        return wholes_of(kind, name, value)
    number = whole(value, f"{kind}: {name}")
    if number < 0 and is_count:
        raise AgradError("shape", f"{kind}: {name} must not be negative")
    return number


class Formed(Module):
    """A module whose settings are its attributes. `build` makes what it consists of.

    `shown` says what is printed of it: `name` the value alone, `name=` with its name, `name?` where it is not usual.
    """

    home = "nn"
    form = ""
    shown = ""
    reals: tuple[str, ...] = ()

    def __init__(self, *args: Any, **keywords: Any) -> None:
        super().__init__()
        need_processor(keywords.get("device"))
        beside = {name: value for name, value in keywords.items() if name not in ("device", "dtype")}
        settings = settings_of(self, args, beside)
        for name, value in settings.items():
            if name != "bias" and not isinstance(value, Module):  # which are parts, and have their places
                setattr(self, name, value)
        self.build(settings)

    def build(self, settings: dict[str, Any]) -> None:
        """Check the settings, and make the parameters."""

    def scale(self, shape: tuple[int, ...], is_scaled: Any, is_shifted: Any) -> None:
        """Make the parameters weight and bias, of ones and zeros."""
        self.register_parameter("weight", parameter(np.ones(shape)) if is_scaled else None)
        self.register_parameter("bias", parameter(np.zeros(shape)) if is_scaled and is_shifted else None)

    def extra_repr(self) -> str:
        """The settings."""
        usual, told = _form_of(self).attributes, []
        for part in self.shown.split():
            name = part.rstrip("=?")
            value: Any = getattr(self, name)
            if name == "bias" and not isinstance(value, bool):
                value = value is not None
            if part[-1] == "?" and (value == usual[name] or (isinstance(value, tuple) and {*value} == {usual[name]})):
                continue
            told.append(str(value) if part == name else f"{name}={value}" if part[-1] == "?" else f"{name}={value!r}")
        return ", ".join(told)
