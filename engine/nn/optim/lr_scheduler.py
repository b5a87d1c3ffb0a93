"""Schedulers: the rate of an optimiser as a function of the epoch. `step` is called once after each."""

from __future__ import annotations

import math
from typing import Any

from agrad.engine.core.arguments import number_of
from agrad.engine.errors import AgradError
from agrad.engine.nn.objects import Object
from agrad.engine.nn.optim.optimizer import Optimizer, ParamGroup
from agrad.engine.values import describe, whole

__all__ = ["CosineAnnealingLR", "ExponentialLR", "LRScheduler", "StepLR"]


class LRScheduler(Object):
    """The base of the schedulers. `last_epoch` counts the steps."""

    def __init__(self, optimizer: Optimizer) -> None:
        if not isinstance(optimizer, Optimizer):
            raise AgradError("type", f"{type(self).__name__} needs an optimiser, not {describe(optimizer)}")
        self.optimizer = optimizer
        self.last_epoch = 0
        for group in optimizer.param_groups:
            group.setdefault("initial_lr", group["lr"])
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]

    def step(self) -> None:
        """Set the rates for the next epoch."""
        self.last_epoch = self.last_epoch + 1
        for group in self.optimizer.param_groups:
            group["lr"] = self._next(group)

    def get_last_lr(self) -> list[float]:
        """The rates of all groups."""
        return [group["lr"] for group in self.optimizer.param_groups]

    def _next(self, group: ParamGroup) -> float:
        """The rate of a group in the epoch that begins, from the one before it."""
        raise NotImplementedError


class StepLR(LRScheduler):
    """The rate is multiplied by gamma after every step_size epochs."""

    def __init__(self, optimizer: Optimizer, step_size: Any, gamma: Any = 0.1) -> None:
        super().__init__(optimizer)
        self.step_size = whole(step_size, "StepLR: step_size")
        self.gamma = number_of("StepLR", "gamma", gamma)
        if self.step_size < 1:
            raise AgradError("domain", "StepLR: step_size must be at least 1")

    def _next(self, group: ParamGroup) -> float:
        rate: float = group["lr"]
        return rate if self.last_epoch % self.step_size else rate * self.gamma


class ExponentialLR(LRScheduler):
    """The rate is multiplied by gamma after every epoch."""

    def __init__(self, optimizer: Optimizer, gamma: Any) -> None:
        super().__init__(optimizer)
        self.gamma = number_of("ExponentialLR", "gamma", gamma)

    def _next(self, group: ParamGroup) -> float:
        rate: float = group["lr"]
        return rate * self.gamma


class CosineAnnealingLR(LRScheduler):
    """The rate falls to eta_min in T_max epochs, along half a wave of a cosine, and rises again in as many."""

    def __init__(self, optimizer: Optimizer, T_max: Any, eta_min: Any = 0.0) -> None:  # noqa: N803 - PyTorch's name
        super().__init__(optimizer)
        self.T_max = whole(T_max, "CosineAnnealingLR: T_max")
        self.eta_min = number_of("CosineAnnealingLR", "eta_min", eta_min)
        if self.T_max < 1:
            raise AgradError("domain", "CosineAnnealingLR: T_max must be at least 1")

    def _next(self, group: ParamGroup) -> float:
        rate, epoch = group["lr"] - self.eta_min, self.last_epoch
        if (epoch - 1 - self.T_max) % (2 * self.T_max) == 0:  # from the lowest rate on
            rise = (group["initial_lr"] - self.eta_min) * (1 - math.cos(math.pi / self.T_max)) / 2
            return float(group["lr"] + rise)
        now, before = (1 + math.cos(math.pi * number / self.T_max) for number in (epoch, epoch - 1))
        return float(now / before * rate + self.eta_min)
