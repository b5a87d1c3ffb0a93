"""`agrad map` over a file of two columns as a whole process, beside what one would write by hand for the function."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from harness import BIN, SCRATCH, Case, Work, serve, whole

WORKS = (
    Work("`agrad map` of a CSV of 1,000,000 rows, to .npy, whole process", "npy", {"pyarrow and numpy": 1.2}, rounds=7),
    Work("the same, to a CSV", "csv", {"pyarrow and numpy": None}, rounds=5),
)
ROWS = 1_000_000
EXPRESSION = "x**2 + y**3 - sin(x*y)"
BY_HAND = """\
import sys
import numpy as np
from pyarrow import csv, table
read = csv.read_csv(sys.argv[1])
x, y = (read[name].to_numpy() for name in ("x", "y"))
p = x*y
value, c = x**2 + y**3 - np.sin(p), np.cos(p)
by_x, by_y = 2*x - y*c, 3*y**2 - x*c
if sys.argv[2].endswith(".csv"):
    csv.write_csv(table({"value": value, "x": by_x, "y": by_y}), sys.argv[2])
else:
    np.save(sys.argv[2], np.column_stack((value, by_x, by_y)))
"""


def data() -> Path:
    """The file, made once."""
    path = SCRATCH / "points.csv"
    if not path.exists():
        import numpy as np
        import pyarrow as pa
        from pyarrow import csv

        made = np.random.default_rng(1)
        part = path.with_suffix(".part")
        csv.write_csv(pa.table({name: made.uniform(0.5, 2.0, ROWS) for name in ("x", "y")}), part)
        part.rename(path)
    return path


def agrad() -> dict[str, Case]:
    """The command."""
    command = [BIN / "agrad", "map", EXPRESSION, data(), "--wrt", "x,y", "-o"]
    return {form: afresh(command, SCRATCH / f"ours.{form}") for form in ("npy", "csv")}


def by_hand() -> dict[str, Case]:
    """The script."""
    command = [sys.executable, "-c", BY_HAND, data()]
    return {form: afresh(command, SCRATCH / f"theirs.{form}") for form in ("npy", "csv")}


def afresh(command: Sequence[str | Path], out: Path) -> Case:
    """A process that writes a file which is not there yet.

    To take the place of a file costs what the disk makes of it: up to 30 ms where its blocks are given back at once,
    and nothing where they were not given out yet, as those of a file that was written over a moment ago.
    """
    case = whole([*command, out])

    def run() -> float:
        out.unlink(missing_ok=True)
        taken = case.run()
        made.answer = made.answer or written(out)
        return taken

    made = Case(run)
    return made


def written(out: Path) -> list[float]:
    """A few numbers of a file: the first row, one in the middle, the last; and how many there are."""
    import numpy as np

    found = np.load(out) if out.suffix == ".npy" else np.loadtxt(out, delimiter=",", skiprows=1)
    return [float(x) for row in (0, len(found) // 2, -1) for x in found[row]] + [float(found.size)]


if __name__ == "__main__":
    serve({"agrad": agrad, "pyarrow and numpy": by_hand})
