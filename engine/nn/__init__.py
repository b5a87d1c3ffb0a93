"""Modules as PyTorch has them: `Module`, layers, activations and losses; `functional`, `init`, `optim`, `utils`.

The language and Python use the same objects. What a layer computes is a function of the table of operations, or one of
`functional`, made of these. Nothing else in the engine imports from here, and `agrad.engine` does so when it is asked
for `nn`.
"""
# ruff: noqa: F403 - each module lists what it has of this package

from agrad.engine.nn import functional as functional
from agrad.engine.nn import init as init
from agrad.engine.nn import optim as optim
from agrad.engine.nn import utils as utils
from agrad.engine.nn.applied import *
from agrad.engine.nn.attention import *
from agrad.engine.nn.containers import *
from agrad.engine.nn.layers import *
from agrad.engine.nn.module import Module as Module
from agrad.engine.nn.parameter import *
from agrad.engine.nn.recurrent import *
