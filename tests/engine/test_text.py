"""Aligned columns and truncated texts."""

from rows import each

from agrad.engine.text import align, display_width, truncate


@each(
    "text, width, where, mark, shown",
    [
        ("abcdef", 6, "end", "…", "abcdef"),
        ("abcdefg", 6, "end", "…", "abcde…"),
        ("abcdefg", 6, "end", "...", "abc..."),
        ("abcdefg", 1, "end", "...", "..."),
        ("abcdef", 6, "middle", "…", "abcdef"),
        ("abcdefghij", 9, "middle", "…", "abc … hij"),
        ("abcdefghijk", 8, "middle", "…", "abc … jk"),
    ],
)
def test_a_long_text_is_truncated(text, width, where, mark, shown):
    assert truncate(text, width, where, mark) == shown


def test_the_cells_of_a_column_are_below_each_other():
    rows = [("a", "1", "x"), ("bcd", "23", "y z")]
    assert align(rows) == ["a    1   x", "bcd  23  y z"]
    assert align(rows, right=[1]) == ["a     1  x", "bcd  23  y z"]
    assert align(rows, margin="  ") == ["  a    1   x", "  bcd  23  y z"]
    assert align(rows, widest=2) == ["a   1   x", "bcd  23  y z"]


def test_a_column_without_text_takes_no_room_and_no_line_ends_with_blanks():
    assert align([("a", "", "1"), ("b", "", "")]) == ["a  1", "b"]
    assert align([]) == []


def test_wide_characters_take_two_columns_and_marks_none():
    assert [display_width(text) for text in ("ab", "é", "e\u0301", "数", "…")] == [2, 1, 1, 2, 1]
    assert align([("数", "1"), ("ab", "2")]) == ["数  1", "ab  2"]
