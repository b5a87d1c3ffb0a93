"""Compiled functions: a function is traced once, and its value and derivatives are computed without a graph.

    f = compile(lambda x, y: x*sin(y), 2.0, 3.0)
    f.value(2.0, 3.0)               # bit for bit what the function itself gives, in a tenth of the time
    f.value_and_grad(2.0, 3.0)
    f.hessian(2.0, 3.0)
    f.map(xs, ys)                   # for each row of some columns

`function` has the compiled function, `specializations` its programs; `hessian` makes further programs, and so do `rows`
and `dask_arrays`, of columns. `derive` has what is derived of a program, and `cost` decides whether machine code is
made of numbers (`scalarise`) or of arrays, by what each takes. `paths` puts programs that differ in the
outcomes of guards into a tree. `registry` lists the backends, which run programs: `python_backend` and the folder
`llvm`; they and the folder `export` write operations by the symbols of `symbols`. From outside import `compile`;
replays and hot loops run their programs by `python_backend.Compiled`, and `llvm.target` says whether machine code is
available.
This file imports nothing, since it is loaded with the engine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agrad.engine.compile.function import Compiled

__all__ = ["compile"]


def compile(  # noqa: A001 - PyTorch's name
    f: Callable[..., Any],
    *examples: object,
    wrt: int | str | Sequence[int | str] | None = None,
    backend: str = "auto",
    **keywords: object,
) -> Compiled:
    """A function of numbers and arrays, compiled for the shapes of `examples`, and of `keywords`.

    An argument, and the result, may consist of numbers and arrays in tuples, dicts and lists; a list of numbers is an
    array. A derivative by such an argument has its structure.

    `wrt`: the arguments to differentiate by, as numbers or names; all if None.

    `backend` is the name of a row in `agrad.engine.compile.registry`, such as `python`, whose results are bit for bit
    those of the function, but for the sign of a gradient that is 0, and for products of matrices of which one is
    transposed, which BLAS may sum in another order, and `llvm` (extra `jit`), machine code for numbers, for small
    arrays entry by entry, and for large ones in loops, within 4 ulp for each function of the C library, and with sums
    in another order. The default, `auto`, begins with the first and changes to the second when that pays. What a
    backend does not support is computed by `python`.

    Where the function branches on a value, each set of outcomes is traced when it first occurs; if there are very many,
    the latest are kept. Reading plain data from a value, as by `float(x)`, `x.item()` or `x.numpy()`, is such a branch:
    the function is traced again for each other number, which is far slower than agrad's own functions. It must be a
    function of its arguments only: output and random numbers occur only when it is traced. Threads may share a compiled
    function.

    Raises the errors of the function at the examples, and AgradError of kind `guard` for what cannot be traced.
    """
    from agrad.engine.compile.function import Compiled  # here, so that only a call of compile loads the compiler

    return Compiled(f, examples, wrt, backend, keywords)
