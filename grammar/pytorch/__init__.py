"""PyTorch's and NumPy's names: which there are, and what each is here.

`names.table()` is the one table of them: by it they are read, docs/pytorch.md is made of it, and the tests go
through it. `libraries` lists the names that other libraries have, and what stands in for those that agrad has not.
"""
