"""Numbers and values as text."""

import pytest

from agrad.engine.values import format_bytes


@pytest.mark.parametrize(
    ("count", "text"),
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
