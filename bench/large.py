"""The memory of `agrad map` over a CSV of 2 GB, which is made in pieces and deleted after.

    python bench/large.py [GB]

Linux: the size of the largest moment is read from what the process has used when it ends.
"""

from __future__ import annotations

import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROWS = 100_000  # in a piece
LIMIT = 400  # MB


def write(path: Path, size: float) -> int:
    """Columns x and y of random numbers until the file is so large; how many rows."""
    chance = random.Random(1)
    piece = "".join(f"{chance.uniform(-3, 3):.15f},{chance.uniform(-3, 3):.15f}\n" for _ in range(ROWS)).encode()
    pieces = int(size // len(piece)) + 1
    with path.open("wb") as file:
        file.write(b"x,y\n")
        for _ in range(pieces):
            file.write(piece)
    return pieces * ROWS


def main() -> None:
    """Make the file, walk it, say what it took."""
    size = float(sys.argv[1]) * 1e9 if len(sys.argv) > 1 else 2e9
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        data, out = Path(folder, "points.csv"), Path(folder, "out.npy")
        rows = write(data, size)
        command = [sys.executable, "-m", "agrad.cli", "map", "x**2 + y**3 - sin(x*y)", data, "--wrt", "x,y", "-o", out]
        began = time.perf_counter()
        subprocess.run(command, check=True)
        seconds = time.perf_counter() - began
        most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1000
        print(f"{data.stat().st_size / 1e9:.2f} GB, {rows:,} rows, {seconds:.0f} s: {most:.0f} MB at most ({LIMIT} MB)")
        sys.exit(most > LIMIT)


if __name__ == "__main__":
    main()
