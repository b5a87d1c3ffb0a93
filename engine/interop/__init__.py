"""NumPy's own functions and ufuncs on Tensors."""
