"""Schedulers: the rate of an optimiser as a function of the epoch. `step` is called once after each.

As in PyTorch, a rate is a formula of the first rate, or of the one before it, which a script may have changed.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping
from typing import Any

from agrad.engine.core.arguments import is_sequence, number_of
from agrad.engine.errors import AgradError, Hint
from agrad.engine.nn.formed import settings_of
from agrad.engine.nn.objects import Object
from agrad.engine.nn.optim.optimizer import Optimizer
from agrad.engine.values import describe, whole

__all__ = [
    "ChainedScheduler", "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts", "CyclicLR",
    "ExponentialLR", "LRScheduler", "LambdaLR",
    "LinearLR", "MultiStepLR", "MultiplicativeLR", "OneCycleLR", "PolynomialLR", "ReduceLROnPlateau",
    "SequentialLR", "StepLR",
]  # fmt: skip


class LRScheduler(Object):
    """The base of the schedulers. `last_epoch` counts the steps; `get_lr` computes the rates of the epoch it is.

    The settings, which `form` declares, are attributes. `counts` are those that are at least 1.
    """

    home = "optim.lr_scheduler"
    form = "last_epoch=-1"
    reals: tuple[str, ...] = ("gamma",)
    counts: tuple[str, ...] = ()

    def __init__(self, optimizer: Optimizer, *args: Any, **keywords: Any) -> None:
        name = type(self).__name__
        if not isinstance(optimizer, Optimizer):
            raise AgradError("type", f"{name} needs an optimiser, not {describe(optimizer)}")
        self.optimizer, self.last_epoch = optimizer, -1
        for what, value in settings_of(self, args, keywords).items():
            if what in self.counts and not value >= 1:
                raise AgradError("domain", f"{name}: {what} must be at least 1")
            setattr(self, what, value)
        self.begin()

    def begin(self) -> None:
        """Take note of the first rates, and set those of the first epoch."""
        for group in self.optimizer.param_groups:
            if self.last_epoch >= 0 and "initial_lr" not in group:
                fixes = [Hint("optimizer.load_state_dict(…)")]
                raise AgradError("name", f"{type(self).__name__}: a group has no initial_lr to go on from", fixes=fixes)
            group.setdefault("initial_lr", group["lr"])
        self.base_lrs = [group["initial_lr"] for group in self.optimizer.param_groups]
        self.begin_again()

    def begin_again(self) -> None:
        """Set the rates of the first epoch."""
        self.is_first = True
        self.step()
        self.is_first = False

    def step(self, epoch: Any = None) -> None:
        """Set the rates for the next epoch, or for a given one, as if all those before it had been."""
        if epoch is None:
            self._reach(self.last_epoch + 1)
            return
        self.last_epoch = -1
        for group, base in zip(self.optimizer.param_groups, self.base_lrs, strict=True):
            group["lr"] = base
        self.begin_again()
        for _ in range(whole(epoch, "step: the epoch")):
            self.step()

    def _reach(self, epoch: int) -> None:
        self.last_epoch = epoch
        for group, rate in zip(self.optimizer.param_groups, self.get_lr(), strict=True):
            group["lr"] = rate

    def get_lr(self) -> list[float]:
        """The rates of all groups in the epoch that begins."""
        pairs = zip(self.optimizer.param_groups, self.base_lrs, strict=True)
        return [float(self._next(group["lr"], base, place)) for place, (group, base) in enumerate(pairs)]

    def _next(self, rate: float, base: float, place: int) -> Any:
        """The rate of a group, from the one before it, the first, or the place of the group."""
        raise NotImplementedError

    def get_last_lr(self) -> list[float]:
        """The rates of all groups."""
        return [group["lr"] for group in self.optimizer.param_groups]

    def state_dict(self) -> dict[str, Any]:
        """Its attributes but the optimiser, and functions."""
        return {name: value for name, value in self.__dict__.items() if name not in ("optimizer", "lr_lambda")}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Take over what `state_dict` returned."""
        for name, value in state_dict.items():
            setattr(self, name, value)

    def _for_each(self, what: str, given: Any) -> list[Any]:
        """A value for each group, from a list of them or from one for all."""
        groups = len(self.optimizer.param_groups)
        found = [*given] if is_sequence(given) else [given] * groups
        if len(found) != groups:
            raise AgradError("arity", f"{type(self).__name__}: {what} has {len(found)} entries for {groups} groups")
        return found


