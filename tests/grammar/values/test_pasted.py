"""What a learner of PyTorch pastes: torch's numbers, or an error. pasted.txt was measured with torch 2.13."""

from pathlib import Path

import pytest

from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError
from agrad.grammar.session.session import Session
from tests.support.pasted import HEAD, SNIPPETS

TABLE = dict(line.split(" | ") for line in (Path(__file__).parent / "pasted.txt").read_text("utf-8").splitlines())


def numbers(value):
    if isinstance(value, Tensor):
        return value.tolist()
    return [float(part.item()) if isinstance(part, Tensor) else float(part) for part in value]


@pytest.mark.parametrize("name", SNIPPETS)
def test_it_gives_torchs_numbers_or_an_error(name):
    session = Session()
    if TABLE[name] == "refused":
        with pytest.raises(AgradError) as caught:
            session.run(HEAD + SNIPPETS[name])
        assert MESSAGES[name] in caught.value.message
        return
    session.run(HEAD + SNIPPETS[name])
    assert numbers(session.names["out"]) == pytest.approx([*map(float, TABLE[name].split())], rel=1e-12, abs=1e-12)


MESSAGES = {
    "freed": "y cannot be differentiated: part of its graph was freed",
    "no scalar": "(x**2) has shape (2): backward starts from one number, or needs a seed",
    "no requires_grad": "(x**2) does not require grad: it depends on no leaf that does",
    "in place on a leaf": "a leaf that requires grad is being used in an in-place operation: w",
    "the leaf is lost": "there is no gradient to call .item() on: it is none",
    "no gradient yet": "there is no gradient to call .zero_() on: it is none",
    "shapes": "@ of shapes (2, 3) and (2, 3): 3 columns on the left, 2 rows on the right",
    "item of several": "a value of shape (2) is not one number",
    "truth of several": "an array of shape (2) is neither true nor false",
    "written before backward": "y.sum() cannot be differentiated: y was written to, and its own derivative reads it",
    "a misspelt function": "agrad has no torch.simgoid",
    "a module that is not there": "PyTorch has no torch.foo.sin",
    "an argument that is not there": "x.backward has no argument retain: x.backward(gradient=None, retain_graph=None",
    "a text and a number": 'a number is needed here, not the text "loss "',
    "an index too large": "index 1 is out of range: the list has 1 entry",
    "detached": "y does not require grad: it was computed from x without recording",
    "a name too early": "losss has no value",
    "append of two": "xs.append got one argument too many: xs.append(x)",
    "requires_grad of a result": "only a leaf can be set to require grad or not; this value was computed",
    "a stale graph": "y is stale: w was changed after y was computed from it",
    "the wrong shape of a gradient": "cannot assign a gradient of shape (3) to (2): a gradient has the shape",
}
