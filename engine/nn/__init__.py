"""Modules as PyTorch has them: `Module`, layers, activations and losses; `functional`, `init`, `optim`, `utils`.

The language and Python use the same objects. What a layer computes is a function of the table of operations; see
`engine/ops/nn`. Nothing else in the engine imports from here, and `agrad.engine` does so when it is asked for `nn`.
"""

from agrad.engine.nn import functional as functional
from agrad.engine.nn import init as init
from agrad.engine.nn import optim as optim
from agrad.engine.nn import utils as utils
from agrad.engine.nn.layers import ELU as ELU
from agrad.engine.nn.layers import GELU as GELU
from agrad.engine.nn.layers import SELU as SELU
from agrad.engine.nn.layers import BatchNorm1d as BatchNorm1d
from agrad.engine.nn.layers import BatchNorm2d as BatchNorm2d
from agrad.engine.nn.layers import BCELoss as BCELoss
from agrad.engine.nn.layers import BCEWithLogitsLoss as BCEWithLogitsLoss
from agrad.engine.nn.layers import CrossEntropyLoss as CrossEntropyLoss
from agrad.engine.nn.layers import Dropout as Dropout
from agrad.engine.nn.layers import Embedding as Embedding
from agrad.engine.nn.layers import Flatten as Flatten
from agrad.engine.nn.layers import Hardtanh as Hardtanh
from agrad.engine.nn.layers import HuberLoss as HuberLoss
from agrad.engine.nn.layers import Identity as Identity
from agrad.engine.nn.layers import L1Loss as L1Loss
from agrad.engine.nn.layers import LayerNorm as LayerNorm
from agrad.engine.nn.layers import LeakyReLU as LeakyReLU
from agrad.engine.nn.layers import Linear as Linear
from agrad.engine.nn.layers import LogSigmoid as LogSigmoid
from agrad.engine.nn.layers import LogSoftmax as LogSoftmax
from agrad.engine.nn.layers import MSELoss as MSELoss
from agrad.engine.nn.layers import NLLLoss as NLLLoss
from agrad.engine.nn.layers import ReLU as ReLU
from agrad.engine.nn.layers import Sigmoid as Sigmoid
from agrad.engine.nn.layers import SiLU as SiLU
from agrad.engine.nn.layers import Softmax as Softmax
from agrad.engine.nn.layers import Softplus as Softplus
from agrad.engine.nn.layers import Tanh as Tanh
from agrad.engine.nn.module import Module as Module
from agrad.engine.nn.module import ModuleDict as ModuleDict
from agrad.engine.nn.module import ModuleList as ModuleList
from agrad.engine.nn.module import Sequential as Sequential
from agrad.engine.nn.parameter import Parameter as Parameter
