"""Limits of time and memory: the same for every command that computes, wherever they are given."""

import os
import sys
import time

import numpy as np
import pytest

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


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_ends_at_its_timeout_inside_numpy(agrad, folder, command):
    before = sorted(path.name for path in folder.iterdir())
    began = time.monotonic()
    _, err, code = agrad(*COMMANDS[command], "--timeout", "0.5")
    assert code == 124
    assert "error[limit]: " in err
    assert time.monotonic() - began < 20  # a fast machine ends it after some two seconds; it would take minutes
    assert sorted(path.name for path in folder.iterdir()) == before


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_keeps_the_limit_of_time_in_config_toml(agrad, folder, command):
    (folder / "agrad").mkdir()
    (folder / "agrad" / "config.toml").write_text("[limits]\ntime = 0.5\n")
    before = sorted(path.name for path in folder.iterdir())
    _, err, code = agrad(*COMMANDS[command])
    assert code == 124
    assert "error[limit]: " in err
    assert sorted(path.name for path in folder.iterdir()) == before


@pytest.mark.parametrize("command", ["eval", "graph", "check", "run"])
def test_a_timeout_that_is_typed_takes_the_place_of_the_configured_one(agrad, folder, command):
    (folder / "agrad").mkdir()
    (folder / "agrad" / "config.toml").write_text("[limits]\ntime = 0.001\n")
    (folder / "slow.ag").write_text("for i in range(20000): x = i\n")
    words = ["run", "slow.ag"] if command == "run" else [command, "x" + "+x" * 20000, "x=1"]
    _, err, code = agrad(*words)
    assert code == 124
    assert "fix: --timeout 0.01\n" in err
    assert agrad(*words, "--timeout", "60")[2] == 0


@pytest.mark.parametrize("command", ["eval", "graph", "check", "map", "run", "repl"])
def test_every_command_that_computes_has_both_options(inside, command):
    out, _, _ = inside(command, "--help")
    assert "--timeout SECONDS" in out
    assert "--max-memory SIZE" in out


@pytest.mark.parametrize("words", [["graph", "x*zeros(1e8)", "x=1"], ["check", "sum(x*zeros(1e8))", "x=1"]])
def test_max_memory_refuses_what_is_larger(agrad, words):
    _, err, code = agrad(*words, "--max-memory", "500MB")
    assert code == 1
    assert "error[limit]: zeros(1e8) needs 800 MB; the limit is 500 MB" in err
    assert "fix: --max-memory 1GB" in err


@pytest.mark.skipif(not os.path.exists("/dev/zero") or sys.platform == "darwin", reason="needs /dev/zero and limits")
@pytest.mark.parametrize("words", [["run", "/dev/zero"], ["run", "--check", "/dev/zero"], ["eval", "-f", "/dev/zero"]])
def test_a_text_without_an_end_is_out_of_memory_and_no_traceback(agrad, words):
    out, err, code = agrad(*words, "--max-memory", "100MB")
    assert (out, code) == ("", 1)
    assert err.startswith("error[limit]: there is not enough memory for this; the limit is 100 MB")
    assert "  fix: --max-memory 1GB\n" in err


@pytest.mark.skipif(sys.platform == "darwin", reason="the system does not keep this limit")
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
