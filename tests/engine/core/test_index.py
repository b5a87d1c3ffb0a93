"""The names of the operations are known without their files, which are imported when they are needed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from agrad.engine.core.op import FUNCTIONS, OPS
from agrad.engine.core.tensor import Tensor

ROOT = Path(__file__).parents[3]


def test_the_index_says_which_file_has_which_operation():
    """If this fails: make table."""
    command = [sys.executable, "tests/support/operations_index.py", "--check"]
    assert subprocess.run(command, capture_output=True, text=True, cwd=ROOT).stdout == ""


def test_an_operation_is_imported_when_it_is_asked_for():
    code = """if True:
        import sys
        import agrad.engine as ag
        from agrad.engine.core.op import FUNCTIONS, OPS
        x = ag.tensor([[4.0]])
        found = lambda: sorted(name.split(".")[-1] for name in sys.modules if name.startswith("agrad.engine.ops.linalg."))
        print("cholesky" in OPS, len(FUNCTIONS) > 200, found() == [], callable(ag.Tensor.__matmul__))
        print(x.cholesky().item(), "decomposition" in found())
    """
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.stdout == "True True True True\n2.0 True\n", run.stderr


def test_every_row_is_found_by_its_name():
    for table in (OPS, FUNCTIONS):
        assert all(table[name].name == name for name in table)
        assert table.keys() == table.items().mapping.keys()
    assert FUNCTIONS["argmin"] is not OPS["argmin"]  # of a function, too
    assert FUNCTIONS["argmax"] is OPS["argmax"]
    assert all(callable(getattr(Tensor, f"__{op.operator.method}__")) for op in OPS.values() if op.operator is not None)


def test_what_no_row_has_is_refused():
    assert "nothing" not in OPS
    assert OPS.get("nothing") is None
    with pytest.raises(KeyError):
        OPS["nothing"]
