"""The backend that makes machine code, for programs of numbers and of arrays; it needs llvmlite, an extra.

`backend` compiles a program and calls it. `ir_builder` has the symbols that write LLVM's code, `lowering` and `ufuncs`
write the operations with them, `kernels` the functions around that code; the folder `loops` is for arrays; `target` and
`threads` know the machine. From outside import `backend.Native`, `backend.supports` and, to ask whether llvmlite is
there, `target`.
"""
