"""Nothing that a user sees has changed: every answer in tests/corpus.txt is, byte for byte, what agrad answers.

After a change that is meant: python tests/support/corpus.py writes today's answers into it. What the file holds, and
where its texts come from, is described there and in collect.py.
"""

import difflib
import os
import subprocess
import sys
from pathlib import Path

import pytest

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
    if machine != recorded:
        pytest.skip(
            f"the answers were recorded with other libraries, or another processor: {recorded}; here: {machine}"
        )
    lines = difflib.unified_diff(expected.split("\n"), answered.split("\n"), "recorded", "today", "", "", 4, "")
    pytest.fail("\n".join([line for line, _ in zip(lines, range(MOST), strict=False)]), pytrace=False)
