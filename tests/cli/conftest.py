"""The command as a user calls it: a process of its own."""

import io
import os
import subprocess
import sys
from select import select
from threading import Timer

import launch
import pytest

from agrad.cli.main import main


@pytest.fixture
def environment(tmp_path):
    """What the process sees: a home of its own, and a terminal that says nothing special of itself."""
    kept = {name: text for name, text in os.environ.items() if name not in ("NO_COLOR", "COLUMNS", "LINES")}
    home = {name: str(tmp_path) for name in ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "APPDATA")}
    return kept | home | {"TERM": "xterm", "PYTHONUTF8": "1", "PROMPT_TOOLKIT_NO_CPR": "1"}


@pytest.fixture
def agrad(environment, tmp_path):
    """Run `agrad ARGUMENTS`: (stdout, stderr, exit code)."""

    def run(*arguments, given=""):
        done = subprocess.run(
            [*launch.agrad(), *arguments],
            input=given.encode() if isinstance(given, str) else given,
            capture_output=True,
            env=environment,
            cwd=tmp_path,
            timeout=60,
        )
        return done.stdout.decode(), done.stderr.decode(), done.returncode

    return run


@pytest.fixture
def typed(tmp_path, monkeypatch, capsys):
    """Type keys at the prompt, in this process: (stdout, stderr) without the banner.

    Of a list, each part comes when the one before it has been taken.
    """
    from prompt_toolkit.application import Application, create_app_session
    from prompt_toolkit.input import create_pipe_input
    from prompt_toolkit.output import DummyOutput

    from agrad.cli.commands.repl import loop
    from agrad.cli.repl.plain import greeting
    from agrad.cli.repl.prompt import prompted
    from agrad.grammar.session.session import Session

    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("TERM", "xterm")
    redraw = Application._redraw

    def give_at_each_redraw(keyboard, parts):
        def drawn(app, *arguments, **options):
            redraw(app, *arguments, **options)
            if parts and not select([keyboard.fileno()], [], [], 0)[0]:
                keyboard.send_text(parts.pop(0))

        monkeypatch.setattr(Application, "_redraw", drawn)

    def type_keys(keys, vi=False):
        session = Session()
        session.shows = True, True
        with create_pipe_input() as keyboard, create_app_session(input=keyboard, output=DummyOutput()):
            if isinstance(keys, str):
                keyboard.send_text(keys)
            else:
                give_at_each_redraw(keyboard, list(keys))
            nobody = Timer(30, keyboard.close)  # keys that do not end the session end the test, not the patience
            nobody.start()
            try:
                assert loop(session, prompted(session, vi), interactive=True) == 0
            finally:
                nobody.cancel()
        out, err = capsys.readouterr()
        assert out.startswith(greeting())
        return out.removeprefix(f"{greeting()}\n"), err

    return type_keys


@pytest.fixture
def inside(environment, tmp_path, monkeypatch, capsys):
    """The same as `agrad` without a process of its own, for tables of many cases: what they claim needs none."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "environ", environment)
    # A limit on memory would be one for all tests that follow.
    monkeypatch.setattr("agrad.grammar.runtime.budget.limit_memory", lambda *_: None)

    def run(*arguments, given=""):
        monkeypatch.setattr(sys, "argv", ["agrad", *arguments])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given.encode())))
        with pytest.raises(SystemExit) as end:
            main()
        out, err = capsys.readouterr()
        return out, err, int(end.value.code or 0)

    return run
