"""Operations on the shape and the entries of arrays: indexing, joining, sorting, reductions."""
