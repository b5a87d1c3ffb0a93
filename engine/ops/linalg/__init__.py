"""Linear algebra: products, decompositions, determinants, einsum and norms."""
