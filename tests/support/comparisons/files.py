"""Random files: tables that are right, nearly right, and damaged; archives, scripts and settings."""

from __future__ import annotations

import io
import random
from dataclasses import dataclass
from typing import Any

import numpy as np

SCRAPS = b"\x00|\xff\xfe|\n|\r|\"|,|;|nan|\xc3|1e999|\x1b[31m|'|\\|#|\xef\xbb\xbf".split(b"|")
CELLS = (
    "", "nan", "inf", "-inf", "1e308", "1e999", "0x10", "1_000", "1,5", "NULL", "NA", "None", "true", " 2 ", "2.", ".5", "+1",
    "-0", "1e-400", "é", "e\u0301", "\u00a02", "1 2", "'1'", '"1"', "=1", "٣", "a" * 200_000, "1" * 131_080, "1" + "0" * 400, "--1", "1e", "\t1",
)  # fmt: skip
TITLES = 'x|y|name|z|X|x y|e\u0301|é||1|value|d/dx|pi|a,b|ﬁ| x|x\n2|q"|if'.split("|")


@dataclass
class Table:
    """A file of CSV; `rows`: its x and y, where it is right."""

    data: bytes
    rows: list[tuple[float, float]] | None


def number(dice: random.Random) -> str:
    """A number as people and programs write it."""
    return dice.choice(
        (str(dice.randint(-5, 20)), repr(dice.gauss(0, 3)), f"{dice.random():.3f}", f"{dice.gauss(0, 1):e}", "0")
    )


def table(dice: random.Random) -> Table:
    """A table of columns x, y and name; one of three has something else somewhere."""
    count = dice.choice((0, 1, 2, 3, 10, 40))
    rows = [[number(dice), number(dice), dice.choice(("a", "b c", "é", "", '"q,r"', "7"))] for _ in range(count)]
    right = dice.random() < 0.6
    titles = ["x", "y", "name"]
    if not right:
        for _ in range(dice.choice((0, 1, 1, 2))):
            if rows:
                row = dice.choice(rows)
                row[dice.randrange(len(row))] = dice.choice(CELLS)
        if rows and dice.random() < 0.2:
            row = dice.choice(rows)
            row[:] = dice.choice((row[:2], [*row, "1"], [], [""], [*row, ""]))
        if dice.random() < 0.3:
            titles[dice.randrange(3)] = dice.choice(TITLES)
        if dice.random() < 0.15:
            titles = []
    lines = [titles, *rows] if titles else rows
    end = dice.choice(("\n", "\n", "\r\n"))
    separator = "," if right or dice.random() < 0.9 else dice.choice((";", "\t", " "))
    text = end.join(separator.join(line) for line in lines) + dice.choice((end, end, ""))
    data = (b"\xef\xbb\xbf" if dice.random() < 0.1 else b"") + text.encode()
    if right:
        return Table(data, [(float(row[0]), float(row[1])) for row in rows])
    return Table(damaged(dice, data) if dice.random() < 0.4 else data, None)


def damaged(dice: random.Random, data: bytes) -> bytes:
    """The same with some bytes otherwise, gone, or twice."""
    for _ in range(dice.choice((1, 1, 2, 5))):
        place = dice.randrange(len(data) + 1)
        kind = dice.randrange(5)
        if kind == 0:
            data = data[:place]
        elif kind == 1:
            data = data[:place] + dice.choice(SCRAPS) + data[place:]
        elif kind == 2:
            data = data[:place] + bytes([dice.randrange(256)]) + data[place + 1 :]
        elif kind == 3:
            data = data[:place] + data[place + dice.randrange(20) :]
        else:
            data = data[:place] + data[place // 2 :]
    return data[:1_000_000]


def array(dice: random.Random) -> Any:
    """An array of some type and shape."""
    count = dice.choice((0, 1, 3, 8))
    kind = dice.choice("f8 f8 f4 i4 u1 ? c16 U3 S2 M8[s] f2 >f8 structured matrix scalar object".split())
    if kind == "structured":
        fields = [("x", dice.choice(("f8", "i2", "U2", "?"))), ("y", "f4"), ("name", "U4")][: dice.choice((2, 3))]
        return np.zeros(count, dtype=fields)
    if kind == "matrix":
        return np.arange(3.0 * count).reshape(count, 3)
    if kind == "scalar":
        return np.float64(3)
    if kind == "object":
        return np.array([1.0, "a", None][:count], dtype=object)
    return np.zeros(count).astype(kind) if kind not in ("U3", "S2") else np.full(count, "ab", dtype=kind)


def numpy_file(dice: random.Random) -> bytes:
    """A .npy file."""
    stream = io.BytesIO()
    np.save(stream, array(dice), allow_pickle=True)
    data = stream.getvalue()
    return damaged(dice, data) if dice.random() < 0.5 else data


def numpy_archive(dice: random.Random) -> bytes:
    """A .npz file."""
    stream = io.BytesIO()
    names = dice.sample(("x", "y", "name", "a/b", "../x", "é", "x.npy"), dice.randint(0, 3))
    dice.choice((np.savez, np.savez_compressed))(stream, **{name: array(dice) for name in names})
    data = stream.getvalue()
    return damaged(dice, data) if dice.random() < 0.5 else data


def parquet_file(dice: random.Random) -> bytes:
    """A .parquet file; without pyarrow, what is none."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        return b"PAR1" + bytes(dice.randrange(256) for _ in range(40)) + b"PAR1"
    count = dice.choice((0, 1, 3))
    kinds = {
        "float": pa.float64(), "small": pa.float32(), "whole": pa.int64(), "text": pa.string(), "truth": pa.bool_(),
        "days": pa.date32(), "time": pa.timestamp("us", "Europe/Berlin"), "bytes": pa.binary(), "null": pa.null(),
        "list": pa.list_(pa.float64()), "money": pa.decimal128(9, 2), "struct": pa.struct([("a", pa.int8())]),
        "dictionary": pa.dictionary(pa.int8(), pa.string()), "unsigned": pa.uint64(), "half": pa.float16(),
    }  # fmt: skip
    columns = {"x": "float", "y": dice.choice(list(kinds)), "name": dice.choice(list(kinds))}
    made = pa.table({name: pa.nulls(count, kinds[kind]) for name, kind in columns.items()})
    if dice.random() < 0.7:
        made = made.set_column(0, "x", pa.array([float(i) for i in range(count)], pa.float64()))
    stream = io.BytesIO()
    pq.write_table(made, stream, compression=dice.choice(("NONE", "snappy", "zstd")))
    data = stream.getvalue()
    return damaged(dice, data) if dice.random() < 0.4 else data


def configuration(dice: random.Random) -> bytes:
    """Settings, of which some are right."""
    lines = dice.sample(
        (
            "precision = 4", "precision = -1", 'color = "never"', "color = 3", "[limits]\ntime = 5", "[limits]\nmemory = '1GB'",
            "[limits]\ntime = -1", "[limits]\nnodes = 'a'", "history = 10", "history = 'no/such'", "nosuch = 1", "[nosuch]\na = 1",
            "a = [1, 2", "= 3", "precision = 4\nprecision = 5", "\x00", "limits = 3", "vi = true", "vi = 1", "# nothing", "x.y.z = 1",
        ),
        dice.randint(0, 3),
    )  # fmt: skip
    data = "\n".join(lines).encode()
    return damaged(dice, data) if dice.random() < 0.3 and data else data
