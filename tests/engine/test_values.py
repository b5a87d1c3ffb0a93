"""Numbers, values and columns as text."""

import platform
import re
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rows import each

from agrad.engine.text import align, display_width, truncate
from agrad.engine.values import format_bytes, format_number


@each(
    "count, text",
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (9999, "9999 bytes"),
        (12_000, "12 kB"),
        (1_540_000, "1.54 MB"),
        (8 * 10**9, "8 GB"),
    ],
)
def test_bytes_in_words(count, text):
    assert format_bytes(count) == text


def test_a_count_is_shown_as_a_number():
    assert [format_number(count) for count in (0, 20_000, -3, 2**53)] == ["0", "20000", "-3", str(2**53)]


@given(st.integers(-(2**53), 2**53), st.sampled_from([1, 3, 10, None]))
def test_a_whole_number_is_printed_whole(number, precision):
    assert format_number(float(number), precision) == str(number)


@given(st.floats(allow_nan=False), st.integers(1, 17))
def test_a_number_in_full_reads_back_and_no_text_has_an_empty_fraction(number, precision):
    full = format_number(number, None)
    assert float(full).hex() == number.hex()
    assert not re.search(r"\.0(e|$)", full + " " + format_number(number, precision))


def test_zero_has_a_sign_only_in_full():
    assert [format_number(-0.0, precision) for precision in (1, 10, 17, None)] == ["0", "0", "0", "-0"]


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


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="of glibc")
def test_a_step_on_large_arrays_takes_the_memory_of_the_step_before():
    code = """if True:
        from resource import RUSAGE_SELF, getrusage
        import agrad.engine as ag
        x = ag.tensor([0.5] * 100_000)
        w = ag.tensor(0.1, requires_grad=True)
        def step():
            ((w*x + w - x)**2).mean().backward()
        pages = lambda: getrusage(RUSAGE_SELF).ru_minflt
        for _ in range(5):
            step()
        before = pages()
        for _ in range(20):
            step()
        print(pages() - before)
    """
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert int(run.stdout) < 200, run.stderr  # an array has as many
