"""`agrad map` and `agrad fit` over files as whole processes, beside what one would write by hand for the same."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from harness import BIN, SCRATCH, Case, Work, serve, whole

WORKS = (
    Work("`agrad map` of a CSV of 1,000,000 rows, to .npy, whole process", "npy", {"pyarrow and numpy": 1.2}, rounds=7),
    Work("the same, to a CSV", "csv", {"pyarrow and numpy": None}, rounds=5),
    Work("`agrad map` of a CSV of 100,000 rows, to a CSV, whole process", "small csv", {"duckdb": 1.0}, rounds=9),
    Work("the same, of Parquet", "small parquet", {"duckdb": 1.0}, rounds=9),
    Work("`agrad map` of Parquet of 1,000,000 rows, to Parquet", "parquet", {"duckdb": 1.0}, rounds=7),
    Work("`agrad fit` of 3 parameters to a CSV of 100,000 points, whole process", "fit", {"curve_fit": 0.8}, rounds=9),
)
ROWS, SMALL = 1_000_000, 100_000
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
BY_DATABASE = """\
import sys
import duckdb
columns = "x**2 + y**3 - sin(x*y) AS value, 2*x - y*cos(x*y) AS by_x, 3*y**2 - x*cos(x*y) AS by_y"
duckdb.sql(f"COPY (SELECT {columns} FROM '{sys.argv[1]}') TO '{sys.argv[2]}'")
"""
MODEL = "a*exp(-b*x) + c"
BY_CURVE_FIT = """\
import sys
import numpy as np
from pyarrow import csv
from scipy.optimize import curve_fit
read = csv.read_csv(sys.argv[1])
x, y = (read[name].to_numpy() for name in ("x", "y"))
print(curve_fit(lambda x, a, b, c: a*np.exp(-b*x) + c, x, y, p0=(1.0, 1.0, 1.0)))
"""


def data(rows: int = ROWS, form: str = "csv", is_fit: bool = False) -> Path:
    """A file, made once: of points anywhere, or near a curve."""
    path = SCRATCH / f"{'curve' if is_fit else 'points'}{rows}.{form}"
    if not path.exists():
        import numpy as np
        import pyarrow as pa
        from pyarrow import csv, parquet

        made = np.random.default_rng(1)
        x, y = made.uniform(0.5, 2.0, rows), made.uniform(0.5, 2.0, rows)
        if is_fit:
            y = 2.5 * np.exp(-1.3 * x) + 0.5 + 0.05 * made.standard_normal(rows)
        part = path.with_suffix(".part")
        (csv.write_csv if form == "csv" else parquet.write_table)(pa.table({"x": x, "y": y}), part)
        part.rename(path)
    return path


def agrad() -> dict[str, Case]:
    """The commands."""

    def mapped(path: Path, to: str) -> Case:
        return afresh([BIN / "agrad", "map", EXPRESSION, path, "--wrt", "x,y", "-o"], SCRATCH / f"ours.{to}")

    fit = [BIN / "agrad", "fit", MODEL, data(SMALL, is_fit=True), "--y", "y", "--over", "a=1,b=1,c=1"]
    return {
        "npy": mapped(data(), "npy"),
        "csv": mapped(data(), "csv"),
        "small csv": mapped(data(SMALL), "csv"),
        "small parquet": mapped(data(SMALL, "parquet"), "parquet"),
        "parquet": mapped(data(form="parquet"), "parquet"),
        "fit": whole(fit),
    }


def by_hand() -> dict[str, Case]:
    """A script of arrays."""
    command = [sys.executable, "-c", BY_HAND, data()]
    return {form: afresh(command, SCRATCH / f"theirs.{form}") for form in ("npy", "csv")}


def by_database() -> dict[str, Case]:
    """A query that has the derivatives by hand."""

    def mapped(rows: int, form: str) -> Case:
        return afresh([sys.executable, "-c", BY_DATABASE, data(rows, form)], SCRATCH / f"theirs.{form}")

    return {
        "small csv": mapped(SMALL, "csv"),
        "small parquet": mapped(SMALL, "parquet"),
        "parquet": mapped(ROWS, "parquet"),
    }


def by_curve_fit() -> dict[str, Case]:
    """A script that fits without derivatives."""
    return {"fit": whole([sys.executable, "-c", BY_CURVE_FIT, data(SMALL, is_fit=True)])}


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

    if out.suffix == ".parquet":
        from pyarrow import parquet

        found = np.column_stack([column.to_numpy() for column in parquet.read_table(out).columns])
    else:
        found = np.load(out) if out.suffix == ".npy" else np.loadtxt(out, delimiter=",", skiprows=1)
    return [float(x) for row in (0, len(found) // 2, -1) for x in found[row]] + [float(found.size)]


if __name__ == "__main__":
    serve({"agrad": agrad, "pyarrow and numpy": by_hand, "duckdb": by_database, "curve_fit": by_curve_fit})
