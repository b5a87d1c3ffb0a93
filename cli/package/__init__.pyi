"""What `import agrad as ag` has: the engine, and texts of the language."""

from typing import Any

from agrad import cli as cli
from agrad import engine as engine
from agrad import grammar as grammar
from agrad.engine import *
from agrad.engine import autograd as autograd
from agrad.engine import nn as nn
from agrad.engine import optim as optim
from agrad.engine import utils as utils
from agrad.engine.functions import *
from agrad.grammar.formula import Formula as Formula
from agrad.grammar.formula import evaluate as evaluate

__version__: str
formula = Formula

def load_ipython_extension(shell: Any) -> None: ...
