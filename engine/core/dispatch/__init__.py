"""What happens when an operation is called: plain values give plain values, Tensors give Tensors, and record.

`calls` makes the function that is called for a row, `arrays` computes and appends the node, and `constants` has the
copies that nodes keep of the arrays of the caller. The names listed here are for other folders.
"""

from agrad.engine.core.dispatch.arrays import compute, ieee, of_one, of_pair, of_two, on_arrays, record
from agrad.engine.core.dispatch.calls import OPS, caller, choose_all, operand, operator_of

__all__ = [
    "OPS",
    "caller",
    "choose_all",
    "compute",
    "ieee",
    "of_one",
    "of_pair",
    "of_two",
    "on_arrays",
    "operand",
    "operator_of",
    "record",
]
