"""`export`: a value or a function of a session as source code."""

import pytest
from sessions import said

from agrad.engine.errors import AgradError
from agrad.grammar.session.session import Session

START = "def f(x, y) = x**2*sin(y)\nvar a = 2; var v = [1, 2]\nd = a*sum(v**2); s = sum(v); p = 3.0; c = d.detach()\n"


@pytest.fixture
def session(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = Session()
    made.run(START)
    return made


def function(path, name):
    names = {}
    exec(path.read_text("utf-8"), names)
    return names[name]


def test_a_value_is_a_function_of_its_leaves(session, tmp_path):
    assert said('export d to "d.py"', session) == ["wrote d.py"]
    assert function(tmp_path / "d.py", "d")(2.0, [1.0, 2.0]) == (10.0, (5.0, [4.0, 8.0]))
    assert (tmp_path / "d.py").read_text("utf-8").startswith("# d = a*sum(v**2)\n# v: an array of shape (2)\n")
    session.run('export s to "s.py"')
    assert function(tmp_path / "s.py", "s")([1.0, 2.0]) == (3.0, ([1.0, 1.0],))


def test_a_function_of_numbers_keeps_its_arguments(session, tmp_path):
    session.run('export f to "f.py" hessian')
    value, grad, hess = function(tmp_path / "f.py", "f")(3.0, 0.0)
    assert (value, grad, hess) == (0.0, (0.0, 9.0), [[0.0, 6.0], [6.0, 0.0]])
    session.run('export f hessian to "f.c"; export f to "f.js"')
    assert (tmp_path / "f.c").read_text("utf-8").startswith("#include <math.h>\n\n/* def f(x, y) = x**2*sin(y)\n")
    assert "export function f(x, y) {" in (tmp_path / "f.js").read_text("utf-8")


def test_files_may_be_switched_off(session):
    session.context.files.on = False
    with pytest.raises(AgradError, match="file"):
        session.run('export d to "d.c"')
