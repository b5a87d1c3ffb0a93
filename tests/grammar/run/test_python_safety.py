"""What a script of Python's reading can reach, and what it can use: nothing outside, within limits."""

import sys
from pathlib import Path
from types import CodeType, FrameType, ModuleType, TracebackType

import pytest
from rows import each

from agrad.engine.errors import AgradError
from agrad.grammar.session.session import Session

START = """class C:
    def f(self, *a): return 1
    def __enter__(self): return self
    def __exit__(self, *a): pass
def f(*a, **k): return 1
def g(): yield 1
"""


TEXT = (Path(__file__).parent / "escapes.txt").read_text("utf-8")
AUDITED = {"open", "os.system", "os.exec", "subprocess.Popen", "socket.connect", "os.listdir", "os.remove"}
OUTSIDE = (CodeType, FrameType, ModuleType, TracebackType)


def rows():
    """The scripts of the file."""
    for chunk in TEXT.split("\n---\n"):
        lines = [line for line in chunk.splitlines() if line and not line.startswith("#")]
        if any(line.startswith(" ") for line in lines):
            yield "\n".join(lines)
        else:
            yield from lines


def run(text):
    """The error with which a script ends, and the names that it leaves."""
    session = Session()
    session.files = False
    with pytest.raises(AgradError) as raised:
        session.run(START + text + "\n", source="escape.py", is_file=True)
    return raised.value, session


@each("text", [*rows()])
def test_no_way_out_is_open(text):
    asked = []
    sys.addaudithook(lambda name, _: asked.append(name) if watching and name in AUDITED else None)
    watching = True
    problem, session = run(text)
    watching = False
    assert problem.message
    assert problem.labels
    assert asked == []
    assert not [name for name, value in session.names.items() if isinstance(value, OUTSIDE)]
