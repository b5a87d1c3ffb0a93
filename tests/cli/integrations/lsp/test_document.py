"""A script in pieces, and its places as editors count them."""

from hypothesis import given
from hypothesis import strategies as st
from rows import each

from agrad.cli.integrations.lsp.document import Document

LINES = st.sampled_from(
    ["x = 1", "def f(a):", "    b = a", "y = [1,", "2]", "}", "é😀 = '𝛼'", "", "# 😀", "else:", '"""', "\f", "z = (", "\u2028"]
)  # fmt: skip
TEXTS = st.lists(LINES, max_size=30).flatmap(lambda lines: st.sampled_from(["\n", "\r\n", "\r"]).map(lambda end: end.join(lines)))  # fmt: skip


@given(TEXTS)
def test_the_pieces_are_the_text(text):
    assert "".join(piece.text for piece in Document("a.ag", text).pieces) == text


@given(TEXTS, st.sampled_from(["utf-8", "utf-16", "utf-32"]))
def test_a_place_is_found_again_from_its_line_and_column(text, encoding):
    document = Document("a.ag", text, 1, encoding)
    for offset in range(len(text) + 1):
        if text[offset - 1 : offset + 1] != "\r\n":  # no place of an editor
            assert document.offset(*document.position(offset)) == offset


@each("encoding, columns", [("utf-8", [0, 4, 6, 7]), ("utf-16", [0, 2, 3, 4]), ("utf-32", [0, 1, 2, 3])])
def test_the_units_of_each_encoding(encoding, columns):
    document = Document("a.ag", "1\n😀é,", 1, encoding)
    assert [document.position(offset) for offset in range(2, 6)] == [(1, column) for column in columns]


@each("line, column, offset", [(0, 99, 3), (1, 0, 4), (1, 99, 5), (2, 0, 5), (99, 99, 5)])
def test_a_place_outside_of_the_text_is_its_nearest(line, column, offset):
    assert Document("a.ag", "abc\nd").offset(line, column) == offset


def test_the_names_that_a_function_binds_are_its_own():
    document = Document(
        "a.ag", "def f(x, y=2):\n    z = x\n    return z\nx = 3\n@torch.no_grad()\ndef g(w): return w\n"
    )
    assert document.names == {"f": [4], "x": [38], "g": [65]}
    assert set(document.pieces[0].read.inner) == {"x", "y", "z"}


def test_completion_reads_from_a_line_that_begins_a_statement():
    text = "a = 1\n" * 300 + "b = [1,\n2,\nc" + " = 1]\n"
    assert Document("a.ag", text).before(len(text) - 6) == "a = 1\n" * 98 + "b = [1,\n2,\nc"
