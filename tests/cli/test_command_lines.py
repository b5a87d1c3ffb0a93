"""Command lines, and all that agrad answers: see `command_lines` in tests/support."""

import command_lines
import pytest


@pytest.mark.parametrize("file", sorted(command_lines.FOLDER.glob("*.txt")), ids=lambda file: file.stem)
def test_each_claim_has_the_answers_that_it_had(file):
    common, *claims = file.read_text("utf-8").split("\n## ")
    assert claims
    for claim in claims:
        assert command_lines.answered(claim, common) == claim.rstrip("\n") + "\n"
