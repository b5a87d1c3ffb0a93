"""Modules as PyTorch has them: `Module`, layers, activations and losses; `functional`, `init`, `optim`, `utils`.

The language and Python use the same objects. What a layer computes is a function of the table of operations; see
`engine/ops/nn`. Nothing else in the engine imports from here, and `agrad.engine` does so when it is asked for `nn`.
"""

from agrad.engine.nn import functional, init, optim, utils
from agrad.engine.nn.batch_norm import BatchNorm1d, BatchNorm2d
from agrad.engine.nn.containers import ModuleDict, ModuleList, Sequential
from agrad.engine.nn.functions import (
    ELU,
    GELU,
    SELU,
    BCELoss,
    BCEWithLogitsLoss,
    CrossEntropyLoss,
    Hardtanh,
    HuberLoss,
    L1Loss,
    LeakyReLU,
    LogSigmoid,
    LogSoftmax,
    MSELoss,
    NLLLoss,
    ReLU,
    Sigmoid,
    SiLU,
    Softmax,
    Softplus,
    Tanh,
)
from agrad.engine.nn.layers import Dropout, Embedding, Flatten, Identity, LayerNorm, Linear
from agrad.engine.nn.module import Module
from agrad.engine.nn.parameter import Parameter

__all__ = [
    "ELU",
    "GELU",
    "SELU",
    "BCELoss",
    "BCEWithLogitsLoss",
    "BatchNorm1d",
    "BatchNorm2d",
    "CrossEntropyLoss",
    "Dropout",
    "Embedding",
    "Flatten",
    "Hardtanh",
    "HuberLoss",
    "Identity",
    "L1Loss",
    "LayerNorm",
    "LeakyReLU",
    "Linear",
    "LogSigmoid",
    "LogSoftmax",
    "MSELoss",
    "Module",
    "ModuleDict",
    "ModuleList",
    "NLLLoss",
    "Parameter",
    "ReLU",
    "Sequential",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "Softplus",
    "Tanh",
    "functional",
    "init",
    "optim",
    "utils",
]