class LambdaLR(LRScheduler):
    """The first rate times a function of the epoch."""

    form, reals = "lr_lambda, last_epoch=-1", ("lr_lambda",)

    def _factor(self, place: int) -> float:
        return number_of("LambdaLR", "a factor", self._for_each("lr_lambda", self.lr_lambda)[place](self.last_epoch))

    def _next(self, rate: float, base: float, place: int) -> Any:
        return base * self._factor(place)


class MultiplicativeLR(LambdaLR):
    """The rate is multiplied by a function of the epoch."""

    def _next(self, rate: float, base: float, place: int) -> Any:
        return rate if self.is_first else rate * self._factor(place)


class StepLR(LRScheduler):
    """The rate is multiplied by gamma after every step_size epochs."""

    form, counts = "step_size, gamma=0.1, last_epoch=-1", ("step_size",)

    def _next(self, rate: float, base: float, place: int) -> Any:
        return rate if self.last_epoch == 0 or self.last_epoch % self.step_size else rate * self.gamma


class MultiStepLR(LRScheduler):
    """The rate is multiplied by gamma at each of some epochs."""

    form = "milestones, gamma=0.1, last_epoch=-1"

    def _next(self, rate: float, base: float, place: int) -> Any:
        return rate * self.gamma ** self.milestones.count(self.last_epoch)


class ConstantLR(LRScheduler):
    """The first rate times a factor, and from total_iters on without it."""

    form = "factor=0.3333333333333333, total_iters=5, last_epoch=-1"

    def _next(self, rate: float, base: float, place: int) -> Any:
        if self.last_epoch == 0:
            return rate * self.factor
        return rate / self.factor if self.last_epoch == self.total_iters else rate


class LinearLR(LRScheduler):
    """The first rate times a factor, which goes from start_factor to end_factor in total_iters epochs."""

    form = "start_factor=0.3333333333333333, end_factor=1.0, total_iters=5, last_epoch=-1"

    def begin(self) -> None:
        """Check the factors."""
        if not 0.0 < self.start_factor <= 1.0 or not 0.0 <= self.end_factor <= 1.0:
            raise AgradError("domain", "LinearLR: the factors are from 0 to 1, and the first is not 0")
        super().begin()

    def _next(self, rate: float, base: float, place: int) -> Any:
        if self.last_epoch == 0:
            return rate * self.start_factor
        if self.is_first or self.last_epoch > self.total_iters:
            return rate
        rise = self.end_factor - self.start_factor
        return rate * (1.0 + rise / (self.total_iters * self.start_factor + (self.last_epoch - 1) * rise))


class ExponentialLR(LRScheduler):
    """The rate is multiplied by gamma after every epoch."""

    form = "gamma, last_epoch=-1"

    def _next(self, rate: float, base: float, place: int) -> Any:
        return rate if self.is_first else rate * self.gamma


class PolynomialLR(LRScheduler):
    """The rate falls to 0 in total_iters epochs, as a power of the epochs that are left."""

    form, counts = "total_iters=5, power=1.0, last_epoch=-1", ("total_iters",)

    def _next(self, rate: float, base: float, place: int) -> Any:
        if self.is_first or self.last_epoch > self.total_iters:
            return rate
        left, before = (1.0 - epoch / self.total_iters for epoch in (self.last_epoch, self.last_epoch - 1))
        return rate * (left / before) ** self.power


