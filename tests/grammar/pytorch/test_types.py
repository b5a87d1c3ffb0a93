"""Types of whole numbers: numbers that are whole are the same in each, and fractions are refused, not kept."""

import pytest

from agrad.engine.errors import AgradError
from agrad.grammar.session.session import Session

WHOLE = {
    "torch.tensor([3, -7], dtype=torch.int64)": [3, -7],
    "np.array([3, -7], dtype=int)": [3, -7],
    "torch.zeros(2, dtype=torch.long)": [0, 0],
    "torch.arange(0, 4, 2, dtype=torch.int32)": [0, 2],
    "trunc(x).to(torch.int64)": [3, -2],
    "x.trunc().type(torch.int64)": [3, -2],
    "(x > 0).to(torch.int64)": [1, 0],
    "x.to(torch.float32)": [3.5, -2.5],
    "x.type(torch.float64)": [3.5, -2.5],
    "x.to('cpu')": [3.5, -2.5],
}
FRACTIONS = [
    "torch.tensor([3, 3.7], dtype=torch.int64)",
    "torch.tensor(3.7, dtype=torch.int32)",
    "tensor([3.7], dtype=int)",
    "np.array([3.7], dtype=int)",
    "torch.arange(0, 1, 0.3, dtype=torch.long)",
    "torch.full((2,), 0.5, dtype=torch.long)",
    "torch.rand(3, dtype=torch.int64)",
    "x.to(torch.long)",
    "x.to(dtype=torch.int64)",
    "x.to('cpu', torch.int64)",
    "x[0].to(int)",
    "x.type(torch.int64)",
]


@pytest.mark.parametrize("text", WHOLE)
def test_whole_numbers_are_the_same_in_each_type(text: str) -> None:
    session = Session()
    session.run("x = tensor([3.5, -2.5])")
    assert session.evaluate(text).tolist() == WHOLE[text]


@pytest.mark.parametrize("text", FRACTIONS)
def test_a_fraction_that_a_type_would_cut_off_is_refused(text: str) -> None:
    session = Session()
    session.run("x = tensor([3.5, -2.5])")
    with pytest.raises(AgradError, match="is not whole"):
        session.evaluate(text)
