"""Linear algebra: products of matrices, decompositions, determinants, einsum and norms.

It builds on `scalar` and `arrays`. The NumPy protocol and PyTorch's names import from it; everything else finds the
operations in the tables of `engine.core.op`.
"""
