"""`Module`: parameters, submodules, and a `forward` that is called with the module."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Self

from agrad.engine.core.context import remember_entry, remember_order
from agrad.engine.core.devices import need_processor, stay
from agrad.engine.core.graph import touch
from agrad.engine.core.tensor import Tensor, no_grad
from agrad.engine.errors import AgradError, Hint
from agrad.engine.nn.objects import Entries, Object, no_attribute
from agrad.engine.nn.parameter import is_parameter, parameter
from agrad.engine.values import describe, format_shape

_STORES = ("_parameters", "_buffers", "_modules")
Named = Iterator[tuple[str, Tensor]]


class StateDict(Entries):
    """The parameters and buffers of a module by their names, without graphs; they share the data."""

    def _ordered(self) -> OrderedDict[str, Any]:
        return OrderedDict(super().items())

    def __repr__(self) -> str:
        """As PyTorch prints it."""
        return repr(self._ordered())

    # PyTorch has an OrderedDict, as what these give is printed.
    keys: Any = lambda self: self._ordered().keys()
    values: Any = lambda self: self._ordered().values()
    items: Any = lambda self: self._ordered().items()
    copy: Any = _ordered


class Unmatched(Object):
    """What `load_state_dict` found to be missing, or not known."""

    def __init__(self, missing_keys: list[str], unexpected_keys: list[str]) -> None:
        self.missing_keys, self.unexpected_keys = missing_keys, unexpected_keys

    def __iter__(self) -> Iterator[list[str]]:
        return iter((self.missing_keys, self.unexpected_keys))

    def __repr__(self) -> str:
        """As PyTorch prints it."""
        if not any(self):
            return "<All keys matched successfully>"
        return f"_IncompatibleKeys(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"


class Mistyped(AgradError, TypeError):
    """Something that a module cannot have in that place."""


class Taken(AgradError, KeyError):
    """A name that a module has given to something else."""

    __str__ = AgradError.__str__


class NoForward(AgradError, NotImplementedError):
    """A module without `forward` was called."""


class ForwardHandle:
    """What `register_forward_hook` returns: `remove()` takes the hook away."""

    __slots__ = ("_module", "_store", "hook")
    is_object = True

    def __init__(self, module: Module, store: str, hook: Callable[..., Any]) -> None:
        if not callable(hook):
            raise Mistyped("type", f"a hook is a function, not {describe(hook)}")
        self._module, self._store, self.hook = module, store, hook
        Object.__setattr__(module, store, (*module.__dict__.get(store, ()), self))

    def remove(self) -> None:
        """Remove the hook. Does nothing if that was done before."""
        others = tuple(one for one in self._module.__dict__.get(self._store, ()) if one is not self)
        Object.__setattr__(self._module, self._store, others)


class Module(Object):
    """The base of models and layers, as PyTorch's.

    A subclass calls `super().__init__()`, assigns parameters and submodules to attributes, and defines `forward`.
    """

    def __init__(self) -> None:
        for name in _STORES:
            Object.__setattr__(self, name, {})
        Object.__setattr__(self, "training", True)

    def forward(self, *args: Any, **keywords: Any) -> Any:
        """The value of the module. A subclass defines it."""
        message = f"{type(self).__name__} has no forward"
        raise NoForward("type", message, fixes=[Hint("def forward(self, x): return …   in the class")])

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """The value of `forward`, or what the hooks of the module make of it."""
        for hook in self._hooks("_before"):
            changed = hook(self, args)
            if changed is not None:
                args = changed if isinstance(changed, tuple) else (changed,)
        watched = self._hooks("_backward")
        found = _watched(self, watched, args, keywords) if watched else self._hooked(args, keywords)
        for hook in self._hooks("_gradients"):
            found = _met(self, hook, found)
        return found

    def _hooked(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """The value of `forward`, or what the hooks after it make of it."""
        found = self.forward(*args, **keywords)
        for hook in self._hooks("_after"):
            changed = hook(self, args, found)
            found = found if changed is None else changed
        return found

    def register_forward_hook(self, hook: Callable[..., Any]) -> ForwardHandle:
        """Call a function with the module, its arguments and its value; what it returns, if anything, is the value."""
        return ForwardHandle(self, "_after", hook)

    def register_forward_pre_hook(self, hook: Callable[..., Any]) -> ForwardHandle:
        """Call a function with the module and its arguments; what it returns, if anything, are the arguments."""
        return ForwardHandle(self, "_before", hook)

    def register_full_backward_hook(self, hook: Callable[..., Any]) -> ForwardHandle:
        """Call a function, in a backward pass, with the module and the gradients of its arguments and its values.

        What it returns, if anything, is the gradient of the only argument that has one.
        """
        return ForwardHandle(self, "_backward", hook)

    def register_full_backward_pre_hook(self, hook: Callable[..., Any]) -> ForwardHandle:
        """Call a function, in a backward pass, with the module and the gradients of its values, before it passes them.

        What it returns, if anything, are these gradients.
        """
        return ForwardHandle(self, "_gradients", hook)

    @property
    def has_hooks(self) -> bool:
        """Whether a hook is called with the module."""
        return any(self._hooks(store) for store in ("_before", "_backward", "_gradients", "_after"))

    def _hooks(self, store: str) -> tuple[Callable[..., Any], ...]:
        return tuple(handle.hook for handle in self.__dict__.get(store, ()))

    # Attributes

    def __setattr__(self, name: str, value: Any) -> None:
        kind = "_modules" if isinstance(value, Module) else "_parameters" if is_parameter(value) else ""
        own = self.__dict__
        if "_modules" not in own:
            if kind:
                message = f"{type(self).__name__}.{name} is assigned before {type(self).__name__} is initialised"
                raise AgradError("type", message, fixes=["super().__init__()   is the first line of __init__"])
            Object.__setattr__(self, name, value)
            return
        computed = own["_modules"].get("parametrizations", ())
        if name in computed:  # what it is computed from is written
            computed[name].right_inverse(value)
            return
        known = next((store for store in _STORES if name in own[store]), "")
        if not kind and known:
            self._check_replacement(known, name, value)
            kind = known
        target = own[kind] if kind else own
        for entries in (own, *(own[store] for store in _STORES)):
            if entries is not target:
                _drop(entries, name)
        remember_entry(target, name)
        target[name] = value
        if kind:
            name_parameters(name, value)

    def __getattr__(self, name: str) -> Any:
        own = self.__dict__
        for store in _STORES:
            if name in own.get(store, ()):
                return own[store][name]
        computed = own.get("_modules", {}).get("parametrizations", ())
        if name in computed:  # a parameter that is computed from others
            return computed[name]()
        raise no_attribute(self, name)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *(name for store in _STORES for name in self.__dict__.get(store, ()))]

    def __delattr__(self, name: str) -> None:
        for store in _STORES:
            if name in self.__dict__.get(store, ()):
                _drop(self.__dict__[store], name)
                return
        super().__delattr__(name)

    def _check_replacement(self, store: str, name: str, value: Any) -> None:
        """Refuse to replace a parameter, a buffer or a submodule by something else, which would not be listed."""
        if value is None or (store == "_buffers" and isinstance(value, Tensor)):
            return
        what = {"_parameters": "parameter", "_buffers": "buffer", "_modules": "module"}[store]
        given = f"an array of shape {format_shape(value.shape)}" if isinstance(value, Tensor) else describe(value)
        fixes = [f"nn.Parameter({name})   makes a parameter"] if what == "parameter" else []
        message = f"{type(self).__name__}.{name} is a {what}, and cannot become {given}"
        raise Mistyped("type", message, fixes=[Hint(fix) for fix in fixes])

    def register_parameter(self, name: str, param: Any) -> None:
        """Add a parameter, or None as a place for one."""
        if param is None:
            remember_entry(self._parameters, name)
            self._parameters[name] = None
        elif is_parameter(param):
            setattr(self, name, param)
        else:
            raise Mistyped("type", f"register_parameter needs a Parameter, not {describe(param)}")

    def register_buffer(self, name: str, tensor: Any, persistent: bool = True) -> None:
        """Add a value that is no parameter, and belongs to the state of the module."""
        if name not in self._buffers and hasattr(self, name):
            raise Taken("name", f"{type(self).__name__} has an attribute {name} already")
        remember_entry(self._buffers, name)
        self._buffers[name] = tensor
        if not persistent:
            Object.__setattr__(self, "_volatile", (*self.__dict__.get("_volatile", ()), name))

    def add_module(self, name: str, module: Module) -> None:
        """Add a submodule by name."""
        setattr(self, name, module)

    # What it consists of

    def named_modules(
        self, memo: set[int] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """The module and those inside, with their names, each once, or with `remove_duplicate=False` by each name.

        memo: `id` of those that came before.
        """
        seen = set() if memo is None else memo
        if id(self) in seen:
            return
        if remove_duplicate:
            seen.add(id(self))
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(seen, _joined(prefix, name), remove_duplicate)

    def get_submodule(self, target: str) -> Module:
        """The module of a name, as `named_modules` gives it."""
        found: Any = self
        for name in filter(None, target.split(".")):
            if name not in getattr(found, "_modules", ()):
                raise AttributeError(f"{type(found).__name__} has no module `{name}`")
            found = found._modules[name]
        return found  # type: ignore[no-any-return]

    def get_parameter(self, target: str) -> Any:
        """The parameter, or the buffer, of a name, as `named_parameters` gives it."""
        path, _, name = target.rpartition(".")
        owner = self.get_submodule(path)
        for known in (owner._parameters, owner._buffers):
            if name in known:
                return known[name]
        raise AttributeError(f"{type(owner).__name__} has no parameter `{name}`")

    get_buffer = get_parameter

    def modules(self) -> Iterator[Module]:
        """The module and those inside, each once."""
        return (module for _, module in self.named_modules())

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The submodules of this one, each once, with their names."""
        first: dict[int, tuple[str, Module]] = {}
        for name, module in self._modules.items():
            if module is not None:
                first.setdefault(id(module), (name, module))
        return iter(first.values())

    def children(self) -> Iterator[Module]:
        """The submodules of this one, each once."""
        return (module for _, module in self.named_children())

    def _named(self, store: str, prefix: str, recurse: bool, once: bool) -> Named:
        """The values in a store of this module and those inside, each once, or by each name."""
        seen: set[Tensor] = set()
        for path, module in self.named_modules(None, prefix, once) if recurse else [(prefix, self)]:
            for name, value in module.__dict__[store].items():
                if value is not None and not (once and value in seen):
                    seen.add(value)
                    yield _joined(path, name), value

    def named_parameters(self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True) -> Named:
        """The parameters, with their names."""
        return self._named("_parameters", prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Tensor]:
        """The parameters, those of submodules too."""
        return (value for _, value in self.named_parameters("", recurse))

    def named_buffers(self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True) -> Named:
        """The buffers, with their names."""
        return self._named("_buffers", prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """The buffers, those of submodules too."""
        return (value for _, value in self.named_buffers("", recurse))

    def apply(self, fn: Callable[[Module], object]) -> Self:
        """Call a function with each submodule, and then with this module."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    # State

    def state_dict(self, prefix: str = "") -> StateDict:
        """The parameters and buffers by name. They share their data with the module, but have no graph."""
        found = StateDict()
        for path, module in self.named_modules(None, prefix.removesuffix("."), False):
            volatile = module.__dict__.get("_volatile", ())
            for store in ("_parameters", "_buffers"):
                for name, value in module.__dict__[store].items():
                    if value is not None and name not in volatile:
                        found[_joined(path, name)] = value.detach()
        return found

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True) -> Unmatched:
        """Write values into the parameters and buffers of the same names; returns the names that did not match.

        Raises AgradError before anything changes: for a name that is missing or not known, if `strict`, and for a value
        of another shape.
        """
        if not isinstance(state_dict, Mapping):
            raise Mistyped("type", f"load_state_dict needs what state_dict() returns, not {describe(state_dict)}")
        own = self.state_dict()
        unmatched = Unmatched(
            [name for name in own if name not in state_dict], [name for name in state_dict if name not in own]
        )
        notes = []
        if strict:
            notes += [f"missing: {name}" for name in unmatched.missing_keys]
            notes += [f"not known: {name}" for name in unmatched.unexpected_keys]
        for name, value in own.items():
            given = state_dict.get(name, value)
            given = (given if isinstance(given, Tensor) else parameter(given)).shape
            if given != value.shape:
                notes.append(f"{name} has shape {format_shape(value.shape)}, and is given {format_shape(given)}")
        if notes:
            raise AgradError("shape", f"the state does not fit {type(self).__name__}", notes=notes)
        with no_grad():
            for name, value in own.items():
                if name in state_dict:
                    value.copy_(state_dict[name])
        return unmatched

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Clear the gradients of all parameters; without `set_to_none` they become zeros."""
        clear(self.parameters(), set_to_none)

    def train(self, mode: bool = True) -> Self:
        """Switch this module and those inside to training, in which dropout drops entries."""
        for module in self.modules():
            module.training = bool(mode)
        return self

    def eval(self) -> Self:
        """Switch training off."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Let all parameters require a gradient, or none."""
        for value in self.parameters():
            value.requires_grad_(bool(requires_grad))
        return self

    def to(self, *args: Any, **keywords: Any) -> Self:
        """The module: there is one device, and one type of numbers. Raises AgradError for another device."""
        need_processor(*args, keywords.get("device"))
        return self

    cuda = stay
    cpu = float = double = half = bfloat16 = type = to

    # Text

    def extra_repr(self) -> str:
        """What is shown of the module between its brackets."""
        return ""

    def __repr__(self) -> str:
        """As PyTorch prints it."""
        extra = self.extra_repr()
        lines = [f"({name}): {indented(repr(module))}" for name, module in self._modules.items()]
        name = type(self).__name__
        if not lines and "\n" not in extra:
            return f"{name}({extra})"
        extra = indented(extra)
        return f"{name}(\n  " + "\n  ".join([*filter(None, [extra]), *lines]) + "\n)"


def _watched(
    module: Module, hooks: tuple[Callable[..., Any], ...], args: tuple[Any, ...], keywords: dict[str, Any]
) -> Any:
    """The value of the module; in a backward pass, its hooks are called with the gradients beside it."""

    def own(values: tuple[Any, ...]) -> list[Any]:
        return [x.clone() if isinstance(x, Tensor) and x.requires_grad else x for x in values]

    inputs = own(args)
    found = module._hooked(tuple(inputs), keywords)
    outputs = own(found if isinstance(found, tuple) else (found,))
    after: list[Any] = [None] * len(outputs)
    before: list[Any] = [None] * len(inputs)
    open_places = {place for place, x in enumerate(inputs) if x is not args[place]}

    def told() -> Any:
        for hook in hooks:
            changed = hook(module, tuple(before), tuple(after))
            if changed is not None and len(open_places) == 1:
                before[min(open_places)] = changed[min(open_places)] if isinstance(changed, tuple) else changed
        return before[min(open_places)] if len(open_places) == 1 else None

    def came(place: int, gradient: Any) -> Any:
        before[place] = gradient
        return told() if all(before[one] is not None for one in open_places) else None

    def left(place: int, gradient: Any) -> None:
        after[place] = gradient
        if not open_places and all(y is None for y in before):
            told()

    for place in open_places:
        inputs[place].register_hook(partial(came, place))
    for place, y in enumerate(outputs):
        if isinstance(y, Tensor) and y.requires_grad:
            y.register_hook(partial(left, place))
    return tuple(outputs) if isinstance(found, tuple) else outputs[0]


def _met(module: Module, hook: Callable[..., Any], found: Any) -> Any:
    """The value of a module, whose gradient a hook of the module meets first."""
    if not isinstance(found, Tensor) or not found.requires_grad:
        return found
    found = found.clone()

    def meet(gradient: Any) -> Any:
        changed = hook(module, (gradient,))
        return changed[0] if isinstance(changed, tuple) else changed

    found.register_hook(meet)
    return found


def indented(text: str) -> str:
    """A text whose lines but the first stand further in."""
    return text.replace("\n", "\n  ")


def _joined(prefix: str, name: str) -> str:
    return f"{prefix}.{name}" if prefix else name


def _drop(entries: dict[str, Any], name: str) -> None:
    if name in entries:
        remember_entry(entries, name)
        remember_order(entries)
        del entries[name]


def name_parameters(name: str, value: Any) -> None:
    """Let parameters be called by where they are: `fc.weight`, once `weight` belongs to the module that is `fc`."""
    if value is None:  # a parameter or a submodule was taken away
        return
    named = value.named_parameters() if isinstance(value, Module) else [("", value)]
    for path, one in named:
        if one.node.name is None or one.node.name == path:
            touch(one.node)
            one.node.name = _joined(name, path) if path else name


def clear(values: Iterator[Tensor], set_to_none: bool) -> None:
    """Clear gradients, or make zeros of those that there are."""
    for value in values:
        gradient = value.grad
        if set_to_none or gradient is None:
            value.clear_grad()
        else:
            value.grad = gradient.detach() * 0.0
