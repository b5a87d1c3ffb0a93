"""`agrad map` writes a file whole or not at all, in the time and the memory that it is given."""

import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from thinned import thinned


def test_a_failure_leaves_what_was_there_and_nothing_else(agrad, tmp_path):
    (tmp_path / "bad.csv").write_text("x\n" + "1234567\n" * 400_000 + "no\n")  # more than one piece
    (tmp_path / "out.csv").write_text("old")
    before = sorted(tmp_path.iterdir())
    _, err, code = agrad("map", "x", "bad.csv", "-o", "out.csv")
    assert (err.partition("\n")[0], code) == ('bad.csv:400002:1: error[file]: column x: "no" is not a number', 1)
    assert (tmp_path / "out.csv").read_text() == "old"
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("form", thinned(["csv", "npy", "npz", "parquet"], 4))
def test_a_full_disk_is_told_of_and_leaves_nothing(environment, tmp_path, form):
    resource = pytest.importorskip("resource")
    (tmp_path / "x.csv").write_text("x\n" + "".join(f"{n / 7}\n" for n in range(20000)))
    code = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (4096, {resource.RLIM_INFINITY}))\n"
    code += "from agrad.cli.__main__ import process\nprocess()"
    done = subprocess.run(
        [sys.executable, "-c", code, "map", "x", "x.csv", "-o", f"out.{form}"],
        capture_output=True, env=environment, cwd=tmp_path, timeout=60, text=True,
    )  # fmt: skip
    assert (done.stderr, done.returncode) == (f"error[file]: cannot write out.{form}: file too large\n", 1)
    assert [path.name for path in tmp_path.iterdir()] == ["x.csv"]


@pytest.fixture
def endless(environment, tmp_path):
    """A map under way, whose data never end."""
    code = "import sys, time\nprint('x')\nwhile True: print('1\\n'*100000, flush=True), time.sleep(0.01)"
    data = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def start(*options):
        options = options if "-o" in options else ("-o", "out.csv", *options)
        return subprocess.Popen(
            [sys.executable, "-m", "agrad.cli", "map", "2*x", "-", *options],
            stdin=data.stdout, stderr=subprocess.PIPE, env=environment, cwd=tmp_path, text=True,
        )  # fmt: skip

    yield start
    data.kill()
    data.communicate()


@pytest.mark.long
@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_an_interruption_removes_what_was_half_written_and_says_so(endless, tmp_path, name, code, form):
    process = endless("-o", f"out.{form}")
    until = time.monotonic() + 60
    while not any(path.stat().st_size for path in tmp_path.glob(".*.tmp")):
        assert time.monotonic() < until
        time.sleep(0.01)
    process.send_signal(getattr(signal, name))
    _, err = process.communicate(timeout=60)
    assert (err.lstrip().partition("\n")[0], process.returncode) == (f"note: stopped: out.{form} is not written", code)
    assert "Exception" not in err  # such as one that Python ignores
    assert list(tmp_path.iterdir()) == []


@pytest.mark.long
def test_timeout_ends_it_and_leaves_nothing(endless, tmp_path):
    process = endless("--timeout", "3")
    _, err = process.communicate(timeout=60)
    assert (err.partition("\n")[0], process.returncode) == ("error[limit]: this took longer than 3 s, the limit", 124)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.long
@pytest.mark.parametrize("said", thinned(["x\n", "", "x\n1\n"], 3))
def test_timeout_ends_it_where_nothing_comes_to_be_read(environment, tmp_path, said):
    process = subprocess.Popen(
        [sys.executable, "-m", "agrad.cli", "map", "x", "-", "--timeout", "3", "-o", "out.csv"],
        stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, cwd=tmp_path, text=True,
    )  # fmt: skip
    process.stdin.write(said)
    process.stdin.flush()
    assert process.wait(timeout=100) == 124
    err = process.stderr.read()
    process.communicate()
    assert err == "error[limit]: this took longer than 3 s, the limit\n  1 | x\n    | ^\n"
    assert list(tmp_path.iterdir()) == []


def test_a_pipe_that_closes_ends_it_silently(environment, tmp_path):
    (tmp_path / "x.csv").write_text("x\n" + "1\n" * 100000)
    line = f"{sys.executable} -m agrad.cli map x x.csv | head -2"
    done = subprocess.run(line, shell=True, capture_output=True, env=environment, cwd=tmp_path, timeout=60, text=True)
    assert (done.stdout, done.stderr) == ("value\n1\n", "")


@pytest.mark.long
def test_a_file_larger_than_a_piece_takes_the_memory_of_a_few_pieces(environment, tmp_path):
    pytest.importorskip("resource")
    code = "import resource, sys\nfrom agrad.cli.main import main\ntry: main()\nexcept SystemExit: pass\n"
    code += "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"

    def taken(rows):
        np.save(tmp_path / "x.npy", np.zeros((rows, 2)))
        done = subprocess.run(
            [sys.executable, "-c", code, "map", "c0*c1", "x.npy", "-o", "out.npz", "--backend", "python"],
            capture_output=True, env=environment, cwd=tmp_path, timeout=60, text=True,
        )  # fmt: skip
        return int(done.stdout) * 1024

    few, many = 300_000, 4_000_000
    assert taken(many) - taken(few) < 16 * (many - few) / 2


def test_help_needs_no_numpy(environment):
    code = "import sys\nfrom agrad.cli.main import root\ntry: root(['map', '--help'])\nexcept SystemExit: pass\n"
    code += "sys.exit('numpy' in sys.modules or 'pyarrow' in sys.modules)"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, env=environment, timeout=60).returncode == 0
    )
