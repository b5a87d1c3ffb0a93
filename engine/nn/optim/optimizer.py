"""`Optimizer`: the parameters that it updates, in groups with rates of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from agrad.engine.autodiff.optim import Rule, adam, check_rate, rmsprop, sgd
from agrad.engine.core.arguments import number_of
from agrad.engine.core.devices import NoDevice
from agrad.engine.core.numpy_warnings import quiet
from agrad.engine.core.op import Signature
from agrad.engine.core.tensor import Tensor, no_grad
from agrad.engine.errors import AgradError, Hint
from agrad.engine.nn.module import clear
from agrad.engine.nn.objects import Entries, Object
from agrad.engine.nn.optim import rules
from agrad.engine.values import describe


class ParamGroup(Entries):
    """Parameters, and the rates of their updates, by name: `group["lr"] = 0.1`."""


class _State(Entries):
    """What is kept of each parameter: of one of which nothing was, new entries."""

    def __missing__(self, key: Any) -> Entries:
        self[key] = Entries()
        made: Entries = self[key]
        return made


# Settings that PyTorch has, and that change no number.
_FLAGS = frozenset({"maximize", "foreach", "capturable", "differentiable", "fused"})
# Settings that are two rates, and what a rule calls them.
_PAIRS = {"betas": ("beta1", "beta2"), "etas": ("etaminus", "etaplus"), "step_sizes": ("smallest", "largest")}


class Optimizer(Object):
    """The base of the optimisers. `param_groups` holds the parameters and rates, `state` what is kept of each."""

    rule: Rule | None = None

    def __init__(self, params: Iterable[Any], defaults: Mapping[str, Any]) -> None:
        self.defaults = dict(defaults)
        self.param_groups: list[ParamGroup] = []
        self.state: Entries = _State()
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
        group = ParamGroup({**param_group, "params": params})
        group.update({name: rate for name, rate in self.defaults.items() if name not in group})
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
        for name in self.defaults if type(self).rule is not None else ():
            if name in _PAIRS:
                found |= {one: self._number(name, rate) for one, rate in zip(_PAIRS[name], group[name], strict=True)}
            elif name not in _FLAGS:
                found[name] = self._number(name, group[name])
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
        rule = type(self).rule
        if rule is None:
            raise AgradError("type", f"{self._name} has no step", fixes=[Hint("def step(self): …   in the class")])
        for group in self.param_groups:
            self._check_flags(group)
        with no_grad(), quiet():
            for group, chosen in zip(self.param_groups, rates, strict=True):
                for value in group["params"]:
                    if value.grad is not None:
                        gradient = -value.grad.value if group.get("maximize") else value.grad.value
                        before = self.state.get(value, ())
                        change, kept = rule(value.value, gradient, self._read(before), **chosen)
                        if kept:
                            self.state[value] = self._written(kept, before)
                        value.copy_(value.value - change)
        return loss

    def _check_flags(self, group: Mapping[str, Any]) -> None:
        """Refuse what PyTorch refuses of leaves, and of tensors of the processor."""
        if group.get("differentiable"):
            message = f"{self._name}: differentiable=True records the step, which writes into a leaf that requires grad"
            raise AgradError("leaf", message, fixes=[Hint("torch.autograd.grad(loss, p, create_graph=True)")])
        if group.get("capturable"):
            message = f"{self._name}: capturable=True is for parameters on a GPU"
            raise NoDevice("type", message, fixes=["capturable=False"])

    def _read(self, state: Any) -> Any:
        """What a rule has kept of a parameter, from what is in the state."""
        return state

    def _written(self, kept: Any, before: Any) -> Any:
        """What is put into the state."""
        return kept

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
            rates = {name: rate for name, rate in group.items() if name != "params"}
            groups.append({**rates, "params": [places[value] for value in group["params"]]})
        return {"state": {places[value]: kept for value, kept in self.state.items()}, "param_groups": groups}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Take over what `state_dict` of an optimiser of as many parameters returned."""
        sizes = [len(group["params"]) for group in self.param_groups]
        groups = state_dict["param_groups"]
        if [len(group["params"]) for group in groups] != sizes:
            raise AgradError("arity", f"the state does not fit {self._name}: it has other groups of parameters")
        values = [value for group in self.param_groups for value in group["params"]]
        self.state = _State({values[int(place)]: _plain(kept) for place, kept in state_dict["state"].items()})
        pairs = zip(groups, self.param_groups, strict=True)
        self.param_groups = [ParamGroup({**new, "params": old["params"]}) for new, old in pairs]

    def __repr__(self) -> str:
        """As PyTorch prints it: the rates of each group."""
        lines = [f"{self._name} ("]
        for number, group in enumerate(self.param_groups):
            lines += [""] * (number > 0) + [f"Parameter Group {number}"]
            lines += [f"    {name}: {group[name]}" for name in sorted(group) if name != "params"]
        return "\n".join([*lines, ")"])


