"""Programs as source code to take away, which needs no agrad: in C, JavaScript and Python.

`derive` makes one program of numbers of a value, its gradient and its Hessian; `source` writes its steps as formulas of
a language, and the function around them; each language has a module, which says how it spells what a symbol can do.
`choices` finds the paths of a function that chooses; `loops` and `numpy_arrays` write what is too large for numbers.
"""
