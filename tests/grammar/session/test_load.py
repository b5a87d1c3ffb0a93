"""`load`: another script as a part of the statement that says so, with its own lines in messages; and `beside`."""

import builtins
import os
import pwd

import pytest

from agrad.engine.errors import AgradError
from agrad.grammar.diagnostics import Source, render
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


def said(text, session=None, **more):
    session, lines = session or Session(), []
    session.run(text, lambda result: lines.append(result.text(session.settings)), **more)
    return lines


def refused(text, session=None, **more):
    with pytest.raises(AgradError) as caught:
        (session or Session()).run(text, **more)
    return caught.value


def script(text, name="main.ag", session=None):
    return refused(text, session, source=name, is_file=True)


def test_a_script_runs_among_the_names_that_there_are(folder):
    folder(model="def f(x) = k*x\nf(2)\n")
    assert said('k = 3\nload "model.ag"\nf(5)') == ["6", "15"]


def test_a_path_starts_in_the_folder_of_the_script_that_says_it(folder):
    folder(lib__a='load "b.ag"\n', lib__b='load "../c.ag"\n', c="print 7\n")
    assert said('load "lib/a.ag"') == ["7"]


def test_from_standard_input_a_path_starts_where_agrad_runs(folder):
    folder(a="print 1")
    assert said('load "a.ag"', source="<stdin>", is_file=True) == ["1"]


def test_a_whole_path_and_the_home_folder(folder, tmp_path, monkeypatch):
    folder(a="print 1")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert said(f'load "{tmp_path}/a.ag"; load "~/a.ag"') == ["1", "1"]


def test_the_same_script_may_be_loaded_again_and_in_blocks_and_functions(folder):
    folder(more="n += 1")
    assert said('n = 0\nload "more.ag"; load "more.ag"\nfor i in range(3): load "more.ag"\nn') == ["5"]
    assert said('n = 0\ndef f():\n    load "more.ag"\nf()\nn') == ["1"]


def test_quit_ends_the_script_that_says_it(folder):
    folder(a="k = 1\nquit\nk = 2\n")
    assert said('load "a.ag"\nk') == ["1"]


def test_a_script_that_fails_leaves_nothing_behind(folder):
    folder(a="k = 2\nbackward x**2\nset x = 5\nload 'b.ag'\nq\n", b="j = 1\nmanual_seed(1)\n")
    session = Session()
    said("k = 1\nvar x = 3", session)
    refused('load "a.ag"', session)
    assert said("k\nx\nx.grad is None", session) == ["1", "3", "True"]
    assert "j" not in session.names
    assert session.loading == []


def test_undo_takes_a_whole_script_back(folder):
    folder(a="k = 2\nj = 3\n")
    assert said('k = 1\nload "a.ag"\nundo\nk') == ['took back: load "a.ag"', "1"]


def test_fails_takes_a_script_back_too(folder):
    folder(a="k = 2\nq\n")
    assert said('k = 1\nfails name: load "a.ag"\nk') == ["1"]


def test_what_is_loaded_under_no_grad_records_nothing(folder):
    folder(a="y = x**2")
    assert said('var x = 3\nno_grad: load "a.ag"\ny.requires_grad') == ["False"]


def test_what_is_loaded_under_a_condition_depends_on_it(folder):
    folder(a="y = x**2")
    assert refused('var x = 3\nif x > 0: load "a.ag"\nset x = -1\nforward y').kind == "guard"


def test_an_error_is_shown_with_the_lines_of_its_script_and_where_that_was_loaded(folder):
    folder(lib__a="k = 1\ny = k + q\n")
    assert render(script('\nload "lib/a.ag"\n')).split("\n") == [
        "lib/a.ag:2:9: error[name]: q has no value",
        "               2 | y = k + q",
        "                 |         ^",
        '  main.ag line 2 | load "lib/a.ag"',
        "                 | ^^^^^^^^^^^^^^^ loaded here",
        "  fix: give it one: q = 1",
    ]