class CosineAnnealingLR(LRScheduler):
    """The rate falls to eta_min in T_max epochs, along half a wave of a cosine, and rises again in as many."""

    form, counts = "T_max, eta_min=0.0, last_epoch=-1", ("T_max",)

    def _next(self, rate: float, base: float, place: int) -> Any:
        if self.is_first:
            return rate
        if (self.last_epoch - 1 - self.T_max) % (2 * self.T_max) == 0:  # from the lowest rate on
            return rate + (base - self.eta_min) * (1.0 - math.cos(math.pi / self.T_max)) / 2.0
        now, before = (1.0 + math.cos(math.pi * at / self.T_max) for at in (self.last_epoch, self.last_epoch - 1))
        return now / before * (rate - self.eta_min) + self.eta_min


class CosineAnnealingWarmRestarts(LRScheduler):
    """The rate falls to eta_min in T_0 epochs, along half a wave of a cosine, and starts anew, T_mult times as long."""

    form, counts = "T_0, T_mult=1, eta_min=0.0, last_epoch=-1", ("T_0", "T_mult")

    def step(self, epoch: Any = None) -> None:
        """Set the rates for the next epoch, or for a given one, which may be between two."""
        self.T_cur = number_of("step", "the epoch", self.last_epoch + 1 if epoch is None else epoch)
        self.T_i, at = self.T_0, math.floor(self.T_cur)
        while self.T_cur >= self.T_i:
            self.T_cur, self.T_i = self.T_cur - self.T_i, self.T_i * self.T_mult
        self._reach(at)

    def _next(self, rate: float, base: float, place: int) -> Any:
        return self.eta_min + (base - self.eta_min) * (1.0 + math.cos(math.pi * self.T_cur / self.T_i)) / 2.0


class OneCycleLR(LRScheduler):
    """One rise to max_lr and one fall to almost 0 in total_steps, along cosines or lines (Smith and Topin 2018).

    With `cycle_momentum`, the momentum, or the first beta, goes the other way.
    """

    form = "max_lr, total_steps=None, epochs=None, steps_per_epoch=None, pct_start=0.3, anneal_strategy='cos', "
    form += "cycle_momentum=True, base_momentum=0.85, max_momentum=0.95, div_factor=25.0, final_div_factor=10000.0, "
    form += "three_phase=False, last_epoch=-1"
    reals = ("max_lr",)
    total_steps: Any

    def begin(self) -> None:
        """Check the settings, and plan the phases: where each ends, from which rate to which, and whether it rises."""
        groups = self.optimizer.param_groups
        if self.total_steps is None and (self.epochs is None or self.steps_per_epoch is None):
            raise AgradError("arity", "OneCycleLR needs total_steps, or epochs and steps_per_epoch")
        steps = self.epochs * self.steps_per_epoch if self.total_steps is None else self.total_steps
        self.total_steps = whole(steps, "OneCycleLR: total_steps")
        if self.anneal_strategy not in ("cos", "linear") or not 0.0 <= self.pct_start <= 1.0:
            raise AgradError("domain", 'OneCycleLR: anneal_strategy is "cos" or "linear", and pct_start from 0 to 1')
        for group, highest in zip(groups, self._for_each("max_lr", self.max_lr), strict=True):
            group["initial_lr"], group["max_lr"] = highest / self.div_factor, highest
            group["min_lr"] = group["initial_lr"] / self.final_div_factor
        rise, last = float(self.pct_start * self.total_steps) - 1.0, self.total_steps - 1.0
        up, down = (rise, "initial_lr", "max_lr", True), (last, "max_lr", "min_lr", False)
        back, rest = (2.0 * rise, "max_lr", "initial_lr", False), (last, "initial_lr", "min_lr", None)
        self.phases = (up, back, rest) if self.three_phase else (up, down)
        if self.cycle_momentum and not {"momentum", "betas"} & self.optimizer.defaults.keys():
            raise AgradError("domain", "OneCycleLR: cycle_momentum needs an optimiser with a momentum")
        for what in ("base_momentum", "max_momentum") if self.cycle_momentum else ():
            for group, momentum in zip(groups, self._for_each(what, getattr(self, what)), strict=True):
                group[what] = momentum
        super().begin()

    def get_lr(self) -> list[float]:
        """The rates, and the momenta, of the phase that it is."""
        if self.last_epoch > self.total_steps:
            raise AgradError("domain", f"OneCycleLR: step {self.last_epoch} of {self.total_steps}")
        place = next((at for at, phase in enumerate(self.phases[:-1]) if self.last_epoch <= phase[0]), -1)
        end, first, second, is_rise = self.phases[place]
        start = self.phases[place - 1][0] if place else 0.0
        share = (self.last_epoch - start) / (end - start)
        for group in self.optimizer.param_groups if self.cycle_momentum else ():
            high, low = group["max_momentum"], group["base_momentum"]
            pair = (high, high) if is_rise is None else (high, low) if is_rise else (low, high)
            momentum = self._between(*pair, share)
            group.update({"betas": (momentum, group["betas"][1])} if "betas" in group else {"momentum": momentum})
        return [self._between(group[first], group[second], share) for group in self.optimizer.param_groups]

    def _between(self, start: float, end: float, share: float) -> float:
        if self.anneal_strategy == "linear":
            return (end - start) * share + start
        return end + (start - end) / 2.0 * (math.cos(math.pi * share) + 1.0)


