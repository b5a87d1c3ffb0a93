"""Units: of the leaves of a graph, of what is computed from them, and of derivatives.

A value is a number in coherent SI units; its unit belongs to its leaf. What is computed has the unit that the rules of
the operations give it (`Op.units`), which is inferred over the graph and never while computing.
"""

from agrad.lazy import lazy

__getattr__ = lazy(__name__)
