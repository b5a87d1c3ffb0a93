"""Every program in examples/ runs to its end: they assert what they compute."""

from pathlib import Path

import pytest

from agrad.grammar.session.session import Session

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.ag"))


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_example(file):
    Session().run(file.read_text(encoding="utf-8"), source=str(file), is_file=True)
