"""`agrad map --on dask`: the bytes of one process, whatever happens to the workers; errors as in one process."""

import os
import random
import shlex
import signal
import subprocess
import sys
import time
from functools import partial

import numpy as np
import pytest
from dask_cluster import cluster
from killed import PART, run_with_a_kill, workers_of

from agrad.cli.arguments.options import TABLE_OPTIONS

pytest.importorskip("distributed")
pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

EXPRESSION = "exp(-x**2)*sin(3*y) if x > 0 else (x*y if y > 0 else tanh(x*y))"


def write(folder, rows, files):
    folder.mkdir()
    chance = np.random.default_rng(2)
    for number in range(files):
        columns = {name: chance.normal(size=rows // files) for name in "xy"}
        pq.write_table(pa.table(columns), folder / f"{number:02}.parquet")


def spoil(path, row):
    table = pq.read_table(path)
    x = table.column("x").to_pylist()
    x[row] = None
    pq.write_table(table.set_column(0, "x", pa.array(x)), path)


def results(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name[0] != "_"}


@pytest.fixture
def run(environment, tmp_path):
    """A command as a process of its own, with no limit of time: (stdout, stderr, exit code)."""

    def started(*words):
        words = [sys.executable, "-m", "agrad.cli", *words]
        done = subprocess.run(words, capture_output=True, env=environment, cwd=tmp_path, text=True)
        return done.stdout, done.stderr, done.returncode

    return started


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """A cluster with two workers, whose current folder is not that of any test."""
    with cluster(2, cwd=tmp_path_factory.mktemp("elsewhere")) as found:
        yield found


@pytest.fixture
def work(tmp_path):
    """A bench for parts of the folder `data`, and the parts."""
    from agrad.cli.data.parts import planned
    from agrad.cli.data.request import Asked
    from agrad.cli.data.work import MapBench, MapWork

    def made(expression, *, backend, form="parquet"):
        files = sorted(map(str, (tmp_path / "data").iterdir()))
        ask = Asked({"value": expression}, False, {}, ["x", "y"], {}, 1, False, None, ())
        reading = dict.fromkeys(TABLE_OPTIONS) | {"renamed": ()}
        made = MapWork(
            ask, reading, str(tmp_path / "data"), files, [], form, None, False, False, seed=1, backend=backend
        )
        parts = planned(made.path, files, form, 1e9)
        bench = MapBench(made, 1)
        bench.run(bench.prepare)
        bench.run(bench.find_example)
        return made, parts

    return made


@pytest.mark.parametrize("backend", ["python", "llvm"])
def test_the_order_of_the_parts_does_not_matter_and_each_path_is_compiled_once(work, tmp_path, monkeypatch, backend):
    from agrad.cli.data.work import MapBench

    if backend == "llvm":
        pytest.importorskip("llvmlite")
    write(tmp_path / "data", 12_000, 6)
    request, parts = work(EXPRESSION, backend=backend)
    compiled = []
    if backend == "llvm":
        from agrad.engine.compile.llvm.backend import BACKEND

        make = type(BACKEND).compile
        monkeypatch.setattr(
            type(BACKEND), "compile", lambda self, one, shapes: compiled.append(one) or make(self, one, shapes)
        )
    found = {}
    for order in ("forwards", "backwards", "shuffled"):
        bench = MapBench(request, 1)
        bench.run(bench.prepare)
        chosen = {"forwards": parts, "backwards": parts[::-1], "shuffled": random.Random(3).sample(parts, len(parts))}
        for part in chosen[order]:
            out = tmp_path / order / part.name
            bench.run(partial(bench.compute, part, str(out)))
        found[order] = results(tmp_path / order)
    assert len(found["forwards"]) == 6
    assert found["forwards"] == found["backwards"] == found["shuffled"]
    assert len(compiled) <= 3  # one for each way through the expression, and not one for each of 18 parts


def test_a_worker_refuses_work_of_another_agrad_and_files_that_it_does_not_see(work, tmp_path):
    from dataclasses import replace

    from agrad.cli.data.cluster import compute
    from agrad.engine.errors import AgradError

    write(tmp_path / "data", 100, 1)
    request, (part,) = work("x*y", backend="python")
    path = str(tmp_path / "out/_agrad/00.parquet")  # the name of the folder is that of the run, too
    with pytest.raises(AgradError, match=r"^a Dask worker has agrad .*, and not 9.9.9"):
        compute(replace(request, version="9.9.9"), str(tmp_path), str(tmp_path / "out"), part, path)
    with pytest.raises(AgradError, match=r"^a Dask worker finds no file .*_agrad\.jsonl"):
        compute(request, str(tmp_path), str(tmp_path / "out"), part, path)
    (tmp_path / "out").mkdir()
    (tmp_path / "out/_agrad.jsonl").touch()
    assert compute(request, str(tmp_path), str(tmp_path / "out"), part, path).written == 100


@pytest.mark.long
def test_a_worker_that_is_killed_is_survived_and_the_bytes_are_those_of_one_process(run, environment, tmp_path):
    write(tmp_path / "data", 400_000, 40)
    words = ["map", EXPRESSION, "data", "--wrt", "x,y", "--backend", "llvm"]
    assert run(*words, "-o", "one/") == ("", "", 0)
    for tried in range(5):  # on a busy machine, this process may come too late to kill a worker
        seed = int.from_bytes(os.urandom(3))
        sys.stdout.write(f"seed {seed}\n")
        two = tmp_path / f"two{tried}"
        command = [sys.executable, "-m", "agrad.cli", *words, "-o", f"{two}/", "--on", "dask", "--workers", "2"]
        code, complaints, done = run_with_a_kill(command, two, 40, seed, cwd=tmp_path, env=environment)
        assert (code, complaints) == (0, "")
        assert results(two) == results(tmp_path / "one")
        assert sorted(path.name for path in two.iterdir() if path.name[0] in "._") == ["_agrad.jsonl"]
        if done < 40:
            break
    assert done < 40


@pytest.mark.long
def test_a_cluster_with_an_address_gives_the_same_bytes(run, address, tmp_path):
    write(tmp_path / "data", 20_000, 4)
    random_whole = ["x*rand() + y - mean(y) + k", "data/*.parquet", "--whole", "mean", "-D", "k=rand()"]
    cases = {
        "parquet": [EXPRESSION, "data", "--wrt", "x,y", "--order", "2"],
        "csv": [EXPRESSION, "data/*.parquet", "--keep", "all", "--where", "x > 1", "--to", "csv"],
        "groups": ["-e", "a=x*y", "-e", "b=x/y", "data", "--wrt", "x", "--part-size", "20kB", "--json"],
    }
    for name, words in cases.items():
        assert run("map", *words, "-o", f"{name}-one/") == ("", "", 0)
        assert run("map", *words, "-o", f"{name}-two/", "--on", f"dask={address}") == ("", "", 0)
        assert results(tmp_path / f"{name}-two") == results(tmp_path / f"{name}-one") != {}
    out, err, code = run("map", *random_whole, "-o", "random/", "--on", f"dask={address}")
    assert (out, "are drawn once" in err, code) == ("", True, 0)
    columns = [pq.read_table(tmp_path / folder).to_pydict() for folder in ("data", "random")]
    x, y, value = columns[0]["x"], columns[0]["y"], columns[1]["value"]
    matrix = np.column_stack([x, np.ones(len(x))])
    _, residual, _, _ = np.linalg.lstsq(matrix, np.array(value) - y, rcond=None)
    assert residual[0] < 1e-18  # one number was drawn for all rows and workers


@pytest.mark.long
def test_of_several_bad_rows_the_first_is_told_as_by_one_process(run, address, tmp_path):
    write(tmp_path / "data", 4_000, 8)
    for number, row in ((2, 400), (3, 7), (6, 1)):
        spoil(tmp_path / "data" / f"{number:02}.parquet", row)
    assert run("map", "x", "data", "-o", "one/")[2] == 1
    out, err, code = run("map", "x", "data", "-o", "two/", "--on", f"dask={address}")
    path = tmp_path / "data/02.parquet"
    assert err.splitlines()[:2] == ["error[file]: column x: the entry is empty", f"  note: in row 401 of {path}"]
    assert (out, code, results(tmp_path / "two"), "Traceback" in err) == ("", 1, {}, False)
    fix = next(line for line in err.splitlines() if "fix:" in line).partition("agrad ")[2]
    _, err, code = run(*shlex.split(fix))
    assert (err.partition(";")[0], code) == ("note: 3 of 4000 rows have no results", 0)
    assert run("map", "x", "data", "-o", "whole/", "--on-error", "null")[2] == 0
    assert results(tmp_path / "two") == results(tmp_path / "whole")


@pytest.mark.long
def test_control_c_leaves_no_file_and_the_run_can_be_continued_without_a_cluster(run, environment, tmp_path):
    write(tmp_path / "data", 400_000, 100)
    words = ["map", EXPRESSION, "data", "--wrt", "x,y", "--backend", "python", "-o", "out/"]
    command = [sys.executable, "-m", "agrad.cli", *words, "--on", "dask", "--workers", "2"]
    started = {"cwd": tmp_path, "env": environment | {"TMPDIR": str(tmp_path / "tmp")}, "start_new_session": True}
    (tmp_path / "tmp").mkdir()
    record = tmp_path / "out/_agrad.jsonl"
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, **started) as process:
        while not record.exists() or PART not in record.read_bytes():
            assert process.poll() is None
            time.sleep(0.002)
        workers = workers_of(process.pid)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        _, err = process.communicate()
    count = record.read_bytes().count(PART)
    assert (process.returncode, results(tmp_path / "out"), len(workers)) == (130, {}, 2)
    assert err.splitlines() == [
        f"note: stopped: {count} of 100 parts are done, and kept in out/_agrad",
        f'  fix: agrad map "{EXPRESSION}" data --wrt x,y --backend python -o out/ --on dask --workers 2 --resume',
        "interrupted before the end",
    ]
    assert [*(tmp_path / "out/_agrad").glob(".*")] == []
    assert [*(tmp_path / "tmp").glob("*dask*")] == []
    assert run(*words, "--resume") == ("", "", 0)
    assert run(*words[:-1], "one/") == ("", "", 0)
    assert results(tmp_path / "out") == results(tmp_path / "one")


@pytest.mark.long
@pytest.mark.parametrize(("kind", "has"), [("none", "no agrad"), ("old", "agrad 0.0.9")])
def test_a_worker_without_this_agrad_is_refused(run, tmp_path, kind, has):
    from agrad.cli import __version__

    write(tmp_path / "data", 100, 1)
    with cluster(1, kind, cwd=tmp_path) as address:
        out, err, code = run("map", "x", "data", "-o", "out/", "--on", f"dask={address}")
    first, *rest = err.splitlines()
    assert first.startswith("error[extra]: the Dask worker at ")
    assert first.endswith(f" has {has}, and here is agrad {__version__}")
    assert rest == [f"  fix: in the environment of the worker: pip install agrad=={__version__}"]
    assert (out, code, (tmp_path / "out").exists()) == ("", 1, False)


@pytest.mark.long
def test_a_scheduler_without_workers_is_an_error(monkeypatch, tmp_path):
    from agrad.cli.data import cluster as connection
    from agrad.engine.errors import AgradError

    monkeypatch.setattr(connection, "_PATIENCE", 2.0)
    with cluster(0, cwd=tmp_path) as address:
        with pytest.raises(AgradError) as caught, connection.connect(address):
            pass
        assert caught.value.message == f"the Dask scheduler at {address} has no workers"
