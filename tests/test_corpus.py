"""Nothing that a user sees has changed: every answer in tests/corpus.txt is, byte for byte, what agrad answers.

After a change that is meant: python tests/support/corpus.py writes today's answers into it. What the file holds
is described there.
"""

import difflib
import os
import subprocess
import sys
from pathlib import Path

import pytest
from rounding import same_but_for_rounding

SUPPORT = Path(__file__).parent / "support"
CORPUS = SUPPORT.parent / "corpus.txt"
MOST = 120  # lines of differences that are shown


def test_every_answer_is_the_same(tmp_path):
    expected = CORPUS.read_text("utf-8")
    environment = os.environ | {"PYTHONUTF8": "1", "PYTHONHASHSEED": "7"}
    command = [sys.executable, SUPPORT / "corpus.py", "--print"]
    made = subprocess.run(command, capture_output=True, env=environment, cwd=tmp_path, check=False)
    assert made.returncode == 0, made.stderr.decode()[-3000:]
    answered = made.stdout.decode()
    if answered == expected:
        return
    (machine, _, answered), (recorded, _, expected) = answered.partition("\n"), expected.partition("\n")
    (libraries, digits), (recorded_libraries, recorded_digits) = (text.rsplit(", ", 1) for text in (machine, recorded))
    if libraries != recorded_libraries:
        pytest.skip(f"the answers were recorded with other libraries: {recorded}; here: {machine}")
    before, today = expected.split("\n"), answered.split("\n")
    if digits != recorded_digits and len(before) == len(today):  # another processor, whose sums round differently
        today = [old if same_but_for_rounding(old, new) else new for old, new in zip(before, today, strict=True)]
    if before != today:
        lines = difflib.unified_diff(before, today, "recorded", "today", "", "", 4, "")
        pytest.fail("\n".join([line for line, _ in zip(lines, range(MOST), strict=False)]), pytrace=False)
