"""Operations on the shape and the entries of arrays: indexing, joining, sorting, reductions, running sums.

They build on `scalar`. Other rows import them to write their own rules, and the NumPy protocol its functions;
everything else finds them in the tables of `engine.core.op`.
"""
