"""Errors of the graph in the language: places in other texts and files, and fixes that can be typed."""

import re
from pathlib import Path

import pytest
from rows import each

from agrad.engine.errors import AgradError
from agrad.grammar.diagnostics import Source, render
from agrad.grammar.session.session import Session
from agrad.grammar.syntax.parser import parse

PROMPT, MORE = "agrad> ", "  ...> "
TRANSCRIPTS = sorted((Path(__file__).parents[2] / "transcripts").glob("semantics_*.txt"))


def refusal(session, text, **source):
    with pytest.raises(AgradError) as caught:
        session.run(text, **source)
    return render(caught.value)


@each("file", TRANSCRIPTS)
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


@each("file", TRANSCRIPTS)
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


def test_no_fix_is_made_by_a_pattern_on_the_text_of_a_message():
    root = Path(__file__).parents[3]
    searched = re.compile(r"(re\.\w+|\.(?:search|match|fullmatch|findall|finditer|sub))\([^\n]*\.message\b")
    for path in (*(root / "grammar").rglob("*.py"), *(root / "cli").rglob("*.py")):
        assert not searched.search(path.read_text(encoding="utf-8")), path


@each(
    "texts, fix",
    [
        (["x = 3", "u = x^2; y = sin(u)"], "var x = 3; y = sin(x^2)"),
        (["x = 3", "u = x^2", "k = 5", "y = u*k"], "var k = 5; y = (x^2)*k"),
        (["var x = 3", "y = x^2", "x = 0.1", "y = x^2", "y = y*2"], "var x = 0.1; y = (x^2)*2"),
        (["x = 3; y = x^2"], "var x = 3; y = x^2"),
        (["x = 3; u = x^2", "k = 5", "y = u*k"], "var k = 5; y = (x^2)*k"),
        (["x = 3; u = x^2", "y = sin(u)"], "var x = 3; y = sin(x^2)"),
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


@each(
    "texts, failing, fix",
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
