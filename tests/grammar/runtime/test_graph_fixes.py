"""Errors of the graph in the language: places in other texts and files, and fixes that can be typed."""

import re
from pathlib import Path

import pytest

from agrad.engine.errors import AgradError
from agrad.grammar.diagnostics import Source, render
from agrad.grammar.session.session import Session
from agrad.grammar.syntax.parser import parse

PROMPT, MORE = "agrad> ", "  ...> "
TRANSCRIPTS = sorted((Path(__file__).parents[2] / "transcripts").glob("semantics_*.txt"))
FREED = """\
error[freed]: d cannot be differentiated: part of its graph was freed
  session line 2 | b = a**2
                 |     ^^^^ PowBackward lost its saved values
  session line 5 | backward d
                 | ^^^^^^^^^^ … here
  fix: backward d retain   at line 5, or evaluate lines 2 to 3 again"""


def refusal(session, text, **source):
    with pytest.raises(AgradError) as caught:
        session.run(text, **source)
    return render(caught.value)


def test_places_in_an_earlier_text_of_the_session():
    session = Session()
    session.run("var a = 3\nb = a**2\nd = b*2\n\n")
    session.run("backward d\n")
    assert refusal(session, "k = 1\nbackward d") == FREED


def test_places_in_one_file():
    text = "var a = 3\nd = a**2\nbackward d\nbackward d\n"
    assert refusal(Session(), text, source="one.ag", is_file=True) == (
        "one.ag:4:1: error[freed]: d cannot be differentiated: part of its graph was freed\n"
        "  2 | d = a**2\n"
        "    |     ^^^^ PowBackward lost its saved values\n"
        "  3 | backward d\n"
        "    | ^^^^^^^^^^ … here\n"
        "  fix: backward d retain   at line 3, or evaluate line 2 again"
    )


def test_places_in_several_files():
    session = Session()
    session.run("var a = 3\nb = a**2\n", source="one.ag", is_file=True)
    session.run("d = b*2\nbackward d\n", source="two.ag", is_file=True)
    assert refusal(session, "backward d") == (
        "error[freed]: d cannot be differentiated: part of its graph was freed\n"
        "  one.ag line 2 | b = a**2\n"
        "                |     ^^^^ PowBackward lost its saved values\n"
        "  two.ag line 2 | backward d\n"
        "                | ^^^^^^^^^^ … here\n"
        "  fix: backward d retain   at line 2 of two.ag, "
        "or evaluate line 2 of one.ag and line 1 of two.ag again"
    )


def test_a_write_in_another_file():
    session = Session()
    session.run("var a = 3\ny = a**2\n")
    session.run("set a = 4\n", source="other.ag", is_file=True)
    assert refusal(session, "backward y") == (
        "error[stale]: y is stale: a was changed after y was computed from it\n"
        "   session line 2 | y = a**2\n"
        "                  |     ^^^^ computed from the old a\n"
        "  other.ag line 1 | set a = 4\n"
        "                  | ^^^^^^^^^ … changed here\n"
        "  fix: forward y, or evaluate line 2 again"
    )


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ("backward a*b", "backward d retain   at line 3, or evaluate lines 2 and 4 again"),
        (
            "k = 1\nz = [\n  1,\n  2]*d\nbackward z[0]",
            "backward d retain   at line 3, or evaluate lines 2 and 5 to 8 again",
        ),
        (
            "if a > 1:\n  z = d*2\nelse:\n  z = d\nbackward z",
            "backward d retain   at line 3, or evaluate lines 2 and 4 to 7 again",
        ),
    ],
)
def test_lines_to_evaluate_again_are_whole_statements(text, fix):
    session = Session()
    session.run("var a = 3\nd = a**2; b = d\nbackward d")
    assert refusal(session, text).split("fix: ")[1] == fix


@pytest.mark.parametrize("file", TRANSCRIPTS, ids=lambda file: file.stem)
def test_fixes_are_statements_or_say_what_to_do(file):
    text = file.read_text(encoding="utf-8")
    fixes = [
        alternative for fix in re.findall(r"^  fix: (.*)$", text, re.MULTILINE) for alternative in fix.split(", or ")
    ]
    assert fixes
    for fix in fixes:
        typed = re.split(r"   | again", fix)[0]
        if re.match(
            r"evaluate line|call \w+$|compute .* from|use \w+ itself|run backward first|give it one|write into",
            typed,
        ):
            continue
        if "…" in typed:
            typed = typed.replace("…", "1")
        typed = re.sub(r" and evaluate line.*|  \(.*\)$", "", typed)
        parse(Source("session", typed))


@pytest.mark.parametrize("file", TRANSCRIPTS, ids=lambda file: file.stem)
def test_what_is_offered_for_a_line_works_when_typed_there(file):
    """`backward d retain   at line 5`: with that line so, the statement that failed goes through."""
    stands = []  # all that did not fail, a line each
    for typed, answers in statements(file.read_text(encoding="utf-8")):
        offered = re.search(r"^  fix: (.* retain|.*retain_graph=True\))   at line (\d+)", answers, re.MULTILINE)
        if offered:
            fix, line = offered[1], int(offered[2])
            before = re.match(r"\s*(?:(?:if|for|no_grad)\b.*?: )?", stands[line - 1])[0]
            session = Session()
            session.run("\n".join([*stands[: line - 1], before + fix, *stands[line:], typed]))
        failed = "error[" in answers
        stands += ["#"] * (typed.count("\n") + 1) if failed else typed.split("\n")


