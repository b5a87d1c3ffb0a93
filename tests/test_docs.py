"""docs/functions.md is what the table of functions makes of it."""

from pathlib import Path

from agrad.grammar.reference import markdown

DOCUMENT = Path(__file__).parents[1] / "docs" / "functions.md"


def test_the_document_of_the_functions_is_fresh():
    assert DOCUMENT.read_text(encoding="utf-8") == markdown(), "make docs writes it anew"
