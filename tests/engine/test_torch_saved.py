"""What a later write to an operand, or to the result, makes a backward refuse, in PyTorch and in agrad.torch.

Each row of torch_saved.txt is a call, what torch 2.13 refuses when it was written, and what agrad does, where that is
something else. `out1` is the second of several results.
"""

import re
import warnings
from pathlib import Path

import pytest

from agrad import torch as ours

ROWS = [
    [cell.strip() for cell in line.split(" | ")]
    for line in Path(__file__).with_name("torch_saved.txt").read_text("utf-8").splitlines()
]
M = [[2.0, 0.3, 0.1], [0.2, 1.5, 0.4], [0.3, 0.1, 1.8]]
N = [[1.2, 0.1, 0.3], [0.5, 1.1, 0.2], [0.1, 0.4, 0.9]]
COMPUTED = {"x": [0.3, 0.7, 0.2], "y": [0.6, 0.4, 0.55], "z": [0.8, 0.9, 0.65], "m": M, "n": N, "b": [M], "d": [N]}
COMPUTED |= {"q": [[M]]}  # b and d: matrices in batches; q: an image
PLAIN = {"c": [0.2, 0.5, 0.9], "c01": [0.0, 1.0, 1.0], "i": [2, 0, 1], "k": [True, False, True], "o": [1.0, -1.0, 1.0]}


def values(torch, names):
    given = {name: torch.tensor((COMPUTED | PLAIN)[name], requires_grad=name in COMPUTED) for name in names}
    return {name: x * 1 if name in COMPUTED else x for name, x in given.items()}


def results(made):
    return [x for one in made for x in results(one)] if isinstance(made, tuple | list) else [made]


def refused(torch, expression):
    """The names of the operands and results that must not be written before the backward."""
    code = compile(expression, "<row>", "eval")
    names = [name for name in dict.fromkeys(re.findall(r"\b[a-z]\w*\b", expression)) if name in COMPUTED | PLAIN]
    known = {name: getattr(torch, name) for name in code.co_names if hasattr(torch, name)}
    known |= {"torch": torch, "F": torch.nn.functional}
    found, targets = [], [None, *names]
    for target in targets:
        given = values(torch, names)
        made = results(eval(code, known | {"float": float} | given))
        if target is None:
            targets += [*range(len(made))]
        try:
            with torch.no_grad():
                for written in [] if target is None else [{**given, **dict(enumerate(made))}[target]]:
                    written.copy_(written.clone())
            sum(x.sum() for x in made if x.requires_grad).backward()
        except RuntimeError:
            assert target is not None
            found.append(target if isinstance(target, str) else "out" if len(made) == 1 else f"out{target}")
    return " ".join(found)


def wrong(torch, column):
    usual = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = [(row, refused(torch, row[0])) for row in ROWS]
    finally:
        torch.set_default_dtype(usual)
    return [(row[0], seen) for row, seen in found if seen != row[min(column, len(row) - 1)]]


def test_a_write_to_what_a_derivative_needs_is_refused_as_in_pytorch():
    assert wrong(ours, 2) == []
    accepted = [row[0] for row in ROWS if {*row[1].split()} - {*row[-1].split()}]
    assert len(ROWS) >= 450
    assert len(accepted) == 5, accepted  # the derivative does not depend on what PyTorch saves there


def test_torch_refuses_what_the_table_says():
    assert wrong(pytest.importorskip("torch"), 1) == []
