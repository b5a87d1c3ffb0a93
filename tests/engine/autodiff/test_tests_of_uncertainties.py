"""The tests of the package `uncertainties`, with agrad in its place: those that fail do so for a stated reason.

They come from its source distribution; `uncertainties_otherwise.txt` has how many fail for each reason.
"""

import os
import re
import subprocess
import sys
import tarfile
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import pytest

pytest.importorskip("uncertainties")
pytestmark = pytest.mark.long

VERSION = "3.2.3"
SUPPORT = Path(__file__).parents[2] / "support"
FILES = "uncertainties umath power formatting unumpy ulinalg".split()
ROWS = Path(__file__).with_name("uncertainties_otherwise.txt").read_text("utf-8").splitlines()
REASONS = [line.split(None, 2) for line in ROWS if line and not line.startswith("#")]  # count, pattern, why


def fetched(folder):
    """The folder of its tests. Skips the test where pip cannot fetch them."""
    options = ["--quiet", "--disable-pip-version-check", "--no-deps", "--no-binary", "uncertainties"]
    command = [sys.executable, "-m", "pip", "download", *options, f"uncertainties=={VERSION}", "--dest", folder]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    if done.returncode:
        pytest.skip(f"pip cannot fetch the sources of uncertainties {VERSION}: {done.stderr.strip()[-200:]}")
    with tarfile.open(folder / f"uncertainties-{VERSION}.tar.gz") as sources:
        sources.extractall(folder, filter="data")
    return folder / f"uncertainties-{VERSION}" / "tests"


def outcomes(folder):
    """The names of the tests that passed, and those that failed with the message."""
    report = folder / "report.xml"
    options = ["-q", "-p", "shim_of_uncertainties", "-p", "no:cacheprovider", "-W", "ignore", f"--junitxml={report}"]
    command = [sys.executable, "-m", "pytest", *options, *[f"test_{name}.py" for name in FILES]]
    environment = os.environ | {"PYTHONPATH": str(SUPPORT)}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=400
    )
    assert report.exists(), done.stdout + done.stderr
    passed, failed = [], []
    for case in ElementTree.parse(report).iter("testcase"):
        assert case.find("error") is None, case.attrib
        if case.find("skipped") is None:
            file, failure = case.get("classname").rpartition(".")[2], case.find("failure")
            name = f"{file.removeprefix('test_')}.{case.get('name').removeprefix('test_')}"
            passed.append(name) if failure is None else failed.append(f"{name}|{failure.get('message')}")
    return passed, failed


def test_its_tests_fail_only_where_agrad_does_otherwise_on_purpose(tmp_path):
    passed, failed = outcomes(fetched(tmp_path))
    found = Counter(next((row[1] for row in REASONS if re.search(row[1], name)), name) for name in failed)
    assert found == {pattern: int(count) for count, pattern, _ in REASONS}
    assert len(passed) >= 503
