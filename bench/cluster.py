"""`agrad map --on dask`: the bytes of one process, with a worker killed in each try; how much faster two workers are.

    python bench/cluster.py                         20,000,000 rows in 40 Parquet files, 20 tries
    python bench/cluster.py --rows 400000 --tries 2
    python bench/cluster.py --only speed            rows per second with 2 workers over 1, without their start

The seeds are printed; `--seed` begins with another. TMPDIR=/dev/shm keeps the disk out of it. Linux.
"""

from __future__ import annotations

import argparse
import filecmp
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from killed import run_with_a_kill

EFFICIENCY = 0.85  # at least
ROUNDS = 3
# 80 terms, some 700 ns a row with its derivatives, so that reading and writing are a small part.
TERMS = (f"exp(-(x - {n})**2/{n + 2})*sin({n + 1}*y)*log1p(exp(-z/{n + 1}))" for n in range(80))
EXPRESSION = f"({'+'.join(TERMS)}) if x > -1 else x*tanh(y)*z"


def make(folder: Path, rows: int, files: int) -> None:
    """Files with three columns of random numbers."""
    folder.mkdir()
    chance = np.random.default_rng(1)
    for number in range(files):
        count = rows // files + (number < rows % files)
        table = {name: chance.normal(size=count) for name in "xyz"}
        pq.write_table(pa.table(table), folder / f"{number:03}.parquet", compression="none", use_dictionary=False)


def command(out: Path, *more: object) -> list[str]:
    """The words of a run in the folder above `out`."""
    words = ["map", EXPRESSION, "data", "--wrt", "x,y", "--backend", "llvm", "-o", f"{out.name}/", *more]
    return [sys.executable, "-m", "agrad.cli", *map(str, words)]


def differing(one: Path, other: Path, files: int) -> list[str]:
    """The names of the files that are not the same in two folders."""
    names = [f"{number:03}.parquet" for number in range(files)]
    _, wrong, missing = filecmp.cmpfiles(one, other, names, shallow=False)
    left = sorted(path.name for path in other.iterdir() if path.name not in [*names, "_agrad.jsonl"])
    return [*wrong, *missing, *left]


def try_kills(folder: Path, rows: int, files: int, tries: int, workers: Sequence[int], seed: int) -> int:
    """Map with a worker killed in each try; how many tries have failed.

    A run that ends before its worker is killed is no try, but must have the same bytes; another takes its place.
    """
    failed = made = number = 0
    while made < tries and number < 3 * tries:
        count = workers[made % len(workers)]
        out = folder / "killed"
        began = time.perf_counter()
        words = command(out, "--on", "dask", "--workers", count)
        code, complaints, done = run_with_a_kill(words, out, files, seed + number, cwd=folder)
        wrong = differing(folder / "one", out, files) if code == 0 else ["all"]
        is_good = code == 0 and not wrong and not complaints
        failed += not is_good
        made += done < files
        what = f"one killed after {done} parts" if done < files else "it ended before one was killed, no try"
        said = "the same bytes" if is_good else f"FAILED: code {code}, {wrong}, {complaints}"
        seconds = time.perf_counter() - began
        print(f"seed {seed + number}: {count} workers, {what}: {said}, {seconds:.0f} s", flush=True)
        shutil.rmtree(out)
        number += 1
    print(f"{made - failed} of {tries} tries: {rows:,} rows in {files} files, bit for bit as one process")
    return failed + tries - made


def seconds_of(folder: Path, workers: int) -> float:
    """The seconds of the parts alone, on a local cluster that has been started."""
    from agrad.cli.data import cluster
    from agrad.cli.main import root

    took: list[float] = []
    inner = cluster.by_client

    def timed(*given: Any) -> None:
        began = time.perf_counter()
        inner(*given)
        took.append(time.perf_counter() - began)

    cluster.by_client = timed
    try:
        root.main([*command(folder / "timed", "--on", "dask", "--workers", workers)[3:]], standalone_mode=False)
    finally:
        cluster.by_client = inner
        shutil.rmtree(folder / "timed", ignore_errors=True)
    return took[0]


def measure(folder: Path, rows: int) -> bool:
    """Print rows per second with 1 and 2 workers; whether two are as much faster as they must be."""
    os.chdir(folder)
    ratios = []
    for number in range(ROUNDS):
        one, two = seconds_of(folder, 1), seconds_of(folder, 2)
        ratios.append(one / two / 2)
        rates = f"{rows / one:,.0f} rows/s with 1 worker, {rows / two:,.0f} with 2"
        print(f"round {number + 1}: {rates}: efficiency {ratios[-1]:.2f}", flush=True)
    middle = statistics.median(ratios)
    print(f"efficiency {middle:.2f} (at least {EFFICIENCY})")
    return middle >= EFFICIENCY


def main() -> None:
    """Make the data, and do what is asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--files", type=int, default=40)
    parser.add_argument("--tries", type=int, default=20)
    parser.add_argument("--workers", type=int, nargs="+", default=[2, 4])
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(3)))
    parser.add_argument("--only", choices=("kills", "speed"))
    asked = parser.parse_args()
    good = True
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make(folder / "data", asked.rows, asked.files)
        if asked.only != "speed":
            subprocess.run(command(folder / "one", "--threads", 1), cwd=folder, check=True)
            good = not try_kills(folder, asked.rows, asked.files, asked.tries, asked.workers, asked.seed)
        if asked.only != "kills":
            good = measure(folder, asked.rows) and good
    sys.exit(not good)


if __name__ == "__main__":
    main()
