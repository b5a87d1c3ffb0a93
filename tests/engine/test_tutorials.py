"""Published tutorials for autograd, nn, optim and NumPy, written again: they print what PyTorch and NumPy print.

Each is a script in `tutorials` or `numpy_programs`, beside a text with what it printed there, with float64 as the default
type. `python tests/support/torch_runner.py torch tests/engine/tutorials/*.py` writes these texts, where PyTorch is.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from agrad.engine.errors import AgradError
from agrad.grammar.session.session import Session

HERE = Path(__file__).parent
RUNNER = HERE.parent / "support" / "torch_runner.py"
FOLDERS = {name: sorted((HERE / name).glob("*.py")) for name in ("tutorials", "numpy_programs")}
SCRIPTS = [path for paths in FOLDERS.values() for path in paths]


def printed(module):
    """What the scripts print in plain Python, with a module in the place of torch."""
    texts = json.dumps([path.read_text("utf-8") for path in SCRIPTS])
    command = [sys.executable, str(RUNNER), module]
    done = subprocess.run(command, input=texts, capture_output=True, text=True, check=True, cwd=HERE)
    return dict(zip(SCRIPTS, json.loads(done.stdout), strict=True))


def wrong(found):
    """The scripts that have printed something else than what is written beside them."""
    return [
        path.stem
        for path, text in found.items()
        if text.rstrip() != path.with_suffix(".txt").read_text("utf-8").rstrip()
    ]


def read(path):
    """What a script prints as `agrad run` reads it, with the error that it ends with."""
    session, shown = Session(), []
    try:
        text = path.read_text("utf-8")
        session.run(text, lambda result: shown.append(result.text(session.settings)), path.name, is_file=True)
    except AgradError as problem:
        shown.append(problem.message)
    return "\n".join(shown)


def test_tutorials_print_what_pytorch_prints_where_agrad_runs_them():
    assert len(FOLDERS["tutorials"]) >= 80
    assert len(FOLDERS["numpy_programs"]) >= 30
    assert wrong({path: read(path) for path in SCRIPTS}) == []


def test_tutorials_print_it_with_agrad_in_the_place_of_torch():
    assert wrong(printed("agrad")) == []


def test_what_is_written_beside_them_is_what_pytorch_prints():
    pytest.importorskip("torch")
    assert wrong(printed("torch")) == []
