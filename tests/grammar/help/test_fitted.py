"""The pages of help in a narrow terminal."""

import re

from rows import each

from agrad.engine.text import fit
from agrad.grammar.commands import COMMANDS
from agrad.grammar.help.help import TOPICS, fitted, help_on, overview


@each("width", [30, 40, 60])
@each("word", ["", *TOPICS])
def test_a_page_has_the_same_words_in_a_narrow_terminal(word: str, width: int) -> None:
    page = help_on(word, COMMANDS) if word else overview(COMMANDS)
    narrow = fitted(page, width)
    assert narrow.split() == page.split()
    assert all(len(line) <= width or len(line.split()) == 1 for line in narrow.split("\n"))
    assert fitted(page, None) == page


def test_what_a_command_does_stands_below_how_it_is_typed() -> None:
    lines = fitted(overview(COMMANDS), 40).split("\n")
    place = lines.index("  grad a …")
    assert lines[place + 1 : place + 4] == [
        "      Shows gradients and the terms of",
        "      their sums, or why there is none.",
        "  zero_grad [a …]",
    ]
    assert "  var x = 2" in lines and not any(re.match(" {20}", line) for line in lines)


def test_a_line_is_folded_between_its_fields() -> None:
    row = "  %2  sin(x)        Sin   ()  = 0.9092974268   saves %1   grad [1.5, 2.5]"
    assert fit(row, 40).split("\n") == [
        "  %2  sin(x)        Sin   ()",
        "                    = 0.9092974268",
        "                    saves %1",
        "                    grad [1.5, 2.5]",
    ]
