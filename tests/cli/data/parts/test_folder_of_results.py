"""`agrad map` into a folder: a file for each file of the input, all of them or none, and what was interrupted goes on."""

import json
import os
import signal
import subprocess
import sys
import time
from unittest.mock import Mock

import numpy as np
import pytest
from rows import each

from agrad.cli.data import parts

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

EXPRESSION = "exp(-x**2)*sin(y) if x > 0 else x*y"


@pytest.fixture
def data(tmp_path):
    """A folder with three Parquet files of 4 row groups each."""
    random = np.random.default_rng(5)
    folder = tmp_path / "data"
    folder.mkdir()
    for number in range(3):
        rows = 2000 + number
        columns = {"x": random.normal(size=rows), "y": random.normal(size=rows), "n": [f"r{n}" for n in range(rows)]}
        pq.write_table(pa.table(columns), folder / f"p{number}.parquet", row_group_size=600)
    return folder


def files(folder):
    """The files that programs which read a folder find in it."""
    found = [path.relative_to(folder) for path in folder.rglob("*") if path.is_file()]
    return {
        path.as_posix(): (folder / path).read_bytes() for path in found if not any(x[0] in "._" for x in path.parts)
    }


def spoil(path, row):
    """Leave an entry of x empty."""
    table = pq.read_table(path)
    x = table.column("x").to_pylist()
    x[row] = None
    pq.write_table(table.set_column(0, "x", pa.array(x)), path, row_group_size=600)


def test_each_file_has_its_own_with_the_rows_that_one_output_has(agrad, data, tmp_path):
    assert agrad("map", EXPRESSION, "data", "--wrt", "x,y", "-o", "out/") == ("", "", 0)
    assert agrad("map", EXPRESSION, "data", "--wrt", "x,y", "-o", "all.parquet") == ("", "", 0)
    parts = [pq.read_table(tmp_path / "out" / f"p{number}.parquet") for number in range(3)]
    assert [part.num_rows for part in parts] == [2000, 2001, 2002]
    assert pa.concat_tables(parts).equals(pq.read_table(tmp_path / "all.parquet"))
    assert sorted(os.listdir(tmp_path / "out")) == ["_agrad.jsonl", "p0.parquet", "p1.parquet", "p2.parquet"]


@pytest.mark.long
def test_the_names_are_those_of_the_input_below_its_folder(agrad, tmp_path):
    for folder in ("year=2023", "year=2024"):
        (tmp_path / "in" / folder).mkdir(parents=True)
        (tmp_path / "in" / folder / "a.b.csv").write_text("x\n1\n2\n")
    assert agrad("map", "x*year", "in", "-o", "out/", "--json") == ("", "", 0)
    assert sorted(files(tmp_path / "out")) == ["year=2023/a.b.jsonl", "year=2024/a.b.jsonl"]
    assert '"value": 4048.0' in (tmp_path / "out/year=2024/a.b.jsonl").read_text()
    assert agrad("map", "x", "in/*/*.csv", "-o", "two/", "--to", "npy") == ("", "", 0)
    assert np.load(tmp_path / "two/year=2024/a.b.npy").tolist() == [[1.0], [2.0]]


def test_large_parquet_files_are_divided_at_their_row_groups(agrad, data, tmp_path):
    assert agrad("map", EXPRESSION, "data", "--keep", "n", "-o", "all.csv")[2] == 0
    assert agrad("map", EXPRESSION, "data", "--keep", "n", "-o", "out/", "--to", "csv", "--part-size", "1kB")[2] == 0
    names = sorted(files(tmp_path / "out"))
    assert names == [f"p{file}-{part}.csv" for file in range(3) for part in range(4)]
    texts = [(tmp_path / "out" / name).read_text().partition("\n") for name in names]
    assert {head for head, _, _ in texts} == {"n,value"}
    assert "n,value\n" + "".join(text for _, _, text in texts) == (tmp_path / "all.csv").read_text()


def test_an_error_in_a_row_group_names_the_row_of_the_file(agrad, data):
    spoil(data / "p1.parquet", 1500)
    _, err, code = agrad("map", "x", "data", "-o", "out/", "--part-size", "1kB")
    assert err.splitlines()[:2] == [
        "error[file]: column x: the entry is empty",
        "  note: in row 1501 of data/p1.parquet",
    ]
    assert code == 1


