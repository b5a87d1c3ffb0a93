"""Python as tutorials have it: operators of classes, dictionaries and sets, `in` and `is`, arguments with stars."""

import subprocess
import sys
from pathlib import Path

import pytest
from transcript import sections

from agrad.grammar.session.session import Session

((ENGINE,), (NETWORK,)) = sections(Path(__file__).with_name("value_engine.txt")).values()
# What is printed is what Python prints. Whole numbers are written without a point in both.
TEXTS = {name: text for name, (text,) in sections(Path(__file__).with_name("python.txt")).items()}
VECTOR = TEXTS.pop("a vector")
PRINTED = {name: VECTOR + text if name.startswith("of a vector: ") else text for name, text in TEXTS.items()}
PRINTED |= {"micrograd": ENGINE, "micrograd's network": f"import random\n{ENGINE}\n{NETWORK}"}


def printed(text):
    said = []
    session = Session()
    session.run(f"import math\n{text}", lambda result: said.append(result.line) if hasattr(result, "line") else None)
    return "\n".join(said)


@pytest.mark.parametrize("name", PRINTED)
def test_it_prints_what_python_prints(name):
    theirs = subprocess.run([sys.executable, "-c", PRINTED[name]], capture_output=True, text=True, check=True).stdout
    assert printed(PRINTED[name]) == theirs.rstrip("\n")
