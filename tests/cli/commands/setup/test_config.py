"""config.toml and init.ag: what they may say, who comes before them, and that nothing they say stops anything."""

import subprocess
import sys
import tomllib

import click
import pytest
from screens import Terminal
from thinned import thinned

from agrad.cli.commands.setup import example
from agrad.cli.config_toml import read
from agrad.cli.settings import SETTINGS, find, folder

PROBE = """
import sys
from agrad.cli.main import main
try:
    main()
finally:
    print(*sorted({"agrad.cli.config_toml", "tomllib"} & set(sys.modules)), file=sys.stderr)
"""
HEADING = ["setting", "value", "from"]


@pytest.fixture
def screen(environment, tmp_path):
    """A terminal that tells where its cursor is."""
    told = {name: text for name, text in environment.items() if name != "PROMPT_TOOLKIT_NO_CPR"}
    return lambda *arguments, **size: Terminal(told, *arguments, folder=tmp_path, **size)


@pytest.fixture
def written(environment, tmp_path):
    """Write a file of the configuration folder; its path."""

    def write(name, text):
        path = tmp_path / "agrad" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, "utf-8")
        return path

    return write


@pytest.fixture
def shown(inside):
    """What `agrad config` says of each setting: {name: (value, origin)}."""

    def rows(*options):
        lines = inside(*options, "config")[0].split("\n\n")[0].splitlines()
        assert lines[0].split() == HEADING
        return {name: (value.strip(), origin) for name, value, origin in map(_cells(lines[0]), lines[1:])}

    return rows


def _cells(heading):
    value, origin = heading.index("value"), heading.index("from")
    return lambda line: (line[:value].strip(), line[value:origin], line[origin:])


# Where a setting comes from


def test_without_files_all_is_by_default(shown):
    rows = shown()
    assert list(rows) == list(SETTINGS)
    assert {origin for _, origin in rows.values()} == {"default"}
    assert [
        rows[name][0] for name in ("precision", "color", "ascii", "edit", "pager", "limits.time", "limits.nodes")
    ] == [
        *("10", "auto", "false", "emacs", "true", "none", "10000000"),
    ]


def test_the_example_says_everything_and_nothing_wrong(shown, written):
    text = "\n".join(example())
    path = written("config.toml", text)
    assert (list(read(str(path), SETTINGS).values), read(str(path), SETTINGS).problems) == (list(SETTINGS), [])
    for number, line in enumerate(text.splitlines(), 1):
        if line and not line.startswith("["):
            key, _, value = line.partition("#")[0].partition("=")
            name = next(name for name in SETTINGS if name.rpartition(".")[2] == key.strip())
            value = str(tomllib.loads(f"x = {value}")["x"])
            assert shown()[name][1] == f"config.toml line {number}"
            told = {"True": "true", "False": "false", "1000000.0": "1000000", "10": "10 s"}.get(value, value)
            assert shown()[name][0] == told


@pytest.mark.parametrize(
    ("options", "variables", "text", "value", "origin"),
    [
        ([], {}, "", "auto", "default"),
        ([], {}, 'color = "always"', "always", "config.toml line 1"),
        ([], {"NO_COLOR": "1"}, 'color = "always"', "never", "environment NO_COLOR"),
        ([], {"FORCE_COLOR": "1"}, 'color = "never"', "always", "environment FORCE_COLOR"),
        ([], {"FORCE_COLOR": "0"}, "", "never", "environment FORCE_COLOR"),
        (["--color", "auto"], {"NO_COLOR": "1"}, 'color = "always"', "auto", "option --color"),
        (["--no-init"], {}, 'color = "always"', "auto", "default"),
    ],
)
def test_an_option_comes_before_the_environment_and_that_before_the_file(
    shown, written, environment, options, variables, text, value, origin
):
    written("config.toml", text)
    environment.update(variables)
    assert shown(*options)["color"] == (value, origin)


@pytest.mark.parametrize("pager", ["", "cat"])
def test_a_pager_that_shows_all_at_once_is_none(shown, environment, pager):
    environment["PAGER"] = pager
    assert shown()["pager"] == ("false", "environment PAGER")


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="the system has a folder of its own")
@pytest.mark.parametrize("place", ["", "here"])
def test_a_folder_that_is_not_absolute_is_none(monkeypatch, tmp_path, place):
    monkeypatch.setenv("XDG_CONFIG_HOME", place)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert folder() == str(tmp_path / ".config" / "agrad")


# What the settings do


@pytest.mark.long
def test_limits_are_those_of_a_session_and_can_be_lifted_there(agrad, written):
    written("config.toml", '[limits]\nmemory = "50 MB"\ntime = 60\nnodes = 1000')
    assert agrad("run", "-", given="limit\n")[0].splitlines() == [
        "memory  50 MB for one result",
        "time    60 s for a statement",
        "nodes   1000 that a statement keeps",
    ]
    assert "needs 80 MB; the limit is 50 MB" in agrad("eval", "sum(zeros(1e7))")[1]
    for words in (["run", "-"], ["repl"]):
        assert 'fix: limit memory="1 GB"' in agrad(*words, given="sum(zeros(1e7))")[1]
        assert agrad(*words, given='limit memory="1 GB"\nsum(zeros(1e7))') == ("0\n", "", 0)


