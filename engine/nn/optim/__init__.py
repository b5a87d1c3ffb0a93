"""Optimisers as PyTorch has them, `SGD(model.parameters(), lr=0.1)`, and what changes their rates: `lr_scheduler`.

Their rules are those of `engine/autodiff/optim`, which the command `step` uses too, and those of `rules`.
"""

from agrad.engine.nn.optim import lr_scheduler
from agrad.engine.nn.optim.lbfgs import LBFGS
from agrad.engine.nn.optim.optimizer import (
    ASGD,
    SGD,
    Adadelta,
    Adagrad,
    Adam,
    Adamax,
    AdamW,
    NAdam,
    Optimizer,
    RAdam,
    RMSprop,
    Rprop,
)

__all__ = [
    "ASGD", "LBFGS", "SGD", "Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "NAdam", "Optimizer", "RAdam", "RMSprop",
    "Rprop", "lr_scheduler",
]  # fmt: skip
