"""The operations, a row for each, in a file for each family.

A row has all facts about its operation: what it computes, its derivative, how it is written, what backends
and passes may do with it, and its help. Importing this package names the rows of the tables `OPS` and `FUNCTIONS` of
`engine.core.op`, by which everything else finds operations, and gives Tensors their operators and methods; the file of
an operation is imported when its row is asked for. index.txt says which that is: `make table` writes it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agrad.engine.core.op import FUNCTIONS, OPERATORS, OPS, Operator
from agrad.engine.ops import tables, tensor_methods
from agrad.engine.text import beside
from agrad.lazy import lazy

_, _ROWS, _OPERATORS, _OPERANDS = beside(__file__, "index.txt").split("\n\n")
OPERANDS = _OPERANDS.split()  # the names of those of all operations


def _index() -> list[str]:
    """Name the rows, with the module of each; the names of those that are methods of Tensors, too."""
    ops, functions, methods = {}, {}, []
    module = ""
    for word in _ROWS.split():
        name = word.strip("-+.")
        if word[-1] == ":":
            module = f"agrad.engine.{word[:-1]}"
            continue
        if word[0] != "+":
            ops[name] = module
        if word[0] != "-":
            functions[name] = module
        if word[-1] == ".":
            methods.append(name)
    for facts in _OPERATORS.split(","):
        name, sign, precedence, method, *right = facts.split()
        OPERATORS[name] = Operator(sign, int(precedence), method, bool(right))
    OPS.know(ops)
    FUNCTIONS.know(functions)
    return methods


tensor_methods.install(_index())
tables.install()

if TYPE_CHECKING:
    from agrad.engine.ops import creation as creation

__getattr__ = lazy(__name__)
