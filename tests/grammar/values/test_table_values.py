"""Tables in the language: what is typed, what is shown, the fixes, and that sessions keep them."""

import pytest

from agrad.grammar.diagnostics import Source
from agrad.grammar.help.completion import completions
from agrad.grammar.lint.lint import problems
from agrad.grammar.session.session import Session

TEXT = "speed m/s,t,name\n1.5,1,A\n2.5,2,B\n4,3,A\n"


@pytest.fixture
def session(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "d.csv").write_text(TEXT)
    (tmp_path / "numbers.csv").write_text("a,b\n1,2\n3,4\n5,6\n")
    made = Session()
    made.run('t = load_csv("d.csv"); u = load_csv("numbers.csv")')
    return made


def test_columns_are_completed(session):
    def offered(text):
        return [candidate.text for candidate in completions(text, session)[1]]

    assert offered("t.") == ["t", "name", "columns", "shape", "T"]
    assert offered("y = t.na") == ["name"]
    for text in ('t["', 'sin(t["', 't[:, "', 't[["'):
        assert offered(text) == ["speed m/s", "t", "name"]
    assert offered('t[["t", "sp') == ["speed m/s"]


def test_lint_takes_any_attribute_for_a_column_where_tables_are_read():
    def found(text):
        return [problem.message for problem in problems(Source("a.ag", text, is_file=True))]

    assert found('t = load_csv("d.csv")\ny = t.speed*2\n') == []
    assert found("t = 3\ny = t.speed*2\n") == ["there is no attribute .speed"]
