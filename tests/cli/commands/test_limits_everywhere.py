"""Limits of time and memory: the same for every command that computes, wherever they are given."""

import os
import subprocess
import sys

import numpy as np
import pytest
from thinned import thinned

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the system keeps no such limits")

# A second and more inside numpy, in which no signal is heard.
SLOW = 'einsum("ab,cd->", x*ones(700, 700), ones(900, 900))'
COMMANDS = {
    "eval": ["eval", SLOW, "x=1"],
    "graph": ["graph", SLOW, "x=1"],
    "check": ["check", SLOW, "x=1"],
    "map": ["map", SLOW, "rows.csv", "-o", "out.csv"],
    "run": ["run", "slow.ag"],
}


@pytest.fixture
def folder(tmp_path):
    """A folder with the files that COMMANDS read."""
    (tmp_path / "rows.csv").write_text("x\n" + "1\n" * 5)
    (tmp_path / "slow.ag").write_text(f"x = 1\n{SLOW}\n")
    return tmp_path


@pytest.mark.parametrize("command", thinned(COMMANDS, 5))
def test_every_command_ends_at_its_timeout_inside_numpy(agrad, folder, command):
    before = sorted(path.name for path in folder.iterdir())
    _, err, code = agrad(*COMMANDS[command], "--timeout", "0.5")  # it would take minutes, and more than `agrad` waits
    assert code == 124
    assert "error[limit]: " in err
    assert sorted(path.name for path in folder.iterdir()) == before


@pytest.mark.parametrize("command", thinned(COMMANDS, 5))
def test_every_command_keeps_the_limit_of_time_in_config_toml(agrad, folder, command):
    (folder / "agrad").mkdir()
    (folder / "agrad" / "config.toml").write_text("[limits]\ntime = 0.5\n")
    before = sorted(path.name for path in folder.iterdir())
    _, err, code = agrad(*COMMANDS[command])
    assert code == 124
    assert "error[limit]: " in err
    assert sorted(path.name for path in folder.iterdir()) == before


@pytest.mark.long
@pytest.mark.parametrize("command", thinned(["eval", "graph", "check", "run"], 4))
def test_a_timeout_that_is_typed_takes_the_place_of_the_configured_one(agrad, folder, command):
    (folder / "agrad").mkdir()
    (folder / "agrad" / "config.toml").write_text("[limits]\ntime = 0.001\n")
    (folder / "slow.ag").write_text("for i in range(20000): x = i\n")
    words = ["run", "slow.ag"] if command == "run" else [command, "x" + "+x" * 20000, "x=1"]
    _, err, code = agrad(*words)
    assert code == 124
    assert "fix: --timeout 0.01\n" in err
    assert agrad(*words, "--timeout", "60")[2] == 0


@pytest.mark.parametrize("words", [["graph", "x*zeros(1e8)", "x=1"], ["check", "sum(x*zeros(1e8))", "x=1"]])
def test_max_memory_refuses_what_is_larger(agrad, words):
    _, err, code = agrad(*words, "--max-memory", "500MB")
    assert code == 1
    assert "error[limit]: zeros(1e8) needs 800 MB; the limit is 500 MB" in err
    assert "fix: --max-memory 1GB" in err


@pytest.mark.skipif(not os.path.exists("/dev/zero") or sys.platform == "darwin", reason="needs /dev/zero and limits")
@pytest.mark.parametrize(
    "words", thinned([["run", "/dev/zero"], ["run", "--check", "/dev/zero"], ["eval", "-f", "/dev/zero"]], 3)
)
def test_a_text_without_an_end_is_out_of_memory_and_no_traceback(agrad, words):
    out, err, code = agrad(*words, "--max-memory", "100MB")
    assert (out, code) == ("", 1)
    assert err.startswith("error[limit]: there is not enough memory for this; the limit is 100 MB")
    assert "  fix: --max-memory 1GB\n" in err


@pytest.mark.skipif(sys.platform == "darwin", reason="the system does not keep this limit")
@pytest.mark.long
@pytest.mark.parametrize("line", ['x = nosuch + "' + "a" * 10**7 + '"', "(" * 10**6], ids=["text", "brackets"])
def test_a_line_of_megabytes_is_an_error_and_no_traceback(agrad, tmp_path, line):
    (tmp_path / "long.ag").write_text(line)
    out, err, code = agrad("run", "--max-memory", "10MB", "long.ag")
    assert (out, code in (1, 2)) == ("", True)
    assert "error[" in err
    assert "Traceback" not in err
    assert len(err) < 2000


def test_a_column_of_an_array_of_numpy_that_does_not_fit_is_an_error(agrad, tmp_path):
    np.save(tmp_path / "x.npy", np.zeros(10**7))
    _, err, code = agrad("eval", "sum(x)", "x=@x.npy", "--max-memory", "10MB")
    assert (code, "Traceback" in err) == (1, False)
    assert err.startswith("error[limit]: ")


PEAK = """
from agrad.cli.main import main
try:
    main()
finally:
    (peak,) = [line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")]
    open("peak", "w").write(peak)
"""


@pytest.fixture
def peak(environment, tmp_path):
    """The megabytes that a process of `agrad map` takes, its exit code, and its error."""

    def run(*arguments):
        command = [sys.executable, "-c", PEAK, "map", *arguments]
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment, cwd=tmp_path)
        return int((tmp_path / "peak").read_text()) / 1e3, done.returncode, done.stderr.decode()

    return run


needs_status = pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="Linux tells how much memory it was")


@pytest.mark.long
@needs_status
def test_what_map_takes_depends_neither_on_the_rows_nor_on_the_limit(peak, tmp_path):
    (tmp_path / "few.csv").write_text("x,y\n" + "0.123456789,2.5\n" * 300_000)
    (tmp_path / "many.csv").write_text("x,y\n" + "0.123456789,2.5\n" * 900_000)
    few = peak("x*2 + sin(y)", "few.csv", "--max-memory", "10MB")
    for taken in (peak("x*2 + sin(y)", "many.csv", "--max-memory", size) for size in ("10MB", "2GB")):
        assert taken[1:] == few[1:] == (0, "")
        assert taken[0] < min(400, few[0] + 100)


@needs_status
@pytest.mark.long
@pytest.mark.parametrize("rows", [2, 5])
def test_a_table_of_very_many_columns_is_computed_or_is_an_error_in_words(peak, tmp_path, rows):
    columns = 300_000
    names = ",".join(f"c{place}" for place in range(columns))
    (tmp_path / "wide.csv").write_text(f"{names}\n" + (",".join(["1.5"] * columns) + "\n") * rows)
    taken, code, err = peak("c1", "wide.csv", "--keep", "all", "--max-memory", "10MB")
    assert taken < 1300
    assert (code, err) == (0, "") or (code == 1 and err.startswith("error[limit]: "))
