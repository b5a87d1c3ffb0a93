"""Derivatives: backward, forward mode, the transforms on top of them, their check, and optimiser steps."""

from agrad.engine.lazy import lazy

__getattr__ = lazy(__name__, "anomalies", "forward_mode", "transforms")
