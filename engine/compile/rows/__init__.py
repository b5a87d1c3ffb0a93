"""A compiled function over rows: of columns, of Dask's arrays, and of data frames.

`columns` has what is given and what is returned, `vmap` computes it, and `dask_arrays` makes graphs of Dask's that
compute it later, block by block; that module imports Dask when it is given what is Dask's.
"""