def test_rows_that_a_condition_leaves_out_keep_the_types_of_the_columns(agrad, data, tmp_path):
    assert agrad("map", "x", "data", "--keep", "n", "--where", "x > 100", "-o", "out/") == ("", "", 0)
    part = pq.read_table(tmp_path / "out/p0.parquet")
    assert (part.num_rows, [str(kind) for kind in part.schema.types]) == (0, ["string", "double"])


def test_a_bad_row_stops_the_run_and_the_command_that_is_advised_continues_it(agrad, data, tmp_path):
    spoil(data / "p1.parquet", 7)
    out, err, code = agrad("map", EXPRESSION, "data", "-o", "out/")
    assert (out, code) == ("", 1)
    assert err.splitlines() == [
        "error[file]: column x: the entry is empty",
        "  note: in row 8 of data/p1.parquet",
        "  note: 1 of 3 parts are done, and kept in out/_agrad: --resume continues",
        f'  fix: go on without such rows: agrad map "{EXPRESSION}" data -o out/ --resume --on-error null',
    ]
    assert files(tmp_path / "out") == {}
    assert os.listdir(tmp_path / "out/_agrad") == ["p0.parquet"]
    kept = (tmp_path / "out/_agrad/p0.parquet").stat()
    out, err, code = agrad("map", EXPRESSION, "data", "-o", "out/", "--resume", "--on-error", "null")
    assert err.startswith("note: 1 of 6003 rows has no results; the first: column x: the entry is empty\n")
    assert (out, code) == ("", 0)
    assert (tmp_path / "out/p0.parquet").stat().st_ino == kept.st_ino
    assert agrad("map", EXPRESSION, "data", "-o", "whole/", "--on-error", "null")[2] == 0
    assert files(tmp_path / "out") == files(tmp_path / "whole")


@pytest.mark.long
def test_parts_with_rows_that_failed_are_computed_again_where_these_are_not_tolerated(agrad, data, tmp_path):
    spoil(data / "p0.parquet", 7)
    pq.write_table(pa.table({"x": ["a"], "y": ["b"], "n": ["c"]}), data / "p2.parquet")
    assert agrad("map", "x", "data", "-o", "out/", "--on-error", "null")[2] == 1
    assert sorted(os.listdir(tmp_path / "out/_agrad")) == ["p0.parquet", "p1.parquet"]
    _, err, code = agrad("map", "x", "data", "-o", "out/", "--resume")
    assert (err.splitlines()[1], code) == ("  note: in row 8 of data/p0.parquet", 1)


@pytest.mark.long
def test_a_failure_before_any_part_is_done_leaves_nothing(agrad, data, tmp_path):
    spoil(data / "p0.parquet", 7)
    assert agrad("map", "x", "data", "-o", "out/")[2] == 1
    assert agrad("map", "z", "data", "-o", "out/")[2] == 1
    (tmp_path / "mine").mkdir()
    assert agrad("map", "x", "data", "-o", "mine")[2] == 1
    assert sorted(os.listdir(tmp_path)) == ["data", "mine"]
    assert os.listdir(tmp_path / "mine") == []


