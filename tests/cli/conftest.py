"""The command as a user calls it: a process of its own."""

import os
import subprocess
import sys

import pytest


@pytest.fixture
def environment(tmp_path):
    """What the process sees: a home of its own, and a terminal that says nothing special of itself."""
    kept = {name: text for name, text in os.environ.items() if name not in ("NO_COLOR", "COLUMNS")}
    home = {name: str(tmp_path) for name in ("HOME", "XDG_CONFIG_HOME", "APPDATA")}
    return kept | home | {"TERM": "xterm", "PYTHONUTF8": "1", "PROMPT_TOOLKIT_NO_CPR": "1"}


@pytest.fixture
def agrad(environment, tmp_path):
    """Run `agrad ARGUMENTS`: (stdout, stderr, exit code)."""

    def run(*arguments, given=""):
        done = subprocess.run(
            [sys.executable, "-m", "agrad.cli", *arguments],
            input=given.encode() if isinstance(given, str) else given,
            capture_output=True,
            env=environment,
            cwd=tmp_path,
            timeout=60,
        )
        return done.stdout.decode(), done.stderr.decode(), done.returncode

    return run
