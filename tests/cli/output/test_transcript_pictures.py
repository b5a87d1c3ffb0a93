"""Text with a terminal's escape codes as a picture."""

from rows import each

from agrad.cli.output.pictures import Look, pieces, svg

PLAIN = Look()


@each(
    "text, lines",
    [
        ("", [[]]),
        ("a\n\nb", [[("a", PLAIN)], [], [("b", PLAIN)]]),
        ("\x1b[31ma\x1b[1mb\x1b[0mc", [[("a", Look("red")), ("b", Look("red", True)), ("c", PLAIN)]]),
        ("\x1b[31ma\nb\x1b[39mc", [[("a", Look("red"))], [("b", Look("red")), ("c", PLAIN)]]),
        ("\x1b[1;36ma\x1b[22mb", [[("a", Look("cyan", True)), ("b", Look("cyan"))]]),
        ("\x1b[2ma\x1b[0m\x1b[90mb", [[("ab", Look("brightblack"))]]),
        ("\x1b[94ma\x1b[m", [[("a", Look("blue"))]]),
        ("\x1b[38;5;196;1ma\x1b[48;2;1;2;3mb", [[("ab", Look("default", True))]]),
        ("\x1b[41;4;7ma", [[("a", PLAIN)]]),
        ("a\x1b[2Jb\x07", [[("a\ufffd[2Jb\ufffd", PLAIN)]]),
        ("a\tb", [[("a   b", PLAIN)]]),
    ],
)
def test_the_pieces_of_a_text(text, lines):
    assert pieces(text) == lines


def test_titles_and_texts_are_escaped():
    made = svg("<&>\n\x1b[31m</text>\x1b[0m", '<t>"&\x07', "light")
    assert "<title>&lt;t&gt;&quot;&amp;\ufffd</title>" in made
    assert "&lt;&amp;&gt;" in made
    assert "&lt;/text&gt;" in made


def test_wide_characters_take_two_columns():
    made = svg("漢字\x1b[31mx", "t", "light")
    assert 'textLength="33.6"' in made
    assert '<text x="49.6" y="30" textLength="8.4" class="red">x</text>' in made


def test_an_empty_text():
    assert "<g " in svg("", "t", "auto")
