"""What people write as on paper, and as other calculators have it: the answer, or two readings, or why not.

homework.txt has 20 tasks of school. `python tests/grammar/test_paper.py` writes today's answers into both.
"""

import re
from pathlib import Path

import pytest
from answers import answers
from rows import each

from agrad.engine.errors import AgradError
from agrad.grammar.session.session import Session

TABLE, HOMEWORK = (Path(__file__).with_name(f"{name}.txt") for name in ("paper", "homework"))
START = "x = 3; y = 2; a = 1; b = 2; r = 2; t = 0.5; n = 4\nf(x) = x^2 - 4x + 1"


def said(text: str, start: str = START) -> str:
    """All that a text answers at a prompt, with notes and errors, and with their fixes."""
    session, lines = Session(), list[str]()
    session.run(start)

    def emit(result: object) -> None:
        lines.append(result.text(session.settings))  # type: ignore[attr-defined]
        lines.extend(f"  fix: {fix}" for fix in getattr(getattr(result, "note", None), "fixes", ()))

    try:
        for line in text.split("\n"):
            session.run(line, emit)
    except AgradError as problem:
        lines += [f"error: {problem.message}", *(f"  fix: {fix}" for fix in problem.fixes)]
    return "\n".join(lines)


@each("text, answer", answers(TABLE).items())
def test_what_is_written_on_paper_has_its_answer_or_both_readings(text: str, answer: str) -> None:
    assert said(text) == answer


def test_most_of_it_has_an_answer() -> None:
    rows = answers(TABLE)
    refused = [text for text, answer in rows.items() if "error: " in answer]
    assert len(rows) >= 150
    assert len(rows) - len(refused) >= 130


@each("text, answer", answers(HOMEWORK).items())
def test_homework_is_done_without_a_message(text: str, answer: str) -> None:
    assert said(text, "") == answer
    assert "error: " not in answer


def formulas() -> list[tuple[str, str]]:
    """What is differentiated in the homework, and the formula that is the answer."""
    found = []
    for text, answer in answers(HOMEWORK).items():
        if (given := re.fullmatch(r"d/dx (.+)|f\(x\) = (.+)\nf'\(x\)", text)) is not None:
            found.append((given[1] or given[2], answer.split("\n")[0]))
    return found


@each("function, formula", formulas())
def test_the_formulas_of_the_homework_are_the_derivatives(function: str, formula: str) -> None:
    step = 1e-5
    value = Session().evaluate(f"(lambda x: {formula})(1.7)")
    low, high = (Session().evaluate(f"(lambda x: {function})({1.7 + way})") for way in (-step, step))
    assert value == pytest.approx((high - low) / (2 * step), rel=1e-7)


def written(table: Path, start: str) -> str:
    """A table with today's answers."""
    text, rows = "", list[str]()
    for line in [*table.read_text("utf-8").splitlines(), "# "]:
        if line[0] == "|":
            continue
        if line[0] != "." and text:
            rows += [f"| {one}" for one in said(text, start).split("\n") if one]
            text = ""
        if line != "# ":
            rows.append(line)
        if line[0] in ">.":
            text += ("\n" if line[0] == "." else "") + line[2:]
    return "\n".join(rows) + "\n"


if __name__ == "__main__":
    TABLE.write_text(written(TABLE, START), "utf-8")
    HOMEWORK.write_text(written(HOMEWORK, ""), "utf-8")
