"""The backend that makes machine code, for programs of numbers and of arrays; it needs llvmlite, an extra.

`backend` compiles a program of numbers, or several specialisations of a function as one, and calls it; `repeated` a
loop over one. `ir_builder` writes LLVM's code, for the symbols of `compile/symbols`; `target` knows the machine.

Of arrays, `schedule` divides a program into kernels, each a loop over one iteration space in which a chain of
operations entry by entry, and the sums at its end, are computed without arrays between them; into numbers; and into
calls of the operations' own array functions. `stages` are what it consists of; `kernel` writes their code, and `loops`
compiles and calls it.

From outside import `backend.supports`, `repeated` and, to ask whether llvmlite is there, `target`.
"""

from agrad.lazy import lazy

__getattr__ = lazy(__name__)
