"""Derivatives: backward, forward mode, the transforms on top of them, their check, and optimiser steps."""

from agrad.lazy import lazy

__getattr__ = lazy(__name__)
