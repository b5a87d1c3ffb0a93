"""One operation on small arrays as it is called, and with the backward pass of the sum of its result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from harness import Case, Work, repeated, serve

LIMIT = {"torch": 2.5}
OPERATIONS = {
    "product": "product, 100 entries",
    "matmul": "matrix product, 4x4",
    "matvec": "matrix and vector, 4x4",
    "number": "x[3]",
    "slice": "x[1:-1]",
    "column": "m[:, 2]",
    "sum": "sum of 100 entries",
    "rows": "sum of 10x10 along an axis",
    "stack": "stack of 5 vectors",
    "where": "where, 100 entries",
    "einsum": 'einsum("ij,jk->ik"), 4x4',
}
WORKS = tuple(
    work
    for name, title in OPERATIONS.items()
    for work in (
        Work(f"{title}, eager", name, LIMIT, threads=1),
        Work("the same, and backward of the sum", f"{name} backward", LIMIT, threads=1),
    )
)


def _cases(ops: Any, leaf: Callable[[Any], Any], mask: Callable[[Any], Any], axis: dict[str, int]) -> dict[str, Case]:
    """The same cases with either library, which use the same names."""
    import numpy as np

    numbers = np.random.default_rng(0)
    a, b, v, x, y, m = (leaf(numbers.random(shape)) for shape in ((4, 4), (4, 4), 4, 100, 100, (10, 10)))
    vectors, chosen = [leaf(numbers.random(10)) for _ in range(5)], mask(numbers.random(100) > 0.5)
    operations: dict[str, Callable[[], Any]] = {
        "product": lambda: x * y,
        "matmul": lambda: a @ b,
        "matvec": lambda: a @ v,
        "number": lambda: x[3],
        "slice": lambda: x[1:-1],
        "column": lambda: m[:, 2],
        "sum": lambda: x.sum(),
        "rows": lambda: m.sum(**axis),
        "stack": lambda: ops.stack(vectors),
        "where": lambda: ops.where(chosen, x, y),
        "einsum": lambda: ops.einsum("ij,jk->ik", a, b),
    }

    def pulled(operation: Callable[[], Any]) -> Callable[[], Any]:
        def run() -> Any:
            total = operation().sum()
            total.backward()
            return total

        return run

    found: dict[str, Case] = {}
    for name, operation in operations.items():
        found[name] = repeated(operation, lambda result: result.detach().numpy().reshape(-1))
        found[f"{name} backward"] = repeated(pulled(operation), lambda total: [total.item()])
    return found


def agrad() -> dict[str, Case]:
    """With Tensors of agrad."""
    import agrad.engine as ag

    return _cases(ag, lambda value: ag.tensor(value, requires_grad=True), ag.tensor, {"axis": 0})


def torch() -> dict[str, Case]:
    """With torch's, of float64."""
    import torch

    def leaf(value: Any) -> Any:
        return torch.tensor(value, dtype=torch.float64, requires_grad=True)

    return _cases(torch, leaf, torch.tensor, {"dim": 0})


if __name__ == "__main__":
    serve({"agrad": agrad, "torch": torch})
