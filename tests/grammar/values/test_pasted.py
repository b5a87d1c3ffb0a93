"""What a learner of PyTorch pastes: torch's numbers, or an error. pasted.txt was measured with torch 2.13."""

import importlib.util
from pathlib import Path

import pytest

from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError
from agrad.grammar.session.session import Session
from tests.support.pasted import HEAD, SNIPPETS, of_torch

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


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")
@pytest.mark.parametrize("name", SNIPPETS)
def test_torch_gives_these_numbers_or_an_error(name):
    torch = pytest.importorskip("torch")
    before = torch.get_default_dtype()
    try:
        found = of_torch(SNIPPETS[name])
    finally:
        torch.set_default_dtype(before)
    if TABLE[name] == "refused":
        assert found is None
    else:
        assert found == pytest.approx([*map(float, TABLE[name].split())], rel=1e-12, abs=1e-12)


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
    "batch norm of one row": "BatchNorm1d: x of shape (1, 3) has one value a feature: no variance",
    "a leaf in place": "a leaf that requires grad is being used in an in-place operation: x",
    "a word that is not there": "embedding: there is no row 3: there are 3, from 0 on",
    "a base that is not called": "Net.fc is assigned before Net is initialised",
    "a forward that is missing": "Net has no forward",
    "an optimiser of nothing": "SGD got no parameters",
    "a state of another model": "the state does not fit Linear",
    "a layer of another width": "linear: x of shape (4, 2) does not fit the weight of shape (1, 3)",
    "a class that is misspelt": "agrad has no nn.Liner",
    "a module that is not in the dictionary": "ModuleDict has no module 'b': there are 'a'",
    "too few repetitions": "repeat of shape (2, 2) needs a number an axis, not 1 number",
    "a parameter that becomes a tensor": "Linear.weight is a parameter, and cannot become an array of shape (1, 2)",
    "a function without its backward": "a Function needs a backward",
    "an optimiser of results": "SGD updates leaves, and w*2 was computed",
    "the wrong shape of a gradient": "cannot assign a gradient of shape (3) to (2): a gradient has the shape",
}
