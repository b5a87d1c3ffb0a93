"""Command lines, and all that agrad answers: see `command_lines` in tests/support."""

import command_lines
import pytest
from rounding import same_answers

FILES = sorted(command_lines.FOLDER.glob("*.txt"))
LONG = [pytest.param(file, marks=pytest.mark.long) for file in sorted(command_lines.FOLDER.glob("long/*.txt"))]


@pytest.mark.parametrize("file", [*FILES, *LONG], ids=lambda file: file.stem)
def test_each_claim_has_the_answers_that_it_had(file):
    common, *claims = file.read_text("utf-8").split("\n## ")
    assert claims
    for claim in claims:
        before, today = claim.rstrip("\n") + "\n", command_lines.answered(claim, common)
        assert today == before or same_answers(before, today)