def test_an_error_in_a_function_of_a_script_tells_the_call(folder):
    folder(a="def f(x):\n    return x.foo\n")
    shown = render(script('load "a.ag"\nf(1)\n')).split("\n")
    assert shown[0] == "a.ag:2:12: error[name]: there is no attribute .foo"
    assert shown[3] == "  main.ag line 2 | f(1)"


def test_an_error_that_points_elsewhere_is_at_the_instruction_that_failed(folder):
    folder(a="var x = 2\ny = x**2\nbackward y\n")
    shown = render(script('load "a.ag"\ndef g():\n    backward y\ng()\n')).split("\n")
    assert shown[0].startswith("main.ag:3:5: error[freed]: ")
    assert shown[1] == "  a.ag line 2 | y = x**2"


def test_what_cannot_be_read_as_agrad_is_told_with_its_place(folder):
    folder(a="x = 1\nx = = 2\n", b="break")
    assert render(script('load "a.ag"')).startswith("a.ag:2:5: error[syntax]: ")
    assert render(script('load "b.ag"')).startswith("b.ag:1:1: error[syntax]: ")
    assert script('x = 5\nload "a.ag"').kind == "syntax"


@pytest.mark.parametrize("start", ["main.ag", "./main.ag", "../{}/main.ag"])
def test_a_script_that_would_load_itself(folder, tmp_path, start):
    folder(main='load "lib/b.ag"', lib__b='load "c.ag"', lib__c='load "../main.ag"')
    name = start.format(tmp_path.name)
    error = script('load "lib/b.ag"', name)
    assert error.kind == "file"
    assert error.message.endswith("main.ag") and error.message.count(" -> ") == 3
    assert [label.text for label in error.labels] == ["", "loaded here", "loaded here"]


def test_the_message_of_a_cycle_is_the_chain(folder):
    folder(a='load "b.ag"', b='load "a.ag"')
    assert script('load "b.ag"', "a.ag").message == "a.ag would load itself: a.ag -> b.ag -> a.ag"
    assert refused('load "a.ag"').message == "a.ag would load itself: a.ag -> b.ag -> a.ag"


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
    error = refused(f'load "{path}"')
    assert (error.kind, error.message) == ("file", message)
    assert error.labels[0].origin.text == f'"{path}"'


def test_files_can_be_switched_off(folder, tmp_path):
    folder(a="1")
    (tmp_path / "a.csv").write_text("1,2\n")
    session = Session()
    session.files = False
    for text in ('load "a.ag"', 'load_csv("a.csv")', 'load_npy("a.npy")', 'chunks("a.csv", 1)'):
        error = refused(text, session)
        assert (error.kind, error.message) == ("file", f"{text.split('(')[0].split()[0]}: file access is switched off")
    error = refused('var x = 1; graph x to "x.dot"', session)
    assert error.message == "cannot write x.dot: file access is switched off"
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
    session.files, touched = False, []

    def watch(module, name):
        before = getattr(module, name)
        monkeypatch.setattr(module, name, lambda path, *a, **k: (touched.append(str(path)), before(path, *a, **k))[1])

    for module, names in ((os, "open stat lstat listdir scandir readlink"), (builtins, "open"), (pwd, "getpwnam")):
        for name in names.split():
            watch(module, name)
    error = refused(text, session)
    monkeypatch.undo()
    assert (error.kind, error.message.partition(": ")[2]) == ("file", "file access is switched off")
    assert not [path for path in touched if "passwd" in path or "daemon" in path or path.startswith("/etc")]


def test_scripts_that_load_each_other_too_deep_are_refused_also_by_the_check(folder):
    chain = {f"s{n}": f'load "s{n + 1}.ag"\n' for n in range(100)}
    folder(**chain, s100="x = 1")
    running = refused('load "s0.ag"')
    assert running.kind == "limit" and "50 deep" in running.message
    (checked,) = problems(Source("s0.ag", chain["s0"], 1, True))
    assert (checked.kind, checked.message) == (running.kind, running.message)
    assert problems(Source("s50.ag", chain["s50"], 1, True)) == []
    assert said('load "s51.ag"; x') == ["1"]


