"""Scripts on the subjects of PyTorch's tutorials for beginners run as they are, and print what torch prints."""

import contextlib
import importlib.util
import io

import pytest
from tutorials import SCRIPTS

from agrad.grammar.session.session import Session


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_prints_what_torch_prints(name):
    script, printed = SCRIPTS[name]
    session, lines = Session(), []
    session.run(script, lambda result: lines.append(result.text(session.settings)), is_file=True)
    assert "".join(f"{line}\n" for line in lines) == printed.lstrip("\n")


@pytest.mark.long
@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")
@pytest.mark.parametrize("name", SCRIPTS)
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
    assert lines.getvalue() == printed.lstrip("\n")
