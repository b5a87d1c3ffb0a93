"""Random programs of tensors print and leave what they do with PyTorch."""

import random

import pytest
from comparisons import comparison


@pytest.mark.long
@pytest.mark.parametrize("name", ["tensors", "torch_programs", "torch_forms"])
def test_many_programs_leave_what_they_leave_with_torch(name):
    pytest.importorskip("torch")
    for seed in range(1000, 1040):
        for _ in comparison(name)(random.Random(seed)):
            pass
