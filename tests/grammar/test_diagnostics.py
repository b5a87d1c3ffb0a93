"""Places, did-you-mean, and how a report looks on a terminal."""

from __future__ import annotations

import re

import pytest
from rows import each

from agrad.engine.errors import AgradError, Hint, Label, Note
from agrad.grammar.diagnostics import Source, Span, render, suggest
from agrad.grammar.session.session import Session


def at(text: str, part: str, source: Source | None = None) -> Span:
    source = source or Source("expression", text)
    start = source.text.index(part)
    return Span(source, start, start + len(part))


def test_positions() -> None:
    source = Source("session", "ab\ncd\r\n\re", first_line=5)
    assert [source.position(offset) for offset in (0, 2, 3, 7, 8, 9)] == [
        (5, 1),
        (5, 3),
        (6, 1),
        (7, 1),
        (8, 1),
        (8, 2),
    ]
    assert [source.line(number) for number in (5, 6, 7, 8)] == ["ab", "cd", "", "e"]


def test_a_span_in_words() -> None:
    span = at("y = f(\n  a,\n  b)", "f(\n  a,\n  b)")
    assert (span.text, span.where) == ("f( a, b)", "line 1")


def test_an_expression() -> None:
    problem = AgradError("name", "q has no value", labels=[Label(at("sin(q)", "q"))], fixes=["give it one"])
    assert render(problem) == "error[name]: q has no value\n  1 | sin(q)\n    |     ^\n  fix: give it one"


def test_a_session_with_several_lines() -> None:
    third = Source("session", "c = b*2", first_line=3)
    tenth = Source("session", "backward d", first_line=10)
    labels = [
        Label(at("", "b*2", third), "MulBackward lost its saved values"),
        Label(at("", "backward d", tenth), "here"),
        Label(None, "made in Python"),
    ]
    problem = AgradError("freed", "e is gone", labels=labels, notes=["n"], fixes=["backward d retain"])
    assert render(problem).splitlines() == [
        "error[freed]: e is gone",
        "   session line 3 | c = b*2",
        "                  |     ^^^ MulBackward lost its saved values",
        "  session line 10 | backward d",
        "                  | ^^^^^^^^^^ here",
        "  note: made in Python",
        "  note: n",
        "  fix: backward d retain",
    ]


def test_a_file_comes_first_so_that_editors_can_jump_there() -> None:
    source = Source("a.ag", "x = 1\ny = x +\n", is_file=True)
    problem = AgradError("syntax", "a value is missing", labels=[Label(Span(source, 13, 13))])
    assert render(problem) == "a.ag:2:8: error[syntax]: a value is missing\n  2 | y = x +\n    |        ^"


def test_a_label_in_another_file_says_so() -> None:
    here, there = Source("a.ag", "f(x)", is_file=True), Source("b.ag", "def f(x) = y", is_file=True)
    problem = AgradError("name", "y has no value", labels=[Label(at("", "f(x)", here)), Label(at("", "y", there))])
    assert render(problem).splitlines() == [
        "a.ag:1:1: error[name]: y has no value",
        "            1 | f(x)",
        "              | ^^^^",
        "  b.ag line 1 | def f(x) = y",
        "              |            ^",
    ]


def test_a_note_and_a_severity_of_one_s_own() -> None:
    note = Note("w is no longer a leaf", labels=[Label(at("w = w - 1", "w = w - 1"))], fixes=["no_grad: w -= 1"])
    assert render(note).splitlines()[0] == "note: w is no longer a leaf"
    assert render(note, "warning").splitlines()[0] == "warning: w is no longer a leaf"
    assert render(note).splitlines()[-1] == "  fix: no_grad: w -= 1"


@each("line, part, carets", [
    ("x\ty", "y", "     ^"), ("\x1b[31m + y", "y", "        ^"),
    ("数 + y", "y", "     ^"), ("数 + y", "数", "^^"),
    ("e\u0301 + y", "y", "    ^"), ("ที่ + y", "y", "    ^"),
    ("1\ufe0f\u20e3 + y", "y", "    ^"),  # a keycap, without its variation selector
    ("👨\u200d👩\u200d👧 + y", "y", "           ^"),  # the people one by one: what joins them is replaced
])  # fmt: skip
def test_carets_stand_under_what_the_terminal_shows(line: str, part: str, carets: str) -> None:
    shown = render(AgradError("syntax", "m", labels=[Label(at(line, part))])).splitlines()
    assert shown[2] == "    | " + carets
    assert "\x1b" not in shown[1] and "\t" not in shown[1]


