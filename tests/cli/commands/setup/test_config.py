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
from agrad.cli.settings import find, folder
from agrad.cli.settings_table import SETTINGS

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
    assert (list(read(str(path)).values), read(str(path)).problems) == (list(SETTINGS), [])
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


def test_the_paths_of_both_files_and_whether_they_are_there(inside, written, tmp_path):
    written("init.ag", "")
    lines = inside("config")[0].splitlines()
    assert f"{tmp_path}/agrad/config.toml  does not exist" in lines
    assert f"{tmp_path}/agrad/init.ag      exists" in lines
    assert inside("config", "--path") == (f"{tmp_path}/agrad\n", "", 0)


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="the system has a folder of its own")
@pytest.mark.parametrize("place", ["", "here"])
def test_a_folder_that_is_not_absolute_is_none(monkeypatch, tmp_path, place):
    monkeypatch.setenv("XDG_CONFIG_HOME", place)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert folder() == str(tmp_path / ".config" / "agrad")


# What the settings do


def test_precision(inside, written):
    written("config.toml", "precision = 3")
    assert inside("eval", "1/3")[0] == "0.333\n"
    assert inside("eval", "1/3", "--precision", "5")[0] == "0.33333\n"
    assert inside("eval", "1/3", "--no-init")[0] == "0.3333333333\n"
    assert inside("--no-init", "eval", "1/3")[0] == "0.3333333333\n"
    assert inside("run", "-", given="print 1/3")[0] == "0.333\n"
    assert inside("eval", "1/3", "--json")[0] == '{"schema": 1, "value": 0.3333333333333333}\n'
    written("config.toml", 'precision = "full"')
    assert inside("eval", "1/3")[0] == "0.3333333333333333\n"


def test_a_session_without_its_name_heeds_it_too(agrad, written):
    written("config.toml", "precision = 3")
    assert agrad(given="1/3\n") == ("0.333\n", "", 0)
    assert agrad("--no-init", given="1/3\n") == ("0.3333333333\n", "", 0)


def test_color_and_ascii(agrad, written):
    written("config.toml", 'color = "always"\nascii = true')
    assert "\x1b[31m" in agrad("eval", "q")[1]
    assert agrad("eval", "arange(2000)")[0] == "[0, 1, 2, ..., 1997, 1998, 1999]   shape (2000)\n"


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


def test_what_is_wrong_is_told_once_and_the_rest_holds(inside, written):
    path = written("config.toml", "precison = 3\ncolor = true\nascii = true\n")
    out, err, code = inside("eval", "1/3")
    assert (out, code) == ("0.3333333333\n", 0)
    assert err.splitlines() == [
        f"{path}:1:1: note: there is no setting precison; it is ignored",
        "  1 | precison = 3",
        "    | ^^^^^^^^^^^^",
        "  note: 1 more problem: agrad config shows all",
        "  fix: precision = 3",
    ]
    out, err, code = inside("config")
    assert (err.count("note:"), code) == (2, 0)
    assert f'{path}:2:1: note: color must be "auto", "always" or "never"; this value is ignored' in err


@pytest.mark.parametrize(
    ("text", "place", "message", "fix"),
    [
        ("Precision = 3", "1:1", "there is no setting Precision; it is ignored", "precision = 3"),
        ("\nmemory = 3", "2:1", "there is no setting memory; it is ignored", 'memory = 3   below [limits]'),
        ("[limits]\n tme = 3", "2:2", "there is no setting limits.tme; it is ignored", "time = 3"),
        ("colour = 'never'", "1:1", "there is no setting colour; it is ignored", 'color = "never"'),
        ("[limits]\npager = 1", "2:1", "there is no setting limits.pager; it is ignored", "pager = false   above all tables"),
        ("[limit]\ntime = 1", "1:1", "there is no setting limit; it is ignored", f"the settings are {', '.join(SETTINGS)}"),
        ("limits = 3", "1:1", "there is no setting limits; it is ignored", f"the settings are {', '.join(SETTINGS)}"),
        ("precision = 18", "1:1", 'precision must be a number from 1 to 17, or "full"; this value is ignored', "precision = 6"),
        ("precision = true", "1:1", 'precision must be a number from 1 to 17, or "full"; this value is ignored', "precision = 6"),
        ("precision = [1]", "1:1", 'precision must be a number from 1 to 17, or "full"; this value is ignored', "precision = 6"),
        ("ascii = 1 # one", "1:1", "ascii must be true or false; this value is ignored", "ascii = true"),
        ("edit = 'vim'", "1:1", 'edit must be "emacs" or "vi"; this value is ignored', 'edit = "vi"'),
        ("limits.time = nan", "1:1", "limits.time must be a number of seconds above 0; this value is ignored", "time = 10"),
        ("limits = {memory = 'lots'}", "1:1", 'limits.memory must be a size such as "4 GB"; this value is ignored', 'memory = "4 GB"'),
        (f"limits.nodes = {10**400}", "1:1", "limits.nodes must be a number above 0; this value is ignored", "nodes = 1e6"),
        ("limits.time = inf", "1:1", "limits.time must be a number of seconds above 0; this value is ignored", "time = 10"),
        ("a = = 3", "1:5", "this is not TOML: invalid value; the file is ignored", "agrad config   shows an example"),
        ("[limits", "1:8", "this is not TOML: expected ']' at the end of a table declaration; the file is ignored", "agrad config   shows an example"),
        ("a = " + "[" * 5000, "1:", "this is not TOML: it nests too deeply; the file is ignored", "agrad config   shows an example"),
    ],
)  # fmt: skip
def test_a_mistake_has_its_place_and_a_way_out(inside, written, text, place, message, fix):
    path = written("config.toml", text)
    out, err, code = inside("eval", "1")
    assert (out, code) == ("1\n", 0)
    head, *_, last = err.splitlines()
    assert head.startswith(f"{path}:{place}") and head.endswith(f": note: {message}")
    assert last == f"  fix: {fix}"


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
    assert read(str(written("config.toml", text))).values[name][1] == line


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
