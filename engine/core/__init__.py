"""The graph and what is done to it: operations, nodes, handles, versions, guards, limits, and their errors."""

from agrad.lazy import lazy

__getattr__ = lazy(__name__)