def statements(transcript):
    """What was typed, statement by statement, and what was answered."""
    found = []
    for line in transcript.split("\n"):
        if line.startswith(PROMPT):
            found.append([line[len(PROMPT) :], ""])
        elif line.startswith(MORE):
            found[-1][0] += f"\n{line[len(MORE) :]}"
        elif found:
            found[-1][1] += f"{line}\n"
    return found


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("y = grad(w**3, w)*w", 81),
        ("y = hessian(w**4, w)*w", 324),
        ("y = jvp(w**3, w, w)", 81),
        ("y = vjp(w**3, w, w)", 81),
        ("y = hvp(w**3, w, w)", 54),
        ("y = jacobian(w**2, w)*w", 18),
    ],
)
def test_a_derivative_as_a_value_is_replayed_like_any_other(text, value):
    session = Session()
    session.run(f"var w = 2; {text}; backward y retain; forward y with w=3")
    assert session.names["y"].item() == value


@pytest.mark.parametrize("tolerance", ["-1", "nan", "-1e-300", "-inf"])
@pytest.mark.parametrize("text", ["1 ~= 1 +- {}", "assert [1, 2] ~= [1, 2] +- {}", "x = 1 ~= 2 +- {}"])
def test_a_tolerance_is_a_number_from_0_on(text, tolerance):
    with pytest.raises(AgradError) as caught:
        Session().run(text.format(tolerance))
    assert caught.value.kind == "domain"
    Session().run("assert 1 ~= 1 +- 0\nassert 1 ~= 2 +- inf")


def test_no_fix_is_made_by_a_pattern_on_the_text_of_a_message():
    root = Path(__file__).parents[3]
    searched = re.compile(r"(re\.\w+|\.(?:search|match|fullmatch|findall|finditer|sub))\([^\n]*\.message\b")
    for path in (*(root / "grammar").rglob("*.py"), *(root / "cli").rglob("*.py")):
        assert not searched.search(path.read_text(encoding="utf-8")), path


@pytest.mark.parametrize(
    ("texts", "fix"),
    [
        (["x = 3", "u = x^2; y = sin(u)"], "var x = 3; again 2"),
        (["x = 3", "u = x^2", "k = 5", "y = u*k"], "var k = 5; again 2; again 4"),
        (["var x = 3", "y = x^2", "x = 0.1", "y = x^2", "y = y*2"], "var x = 0.1; again 4..5"),
        (["x = 3; y = x^2"], "var x = 3; y = x^2"),
        (["x = 3; u = x^2", "k = 5", "y = u*k"], "var k = 5; u = x^2; again 3"),
        (["x = 3; u = x^2", "y = sin(u)"], "var x = 3; u = x^2; again 2"),
    ],
)
def test_a_number_is_made_of_a_number_that_is_no_leaf(texts, fix):
    session = Session()
    session.record.on, session.by_entry = True, True
    for line, text in enumerate(texts, 1):
        session.line = line
        session.run(text)
    session.line = len(texts) + 1
    with pytest.raises(AgradError) as caught:
        session.run("backward y")
    assert caught.value.fixes == [fix]
    session.line += 1
    session.run(fix)
    session.line += 1
    session.run("backward y")
    assert session.names[fix[4]].grad is not None


def test_a_number_that_was_typed_is_made_a_leaf_itself():
    session = Session()
    session.record.on = True
    session.run("y = 3")
    assert "fix: var y = …   makes a leaf that requires grad" in refusal(session, "backward y")


@pytest.mark.parametrize(
    ("texts", "failing", "fix"),
    [
        (["var x = 2", "z = 1; y = x^2", "backward y"], "backward y", "backward y retain   at line 3, or y = x^2"),
        (["var x = 2", "y = x^2; backward y"], "backward y", "backward y retain   at line 2, or y = x^2"),
        (["var x = 2", "y = x^2; z = y*x", "backward z"], "backward z", "backward z retain   at line 3, or again 2"),
        (["var x = 2; u = x^2", "y = exp(u); z = 1; backward y"], "backward y", None),
    ],
)
def test_what_is_to_be_run_again_is_not_what_was_typed_beside_it(texts, failing, fix):
    session = Session()
    session.record.on, session.by_entry = True, True
    for session.line, text in enumerate(texts, 1):
        session.run(text)
    session.line = len(texts) + 1
    with pytest.raises(AgradError) as caught:
        session.run(failing)
    found = caught.value.fixes[0]
    assert found == (fix or "backward y retain   at line 2, or u = x^2; y = exp(u)")
    session.line += 1
    session.run(found.split(", or ")[-1])
    session.line += 1
    session.run(failing)
