"""Tables in the language: what is typed, what is shown, the fixes, and that sessions keep them."""

import pytest

from agrad.engine.errors import AgradError
from agrad.grammar.diagnostics import Source
from agrad.grammar.help.completion import completions
from agrad.grammar.lint.lint import problems
from agrad.grammar.results import Noted
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


def said(session, text):
    lines = []
    session.run(text, lambda result: lines.append(result.text(session.settings)))
    return lines


def refused(session, text):
    with pytest.raises(AgradError) as caught:
        session.run(text)
    return caught.value


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("t", "speed m/s  t  name\n      1.5  1  A\n      2.5  2  B\n        4  3  A\n3 rows"),
        ("print t[:1]", "speed m/s  t  name\n      1.5  1  A\n1 row"),
        ("(t, 2)", "(<table of 3 rows: speed m/s, t, name>, 2)"),
        ("t.columns", "('speed m/s', 't', 'name')"),
        ("t.name", "['A', 'B', 'A']"),
        ("t.name[-1]", "A"),
        ('t["speed m/s"]', "[1.5, 2.5, 4]"),
        ('t[:, "t"]', "[1, 2, 3]"),
        ('t[t.name == "A"].t', "[1, 3]"),
        ('t[t.name != "A", "t"]', "[2]"),
        ('t[["t", "name"]][1:]', "t  name\n2  B\n3  A\n2 rows"),
        ("t[[0, 2], 1]", "[1, 3]"),
        ("len(t), t.shape", "(3, (3, 3))"),
        ("u + 1", "[[2, 3], [4, 5], [6, 7]]"),
        ("u @ [1, 1]", "[3, 7, 11]"),
        ("sum(u), mean(u, 0), max(u)", "(21, [3, 4], 6)"),
        ("u.T", "[[1, 3, 5], [2, 4, 6]]"),
        ("u.sum(1)", "[3, 7, 11]"),
        ("u[0, :], u[1:, :].shape", "([1, 2], (2, 2))"),
        ("-u ~= 0 - u", "True"),
        ("all(u == u)", "1"),
        ("tensor(u)", "[[1, 2], [3, 4], [5, 6]]"),
        ('"a" in u, "c" in u', "(True, False)"),
        ("[name for name in t.name]", "['A', 'B', 'A']"),
        ("type(t)", "<class 'Table'>"),
        ("getattr(u, \"a\")", "[1, 3, 5]"),
    ],
)  # fmt: skip
def test_what_is_typed_and_shown(session, text, shown):
    assert said(session, text) == [shown]


@pytest.mark.parametrize(
    ("text", "message", "fixes"),
    [
        ("t.tine", "d.csv has no column tine", ["t.columns   are the names"]),
        ("t.nam", "d.csv has no column nam", ["t.name"]),
        ("sum(t.nam == 1)", "d.csv has no column nam", ["sum(t.name == 1)"]),
        ('t["speed m"]', "d.csv has no column speed m", ['t["speed m/s"]']),
        ("t.speed*2", "d.csv has no column speed", ['t["speed m/s"]*2']),
        ('sin(t["Speed"])', "d.csv has no column Speed", ['sin(t["speed m/s"])']),
        ("x = u.c", "numbers.csv has no column c", ["u.columns   are the names"]),
        ("u.head()", "numbers.csv has no column head", ["u[:5]"]),
        ("x = u.tail(2)", "numbers.csv has no column tail", ["x = u[-2:]"]),
        ("u.values @ [1, 1]", "numbers.csv has no column values", ["tensor(u) @ [1, 1]"]),
        ('u.sort_values("b")', "numbers.csv has no column sort_values", ["u[argsort(u.b), :]"]),
        ("t.dropna()", "d.csv has no column dropna", ['t[isfinite(t["speed m/s"])]']),
        ("u.describe()", "numbers.csv has no column describe", ["mean(u.a), std(u.a), min(u.a), max(u.a)"]),
        ("u.plot()", "numbers.csv has no column plot", ["plot u.a, u.b"]),
        ("t + 1", "the column name holds texts, so that the table is no array of numbers", ['t[["speed m/s", "t"]]   is the table without texts']),
        ("t.name + 1", 'the column name holds texts, such as "A", and no numbers', ['t.name == "A"   is a mask']),
        ("t.name.sum()", 'the column name holds texts, such as "A", and no numbers', ['t.name == "A"   is a mask']),
        ("t.t()", "t is a column, and no function: leave out the brackets", ["t.t"]),
        ("for r in t: r", "a table is read by rows or by columns", ["for row in tensor(t): …", "for name in t.columns: …", "x, y = t.T   of columns of numbers"]),
        ("t[[0, 1]]", "one index of several numbers may mean rows or columns of a table", ["t[[0, 2], :]   for rows", "t[:, [0, 2]]   for columns"]),
        ("u[2]", "one index of a table is a column, and numbers.csv has 2 columns: there is no column 2", ["u[2, :]   for a row"]),
        ("sum(u) + u[[0, 1]]", "one index of several numbers may mean rows or columns of a table", ["u[[0, 2], :]   for rows", "u[:, [0, 2]]   for columns"]),
        ("if u: 1", "an array of shape (3, 2) is neither true nor false", None),
        ("u[0, 0] = 3", "the entries of a table cannot be assigned to", ["x = tensor(u)   is an array, which can be written to"]),
    ],
)  # fmt: skip
def test_what_is_refused_with_a_way_on(session, text, message, fixes):
    problem = refused(session, text)
    assert problem.message == message
    assert fixes is None or problem.fixes == fixes


@pytest.mark.parametrize(
    "text", ["u.head()", "u.tail(2)", "t.values", "u.describe()", "u.plot()", "t.dropna()", "t.speed"]
)
def test_what_is_said_to_type_works(session, text):
    (fix,) = refused(session, text).fixes
    if text != "t.values":  # there are texts in it
        session.run(fix)


def test_one_note_says_that_an_index_is_a_column(session):
    notes = []
    session.run("u[0]; u[1]; u[:, 0]; u.a", lambda result: notes.append(result) if isinstance(result, Noted) else None)
    (note,) = [result.note for result in notes]
    assert note.message == "one index of a table is a column, here a, and not a row"
    assert note.fixes == ["u[:, 0]   says the column", "u[0, :]   is the row"]
    assert said(session, "u[0]") == ["[1, 3, 5]"]


def test_columns_are_differentiated_fitted_and_plotted(session):
    assert said(session, 'var w = 2; loss = sum((w*t.t - t["speed m/s"])**2); backward loss; w.grad') == ["19"]
    fitted = said(session, 'fit t["speed m/s"] ~ a*t.t + b over a, b from a=1, b=1')
    assert fitted[0].startswith("a = 1.25 ± ")
    assert said(session, 'plot t.t, t["speed m/s"]')[0].startswith("plot of")


def test_a_loop_gives_the_same_compiled_or_not(session):
    loop = 'w = 0\nfor i in range(200): w = w - 0.01*mean((w*t.t - t["speed m/s"])*t.t)\n'
    session.run(loop)
    compiled = said(session, "w")
    session.run("x = t.t; y = t[:, 0]\n" + loop.replace("t.t", "x").replace('t["speed m/s"]', "y"))
    assert said(session, "w") == compiled


def test_undo_brings_entries_and_tables_back(session):
    changed = "t.t[0] = 9\nt.t\nundo\nt.t\nt = 3\nundo\nlen(t)"
    assert [line for line in said(session, changed) if "took back" not in line] == ["[9, 2, 3]", "[1, 2, 3]", "3"]


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
