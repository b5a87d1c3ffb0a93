"""Loops over arrays in machine code.

`schedule` divides a program of arrays into kernels, each a loop over one iteration space in which a chain of
operations entry by entry, and the sums at its end, are computed without arrays between them; into numbers; and into
calls of the operations' own array functions, such as products of matrices. `views` finds where an operation that only
moves entries reads them; `kernel` writes the code of a loop, `driver` the function that runs all of them; `code`
compiles and calls it. `segments` makes one program of several that differ in the outcomes of guards, `branches` calls
that.
"""
