"""Functions of PyTorch and Python that are made of others: beside torch where it is installed, else by their meaning."""

import pytest
from refused import message_of

from agrad.grammar.session.session import Session

TRUE = [
    "torch.rand_like(ones(2, 3)).shape == (2, 3) and torch.randn_like(2).shape == ()",
    "all(torch.randint(3, 5, (50,)) >= 3) and all(torch.randint(3, 5, (50,)) < 5)",
    "torch.randint(4, (2, 2)).shape == (2, 2) and torch.equal(torch.randint(7, 8, (2,)), [7, 7])",
    "torch.equal(sort(torch.randperm(6)), arange(6))",
    "torch.equal(torch.full_like(ones(2), 3), [3, 3]) and torch.numel(ones(2, 3)) == 6",
    "torch.is_tensor(ones(2)) and not torch.is_tensor(2.5)",
    "1 <= random.randint(1, 6) and random.randint(1, 6) <= 6 and random.randint(2, 2) == 2",
    "random.choice(['a']) == 'a' and random.choice([1, 2]) < 3",
    "torch.equal(torch.diff([1, 4, 9]), [3, 5]) and torch.equal(torch.diff([[1, 2], [4, 6]], dim=0), [[3, 4]])",
    "torch.equal(torch.gather([[1, 2], [3, 4]], 1, [[0], [1]]), [[1], [4]])",
    "torch.equal(tensor([[1, 2], [3, 4]]).gather(0, [[1, 0]]), [[3, 2]])",
    "torch.equal(torch.masked_fill([1, 2], tensor([1, 2]) > 1, 9), [1, 9])",
    "len(torch.chunk(arange(7), 3)) == 3 and len(torch.chunk(arange(7), 3)[2]) == 1",
    "torch.equal(torch.nn.functional.one_hot([1, 0]), [[0, 1], [1, 0]])",
]


@pytest.mark.parametrize("line", TRUE)
def test_a_line_is_true(line):
    Session().run(f"assert {line}")


def test_a_seed_gives_the_same_numbers_again():
    line = "torch.cat([torch.randint(0, 99, (5,)), torch.randperm(5), torch.rand_like(ones(2))])"
    Session().run(f"manual_seed(3); a = {line}; manual_seed(3); b = {line}; assert torch.equal(a, b)")


def test_gather_has_a_gradient():
    Session().run(
        "var x = [[1, 2, 4], [3, 7, 5]]\ny = x.gather(1, [[2, 0], [1, 1]])\nsum(y*y).backward()\n"
        "assert x.grad == [[2, 0, 8], [0, 28, 0]]"
    )


MESSAGES = {
    "torch.randint(3)": "torch.randint needs a shape: torch.randint(0, 10, (3,))",
    "torch.randint(5, 5, (2,))": "randint: there is no whole number from 5 to below 5",
    "random.choice(3)": "random.choice needs several values, not the number 3",
    "torch.nn.functional.one_hot([5], num_classes=3)": "one_hot: 5 is none of 3 classes",
    "torch.nn.functional.one_hot([0.5])": "one_hot: 0.5 is none of 1 classes",
    "torch.gather(ones(2, 2), 1, [[0], [0], [0]])": "gather: places of shape (3, 1) do not fit x of shape (2, 2)",
    "torch.gather(ones(2, 2), 1, [0])": "gather: places of shape (1) do not fit x of shape (2, 2)",
    "torch.nn.functional.normalize([1, 2], p=1, dim=0)": "normalize: only p=2, the Euclidean norm, is known",
    "torch.chunk(ones(2), 0)": "torch.chunk: there is at least one piece, not 0",
}


@pytest.mark.parametrize("line", MESSAGES)
def test_a_mistake_is_named(line):
    assert message_of(line) == MESSAGES[line]