def _plain(kept: Any) -> Any:
    """What was kept, as it is without a graph; that of a file is a Tensor."""
    if isinstance(kept, Mapping):
        return kept
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


class Declared(Optimizer):
    """An optimiser whose settings are those of a form."""

    form = ""

    def __init__(self, *args: Any, **keywords: Any) -> None:
        form = Signature(f"optim.{self._name}", f"params; {self.form}")
        (params,), settings = form.bind(args, keywords)
        if settings.get("fused") and (settings.get("foreach") or settings["differentiable"]):
            other = "foreach" if settings.get("foreach") else "differentiable"
            raise AgradError("domain", f"{self._name}: fused and {other} cannot both be True", fixes=["fused=False"])
        super().__init__(params, settings)


def _declared(
    name: str, rule: Rule, rates: str, others: str = "differentiable=False, capturable=False"
) -> type[Declared]:
    """The class of optimisers with a rule, and with these rates and other settings of PyTorch's."""
    form = f"{rates}, maximize=False, foreach=None, {others}"
    facts = {"rule": staticmethod(rule), "form": form, "__doc__": rule.__doc__, "__module__": __name__}
    return type(name, (Declared,), facts)


class SGD(Declared):
    """Stochastic gradient descent."""

    rule = staticmethod(sgd)
    form = "lr=0.001, momentum=0, dampening=0, weight_decay=0, nesterov=False, maximize=False, foreach=None, "
    form += "differentiable=False, fused=None"

    def __init__(self, *args: Any, **keywords: Any) -> None:
        super().__init__(*args, **keywords)
        if self.defaults["nesterov"] and (not self.defaults["momentum"] or self.defaults["dampening"]):
            raise AgradError("domain", "SGD: nesterov needs a momentum, and no dampening")


_BETAS = "betas=(0.9, 0.999), eps=1e-08"
_ADAM = "capturable=False, differentiable=False, fused=None, decoupled_weight_decay"
Adam = _declared("Adam", adam, f"lr=0.001, {_BETAS}, weight_decay=0, amsgrad=False", f"{_ADAM}=False")
AdamW = _declared("AdamW", adam, f"lr=0.001, {_BETAS}, weight_decay=0.01, amsgrad=False", f"{_ADAM}=True")
_NADAM = f"lr=0.002, {_BETAS}, weight_decay=0, momentum_decay=0.004, decoupled_weight_decay=False"
NAdam = _declared("NAdam", rules.nadam, _NADAM)
RAdam = _declared("RAdam", rules.radam, f"lr=0.001, {_BETAS}, weight_decay=0, decoupled_weight_decay=False")
Adamax = _declared("Adamax", rules.adamax, f"lr=0.002, {_BETAS}, weight_decay=0")
_RMSPROP = "lr=0.01, alpha=0.99, eps=1e-08, weight_decay=0, momentum=0, centered=False"
RMSprop = _declared("RMSprop", rmsprop, _RMSPROP)
_ADAGRAD = "lr=0.01, lr_decay=0, weight_decay=0, initial_accumulator_value=0, eps=1e-10"
Adagrad = _declared("Adagrad", rules.adagrad, _ADAGRAD, "differentiable=False, fused=None")
Adadelta = _declared("Adadelta", rules.adadelta, "lr=1.0, rho=0.9, eps=1e-06, weight_decay=0")
ASGD = _declared("ASGD", rules.asgd, "lr=0.01, lambd=0.0001, alpha=0.75, t0=1000000.0, weight_decay=0")
Rprop = _declared("Rprop", rules.rprop, "lr=0.01, etas=(0.5, 1.2), step_sizes=(1e-06, 50)")