def test_only_the_first_line_of_a_place_is_marked() -> None:
    text = "f(a,\n  b)"
    shown = render(AgradError("syntax", "m", labels=[Label(at(text, text))])).splitlines()
    assert shown[1:] == ["  1 | f(a,", "    | ^^^^"]


def test_a_long_line_is_cut_to_a_window() -> None:
    text = " + ".join(["x"] * 1_000) + " + q" + " + x" * 1_000
    _, line, carets = render(AgradError("name", "m", labels=[Label(at(text, "q"))])).splitlines()
    assert len(line) < 120
    assert line[carets.index("^")] == "q"
    assert line.count("…") == 2


@each("width", [10, 40, 80, 119])
@each("term", ["x", "漢字", "e\N{COMBINING ACUTE ACCENT}"])
def test_a_line_is_cut_to_the_terminal(term: str, width: int) -> None:
    text = f"{term} + " * 50 + "q" + f" + {term}" * 50
    problem = AgradError("name", "m", labels=[Label(at(text, "q"))])
    _, line, carets = render(problem, width=width).splitlines()
    before = line[: line.index("q")]
    columns = len(before) + before.count("漢") + before.count("字") - before.count("\N{COMBINING ACUTE ACCENT}")
    assert columns == carets.index("^")
    assert columns < max(width, 30)


@each("word, expected", [
    ("sni", ["sin"]), ("sinn", ["sin", "sinh"]), ("Sin", ["sin", "sinh"]), ("X", ["x"]), ("q", []), ("xy", []),
    ("sin", ["sinh"]), ("backwrd", ["backward"]), ("elephant", []), ("", []),
])  # fmt: skip
def test_did_you_mean(word: str, expected: list[str]) -> None:
    names = ["sin", "sinh", "x", "y", "backward", "cos"]
    assert suggest(word, names) == suggest(word, reversed(names)) == expected


def test_a_message_is_folded_between_words_at_the_width_of_the_terminal() -> None:
    text = "x = alpha + beta"
    problem = AgradError(
        "name",
        "this is a message of many words that no terminal of forty columns can show on one line",
        labels=[Label(Span(Source("session", text), 4, 9), "a label that is longer than the line")],
        notes=["a note that is longer than the forty columns of the line"],
        fixes=[
            "a fix that is typed as it is, and so is never folded at all, however long",
            "y = a + b*c   with what is said about it, which is folded",
            Hint("a hint, which is not typed as it is, so that it is folded"),
        ],
    )
    assert render(problem, width=40).split("\n") == [
        "error[name]: this is a message of many",
        "    words that no terminal of forty",
        "    columns can show on one line",
        "  session line 1 | x = alpha + beta",
        "                 |     ^^^^^",
        "                 | a label that is",
        "                 | longer than the line",
        "  note: a note that is longer than the",
        "    forty columns of the line",
        "  fix: a fix that is typed as it is, and so is never folded at all, however long",
        "  fix: y = a + b*c   with what is said",
        "    about it, which is folded",
        "  fix: a hint, which is not typed as it",
        "    is, so that it is folded",
    ]
    assert len(render(problem).split("\n")) == 7


@each(
    "text, gutter",
    [
        ("nowhere", "session line 2"),
        ("a = 2\nb = a\nc = a + nowhere\nd = 4", "session line 2, line 3 of it"),
        ("for i in range(3):\n    k = i\n    z = k + nowhere", "session line 2, line 3 of it"),
        ("a = 2\nb = 3 +", "session line 2, line 2 of it"),
    ],
)
def test_an_error_in_an_entry_of_several_lines_says_which_of_them(text, gutter):
    session = Session()
    session.by_entry = True
    session.run("x = 1")
    with pytest.raises(AgradError) as caught:
        session.run(text)
    assert re.findall(r"^  (session[^|]*) \|", render(caught.value), re.MULTILINE) == [gutter]


def test_an_option_that_is_gone_is_no_unit():
    with pytest.raises(AgradError) as caught:
        Session().run("contour x*y for x in 0..1, y in 0..1 path w b")
    assert caught.value.message.startswith("`contour` is written")


def test_a_file_called_cell_is_none_of_a_notebook() -> None:
    for is_file, there in ((True, "2"), (False, "cell 1, line 2")):
        place = Span(Source("cell", "x\ny", 1, is_file, not is_file), 2, 3)
        assert f"  {there} | y" in render(AgradError("name", "q", labels=[Label(place, "")]))