class _Several(LRScheduler):
    """The base of what has `schedulers`."""

    schedulers: Any

    def state_dict(self) -> dict[str, Any]:
        """Its attributes, with the states of the schedulers."""
        return {**super().state_dict(), "schedulers": [one.state_dict() for one in self.schedulers]}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Take over what `state_dict` returned."""
        schedulers = self.schedulers
        super().load_state_dict({**state_dict, "schedulers": schedulers})
        for one, state in zip(schedulers, state_dict["schedulers"], strict=True):
            one.load_state_dict(state)


class SequentialLR(_Several):
    """Several schedulers, one after the other: the next one begins at each milestone."""

    form, reals = "schedulers, milestones, last_epoch=-1", ("schedulers",)

    def begin(self) -> None:
        """Take back the steps that the schedulers took when they were made, and let the first one begin."""
        self.schedulers = [*self.schedulers]
        for one in self.schedulers:
            if not isinstance(one, LRScheduler) or one.optimizer is not self.optimizer:
                raise AgradError("type", f"SequentialLR needs schedulers of its optimiser, not {describe(one)}")
        if len(self.milestones) != len(self.schedulers) - 1:
            count = f"{len(self.schedulers)} schedulers and {len(self.milestones)} milestones"
            raise AgradError("arity", f"SequentialLR: {count}: there is one milestone between two schedulers")
        self.last_epoch += 1
        for group in self.optimizer.param_groups:
            group["lr"] = group["initial_lr"]
        for one in self.schedulers:
            one.last_epoch -= 1
        self.schedulers[0].begin_again()

    def step(self, epoch: Any = None) -> None:
        """Let the one whose time it is take its step."""
        self.last_epoch += 1
        place = bisect_right(self.milestones, self.last_epoch)
        is_new = place > 0 and self.milestones[place - 1] == self.last_epoch
        self.schedulers[place].step(*(0,) * is_new)


class ChainedScheduler(_Several):
    """Several schedulers that all step at once, each from the rate that the one before it left."""

    def __init__(self, schedulers: Any, optimizer: Any = None) -> None:
        self.schedulers, self.optimizer = [*schedulers], schedulers[0].optimizer

    def step(self, epoch: Any = None) -> None:
        """Let each take its step."""
        for one in self.schedulers:
            one.step()


class CyclicLR(LRScheduler):
    """The rate rises from base_lr to max_lr and falls again, along lines, once and again (Smith 2017)."""

    form = "base_lr, max_lr, step_size_up=2000, step_size_down=None, mode='triangular', gamma=1.0, scale_fn=None, "
    form += "scale_mode='cycle', cycle_momentum=True, base_momentum=0.8, max_momentum=0.9, last_epoch=-1"
    reals = ("base_lr", "max_lr", "gamma")

    def begin(self) -> None:
        """Set the first rates."""
        bases = self._for_each("base_lr", self.base_lr)
        for group, base in zip(self.optimizer.param_groups, bases, strict=True):
            group["lr"] = base
        self.highest = self._for_each("max_lr", self.max_lr)
        if self.mode not in ("triangular", "triangular2", "exp_range"):
            raise AgradError("domain", f"CyclicLR has no mode {self.mode!r}: triangular, triangular2 and exp_range")
        super().begin()
        self.base_lrs = bases

    def _next(self, rate: float, base: float, place: int) -> Any:
        up, down = self.step_size_up, self.step_size_down or self.step_size_up
        cycle = math.floor(1.0 + self.last_epoch / (up + down))
        within = 1.0 + self.last_epoch / (up + down) - cycle
        share = within * (up + down) / up if within <= up / (up + down) else (1.0 - within) * (up + down) / down
        scale = {"triangular": 1.0, "triangular2": 1.0 / 2.0 ** (cycle - 1)}.get(self.mode, self.gamma**self.last_epoch)
        if self.cycle_momentum:
            group = self.optimizer.param_groups[place]
            momentum = self.max_momentum - (self.max_momentum - self.base_momentum) * share * scale
            group.update({"betas": (momentum, group["betas"][1])} if "betas" in group else {"momentum": momentum})
        return base + (self.highest[place] - base) * share * scale


class ReduceLROnPlateau(LRScheduler):
    """The rate is multiplied by a factor when a measure, given to `step`, has not improved for `patience` epochs."""

    form = "mode='min', factor=0.1, patience=10, threshold=0.0001, threshold_mode='rel', cooldown=0, min_lr=0.0, "
    form += "eps=1e-08"

    def begin(self) -> None:
        """Check the settings."""
        if not self.factor < 1.0:
            raise AgradError("domain", "ReduceLROnPlateau: factor must be below 1")
        if self.mode not in ("min", "max") or self.threshold_mode not in ("rel", "abs"):
            raise AgradError("type", 'ReduceLROnPlateau: mode is "min" or "max", threshold_mode "rel" or "abs"')
        self.min_lrs = self._for_each("min_lr", self.min_lr)
        self.best = math.inf if self.mode == "min" else -math.inf
        self.cooldown_counter = self.num_bad_epochs = self.last_epoch = 0

    def step(self, metrics: Any = None, epoch: Any = None) -> None:  # type: ignore[override]
        """Take note of the measure of an epoch."""
        measure = number_of("step", "a measure", metrics.detach() if hasattr(metrics, "detach") else metrics)
        self.last_epoch = self.last_epoch + 1 if epoch is None else whole(epoch, "step: the epoch")
        self.num_bad_epochs += 1
        if self._is_better(measure):
            self.best, self.num_bad_epochs = measure, 0
        if self.cooldown_counter > 0:
            self.cooldown_counter, self.num_bad_epochs = self.cooldown_counter - 1, 0
        if self.num_bad_epochs > self.patience:
            for group, lowest in zip(self.optimizer.param_groups, self.min_lrs, strict=True):
                rate = max(group["lr"] * self.factor, lowest)
                group["lr"] = rate if group["lr"] - rate > self.eps else group["lr"]
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0

    def _is_better(self, measure: float) -> Any:
        sign = 1.0 if self.mode == "max" else -1.0
        if self.threshold_mode == "rel":
            return sign * measure > sign * self.best * (1.0 + sign * self.threshold)
        return sign * measure > sign * self.best + self.threshold
