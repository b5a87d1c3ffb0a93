"""The memory of `agrad map` over 2 GB of each format, which are made in pieces, one after the other, and deleted after.

    python bench/large.py [GB [FORMAT …]]

The formats are the endings below; without one, all. For a compressed text the size is that of the text. pyarrow writes
the binary formats. Linux: the largest moment of each run is what the system tells when it ends.
"""

from __future__ import annotations

import gzip
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROWS = 100_000  # in a piece
LIMIT = 400  # MB


def piece() -> list[tuple[float, float]]:
    """Some rows of random numbers, which are repeated."""
    chance = random.Random(1)
    return [(chance.uniform(-3, 3), chance.uniform(-3, 3)) for _ in range(ROWS)]


def repeated(data: bytes, size: float) -> Iterator[bytes]:
    """The same bytes until they are so many."""
    for _ in range(int(size // len(data)) + 1):
        yield data


def text(path: Path, size: float, line: Callable[[float, float], str], opened: Callable[[Path], Any], head: str) -> int:
    """A file of lines; how many rows it has."""
    data = "".join(line(x, y) for x, y in piece()).encode()
    rows = 0
    with opened(path) as file:
        file.write(head.encode())
        for one in repeated(data, size):
            file.write(one)
            rows += ROWS
    return rows


def csv(path: Path, size: float, opened: Callable[[Path], Any] = lambda path: path.open("wb")) -> int:
    """Text with columns x and y."""
    return text(path, size, lambda x, y: f"{x:.15f},{y:.15f}\n", opened, "x,y\n")


def jsonl(path: Path, size: float) -> int:
    """An object on each line."""
    return text(path, size, lambda x, y: f'{{"x": {x:.15f}, "y": {y:.15f}}}\n', lambda path: path.open("wb"), "")


def gzipped(path: Path) -> Any:
    """The same by gzip."""
    return gzip.open(path, "wb", 1)


def zstd(path: Path) -> Any:
    """A file whose bytes are compressed."""
    import pyarrow as pa

    return pa.CompressedOutputStream(str(path), "zstd")


def batches(path: Path, size: float, writer: Callable[[Any, Any], Any]) -> int:
    """A file of record batches, of three columns of random numbers."""
    import numpy as np
    import pyarrow as pa

    chance, rows = np.random.default_rng(1), 0
    schema = pa.schema([(name, pa.float64()) for name in "xyz"])
    with pa.OSFile(str(path), "wb") as sink, writer(sink, schema) as file:
        while sink.tell() < size:
            columns = [pa.array(chance.normal(size=ROWS)) for _ in schema]
            batch = pa.RecordBatch.from_arrays(columns, schema=schema)
            file.write_batch(batch)
            rows += ROWS
    return rows


def arrow(path: Path, size: float) -> int:
    """With an index of the batches."""
    import pyarrow as pa

    return batches(path, size, pa.ipc.new_file)


def stream(path: Path, size: float) -> int:
    """Without one."""
    import pyarrow as pa

    return batches(path, size, pa.ipc.new_stream)


def parquet(path: Path, size: float) -> int:
    """Row groups of 100,000 rows."""
    from pyarrow.parquet import ParquetWriter

    return batches(path, size, ParquetWriter)


FORMATS: dict[str, Callable[[Path, float], int]] = {
    "csv": csv,
    "csv.gz": lambda path, size: csv(path, size, gzipped),
    "csv.zst": lambda path, size: csv(path, size, zstd),
    "jsonl": jsonl,
    "arrow": arrow,
    "arrows": stream,
    "parquet": parquet,
}


def measured(form: str, size: float) -> float:
    """Make a file of a format, walk it, say what it took; the largest size of the process in MB."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        data, out = Path(folder, f"points.{form}"), Path(folder, "out.npy")
        rows = FORMATS[form](data, size)
        command = [sys.executable, "-m", "agrad.cli", "map", "x**2 + y**3 - sin(x*y)", data, "--wrt", "x,y", "-o", out]
        began = time.perf_counter()
        process = subprocess.Popen(command)
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - began
        if status:
            sys.exit(f"agrad map ended with {os.waitstatus_to_exitcode(status)}")
        most = used.ru_maxrss / 1000
        size_of = data.stat().st_size / 1e9
        print(f"{form:8} {size_of:.2f} GB, {rows:,} rows, {seconds:.0f} s: {most:.0f} MB at most", flush=True)
        return most


def main() -> None:
    """Measure the formats that are asked for; the exit code is 1 where one takes more than LIMIT."""
    size = float(sys.argv[1]) * 1e9 if len(sys.argv) > 1 else 2e9
    sys.exit(max(measured(form, size) for form in sys.argv[2:] or FORMATS) > LIMIT)


if __name__ == "__main__":
    main()
