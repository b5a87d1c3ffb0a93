"""The backend that makes machine code, for programs of numbers and of arrays; it needs llvmlite, an extra.

`backend` compiles a program and calls it. `ir_builder` writes LLVM's code, for the symbols of `compile/symbols`,
`kernels` the functions around that code; the folder `loops` is for arrays; `target` and `threads` know the machine.
From outside import `backend.Native`, `backend.supports` and, to ask whether llvmlite is there, `target`.
"""
