"""`load`: another script as a part of the statement that says so, with its own lines in messages; and `beside`."""

import builtins
import os
import pwd

import pytest
from rows import each
from sessions import error, said

from agrad.engine.errors import AgradError
from agrad.grammar.diagnostics import Source
from agrad.grammar.lint.lint import problems
from agrad.grammar.session.session import Session


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where agrad runs: a function that writes scripts there."""
    monkeypatch.chdir(tmp_path)

    def write(**scripts):
        for name, text in scripts.items():
            path = tmp_path / f"{name.replace('__', '/')}.ag"
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)

    return write


def script(text, name="main.ag", session=None):
    return error(text, session, source=name, is_file=True)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("nope.ag", "there is no file nope.ag"),
        ("lib", "cannot read lib: it is a folder"),
        ("/dev/zero", "cannot read /dev/zero: it is not a regular file"),
        ("", "load: that is not the name of a file"),
        ("a\0b", "load: that is not the name of a file"),
        ("latin.ag", "cannot read latin.ag: line 2 is not UTF-8 text"),
    ],
)
def test_what_cannot_be_read(folder, tmp_path, path, message):
    folder(lib__a="")
    (tmp_path / "latin.ag").write_bytes(b"1\n\xe9\n")
    problem = error(f'load "{path}"')
    assert (problem.kind, problem.message) == ("file", message)
    assert problem.labels[0].origin.text == f'"{path}"'


def test_files_can_be_switched_off(folder, tmp_path):
    folder(a="1")
    (tmp_path / "a.csv").write_text("1,2\n")
    session = Session()
    session.context.files.on = False
    for text in ('load "a.ag"', 'load_csv("a.csv")', 'load_npy("a.npy")', 'chunks("a.csv", 1)'):
        problem = error(text, session)
        assert (problem.kind, problem.message) == (
            "file",
            f"{text.split('(')[0].split()[0]}: file access is switched off",
        )
    problem = error('var x = 1; graph x to "x.dot"', session)
    assert problem.message == "cannot write x.dot: file access is switched off"
    assert not (tmp_path / "x.dot").exists()
    assert said('tensor(load_csv("a.csv"))') == ["[[1, 2]]"]  # another session has its files


TOUCHING = [
    *('save "/etc/passwd"', 'save "~daemon/x"', 'load "/etc/passwd"', 'load "~daemon/x"', 'beside("~daemon/x")'),
    *('load_csv("~daemon/x")', 'load_npy("/etc/passwd")', 'chunks("~daemon/x", 1)', 'load_csv(beside("~daemon/x"))'),
    *('graph y to "/etc/x.svg"', 'plot [1, 2] to "~daemon/x.svg"'),
]


@pytest.mark.parametrize("text", TOUCHING)
def test_where_files_are_switched_off_the_system_is_not_even_asked_for_them(text, monkeypatch):
    session = Session()
    said("var x = 1\ny = 2*x", session)
    session.context.files.on, touched = False, []

    def watch(module, name):
        before = getattr(module, name)
        monkeypatch.setattr(module, name, lambda path, *a, **k: (touched.append(str(path)), before(path, *a, **k))[1])

    for module, names in ((os, "open stat lstat listdir scandir readlink"), (builtins, "open"), (pwd, "getpwnam")):
        for name in names.split():
            watch(module, name)
    problem = error(text, session)
    monkeypatch.undo()
    assert (problem.kind, problem.message.partition(": ")[2]) == ("file", "file access is switched off")
    assert not [path for path in touched if "passwd" in path or "daemon" in path or path.startswith("/etc")]


def test_scripts_that_load_each_other_too_deep_are_refused_also_by_the_check(folder):
    chain = {f"s{n}": f'load "s{n + 1}.ag"\n' for n in range(100)}
    folder(**chain, s100="x = 1")
    running = error('load "s0.ag"')
    assert running.kind == "limit" and "50 deep" in running.message
    (checked,) = problems(Source("s0.ag", chain["s0"], 1, True))
    assert (checked.kind, checked.message) == (running.kind, running.message)
    assert problems(Source("s50.ag", chain["s50"], 1, True)) == []
    assert said('load "s51.ag"; x') == ["1"]


def test_pieces_that_were_opened_before_files_were_switched_off_are_closed(folder, tmp_path):
    (tmp_path / "a.csv").write_text("1,2\n")
    session = Session()
    said('p = chunks("a.csv", 1)', session)
    session.context.files.on = False
    assert error("for x in p: x", session).message == "chunks: file access is switched off"


@each(
    "text, message",
    [
        ('float("2,5")', 'float: the text "2,5" is not a number'),
        ('int("2.5")', 'int: the text "2.5" is not a whole number'),
        ('float("")', 'float: the text "" is not a number'),
        (f'int("{"9" * 5000}")', None),
    ],
)
def test_a_text_that_spells_none(text, message):
    problem = error(text)
    assert problem.kind == "type"
    assert message is None or problem.message == message


def test_a_failing_statement_does_not_stop_those_behind_it_where_someone_is_told():
    session, found = Session(), []
    session.run("a = 1\nb = q\nc = 2\nassert 0\nd = 3", report=found.append)
    assert [problem.kind for problem in found] == ["name", "assert"]
    assert list(session.names) == ["a", "c", "d"]


def test_a_page_that_save_wrote_is_no_script(tmp_path):
    path = tmp_path / "a.html"
    session = Session()
    session.run(f'x = 2\nsave "{path}"')
    with pytest.raises(AgradError) as caught:
        Session().run(f'load "{path}"')
    assert caught.value.message == f"load runs a script, and {path} is a page that save wrote, to be read"
    assert caught.value.fixes == ['save "a.ag"   in the session writes a script']


def test_a_saved_script_does_not_write_its_files_again(folder, tmp_path):
    session = Session()
    session.record.on = True
    session.run('var x = 2; y = x**2\nexport y to "y.c"\ngraph y as text to "g.txt"\nsave "s.ag"')
    written = sorted(["y.c", "g.txt", "s.ag"])
    assert sorted(path.name for path in tmp_path.iterdir()) == written
    for name in ("y.c", "g.txt"):
        (tmp_path / name).unlink()
    session = Session()
    session.run('load "s.ag"; assert y == 4')
    assert [path.name for path in tmp_path.iterdir()] == ["s.ag"]
    session.run('export y to "y.c"')
    assert (tmp_path / "y.c").exists()
    (tmp_path / "s.ag").write_text((tmp_path / "s.ag").read_text() + "z = 3\n")
    session.run('load "s.ag"')  # which is another's script now
    assert (tmp_path / "g.txt").exists()
