"""`agrad` without a command: a script by its name, also as a program of its own; and a session that begins with one."""

import os
import subprocess
import sys

import click
import pytest
from thinned import thinned
from workshops import put_command

from agrad.cli.main import COMMANDS, main, root

SCRIPT = '#!/usr/bin/env agrad\nx = 2\nprint "args", args\nx*3\n'


@pytest.fixture
def script(tmp_path):
    for name in ("s.ag", "s", "eval"):
        (tmp_path / name).write_text(SCRIPT, "utf-8")
        (tmp_path / name).chmod(0o755)


@pytest.mark.skipif(os.name == "nt", reason="it is Unix that reads the first line")
def test_a_script_can_be_a_program(environment, tmp_path, script):
    put_command(tmp_path)
    path = {"PATH": f"{tmp_path}:{environment['PATH']}"}
    done = subprocess.run(
        ["./s", "one", "-2"], capture_output=True, text=True, env=environment | path, cwd=tmp_path, check=False
    )
    assert (done.stdout, done.stderr, done.returncode) == ("args ('one', '-2')\n6\n", "", 0)


@pytest.mark.parametrize(
    ("line", "expected"),
    thinned(
        [
            ("agrad <&-", ("", 1)),
            ("agrad run - <&-", ("", 1)),
            ("agrad eval 1 <&-", ("1\n", 0)),
            ("agrad eval 1 >&-", ("", 1)),
            ("agrad help >&-", ("", 1)),
            ("agrad eval q 2>&-", ("", 1)),
            ("agrad eval 1+ 2>&-", ("", 2)),
            ("agrad eval 1 --timeout 9 <&- 2>&-", ("1\n", 0)),
            ("agrad <&- >&- 2>&-", ("", 1)),
            ("agrad lsp <&-", ("", 1)),
        ],
        3,
    ),
)
@pytest.mark.skipif(os.name == "nt", reason="they are for a Unix shell")
def test_what_a_closed_stream_loses_is_an_error(environment, tmp_path, line, expected):
    (tmp_path / "agrad").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m agrad.cli "$@"\n', "utf-8")
    (tmp_path / "agrad").chmod(0o755)
    env = environment | {"PATH": f"{tmp_path}:{environment['PATH']}"}
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, env=env, check=False)
    assert (done.stdout, done.returncode) == expected
    assert "Traceback" not in done.stderr
    if line.endswith("<&-") and done.returncode:
        assert "cannot read <stdin>" in done.stderr


def test_what_escapes_is_told_without_a_traceback(capsys, monkeypatch):
    def broken():
        raise ZeroDivisionError("no such luck")

    monkeypatch.setattr("agrad.cli.main._run", broken)
    with pytest.raises(SystemExit) as caught:
        main()
    out, err = capsys.readouterr()
    assert (out, caught.value.code) == ("", 1)
    assert err.startswith(
        "error[internal]: an error in agrad itself: ZeroDivisionError: no such luck\n  note: raised in "
    )
    assert "Traceback" not in err


def test_the_list_of_commands_has_what_the_help_of_each_begins_with():
    context = click.Context(root)
    made = {name: root.get_command(context, name) for name in COMMANDS}
    assert [name for name, one in made.items() if one.name != name] == []
    assert {name: one.get_short_help_str(1000) for name, one in made.items()} == {
        name: about for name, (_, about) in COMMANDS.items()
    }
