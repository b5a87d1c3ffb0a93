"""Functions that call themselves without end, in all ways: an error each time, on a small stack of C as well."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from transcript import sections

from agrad.engine.errors import AgradError
from agrad.grammar.session.session import Session

ENDLESS = Path(__file__).with_name("endless.txt")
# Bytes; 8 MB are usual, and in 1 MB the garbage collector of Python 3.13 itself is stopped.
STACK = (1 if sys.version_info < (3, 13) else 2) << 20


def test_a_function_without_end_is_stopped_before_the_stack_of_c_ends():
    resource = pytest.importorskip("resource")
    most = resource.getrlimit(resource.RLIMIT_STACK)[1]
    found = subprocess.run(
        [sys.executable, __file__],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_STACK, (STACK, most)),
    )
    assert found.returncode == 0


if __name__ == "__main__":
    for name, (text,) in sections(ENDLESS).items():
        try:
            Session().run(text)
        except AgradError as error:
            assert error.kind == "limit", name
        else:
            raise AssertionError(name)
