"""Notebooks that are run in a kernel, through nbclient."""

import os
import re
import sys
from contextlib import contextmanager
from unittest.mock import patch

import nbformat
from jupyter_core.utils import run_sync
from nbclient import NotebookClient

_COLOURS = re.compile(r"\x1b\[[\d;]*m")
LOOPING = "looping"  # what a cell prints before a loop without an end


class _Client(NotebookClient):
    """Interrupts a cell as soon as it has printed LOOPING."""

    def output(self, outs, msg, display_id, cell_index):
        if msg["msg_type"] == "stream" and msg["content"]["text"].strip() == LOOPING:
            run_sync(self.km.interrupt_kernel)()
        return super().output(outs, msg, display_id, cell_index)


@contextmanager
def homes(folder):
    """An environment in which Jupyter and IPython find nothing but what is in a folder."""
    places = {"JUPYTER_PATH": "share/jupyter", "IPYTHONDIR": "ipython", "JUPYTER_RUNTIME_DIR": "run", "HOME": "."}
    with patch.dict(os.environ, {name: str(folder / place) for name, place in places.items()}):
        yield


def ran(name, folder, parts):
    """The outputs of cells, each as a list of lines; between two parts, the kernel is restarted."""
    cells = [nbformat.v4.new_code_cell(code) for part in parts for code in part]
    notebook = nbformat.v4.new_notebook(cells=cells)
    client = _Client(
        notebook, kernel_name=name, allow_errors=True, timeout=120, resources={"metadata": {"path": str(folder)}}
    )
    starts = {sum(map(len, parts[:number])) for number in range(1, len(parts))}
    with homes(folder), client.setup_kernel():
        for place, cell in enumerate(cells):
            if place in starts:
                run_sync(client.km.restart_kernel)()
                run_sync(client.kc.wait_for_ready)(timeout=60)
            client.execute_cell(cell, place)
    return [[line for output in cell.outputs for line in told(output)] for cell in cells]


def told(output):
    """An output in lines: what kind it is, and what a person sees."""
    if output.output_type == "stream":
        return [f"{output.name}: {line}" for line in plain(output.text).rstrip("\n").split("\n")]
    if output.output_type == "error":
        return [f"{output.ename}!", *(line for part in output.traceback for line in plain(part).split("\n"))]
    others = sorted(output.data.keys() - {"text/plain"})
    return [*(f"({kind})" for kind in others), *output.data["text/plain"].split("\n")]


def plain(text):
    return _COLOURS.sub("", text)


PYTHON = [sys.executable, "-m", "agrad.cli"]
