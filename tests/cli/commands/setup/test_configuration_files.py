"""What is found where the user's files belong, and is no ordinary file, neither stops nor hangs a command."""

import os
import stat
import subprocess
import sys

import launch
import pytest
from screens import Terminal
from thinned import thinned

KINDS = ["a pipe", "a folder", "a device", "a link to nothing", "not readable"]


def put(path, kind):
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind == "a pipe":
        os.mkfifo(path)
    elif kind == "a folder":
        path.mkdir()
    elif kind == "not readable":
        path.write_bytes(b"\xff\xff")
    else:
        path.symlink_to("/dev/zero" if kind == "a device" else "/nowhere/at/all")


@pytest.mark.parametrize("kind", KINDS)
def test_a_configuration_that_is_no_file_is_told_of_and_stops_nothing(agrad, tmp_path, kind):
    put(tmp_path / "agrad" / "config.toml", kind)
    out, err, code = agrad("eval", "1+1")
    assert (out, code) == ("2\n", 0)
    assert "Traceback" not in err and ("config.toml" in err) == (kind != "a link to nothing")


@pytest.mark.long
@pytest.mark.parametrize("name", ["history", "init.ag", "sessions", "sessions/20200101-000000-1.jsonl"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_session_opens_whatever_stands_in_its_folder(environment, tmp_path, name, kind):
    put(tmp_path / "agrad" / name, kind)
    with Terminal(environment, folder=tmp_path) as terminal:
        terminal.see("agrad>")
        terminal.type("1+1\r")
        terminal.wait("agrad> 1+1\n", "\n2\nagrad>")
        assert "Traceback" not in "\n".join(terminal.lines())


@pytest.mark.parametrize("name", ["history", "sessions"])
def test_what_a_session_keeps_is_for_its_owner_alone(environment, tmp_path, name):
    program = (
        "import os; os.umask(0)\n"
        "from agrad.cli.repl.editor import history; history()\n"
        "from agrad.cli.repl.crash_log import CrashLog, _created, folder; _created(folder() / 'a.jsonl')\n"
    )
    environment = environment | {"XDG_STATE_HOME": str(tmp_path / "new" / "state")}
    subprocess.run([sys.executable, "-c", program], env=environment, check=True)
    for place in [*(tmp_path / "new").rglob("*"), tmp_path / "new"]:
        assert stat.S_IMODE(place.stat().st_mode) == (0o700 if place.is_dir() else 0o600), place


@pytest.mark.long
@pytest.mark.parametrize("locale", thinned(["POSIX", "C"], 2))
def test_words_beyond_ascii_are_read_in_any_locale(environment, tmp_path, locale):
    environment = environment | {"LC_ALL": locale, "PYTHONUTF8": "0"}
    (tmp_path / "é.csv").write_text("x\n1\n2\n")

    def said(*arguments):
        command = [*launch.agrad(), *arguments]
        return subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True).stdout

    assert said("eval", 'f"{é} é"', "é=2") == rb"2 \xe9" + b"\n"
    assert said("eval", "sum(x)", "x=@é.csv:x") == b"3\n"
    assert said("map", "x", "é.csv") == b"value\n1\n2\n"
