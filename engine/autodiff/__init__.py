"""Derivatives: backward, forward mode, the transforms on top of them, their check, and optimiser steps."""

from typing import TYPE_CHECKING

from agrad.engine.lazy import lazy

if TYPE_CHECKING:
    from agrad.engine.autodiff import anomalies as anomalies
    from agrad.engine.autodiff import forward_mode as forward_mode
    from agrad.engine.autodiff import transforms as transforms
else:
    __getattr__ = lazy(__name__, "anomalies", "forward_mode", "transforms")
