"""A text that is edited is read as one that is not."""

import random

import pytest
from sentences import BROKEN, NAMES, NUMBERS, STORE
from thinned import thinned

from agrad.engine.errors import AgradError
from agrad.grammar.diagnostics import Source, Span
from agrad.grammar.syntax.keywords import RESERVED, SOFT
from agrad.grammar.syntax.lexer import Item, _Scanner
from agrad.grammar.syntax.parser import Incremental, kinds, lexer

SIGNS = [*"+-*/%@()[]{},;:=.\"'#!²±?\n\t ", "**", "..", "+-", "~=", "  ", '"""', 'f"', "    \n", "\n    "]
TYPED = [
    *SIGNS,
    *BROKEN,
    *NAMES,
    *NUMBERS,
    *sorted(RESERVED | SOFT),
    ">>> ",
    "agrad> ",
    "_COMMA",
    "é",
    "1.5(3)",
    "root(",
]


def told(items: list[Item]) -> list[object]:
    """All that is known of the tokens and errors but the text that they are in."""
    found: list[object] = []
    for item in items:
        if isinstance(item, AgradError):
            places = [label.origin for label in item.labels]
            found.append((item.message, [(place.start, place.end) for place in places if isinstance(place, Span)]))
        else:
            found.append((item.type, str(item), item.start_pos, item.end_pos))
    return found


def fresh(text: str) -> list[Item]:
    return list(lexer().read(Source("session", text), comments=True))


def edited(text: str, dice: random.Random) -> str:
    """Another text: something is typed, or taken away, most often at one place for a while."""
    at = dice.choice((len(text), dice.randrange(len(text) + 1), dice.randrange(len(text) + 1)))
    gone = dice.choice((0, 0, 1, 1, 5, 400))
    return text[:at] + dice.choice((*TYPED, "", "", dice.choice(STORE)[:200])) + text[at + gone :]


@pytest.mark.parametrize("seed", thinned(range(120), 8))
def test_what_is_read_again_is_what_is_read_from_the_beginning(seed: int) -> None:
    dice = random.Random(seed)
    text = dice.choice(("\n", " ", "; ")).join(dice.sample(STORE, 12))
    if seed % 3 == 0:
        text = text.replace("\n", " ").replace("#", " ")
    if seed % 2:
        text = text.replace('"""', '"').replace("agrad", "grad").replace(">>>", ">")
    reading = Incremental()
    for _ in range(40):
        again, whole = reading.read(text), fresh(text)
        assert told(again) == told(whole), text
        assert kinds(again) == kinds(whole)
        text = edited(text, dice)


@pytest.mark.parametrize(
    ("before", "behind"),
    [
        ("grad" + " " * 400, "x"),
        ("backward\t", "= 3"),
        ("y ~= 2 ± " + "x + " * 200, "1"),
        ("x = f'" + "a{b} " * 100, "'"),
        ('"' + "a b " * 100, '"'),
        ("'''" + "a + b " * 100, "'''"),
        ("# a " + "b + " * 100, "\n"),
        ("x + " * 100 + "1.5(2", ")"),
        ("exit " + "( " * 100, ")"),
        ("a + " * 100 + "5 +- 3 %", " x"),
        ("(" * 300, ")" * 300),
        ("x = 3\n" * 50 + ">>", "> 2"),
    ],
)
def test_a_key_changes_how_what_is_before_it_is_read(before: str, behind: str) -> None:
    reading = Incremental()
    for size in range(len(behind) + 1):
        text = before + behind[:size]
        assert told(reading.read(text)) == told(fresh(text))


def test_only_the_end_of_a_long_line_is_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    starts = []
    items = _Scanner.items
    monkeypatch.setattr(_Scanner, "items", lambda self: starts.append(self.position) or items(self))
    line = "x + " * 1250
    reading = Incremental()
    for text in (line, line + "s", line + "si", line + "sin(", line + "sin(", line + "sin"):
        reading.read(text)
    assert starts[0] == 0 and len(starts) == 5 and all(place > len(line) - 800 for place in starts[1:])


def test_an_interruption_while_it_is_read_leaves_nothing_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    reading = Incremental()
    text = "x + " * 300
    reading.read(text)
    with monkeypatch.context() as patch:
        patch.setattr(_Scanner, "word", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            reading.read(text + "y")
    assert told(reading.read(text + "y*2")) == told(fresh(text + "y*2"))
