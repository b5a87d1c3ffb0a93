"""Optimisers as PyTorch has them, `SGD(model.parameters(), lr=0.1)`, and what changes their rates: `lr_scheduler`.

Their rules are those of `engine/autodiff/optim`, which the command `step` uses too.
"""

from agrad.engine.nn.optim import lr_scheduler
from agrad.engine.nn.optim.optimizer import SGD, Adam, AdamW, Optimizer, RMSprop

__all__ = ["SGD", "Adam", "AdamW", "Optimizer", "RMSprop", "lr_scheduler"]
