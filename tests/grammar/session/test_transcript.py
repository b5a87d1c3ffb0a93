"""`save` into a page: the transcript of a session, with what was shown, as Markdown and HTML."""

import base64
import re
from contextlib import suppress
from html import unescape
from pathlib import Path

import pytest
from rows import each

from agrad.engine.errors import AgradError
from agrad.grammar.session import log as kept
from agrad.grammar.session.log import DEPTH, restore
from agrad.grammar.session.session import Session


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A folder of its own to start in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def opened(*texts):
    """A session as at a prompt, in which texts were entered; those that fail are shown as errors."""
    made = Session()
    made.record.on, made.by_entry, made.steps.depth = True, True, DEPTH
    enter(made, *texts)
    return made


def enter(made, *texts):
    for text in texts:
        with suppress(AgradError):
            made.run(text)


def page(made, name="s.md"):
    """What `save` writes into a file, without its first line."""
    made.run(f'save "{name}"')
    head, body = Path(name).read_text(encoding="utf-8").split("\n", 1)
    assert re.fullmatch(r"<!-- saved by agrad: \d+ statements?, mark [0-9a-f]{8} -->", head)
    return body


def plain(written):
    """The text of a page of HTML."""
    body = written.partition("</style>")[2]
    return unescape(re.sub(r"<[^>]*>", "", body)).strip()


TEXTS = ("x = 2", "x*4; x*3", "for i in range(2):\n    print i", "1 +* 2", "y", "# why", "undo", "print '```'")
SHOWN = Path(__file__).with_name("shown.txt").read_text()


def test_a_page_has_all_that_was_typed_and_shown():
    assert page(opened(*TEXTS)) == f"````agrad\n{SHOWN}\n````\n"
    assert plain(page(opened(*TEXTS), "s.html")) == SHOWN


def test_a_page_shows_what_was_shown_not_what_holds_now():
    made = opened("v = [1, 2]", "v", "r = rand(1); r", "v = 7", "set r[0] = 5")
    shown = page(made)
    assert "agrad 2> v\n[1, 2]\n" in shown
    assert re.search(r"> r = rand\(1\); r\n\[0\.\d+\]\n", shown)


def test_a_statement_before_save_in_one_line_is_in_the_page():
    made = opened()
    made.run('x = 2; print x; save "s.md"; x + 1')
    assert Path("s.md").read_text().split("\n", 1)[1] == "```agrad\nagrad 1> x = 2; print x;\n2\n```\n"


def test_a_script_keeps_its_transcript_if_it_contains_save():
    made = Session()
    made.run('# Halves\n\nx = 8\nwhile x > 2:\n    x = x/2\n    x\nsave "s.md"\nx*0\n', is_file=True)
    assert Path("s.md").read_text().split("\n", 1)[1] == (
        "```agrad\nagrad 1> # Halves\nagrad 3> x = 8\nagrad 4> while x > 2:\n"
        "    ...>     x = x/2\n    ...>     x\n4\n2\n```\n"
    )
    assert not made.record.transcript.exchanges


def test_save_writes_over_its_own_page_only(folder):
    made = opened("x = 2")
    assert page(made) != page(made)
    (folder / "t.md").write_text("mine\n")
    with pytest.raises(AgradError, match=r"t\.md already exists, and save did not write it") as caught:
        made.run('save "t.md"')
    assert caught.value.fixes == ['save "t-2.md"   writes another file']
    with open("s.md", "a") as file:
        file.write("a remark\n")
    with pytest.raises(AgradError, match="has been changed since it was saved"):
        made.run('save "s.md"')


def test_nothing_typed_is_nothing_to_save():
    with pytest.raises(AgradError, match="there is nothing to save"):
        opened().run('save "s.html"')


@each("name", ["s.markdown", "s.MD", "s.htm", "s.HTML"])
def test_the_ending_says_what_is_written(name):
    written = page(opened("x = 2"), name)
    assert ("```agrad" in written) == ("m" in name.lower()[2] and "d" in name.lower())
    assert ("<!doctype html>" in written) == ("h" in name.lower()[2])


def test_a_plot_is_a_picture():
    pytest.importorskip("matplotlib")
    made = opened("plot sin(x) for x in 0..6 title 'a [b]'")
    (form, data) = re.search(r"!\[a b\]\(data:image/(\w+);base64,([\w+/=]+)\)", page(made)).groups()
    assert form == "png" and base64.b64decode(data).startswith(b"\x89PNG")
    (data,) = re.search(r'<img alt="a b" src="data:image/svg\+xml;base64,([\w+/=]+)">', page(made, "s.html")).groups()
    assert b"<svg" in base64.b64decode(data)


def test_without_matplotlib_a_plot_is_what_was_shown(monkeypatch):
    monkeypatch.setattr("agrad.grammar.session.saving.find_spec", lambda name: None)
    made = opened()
    made.record.transcript.text = lambda result, settings: "⣀⠤⠒"
    made.run("plot sin(x) for x in 0..6")
    assert page(made) == "```agrad\nagrad 1> plot sin(x) for x in 0..6\n⣀⠤⠒\n```\n"


def test_a_graph_is_a_picture_of_the_graph_as_it_was():
    made = opened("var x = 3", "y = x*2", "graph y", "backward y", "set x = 5")
    before = page(made)
    assert "graph of y: 2 nodes, 1 leaf, held\n" in before
    assert "```mermaid\nflowchart TD\n" in before and "leaf = 3" in before and "leaf = 5" not in before


def test_a_picture_of_a_graph_is_in_a_page():
    made = opened("var x = 3", "y = x*2", "graph y; graph y as tree", "y")
    (data,) = re.findall(r'<img alt="graph" src="data:image/svg\+xml;base64,([\w+/=]+)">', page(made, "s.html"))
    assert b"graph of y" in base64.b64decode(data)


def test_a_page_runs_nothing_that_was_printed():
    made = opened("print '<script>alert(1)</script> & \\x1b[31m'")
    written = page(made, "s.html")
    assert "<script" not in written and "\x1b" not in written
    assert "<script>alert(1)</script> &" in plain(written)


def test_a_restored_session_says_that_its_answers_are_not_kept():
    before = opened("x = 2", "x*3")
    after = opened()
    restore(after, before.record.entries)
    enter(after, "x*4")
    told = "(restored: what it showed is not kept)"
    assert page(after) == f"```agrad\nagrad 1> x = 2\n{told}\nagrad 2> x*3\n{told}\nagrad 3> x*4\n8\n```\n"


def test_what_redo_runs_is_not_typed_again():
    made = opened("x = 2", "x*3", "undo", "redo")
    assert page(made).endswith("agrad 3> undo\ntook back: x = 2\nagrad 4> redo\nbrought back: x = 2; x*3\n```\n")


def test_a_transcript_is_bounded(monkeypatch):
    monkeypatch.setattr(kept, "_MOST_TEXT", 5_000)
    monkeypatch.setattr(kept, "_MOST_OF_ONE", 1_000)
    made = opened("for i in range(50): print i", *[f"x{number} = {number}" for number in range(10)])
    shown = page(made)
    assert "8\n(41 more answers are not kept)\n" in shown
    enter(made, *["x1"] * 60)
    shown = page(made)
    assert re.search(r"```agrad\n\(the first \d+ texts are no longer kept\)\nagrad \d+> x", shown)
    assert shown.count("agrad ") < 60
