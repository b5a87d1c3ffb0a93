"""The error of a graph that an earlier backward freed: what it blames, and what it says of PyTorch."""

import pytest

import agrad.engine as ag
from agrad.engine.errors import AgradError

# Expressions of x = [1, 2, 3], each with what torch 2.13 does at a second backward of their sum.
AGAIN = {
    "x*2": "refused",
    "2*x": "refused",
    "x/2": "refused",
    "x*m.tensor(2.0)": "refused",
    "x**2": "refused",
    "x*x": "refused",
    "1/x": "refused",
    "x + 1": "allowed",
    "1 - x": "allowed",
    "x - x": "allowed",
    "-x": "allowed",
    "x % 2": "allowed",
    "x[0]": "allowed",
    "x[1:]": "allowed",
    "x[[0, 2]]": "refused",
    "x[x > 1]": "refused",
    "x.sum()": "allowed",
    "x.mean()": "allowed",
    "m.max(x)": "refused",
    "m.median(x)": "refused",
    "m.std(x)": "refused",
    "m.norm(x)": "refused",
    "m.prod(x)": "refused",
    "m.sort(x)[0]": "refused",
    "m.cumsum(x, 0)": "allowed",
    "m.cumprod(x, 0)": "refused",
    "m.abs(x)": "refused",
    "m.exp(x)": "refused",
    "m.log(x)": "refused",
    "m.sin(x)": "refused",
    "m.sqrt(x)": "refused",
    "m.tanh(x)": "refused",
    "m.sigmoid(x)": "refused",
    "m.relu(x)": "refused",
    "m.softmax(x, 0)": "refused",
    "m.logsumexp(x, 0)": "refused",
    "m.maximum(x, x)": "refused",
    "m.where(x > 1, x, x)": "refused",
    "m.floor(x)": "allowed",
    "m.round(x)": "allowed",
    "m.sign(x)": "allowed",
    "m.stack([x, x])": "allowed",
    "m.flip(x, [0])": "allowed",
    "m.roll(x, 1)": "allowed",
    "m.outer(x, x)": "refused",
    "x @ x": "refused",
    "x.reshape(3, 1)": "allowed",
    "x.unsqueeze(0)": "allowed",
    "x.clone()": "allowed",
    "x.reshape(3, 1).T": "allowed",
}


def walked_again(m, expression, error):
    """The message of a second backward; none where there is none."""
    x = m.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = eval(expression, {"m": m, "x": x}).sum()
    y.backward()
    try:
        y.backward()
    except error as raised:
        return str(raised)
    return ""


@pytest.mark.parametrize("expression", AGAIN)
def test_it_says_where_pytorch_would_allow_a_second_backward(expression):
    told = walked_again(ag, expression, AgradError)
    assert ("PyTorch would allow this" in told) == (AGAIN[expression] == "allowed"), told
    assert ("lost its saved" in told) == (AGAIN[expression] == "refused"), told


@pytest.mark.parametrize("expression", AGAIN)
def test_torch_does_what_the_table_says(expression):
    torch = pytest.importorskip("torch")
    assert ("refused" if walked_again(torch, expression, RuntimeError) else "allowed") == AGAIN[expression]
