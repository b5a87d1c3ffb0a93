"""`\\alpha` and Tab, and `copy` at the prompt."""

import base64

from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from prompt_toolkit.output import DummyOutput
from rows import each

from agrad.cli.repl.editor import SIGNS, Words
from agrad.cli.repl.prompt import copy
from agrad.grammar.session.session import Session


def completed(text: str) -> list[str]:
    found = Words(Session()).get_completions(Document(text), CompleteEvent())
    return [text[: len(text) + one.start_position] + one.text for one in found]


@each("typed, made", [(rf"x = \{name}", f"x = {sign}") for name, sign in SIGNS.items()])
def test_tab_makes_a_sign_of_its_name(typed: str, made: str) -> None:
    assert completed(typed) == [made]


def test_all_greek_letters_are_there_and_part_of_a_name_offers_those_that_begin_with_it() -> None:
    assert {chr(code) for code in range(ord("α"), ord("ω") + 1)} - {"ς"} <= {*SIGNS.values()}
    assert completed(r"2\ep") == ["2ε"]
    assert completed(r"\p") == ["±", "∂", "π", "φ", "ψ"]
    assert completed(r"\nosuch") == []


@each("name", SIGNS)
def test_each_sign_is_read(name: str) -> None:
    sign = SIGNS[name]
    texts = {"√": "√4", "°": "30°", "∂": "∂/∂x x^2"}
    text = texts.get(sign, f"3 {sign} 2" if not sign.isalpha() else sign if sign == "π" else f"{sign} = 2; {sign}")
    session = Session()
    session.run("x = 3")
    session.run(text)


class Heard(DummyOutput):
    """A terminal that keeps what is written to it."""

    text = ""

    def write_raw(self, data: str) -> None:
        self.text += data


@each("answer", ["42", "[[1, 2],\n [3, 4]]", "2.00 ± 0.10 m", "0xff"])
def test_copy_writes_the_answer_as_it_is_shown(answer: str) -> None:
    heard = Heard()
    assert copy(answer, heard).startswith("asked the terminal to copy ")
    begin, end = "\x1b]52;c;", "\x07"
    assert heard.text.startswith(begin) and heard.text.endswith(end)
    assert base64.b64decode(heard.text[len(begin) : -1]).decode() == answer


@each(
    "answer, term, said",
    [
        ("", "xterm", "there is no answer to copy yet"),
        ("1" * 80_000, "xterm", "nothing is copied: that is too long for the clipboard"),
        ("1", "linux", "nothing is copied: this terminal has no clipboard"),
    ],
)
def test_what_cannot_be_copied_is_said(answer: str, term: str, said: str, monkeypatch: object) -> None:
    monkeypatch.setenv("TERM", term)  # type: ignore[attr-defined]
    heard = Heard()
    assert (copy(answer, heard), heard.text) == (said, "")
