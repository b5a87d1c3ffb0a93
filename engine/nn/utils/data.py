"""Data sets, samplers, which say in which order, and `DataLoader`, which gives the entries out in batches."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from itertools import accumulate, islice
from typing import Any

from agrad.engine.core.op import FUNCTIONS
from agrad.engine.core.tensor import Tensor, tensor
from agrad.engine.errors import AgradError
from agrad.engine.nn.formed import settings_of
from agrad.engine.nn.objects import Object
from agrad.engine.ops.creation import generator
from agrad.engine.values import describe, np, whole

__all__ = [
    "BatchSampler", "ChainDataset", "ConcatDataset", "DataLoader", "Dataset", "IterableDataset",
    "RandomSampler", "Sampler", "SequentialSampler", "Subset", "SubsetRandomSampler", "TensorDataset",
    "WeightedRandomSampler", "default_collate", "get_worker_info", "random_split",
]  # fmt: skip


def _numbers(given: Any) -> Any:
    """Random numbers: those of a generator that is given, or of the session."""
    own = getattr(given, "_numbers", None)
    return generator() if own is None else own


class Dataset(Object):
    """The base of data sets, which have `__getitem__` and `__len__`."""

    def __add__(self, other: Any) -> ConcatDataset:
        return ConcatDataset([self, other])


class IterableDataset(Dataset):
    """The base of data sets that have `__iter__` alone."""


class ChainDataset(IterableDataset):
    """The entries of several of these, one after the other."""

    def __init__(self, datasets: Any) -> None:
        self.datasets = datasets

    def __iter__(self) -> Iterator[Any]:
        return (entry for one in self.datasets for entry in one)


def get_worker_info() -> None:
    """Nothing: there is one process."""


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


class Subset(Dataset):
    """The entries of a data set at some places."""

    def __init__(self, dataset: Any, indices: Any) -> None:
        self.dataset, self.indices = dataset, indices

    def __getitem__(self, index: Any) -> Any:
        return self.dataset[whole(self.indices[whole(index, "an index")], "an index")]

    def __len__(self) -> int:
        return len(self.indices)


class ConcatDataset(Dataset):
    """The entries of several data sets, one after the other."""

    def __init__(self, datasets: Any) -> None:
        self.datasets = [*datasets]
        self.cumulative_sizes = [*accumulate(map(len, self.datasets))]
        if not self.datasets:
            raise AgradError("arity", "ConcatDataset needs at least one data set")

    def __getitem__(self, index: Any) -> Any:
        place, count = whole(index, "an index"), len(self)
        if not -count <= place < count:
            raise AgradError("shape", f"index {place} is out of range: the data sets have {count} entries")
        which = bisect_right(self.cumulative_sizes, place % count)
        return self.datasets[which][place % count - (self.cumulative_sizes[which - 1] if which else 0)]

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]


def random_split(dataset: Any, lengths: Any, generator: Any = None) -> list[Subset]:
    """Subsets of these lengths, or shares, that have each entry once, in a random order."""
    count, sizes = len(dataset), [float(length) for length in lengths]
    if sum(sizes) <= 1.0 + 1e-9 and abs(sum(sizes) - 1.0) < 1e-9 and count != 1:
        counts = [int(count * size) for size in sizes]
        for place in range(count - sum(counts)):  # what is left goes to each in turn
            counts[place % len(counts)] += 1
    else:
        counts = [whole(size, "random_split: a length") for size in sizes]
    if sum(counts) != count:
        raise AgradError("shape", f"random_split: the lengths add up to {sum(counts)}, and there are {count} entries")
    order = [int(place) for place in _numbers(generator).permutation(count)]
    return [Subset(dataset, order[end - size : end]) for size, end in zip(counts, accumulate(counts), strict=True)]


# Samplers


class Sampler(Object):
    """The base of samplers: their `__iter__` gives places."""

    def __init__(self, data_source: Any = None) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError

    def __len__(self) -> int:
        return len(self.data_source)


class SequentialSampler(Sampler):
    """All places, in order."""

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))


class RandomSampler(Sampler):
    """All places in a random order; with `replacement`, `num_samples` of them, each of all."""

    def __init__(
        self, data_source: Any, replacement: Any = False, num_samples: Any = None, generator: Any = None
    ) -> None:
        super().__init__(data_source)
        self.replacement, self.generator = bool(replacement), generator
        self.num_samples = len(data_source) if num_samples is None else whole(num_samples, "num_samples")

    def __iter__(self) -> Iterator[int]:
        numbers, count = _numbers(self.generator), len(self.data_source)
        if self.generator is None and hasattr(numbers, "fork"):
            numbers = numbers.fork()
        if self.replacement:
            return iter(numbers.integers(count, size=self.num_samples).tolist())
        rounds = range(-(-self.num_samples // max(count, 1)))
        every: list[int] = [place for _ in rounds for place in numbers.permutation(count).tolist()]
        return iter(every[: self.num_samples])

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler):
    """Some places, in a random order."""

    def __init__(self, indices: Any, generator: Any = None) -> None:
        super().__init__(indices)
        self.generator = generator

    def __iter__(self) -> Iterator[Any]:
        return (self.data_source[int(place)] for place in _numbers(self.generator).permutation(len(self.data_source)))


class WeightedRandomSampler(Sampler):
    """So many places, each as often as its weight says."""

    def __init__(self, weights: Any, num_samples: Any, replacement: Any = True, generator: Any = None) -> None:
        super().__init__(range(whole(num_samples, "num_samples")))
        self.weights = np.asarray(getattr(weights, "value", weights), dtype=float)
        self.replacement, self.generator = bool(replacement), generator

    def __iter__(self) -> Iterator[int]:
        drawn = drawn_places(_numbers(self.generator), self.weights[None], len(self), self.replacement)
        return iter(drawn[0].tolist())


def drawn_places(numbers: Any, rows: Any, count: int, replacement: bool) -> Any:
    """So many places of each row of weights, each as often as its weight says, as PyTorch draws them."""
    if replacement and count > 1:
        ends = np.cumsum(rows / rows.sum(1, keepdims=True), axis=1)
        drawn = numbers.random((len(rows), count))
        return np.stack([np.searchsorted(end / end[-1], x) for end, x in zip(ends, drawn, strict=True)])
    return np.argsort(-rows / numbers.standard_exponential(rows.shape), axis=1, kind="stable")[:, :count]


class BatchSampler(Sampler):
    """The places of a sampler in batches."""

    def __init__(self, sampler: Any, batch_size: Any, drop_last: Any = False) -> None:
        super().__init__(sampler)
        self.sampler, self.drop_last = sampler, bool(drop_last)
        self.batch_size = whole(batch_size, "BatchSampler: batch_size")

    def __iter__(self) -> Iterator[list[Any]]:
        batch: list[Any] = []
        for place in self.sampler:
            batch.append(place)
            if len(batch) == self.batch_size:
                yield batch
                batch = []
        if batch and not self.drop_last:
            yield batch

    def __len__(self) -> int:
        count = len(self.sampler)
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)


# Batches


def default_collate(batch: Any) -> Any:
    """A batch of entries: an array of arrays or numbers; of tuples, lists and dictionaries, one of each part."""
    first = batch[0]
    if isinstance(first, Tensor):
        return FUNCTIONS["stack"].call([*batch])
    if isinstance(first, Mapping):
        return {key: default_collate([entry[key] for entry in batch]) for key in first}
    if isinstance(first, str):
        return batch
    if isinstance(first, bool | int | float | np.ndarray | np.number):
        return tensor(np.array(batch))
    if not hasattr(first, "__iter__"):
        raise AgradError("type", f"a batch cannot be made of {describe(first)}")
    parts = [default_collate(part) for part in zip(*batch, strict=True)]
    return type(first)(*parts) if hasattr(first, "_fields") else parts


class DataLoader(Object):
    """The entries of a data set in batches, each a list with an array for each part of an entry."""

    home = "utils.data"
    form = "batch_size=1, shuffle=None, sampler=None, batch_sampler=None, num_workers=0, collate_fn=None, "
    form += "pin_memory=False, drop_last=False, timeout=0, worker_init_fn=None, generator=None"
    reals: tuple[str, ...] = ()
    sampler: Any
    batch_sampler: Any

    def __init__(self, dataset: Any, *args: Any, **keywords: Any) -> None:
        streams = isinstance(dataset, IterableDataset)
        if not streams and not (hasattr(type(dataset), "__getitem__") and hasattr(type(dataset), "__len__")):
            raise AgradError("type", f"DataLoader needs a data set, not {describe(dataset)}")
        self.dataset = dataset
        for name, value in settings_of(self, args, keywords).items():
            setattr(self, name, value)
        if self.batch_size is not None and self.batch_size < 1:
            raise AgradError("domain", "DataLoader: batch_size must be at least 1")
        if self.shuffle and self.sampler is not None:
            raise AgradError("domain", "DataLoader: a sampler says the order, and shuffle would say another")
        if streams:
            if self.shuffle:
                raise ValueError("DataLoader with IterableDataset: expected unspecified shuffle option")
            return
        if self.sampler is None:
            sampler = RandomSampler(dataset, generator=self.generator) if self.shuffle else SequentialSampler(dataset)
            self.sampler = sampler
        if self.batch_sampler is None and self.batch_size is not None:
            self.batch_sampler = BatchSampler(self.sampler, self.batch_size, self.drop_last)

    def __len__(self) -> int:
        if isinstance(self.dataset, IterableDataset):
            return -(-len(self.dataset) // (self.batch_size or 1))
        return len(self.sampler if self.batch_sampler is None else self.batch_sampler)

    def __iter__(self) -> Iterator[Any]:
        if hasattr(numbers := _numbers(self.generator), "fork"):
            numbers.fork()  # as PyTorch draws a seed for processes
        if isinstance(self.dataset, IterableDataset):
            return self._streamed()
        if self.batch_sampler is None:
            return (self.dataset[place] for place in self.sampler)
        return (self._batch(places) for places in self.batch_sampler)

    def _streamed(self) -> Iterator[Any]:
        """The entries of a data set that has no places, in batches."""
        entries = iter(self.dataset)
        if self.batch_size is None:
            yield from entries
            return
        while batch := [*islice(entries, self.batch_size)]:
            if len(batch) == self.batch_size or not self.drop_last:
                yield self._collated(batch)

    def _batch(self, places: list[Any]) -> Any:
        if type(self.dataset) is TensorDataset and self.collate_fn is None:
            return [*self.dataset[np.array(places)]]  # all rows at once
        return self._collated([self.dataset[place] for place in places])

    def _collated(self, entries: list[Any]) -> Any:
        """A batch of entries."""
        return (self.collate_fn or default_collate)(entries)
