"""Some cases of each comparison of compare.py, the same at each run."""

import os
import random
import subprocess
import sys
from itertools import chain, count, islice
from pathlib import Path

import pytest
from comparisons import NAMES, comparison
from rows import each

CASES = 60
IN_PROCESSES = "processes"  # it forks: from a process without the threads that tests may have


@each("name", [name for name in NAMES if name != IN_PROCESSES])
def test_random_work_gives_the_same_when_done_otherwise(name):
    batches = (comparison(name)(random.Random(seed)) for seed in count())
    assert sum(1 for _ in islice(chain.from_iterable(batches), CASES)) == CASES


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")
@pytest.mark.long
def test_processes_end_properly_whatever_is_in_their_files():
    script = Path(__file__).parent / "compare.py"
    words = [sys.executable, str(script), IN_PROCESSES, "--cases", "50", "--seed", "0"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=150)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.long
@pytest.mark.parametrize(
    "name", ["numpy_programs", "python", "python_scripts", "python_states", "session_states", "torch_states"]
)
def test_many_programs_leave_what_they_leave_elsewhere(name):
    for seed in range(1000, 1040):
        for _ in comparison(name)(random.Random(seed)):
            pass
