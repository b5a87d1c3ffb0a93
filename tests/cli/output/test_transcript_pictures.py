"""Text with a terminal's escape codes as a picture."""

from rows import each

from agrad.cli.output.pictures import Look, pieces, svg
from agrad.engine.text import fit

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


def test_the_branches_of_a_tree_go_on_where_a_line_is_folded():
    said = "saves %1 %2, freed by line 12"
    tree = f"  %4  d = a*b  Mul   (3)  {said}\n  ├─ %1  a     leaf  (3)  {said}\n  └─ %2"
    assert fit(tree, 50).split("\n") == [
        "  %4  d = a*b  Mul   (3)",
        f"  │                  {said}",
        "  ├─ %1  a     leaf  (3)",
        f"  │                  {said}",
        "  └─ %2",
    ]


def test_boxes_in_a_picture_are_as_wide_as_they_need(inside, tmp_path):
    script = (
        "var a = [0.1, 0.2]\nd = sin(a*1.25) + cos(a*2.5) + exp(a*3.75) + log(a*4.25) + sqrt(a*5.125)\ngraph d as boxes"
    )
    _, err, code = inside("run", "--svg", "s.svg", "-", given=script)
    made = (tmp_path / "s.svg").read_text("utf-8")
    assert (err, code) == ("", 0)
    assert "as boxes it would be" not in made
    assert int(made.partition('width="')[2].partition('"')[0]) > 84 * 9