def test_pieces_that_were_opened_before_files_were_switched_off_are_closed(folder, tmp_path):
    (tmp_path / "a.csv").write_text("1,2\n")
    session = Session()
    said('p = chunks("a.csv", 1)', session)
    session.files = False
    assert refused("for x in p: x", session).message == "chunks: file access is switched off"


def test_beside_finds_what_lies_in_the_folder_of_the_script(folder, tmp_path):
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "a.csv").write_text("1,2\n")
    folder(lib__a='data = load_csv(beside("a.csv"))\ndef f() = beside("b")\n')
    assert said('load "lib/a.ag"\ntensor(data)\nf()\nbeside("c")') == ["[[1, 2]]", "lib/b", "c"]
    assert refused("beside(3)").message == "beside needs the name of a file, not the number 3"


def test_a_file_is_read_in_chunks(folder, tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,2\n3,4\n5,6\n")
    assert said('for p in chunks("a.csv", 2): print p.shape, sum(p)') == ["(2, 2) 10", "(1, 2) 11"]
    assert said('p = chunks("a.csv", rows=2)\np') == ['chunks("a.csv", 2)']
    assert refused('for p in chunks("b.csv", 2): p').message == "chunks: there is no file b.csv"
    assert refused('chunks("a.csv", 2) + 1').kind == "type"


def test_an_error_in_the_middle_of_a_file_takes_the_loop_back(folder, tmp_path):
    (tmp_path / "a.csv").write_text("1,2\n3,4\n5,x\n")
    session = Session()
    error = refused('n = 0\nfor p in chunks("a.csv", 1): n += sum(p)', session)
    assert error.message == 'chunks: a.csv, line 3, column 2: "x" is not a number'
    assert said("n", session) == ["0"]


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ('float("2.5") + 1', "3.5"),
        ('float(" 1e3 ")', "1000"),
        ('float("-inf")', "-inf"),
        ('int("-12") + 0', "-12"),
        (f'int("{"9" * 400}")', "inf"),
    ],
)
def test_a_text_that_spells_a_number(text, answer):
    assert said(text) == [answer]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('float("2,5")', 'float: the text "2,5" is not a number'),
        ('int("2.5")', 'int: the text "2.5" is not a whole number'),
        ('float("")', 'float: the text "" is not a number'),
        (f'int("{"9" * 5000}")', None),
    ],
)
def test_a_text_that_spells_none(text, message):
    error = refused(text)
    assert error.kind == "type"
    assert message is None or error.message == message


def test_a_failing_statement_does_not_stop_those_behind_it_where_someone_is_told():
    session, found = Session(), []
    session.run("a = 1\nb = q\nc = 2\nassert 0\nd = 3", report=found.append)
    assert [problem.kind for problem in found] == ["name", "assert"]
    assert list(session.names) == ["a", "c", "d"]


@pytest.mark.parametrize("text", ["load", "load model", 'load "a" "b"', 'load("a")', "load = 3", 'x = load "a"'])
def test_how_load_is_not_written(text):
    assert refused(text).kind == "syntax"


@pytest.mark.parametrize(
    ("name", "fix"),
    [
        ("run 3.csv", 'data = load_csv("run 3.csv")'),
        ("a/B.TSV", 'data = load_csv("a/B.TSV")'),
        ("x.npy", 'data = load_npy("x.npy")'),
    ],
)
def test_a_file_of_data_is_no_script(name, fix):
    with pytest.raises(AgradError) as caught:
        Session().run(f'load "{name}"')
    assert caught.value.message == f"load runs a script, and {name} is a file of data"
    assert caught.value.fixes == [fix]


@pytest.mark.parametrize("name", ["a.md", "a.html"])
def test_a_page_that_save_wrote_is_no_script(name, tmp_path):
    path = tmp_path / name
    session = Session()
    session.run(f'x = 2\nsave "{path}"')
    with pytest.raises(AgradError) as caught:
        Session().run(f'load "{path}"')
    assert caught.value.message == f"load runs a script, and {path} is a page that save wrote, to be read"
    assert caught.value.fixes == ['save "a.ag"   in the session writes a script']
