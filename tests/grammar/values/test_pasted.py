"""What a learner of PyTorch pastes, nearly half of it with a mistake: torch's numbers in `out`, or an error.

pasted.txt has what torch 2.13 leaves in `out`, or, where it refuses a snippet, too, what agrad says.
"""

import importlib.util
import warnings
from pathlib import Path

import pytest
from rows import each
from transcript import sections

from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError
from agrad.grammar.session.session import Session

HEAD = "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n"
SNIPPETS = sections(Path(__file__).with_name("pasted.txt"))


def numbers(value):
    if isinstance(value, Tensor):
        return value.tolist()
    return [float(part.item()) if isinstance(part, Tensor) else float(part) for part in value]


@each("name", SNIPPETS)
def test_it_gives_torchs_numbers_or_an_error(name):
    session, (text, wanted) = Session(), SNIPPETS[name]
    if wanted.startswith("refused: "):
        with pytest.raises(AgradError) as caught:
            session.run(HEAD + text)
        assert wanted[9:].rstrip() in caught.value.message
        return
    session.run(HEAD + text)
    assert numbers(session.names["out"]) == pytest.approx([*map(float, wanted.split())], rel=1e-12, abs=1e-12)


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")
@each("name", SNIPPETS)
def test_torch_gives_these_numbers_or_an_error(name):
    torch, (text, wanted) = pytest.importorskip("torch"), SNIPPETS[name]
    before, names = torch.get_default_dtype(), {}
    torch.set_default_dtype(torch.float64)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(compile(HEAD + text, "snippet", "exec"), names)
            found = [float(number) for number in names["out"]]
    except Exception:
        assert wanted.startswith("refused: ")
    else:
        assert found == pytest.approx([*map(float, wanted.split())], rel=1e-12, abs=1e-12)
    finally:
        torch.set_default_dtype(before)
