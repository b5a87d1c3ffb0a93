"""How long one answer takes as a whole process, beside `import numpy` in the same run.

    python bench/startup.py [runs]

The two are run in turn, so that a busy moment of the machine hits both; medians and their ratio are printed.
"""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

FORMULA = ["eval", "x**2*sin(x)", "x=2", "--wrt", "x"]


def seconds(command: list[str]) -> float:
    """The wall time of one run of a command."""
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def main() -> None:
    """Print both medians, and their ratio."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    agrad = shutil.which("agrad", path=str(Path(sys.executable).parent)) or "agrad"
    commands = {"agrad eval": [agrad, *FORMULA], "import numpy": [sys.executable, "-c", "import numpy"]}
    times: dict[str, list[float]] = {name: [] for name in commands}
    for command in commands.values():
        seconds(command)  # once for the file cache
    for _ in range(runs):
        for name, command in commands.items():
            times[name].append(seconds(command))
    medians = {name: statistics.median(values) for name, values in times.items()}
    for name, median in medians.items():
        print(f"{name:14}{1000 * median:7.0f} ms")
    print(f"ratio         {medians['agrad eval'] / medians['import numpy']:7.2f}")


if __name__ == "__main__":
    main()
