"""A notebook in the kernel: all that its cells show."""

import subprocess
from pathlib import Path

import pytest
from answers import answers
from notebooks import LOOPING, PYTHON, homes, ran

pytestmark = pytest.mark.long

# Cells, each with what it shows.
BEFORE, AFTER_A_RESTART = (
    answers(Path(__file__).with_name(name)) for name in ("cells.txt", "cells_after_a_restart.txt")
)


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    folder = tmp_path_factory.mktemp("jupyter")
    with homes(folder):
        made = subprocess.run(
            [*PYTHON, "kernel", "install", "--prefix", folder], capture_output=True, text=True, check=True
        )
    assert (made.stdout, made.stderr) == (f"installed in {folder}/share/jupyter/kernels/agrad\n", "")
    return folder


def test_a_notebook_with_an_error_an_interruption_and_a_restart(kernels):
    parts = [[*BEFORE], [*AFTER_A_RESTART]]
    assert sum(map(len, parts)) >= 30
    assert any(LOOPING in code for code in parts[0])
    expected = [*BEFORE.items(), *AFTER_A_RESTART.items()]
    for (code, lines), shown in zip(expected, ran("agrad", kernels, parts), strict=True):
        *known, last = lines.split("\n")
        assert shown[: len(known)] == known if last == "…" else "\n".join(shown) == lines, code
