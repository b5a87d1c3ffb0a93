"""`Optimizer`: the parameters that it updates, in groups with rates of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from agrad.engine.autodiff import optim as rules
from agrad.engine.autodiff.optim import Kept, Rule, check_rate, update
from agrad.engine.core.arguments import number_of
from agrad.engine.core.numpy_warnings import quiet
from agrad.engine.core.tensor import Tensor, no_grad
from agrad.engine.errors import AgradError, Hint
from agrad.engine.nn.module import clear
from agrad.engine.nn.objects import Entries, Object
from agrad.engine.values import describe


class ParamGroup(Entries):
    """Parameters, and the rates of their updates, by name: `group["lr"] = 0.1`."""


class Optimizer(Object):
    """The base of the optimisers. `param_groups` holds the parameters and rates, `state` what is kept of each."""

    rule: Rule

    def __init__(self, params: Iterable[Any], defaults: Mapping[str, Any]) -> None:
        self.defaults = dict(defaults)
        self.param_groups: list[ParamGroup] = []
        self.state: Entries = Entries()
        groups = _listed(params)
        if not groups:
            raise AgradError("arity", f"{self._name} got no parameters", fixes=[Hint("model.parameters()")])
        for group in groups if isinstance(groups[0], Mapping) else [{"params": groups}]:
            self.add_param_group(group)

    @property
    def _name(self) -> str:
        return type(self).__name__

    def add_param_group(self, param_group: Mapping[str, Any]) -> None:
        """Update more parameters, by rates of their own."""
        if not isinstance(param_group, Mapping) or "params" not in param_group:
            raise AgradError("type", f'{self._name}: a group of parameters is {{"params": …, "lr": …}}')
        given = param_group["params"]
        params = _listed([given] if isinstance(given, Tensor) else given)
        for value in params:
            self._check(value)
        known = {value for group in self.param_groups for value in group["params"]}
        if len({*params} - known) < len(params):
            raise AgradError("leaf", f"{self._name}: a parameter is in more than one place")
        group = ParamGroup({**self.defaults, **param_group, "params": params})
        self._rates(group)
        self.param_groups = [*self.param_groups, group]

    def _check(self, value: Any) -> None:
        """Refuse anything but a leaf that a backward can give a gradient to."""
        if not isinstance(value, Tensor):
            raise AgradError("type", f"{self._name} updates values that require grad, and one is {describe(value)}")
        if not value.is_leaf:
            name = value.node.spell()
            raise AgradError("leaf", f"{self._name} updates leaves, and {name} was computed")

    def _rates(self, group: Mapping[str, Any]) -> dict[str, float]:
        """The rates of a group, by the names that the rule has for them."""
        found: dict[str, float] = {}
        for name in self.defaults:
            value = group[name]
            if name == "betas":
                beta1, beta2 = value
                found |= {"beta1": self._number("a beta", beta1), "beta2": self._number("a beta", beta2)}
            else:
                found[name] = self._number(name, value)
        for name, rate in found.items():
            check_rate(self._name, name, rate)
            if not rate >= 0:
                raise AgradError("domain", f"{self._name}: {name} must not be negative")
        return found

    def _number(self, what: str, value: Any) -> float:
        return number_of(self._name, what, value)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """One update of each parameter that has a gradient. `closure` computes the loss, which is returned, first."""
        loss = closure() if closure is not None else None
        rates = [self._rates(group) for group in self.param_groups]
        with no_grad(), quiet():
            for group, chosen in zip(self.param_groups, rates, strict=True):
                for value in group["params"]:
                    if value.grad is not None:
                        kept: Kept = self.state.get(value, ())
                        self.state[value] = update(type(self).rule, value, kept, chosen)
        return loss

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Clear the gradients; without `set_to_none` they become zeros."""
        for group in self.param_groups:
            clear(iter(group["params"]), set_to_none)

    def state_dict(self) -> dict[str, Any]:
        """What is kept of each parameter, and the rates, by the places of the parameters."""
        places: dict[Tensor, int] = {}
        groups = []
        for group in self.param_groups:
            for value in group["params"]:
                places.setdefault(value, len(places))
            groups.append({**group, "params": [places[value] for value in group["params"]]})
        return {"state": {places[value]: kept for value, kept in self.state.items()}, "param_groups": groups}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Take over what `state_dict` of an optimiser of as many parameters returned."""
        sizes = [len(group["params"]) for group in self.param_groups]
        groups = state_dict["param_groups"]
        if [len(group["params"]) for group in groups] != sizes:
            raise AgradError("arity", f"the state does not fit {self._name}: it has other groups of parameters")
        values = [value for group in self.param_groups for value in group["params"]]
        self.state = Entries({values[int(place)]: _plain(kept) for place, kept in state_dict["state"].items()})
        pairs = zip(groups, self.param_groups, strict=True)
        self.param_groups = [ParamGroup({**new, "params": old["params"]}) for new, old in pairs]

    def __repr__(self) -> str:
        """As PyTorch prints it: the rates of each group."""
        lines = [f"{self._name} ("]
        for number, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {number}")
            lines += [f"    {name}: {group[name]}" for name in sorted(group) if name != "params"]
        return "\n".join([*lines, ")"])


def _plain(kept: Iterable[Any]) -> Kept:
    """What was kept, as it is without a graph; that of a file is a Tensor."""
    return tuple([one.detach().value if isinstance(one, Tensor) else one for one in kept])


def _listed(params: Any) -> list[Any]:
    """Parameters, or groups of them, as a list."""
    if isinstance(params, Tensor):
        raise AgradError("type", "an optimiser takes a list of values", fixes=[Hint("optim.SGD([w], lr=0.1)")])
    if isinstance(params, str | Mapping) or not hasattr(params, "__iter__"):
        raise AgradError("type", f"an optimiser takes a list of parameters, not {describe(params)}")
    found = [*params]
    if found and isinstance(found[0], tuple):  # of named_parameters()
        found = [value for _, value in found]
    return found


class SGD(Optimizer):
    """Stochastic gradient descent."""

    rule = rules.sgd

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
    ) -> None:
        if nesterov and (not momentum or dampening):
            raise AgradError("domain", "SGD: nesterov needs a momentum, and no dampening")
        rates = {"lr": lr, "momentum": momentum, "dampening": dampening}
        super().__init__(params, {**rates, "weight_decay": weight_decay, "nesterov": nesterov})


class Adam(Optimizer):
    """Kingma and Ba's method."""

    rule = rules.adam

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
    ) -> None:
        rates = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
        super().__init__(params, {**rates, "amsgrad": amsgrad})


class AdamW(Adam):
    """Adam, where the decay of the weights is apart from the gradient."""

    rule = rules.adamw

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
    ) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad)


class RMSprop(Optimizer):
    """Updates that are divided by the root of the running mean of the squared gradient."""

    rule = rules.rmsprop

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
    ) -> None:
        rates = {"lr": lr, "alpha": alpha, "eps": eps}
        super().__init__(params, {**rates, "weight_decay": weight_decay, "momentum": momentum})
