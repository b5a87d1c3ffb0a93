"""A folder to try commands in, as a reader of the documents would."""

import os
import shlex
import shutil
import sys
from pathlib import Path

import numpy as np
from launch import agrad

EXAMPLES = Path(__file__).parents[2] / "examples"


def put_command(folder):
    """Put a script `agrad` into a folder, to be found on a path."""
    (folder / "agrad").write_text(f'#!/bin/sh\nexec {shlex.join(agrad())} "$@"\n', "utf-8")
    (folder / "agrad").chmod(0o755)


def put_data(folder):
    """Put data into a new folder, in two files: x and y, and the counts n of a decay at the times t."""
    from pyarrow import parquet, table

    folder.mkdir()
    for part in range(2):
        t = np.arange(4000.0) + 4000 * part
        columns = {"x": t + 1, "y": 2 - t, "t": t / 100, "n": 500 * np.exp(-t / 1000) + np.sin(t)}
        parquet.write_table(table(columns), folder / f"{part}.parquet")


def equipped(folder):
    """What a shell needs there: the examples, a command `agrad` on the path, no colour and no settings of a user."""
    shutil.copytree(EXAMPLES, folder / "examples")
    put_command(folder)
    path = f"{folder}{os.pathsep}{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    alone = {"HOME": str(folder), "XDG_CONFIG_HOME": str(folder / "config"), "PATH": path}
    return {"cwd": folder, "env": os.environ | alone}