@pytest.mark.parametrize("words", [["run", "-"], ["repl"], ["eval", "-e", "while 1: pass"]])
def test_a_limit_of_time_stops_a_statement(agrad, written, words):
    written("config.toml", "limits.time = 0.2")
    _, err, code = agrad(*words, given="while 1: pass")
    assert ("this took longer than 0.2 s, the limit" in err, code) == (True, 124)


def test_the_keys_of_the_prompt(screen, written):
    written("config.toml", 'edit = "vi"')
    with screen() as terminal:
        terminal.wait("agrad>", "vi: insert")
    with screen("repl", "--emacs") as terminal:
        assert "vi:" not in "\n".join(terminal.see("agrad>", "no graph yet"))


# What is wrong in config.toml


@pytest.mark.parametrize(
    ("text", "name", "line"),
    [
        ("# x\n\nprecision = 3", "precision", 3),
        ('s = """\n[limits]\ntime = 1\n"""\nprecision = 3', "precision", 5),
        ("a = [\n  1,\n  [2]\n]\n[limits]\r\ntime = 1\r\n", "limits.time", 6),
        ("[limits]\n# time = 1\n\n'time' = 1", "limits.time", 4),
        ("limits = {time = 1}", "limits.time", 1),
        ("[x]\ntime = 1\n[[y]]\ntime = 1\n[[y]]\n[ limits ]\ntime = 1", "limits.time", 7),
        ("s = 'a\u2028b'\n\"precision\" = 3", "precision", 2),
        ("limits.nodes = 5\nlimits . time = 3", "limits.time", 2),
    ],
)
def test_the_line_of_a_setting(written, text, name, line):
    assert read(str(written("config.toml", text)), SETTINGS).values[name][1] == line


@pytest.mark.parametrize("data", [b"\xff", None])
def test_a_file_that_cannot_be_read(inside, written, data):
    path = written("config.toml", "")
    if data is None:
        path.unlink()
        path.mkdir()
    else:
        path.write_bytes(data)
    out, err, code = inside("eval", "1")
    assert (out, code) == ("1\n", 0)
    assert err.startswith(f"note: cannot read {path}: ")
    assert err.endswith("; the file is ignored\n")


@pytest.mark.long
@pytest.mark.parametrize("words", thinned([["eval", "1"], ["run", "-"], ["repl"], ["config"], ["help", "sin"]], 5))
def test_where_there_is_no_file_nothing_that_reads_one_is_loaded(environment, written, words):
    def loaded():
        command = [sys.executable, "-c", PROBE, *words]
        done = subprocess.run(command, input="", capture_output=True, text=True, env=environment, check=True)
        return done.stderr.split()

    assert loaded() == []
    written("config.toml", "")
    assert loaded() == ["agrad.cli.config_toml", "tomllib"]


# init.ag


@pytest.mark.long
def test_init_ag_is_for_sessions_at_a_terminal_alone(agrad, written):
    written("init.ag", "k = 7\n")
    assert agrad("repl", given="k")[2] == 1
    assert agrad("eval", "k")[2] == 1
    assert agrad("run", "-", given="k")[2] == 1


def test_a_session_begins_with_init_ag(screen, written):
    written("init.ag", 'print "hello"\ndef cube(x) = x**3\n')
    with screen() as terminal:
        terminal.see("agrad>", "no graph yet")
        assert "hello" in terminal.lines()
        assert "27" in terminal.enter("cube(3)", "27")
        terminal.enter("undo", "there is nothing to take back")
        assert "27" in terminal.enter("cube(3)", "27")
    with screen("repl", "--no-init") as terminal:
        terminal.see("agrad>", "no graph yet")
        assert "hello" not in terminal.lines()


def test_an_error_in_init_ag_has_its_place_and_the_session_opens(screen, written):
    path = written("init.ag", "k = 7\nq\nj = 8\n")
    with screen(columns=200) as terminal:
        lines = terminal.see("agrad>", "no graph yet")
        assert f"{path}:2:1: error[name]: q has no value" in lines
        terminal.enter("k*6", "42")


def test_init_ag_cannot_end_the_session(screen, written):
    written("init.ag", "k = 7\nquit\n")
    with screen() as terminal:
        terminal.see("agrad>", "no graph yet")
        terminal.enter("k*6", "42")


def test_init_ag_can_be_interrupted(screen, written):
    path = written("init.ag", 'k = 7\nprint "begun"\nwhile 1: pass\n')
    with screen(columns=200) as terminal:
        terminal.wait("begun")
        terminal.type("\x03")
        terminal.wait(f"note: interrupted: of {path} only the statements before this one have run", "agrad>")
        terminal.enter("k*6", "42")


def test_a_setting_is_found_without_a_command_line(monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    assert click.get_current_context(silent=True) is None
    assert find("color") == ("auto", "default")


def test_a_file_that_nests_too_deeply_is_ignored(inside, written):
    written("config.toml", "a = " + "[" * 5000)
    out, err, code = inside("eval", "1")
    assert (out, code) == ("1\n", 0) and "this is not TOML: it nests too deeply; the file is ignored" in err
