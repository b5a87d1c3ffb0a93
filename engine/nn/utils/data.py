"""Data sets, and `DataLoader`, which gives them out in batches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agrad.engine.core.op import FUNCTIONS
from agrad.engine.core.tensor import Tensor, tensor
from agrad.engine.errors import AgradError
from agrad.engine.nn.objects import Object
from agrad.engine.ops.creation import generator
from agrad.engine.values import describe, np, whole

__all__ = ["DataLoader", "Dataset", "TensorDataset"]


class Dataset(Object):
    """The base of data sets, which have `__getitem__` and `__len__`."""


class TensorDataset(Dataset):
    """Arrays of as many rows: an entry is a tuple with a row of each."""

    def __init__(self, *tensors: Any) -> None:
        if not tensors:
            raise AgradError("arity", "TensorDataset needs at least one array")
        self.tensors = tuple(x if isinstance(x, Tensor) else tensor(x) for x in tensors)
        lengths = [len(x) for x in self.tensors]
        if len(set(lengths)) > 1:
            listed = ", ".join(map(str, lengths))
            raise AgradError("shape", f"the arrays of a TensorDataset must have as many rows, and these have {listed}")

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple(x[index] for x in self.tensors)

    def __len__(self) -> int:
        return len(self.tensors[0])


class DataLoader(Object):
    """The entries of a data set in batches, each a tuple with an array for each part of an entry."""

    def __init__(self, dataset: Any, batch_size: Any = 1, shuffle: Any = False, *, drop_last: Any = False) -> None:
        if not hasattr(type(dataset), "__getitem__") or not hasattr(type(dataset), "__len__"):
            raise AgradError("type", f"DataLoader needs a data set, not {describe(dataset)}")
        self.dataset = dataset
        self.batch_size = whole(batch_size, "DataLoader: batch_size")
        self.shuffle, self.drop_last = bool(shuffle), bool(drop_last)
        if self.batch_size < 1:
            raise AgradError("domain", "DataLoader: batch_size must be at least 1")

    def __len__(self) -> int:
        count = len(self.dataset)
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)

    def __iter__(self) -> Iterator[Any]:
        count = len(self.dataset)
        order = generator().permutation(count) if self.shuffle else np.arange(count)
        return (self._batch(order[self.batch_size * place :][: self.batch_size]) for place in range(len(self)))

    def _batch(self, places: Any) -> Any:
        if isinstance(self.dataset, TensorDataset):
            return self.dataset[places]
        entries = [self.dataset[int(place)] for place in places]
        if not isinstance(entries[0], tuple | list):
            return FUNCTIONS["stack"].call(entries)
        return tuple(FUNCTIONS["stack"].call(list(part)) for part in zip(*entries, strict=True))