@pytest.mark.long
def test_an_expression_without_values_is_an_error_only_if_no_part_has_some(agrad, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in/a.csv").write_text("x\n" + "1\n" * 1500)
    (tmp_path / "in/b.csv").write_text("x\n1\n")
    words = ["map", "inv([[x, 1], [1, 1]])[0, 0]", "in", "--on-error", "null", "-o", "out/"]
    _, err, code = agrad(*words)
    assert (err.partition("\n")[0], code) == ("error[domain]: inv of shape (2, 2): singular matrix", 1)
    (tmp_path / "in/b.csv").write_text("x\n2\n")
    _, err, code = agrad(*[word.replace("out/", "other/") for word in words])
    assert (err.partition(";")[0], code) == ("note: 1500 of 1501 rows have no results", 0)


@pytest.fixture
def interrupted(agrad, data):
    """A run of which two of three parts are done: its words."""
    words = ["map", EXPRESSION, "data", "--wrt", "x", "-o", "out/"]
    table = pq.read_table(data / "p2.parquet")
    spoil(data / "p2.parquet", 3)
    stat = (data / "p2.parquet").stat()
    assert agrad(*words)[2] == 1
    pq.write_table(table, data / "p2.parquet", row_group_size=600)
    record = data.parent / "out/_agrad.jsonl"
    lines = record.read_text().splitlines()
    head = json.loads(lines[0])
    now = (data / "p2.parquet").stat()
    head["inputs"][[*head["inputs"]][2]] = [now.st_size, now.st_mtime_ns]  # as if it had been so from the beginning
    assert stat.st_mtime_ns != now.st_mtime_ns
    record.write_text("\n".join([json.dumps(head), *lines[1:]]) + "\n")
    return words


def test_an_interrupted_run_is_refused_without_resume_and_continued_with_it(agrad, interrupted, tmp_path):
    _, err, code = agrad(*interrupted)
    assert err == (
        "error[file]: out/ has 2 parts of a run that was interrupted\n"
        "  fix: --resume continues it\n  fix: or name a new folder\n"
    )
    assert code == 1
    assert agrad(*interrupted, "--resume") == ("", "", 0)
    assert agrad(*interrupted[:-1], "again/") == ("", "", 0)
    assert files(tmp_path / "out") == files(tmp_path / "again")
    assert agrad(*interrupted, "--resume") == ("", "note: out/ has all 3 parts: nothing is left to do\n", 0)
    assert agrad(*interrupted)[1].startswith("error[file]: out/ has the results of an earlier run\n")


def test_a_part_that_was_removed_or_cut_off_is_computed_again(agrad, interrupted, tmp_path):
    (tmp_path / "out/_agrad/p0.parquet").unlink()
    (tmp_path / "out/_agrad/p1.parquet").write_bytes(b"PAR1")
    (tmp_path / "out/_agrad/.p1.parquet.agrad-0123456789ab.tmp").write_bytes(b"PAR1")  # of a killed process
    with open(tmp_path / "out/_agrad.jsonl", "a") as record:
        record.write('{"part": "p2.par')  # the machine went down in the middle of a line
    assert agrad(*interrupted, "--resume") == ("", "", 0)
    assert agrad(*interrupted[:-1], "again/") == ("", "", 0)
    assert files(tmp_path / "out") == files(tmp_path / "again")
    assert not (tmp_path / "out/_agrad").exists()


def test_a_request_with_other_files_is_not_taken_for_the_interrupted_one(agrad, interrupted, data, tmp_path):
    def refused():
        return agrad(*interrupted, "--resume")[1].partition("\n")[0].partition("request: ")[2]

    stat = (data / "p1.parquet").stat()
    os.utime(data / "p1.parquet", ns=(stat.st_atime_ns, stat.st_mtime_ns + 1))
    assert refused() == f"{data / 'p1.parquet'} has changed since"
    os.utime(data / "p1.parquet", ns=(stat.st_atime_ns, stat.st_mtime_ns))
    (data / "p3.parquet").write_bytes((data / "p0.parquet").read_bytes())
    assert refused() == f"{data / 'p3.parquet'} is new"
    (data / "p3.parquet").unlink()
    (data / "p0.parquet").rename(tmp_path / "p0.parquet")
    assert refused() == f"{data / 'p0.parquet'} was read, and is not there any more"


def test_random_numbers_and_whole_columns_are_the_same_after_an_interruption(agrad, tmp_path):
    (tmp_path / "in").mkdir()
    for name in "abc":
        (tmp_path / "in" / f"{name}.csv").write_text("x\n" + "".join(f"{n}\n" for n in range(10)))
    words = ["map", "x + rand() + k - mean(x)", "in", "--whole", "mean", "-D", "k=rand()", "-o", "out/"]
    told = "note: the random numbers of x + rand() + k - mean(x) are drawn once: they are the same in every row\n"
    assert agrad(*words) == ("", told, 0)
    before = files(tmp_path / "out")
    assert len({*before.values()}) == 1  # one number for all rows
    (tmp_path / "out/b.csv").unlink()
    assert agrad(*words, "--resume") == ("", told, 0)
    assert files(tmp_path / "out") == before


def test_a_file_that_appears_under_the_name_of_a_part_is_not_overwritten(agrad, interrupted, tmp_path):
    (tmp_path / "out/p1.parquet").write_text("mine")
    _, err, code = agrad(*interrupted, "--resume")
    assert err.startswith("error[file]: out/p1.parquet was made while its results were computed, and is another file\n")
    assert (code, (tmp_path / "out/p1.parquet").read_text()) == (1, "mine")
    (tmp_path / "out/p1.parquet").unlink()
    assert agrad(*interrupted, "--resume") == ("", "", 0)


@pytest.fixture
def slow(environment, tmp_path):
    """A run over many files, interrupted after some parts by a signal: (exit code, stderr, names of parts kept)."""
    (tmp_path / "in").mkdir()
    for number in range(400):
        (tmp_path / "in" / f"{number:03}.csv").write_text("x\n" + "".join(f"{n}\n" for n in range(500)))

    def run(name, *more):
        words = [sys.executable, "-m", "agrad.cli", "map", "sin(x)", "in", "-o", "out/", *more]
        process = subprocess.Popen(words, stderr=subprocess.PIPE, env=environment, cwd=tmp_path, text=True)
        until = time.monotonic() + 60
        record = tmp_path / "out/_agrad.jsonl"
        while not record.exists() or b'"part":' not in record.read_bytes():
            assert process.poll() is None
            assert time.monotonic() < until
            time.sleep(0.001)
        process.send_signal(getattr(signal, name))
        err = process.communicate()[1]
        return process.returncode, err, sorted(path.name for path in (tmp_path / "out/_agrad").glob("*.csv"))

    return run


@pytest.mark.long
@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGKILL", -9)])
def test_an_interruption_leaves_no_file_under_its_name_and_says_how_to_go_on(agrad, slow, tmp_path, name, code):
    found, err, kept = slow(name)
    assert (found, files(tmp_path / "out")) == (code, {})
    assert 0 < len(kept) < 400
    if name != "SIGKILL":
        count = len((tmp_path / "out/_agrad.jsonl").read_text().splitlines()) - 1
        assert err.splitlines()[:2] == [
            f"note: stopped: {count} of 400 parts are done, and kept in out/_agrad",
            '  fix: agrad map "sin(x)" in -o out/ --resume',
        ]
        assert [path for path in (tmp_path / "out/_agrad").iterdir() if path.name[0] == "."] == []
    assert agrad("map", "sin(x)", "in", "-o", "out/", "--resume") == ("", "", 0)
    assert len(files(tmp_path / "out")) == 400
    assert len({*files(tmp_path / "out").values()}) == 1
    assert sorted(path.name for path in (tmp_path / "out").iterdir() if path.suffix != ".csv") == ["_agrad.jsonl"]


def test_two_processes_do_not_write_to_one_folder(agrad, data, tmp_path):
    fcntl = pytest.importorskip("fcntl")
    (tmp_path / "out").mkdir()
    with open(tmp_path / "out/_agrad.jsonl", "ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        _, err, code = agrad("map", "x", "data", "-o", "out/", "--resume")
    assert (err.partition("\n")[0], code) == ("error[file]: another agrad is writing to out/", 1)


def test_numbers_of_parts_have_as_many_digits_as_the_last(tmp_path):
    for count, last in ((10, "a-9.csv"), (11, "a-10.csv"), (101, "a-100.csv")):
        table = pa.table({"x": np.arange(float(count))})
        pq.write_table(table, tmp_path / "a.parquet", row_group_size=1)
        found = [part.name for part in parts.planned(str(tmp_path), [str(tmp_path / "a.parquet")], "csv", 1)]
        assert len(found) == count and found[-1] == last and found == sorted(found)


@each(
    "most, ends", [(799, [1, 2, 3, 4]), (800, [1, 2, 3, 4]), (801, [2, 4]), (1600, [2, 4]), (1601, [3, 4]), (3200, [4])]
)
def test_a_part_ends_with_the_row_group_that_fills_it(monkeypatch, most, ends):
    table = Mock(row_groups=lambda: [(100, 800)] * 4)
    monkeypatch.setattr(parts, "open_table", lambda file: table)
    assert [end for (_, end), _ in parts._groups("a.parquet", most)] == ends


@each(
    "sizes, most, ends, names",
    [
        ([4] * 4, 8, [2, 4], ["t-0.csv", "t-1.csv"]),  # so many bytes are enough
        ([4] * 10, 4, list(range(1, 11)), [f"t-{place}.csv" for place in range(10)]),
        ([4] * 11, 4, list(range(1, 12)), [f"t-{place:02}.csv" for place in range(11)]),
        ([3, 3, 3], 4, [2, 3], ["t-0.csv", "t-1.csv"]),
    ],
)
def test_row_groups_are_joined_up_to_a_size_and_numbered_as_widely_as_the_last(
    sizes, most, ends, names, monkeypatch, tmp_path
):
    file = tmp_path / "t.parquet"
    file.write_bytes(b" " * sum(sizes))
    table = Mock(row_groups=lambda: [(1, size) for size in sizes])
    monkeypatch.setattr(parts, "open_table", lambda path: table)
    found = parts.planned(str(tmp_path), [str(file)], "csv", most)
    assert [(part.groups[1], part.name) for part in found] == list(zip(ends, names, strict=True))
