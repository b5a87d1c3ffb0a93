"""What PyTorch has in `torch.utils`: `data`, the parts of a data set, one batch after the other."""

from agrad.engine.nn.utils import data

__all__ = ["data"]
