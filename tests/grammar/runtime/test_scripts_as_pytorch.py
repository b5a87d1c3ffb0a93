"""Scripts on the subjects of PyTorch's tutorials for beginners run as they are, and print what torch 2.13 prints."""

import contextlib
import importlib.util
import io
from pathlib import Path

import pytest
from rows import each
from sessions import said
from transcript import sections

SCRIPTS = sections(Path(__file__).with_name("tutorials.txt"))


@each("name", SCRIPTS)
def test_a_script_prints_what_torch_prints(name):
    script, printed = SCRIPTS[name]
    assert "".join(f"{line}\n" for line in said(script, is_file=True)) == printed


@pytest.mark.long
@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")
@each("name", SCRIPTS)
def test_torch_prints_this(name):
    torch = pytest.importorskip("torch")
    script, printed = SCRIPTS[name]
    before, lines = torch.get_default_dtype(), io.StringIO()
    torch.set_default_dtype(torch.float64)
    try:
        with contextlib.redirect_stdout(lines):
            exec(compile(script, name, "exec"), {"__name__": name})
    finally:
        torch.set_default_dtype(before)
    assert lines.getvalue() == printed
