"""`agrad fit` over the parts of its data: the same bits in one process and on a cluster, whatever happens to it."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from rows import each

pytest.importorskip("scipy")
pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
pytest.importorskip("distributed")

MODEL = ["a*exp(-b*t) + c", "data", "--y", "n", "--sigma", "s", "--over", "a=400,b=0.1,c=1"]
# The sums of products are not accurate enough here: R is computed from the pieces.
STEEP = ["a + b*(t + 1e5) + c*(t + 1e5)**2", "data", "--y", "n", "--over", "a=1,b=1,c=1"]
ROWS = 900


@pytest.fixture
def data(tmp_path):
    """A folder with 21 Parquet files of 3 row groups each."""
    folder = tmp_path / "data"
    folder.mkdir()
    for number in range(21):
        random = np.random.default_rng(number)
        t, s = random.uniform(0, 10, ROWS), random.uniform(0.5, 2, ROWS)
        n = 500 * np.exp(-0.3 * t) + 20 + s * random.normal(size=ROWS)
        pq.write_table(pa.table({"t": t, "n": n, "s": s}), folder / f"p{number:02}.parquet", row_group_size=ROWS // 3)
    return folder


def spoil(path, row):
    """Leave an entry of n empty."""
    table = pq.read_table(path)
    n = table.column("n").to_pylist()
    n[row] = None
    pq.write_table(table.set_column(1, "n", pa.array(n)), path)


class Done:
    """A task that is done, and what a client makes it of."""

    status = "finished"

    def __init__(self, found):
        self.found = found

    def result(self):
        return self.found


class Client:
    """A client that computes what is submitted at once, and counts it."""

    def __init__(self):
        self.keys = []

    def submit(self, function, *given, key):
        self.keys.append(key)
        ready = [[one.result() for one in x] if isinstance(x, list) else getattr(x, "found", x) for x in given]
        return Done(function(*ready))


@each("count", [1, 2, 16, 17, 300])
def test_the_tree_of_tasks_ends_in_one(count):
    from agrad.cli.data.cluster import groups

    size = count
    for level in groups(count):
        assert [place for some in level for place in some] == list(range(size))
        size = len(level)
    assert size == 1


def test_the_page_on_clusters_counts_the_tasks_of_2000_parts():
    from agrad.cli.data.cluster import groups

    levels = [len(level) for level in groups(2000)]
    page = (Path(__file__).parents[4] / "docs" / "clusters.md").read_text("utf-8")
    assert f"| tasks that join sums, level by level | none | {' + '.join(map(str, levels))} |" in page
    assert f"| tasks in all | 2,001 | {1 + 2000 + sum(levels):,} |" in page
    assert f"it passes {len(levels)}\nlevels of tasks" in page


@pytest.mark.parametrize("by_pieces", [False, True])
def test_the_tasks_of_a_step_have_the_sums_of_one_process(data, tmp_path, monkeypatch, by_pieces):
    from agrad.cli.arguments.options import TABLE_OPTIONS
    from agrad.cli.commands.fit import command
    from agrad.cli.data.cluster import Cluster
    from agrad.cli.data.parts import in_files, inputs
    from agrad.cli.data.request import Asked
    from agrad.cli.data.work import FitBench, FitWork
    from agrad.engine.ops.solvers.fitting import Ask, joined

    monkeypatch.chdir(tmp_path)
    start = {"a": "400", "b": "0.1", "c": "1"}
    context = command.make_context("fit", [*MODEL])
    reading = {name: context.params[name] for name in TABLE_OPTIONS}
    ask = Asked({"model": "a*exp(-b*t) + c", "--y": "n", "--sigma": "s"}, False, {}, [*start])
    work = FitWork(ask, reading, "data", inputs("data"), start)
    bench = FitBench(work, 1)
    bench.prepare()
    parts = [part for of_file in in_files(work.files, 1000) for part in of_file]
    assert len(parts) == 63
    bench.find_example(parts)
    asked = Ask(np.array([480.0, 0.2, 3.0]), by_pieces)
    expected = joined(bench.sums(part, asked) for part in parts)
    client = Client()
    found = Cluster(client, Done(work), "run", parts, None)(asked)
    assert found.table.tobytes() == expected.table.tobytes()
    assert vars(found) == {**vars(expected), "table": found.table}
    assert found.count == 21 * ROWS
    assert len(client.keys) == 63 + 4 + 1


def test_fit_says_which_cluster_it_needs(agrad, data):
    _, err, code = agrad("fit", *MODEL, "--workers", "2")
    assert "--workers is for a Dask cluster on this machine" in err
    assert code == 2
    _, err, code = agrad("fit", *MODEL, "--on", "spark")
    assert "--on takes dask, or dask= and the address of a scheduler, and spark is neither" in err
    assert code == 2


@pytest.fixture
def on_dask(environment, tmp_path):
    """Run `agrad fit ARGUMENTS --on dask`, however long that takes: (stdout, stderr, exit code)."""

    def run(*words):
        command = [sys.executable, "-m", "agrad.cli", "fit", *words, "--on", "dask"]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path)
        return done.stdout, done.stderr, done.returncode

    return run


@pytest.mark.long
@pytest.mark.parametrize("words", [MODEL, STEEP, [*MODEL, "--part-size", "4kB"]], ids=["products", "pieces", "groups"])
def test_the_result_has_the_same_bits_whatever_the_number_of_workers(agrad, on_dask, data, words):
    out, err, code = agrad("fit", *words, "--json")
    assert (err, code) == ("", 0)
    assert json.loads(out)["dof"] == 21 * ROWS - 3
    for workers in ("1", "3"):
        assert on_dask(*words, "--json", "--workers", workers) == (out, "", 0)


@pytest.mark.long
def test_the_first_row_that_cannot_be_read_is_told_as_in_one_process(agrad, on_dask, data):
    spoil(data / "p17.parquet", 3)
    spoil(data / "p05.parquet", 700)
    alone = agrad("fit", *MODEL)
    assert alone[1].splitlines()[:2] == [
        "error[file]: column n: the entry is empty",
        "  note: in row 701 of data/p05.parquet",
    ]
    assert on_dask(*MODEL, "--workers", "2") == alone


@pytest.fixture
def held(environment, data, tmp_path):
    """A fit on two workers, one of which waits for the last file: the process, that file, and the worker that waits."""
    for path in data.iterdir():
        table = pq.read_table(path).to_pydict()
        columns = np.column_stack([*table.values()])
        np.savetxt(path.with_suffix(".csv"), columns, header="t,n,s", comments="", delimiter=",")
        path.unlink()
    last = data / "p99.csv"
    os.mkfifo(last)
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    words = [sys.executable, "-m", "agrad.cli", "fit", *MODEL, "--json", "--on", "dask", "--workers", "2"]
    started = {"env": environment | {"TMPDIR": str(temporary)}, "cwd": tmp_path, "start_new_session": True}
    run = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **started)
    try:
        while True:
            assert run.poll() is None, run.communicate()
            try:
                writer = os.open(last, os.O_WRONLY | os.O_NONBLOCK)
                break
            except OSError:  # nobody reads it yet
                time.sleep(0.01)
        yield run, last, reader_of(last, run)
        os.close(writer)
        assert os.listdir(temporary) == []
    finally:
        run.kill()
        run.communicate()


def reader_of(path, run):
    """The process that has opened a file, besides this one."""
    while True:
        assert run.poll() is None, run.communicate()
        for process in filter(str.isdecimal, os.listdir("/proc")):
            try:
                opened = [os.readlink(f"/proc/{process}/fd/{one}") for one in os.listdir(f"/proc/{process}/fd")]
            except OSError:  # it has ended
                continue
            if str(path) in opened and int(process) != os.getpid():
                return int(process)


needs_proc = pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs /proc")


@pytest.mark.long
@needs_proc
def test_a_worker_that_dies_is_survived(agrad, held, data):
    run, last, worker = held
    spare = data / ".spare"
    spare.write_bytes((data / "p00.csv").read_bytes())
    os.replace(spare, last)
    os.kill(worker, signal.SIGKILL)
    out, err = run.communicate()
    assert (err, run.returncode) == ("", 0)
    assert agrad("fit", *MODEL, "--json") == (out, "", 0)


@pytest.mark.long
@needs_proc
def test_control_c_ends_it_with_a_message_and_leaves_nothing(held):
    run, _, worker = held
    os.killpg(run.pid, signal.SIGINT)  # as a terminal does
    out, err = run.communicate()
    assert (out, run.returncode) == ("", 130)
    assert err.splitlines()[0] == "note: stopped: nothing was found"
    while is_running(worker):  # the system takes a moment for a process that was killed
        time.sleep(0.01)


def is_running(process):
    """Whether there is a process that has not ended, though nobody may have asked how."""
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
