"""What PyTorch has in `torch.utils` and in `torch.nn.utils`: data sets, their loader, and limits of gradients."""

from agrad.engine.nn.utils import data
from agrad.engine.nn.utils.clip_grad import clip_grad_norm_, clip_grad_value_

__all__ = ["clip_grad_norm_", "clip_grad_value_", "data"]
