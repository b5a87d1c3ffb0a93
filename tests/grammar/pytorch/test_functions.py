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
    "torch.equal(torch.isinf([1, inf, -inf, nan]), [0, 1, 1, 0]) and torch.equal(tensor([inf, 1]).isinf(), [1, 0])",
    "torch.equal(tensor([1, 2, nan])[torch.logical_not(torch.isnan([1, 2, nan]))], [1, 2])",
    "torch.equal(torch.logical_and([1, 2, 0], [1, 0, 0]), [1, 0, 0])",
    "torch.equal(torch.logical_or([1, 2, 0], [1, 0, 0]), [1, 1, 0])",
    "torch.equal(torch.logical_xor([1, 2, 0], [1, 0, 0]), [0, 1, 0])",
    "torch.equal(torch.nan_to_num([nan, inf, -inf, 2]), [0, 1.7976931348623157e308, -1.7976931348623157e308, 2])",
    "torch.equal(tensor([nan, inf, 2]).nan_to_num(7, posinf=8), [7, 8, 2])",
    "torch.equal(torch.nonzero([[0, 3], [5, 0]]), [[0, 1], [1, 0]]) and torch.nonzero([0, 0]).shape == (0, 1)",
    "torch.equal(tensor([0, 3, 4]).nonzero(as_tuple=True)[0], [1, 2])",
    "torch.equal(torch.masked_select([[1, 2], [3, 4]], tensor([[1, 2], [3, 4]]) > 2), [3, 4])",
    "torch.count_nonzero([[1, 0], [2, 3]]) == 3 and torch.equal(torch.count_nonzero([[1, 0], [2, 3]], dim=0), [2, 1])",
    "torch.logdet([[2, 0], [0, 3]]) ~= log(6) and isnan(torch.logdet([[0, 1], [1, 0]])) == 1",
    "torch.logdet([[1, 1], [1, 1]]) == -inf",
    "torch.equal(np.argwhere([0, 3]), [[1]]) and np.count_nonzero([0, 3]) == 1 and all(np.isinf([inf]))",
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


def test_a_replaced_nan_has_no_derivative():
    Session().run("var x = [2, nan]\nsum(torch.nan_to_num(x)**2).backward()\nassert torch.equal(x.grad, [4, 0])")


def test_the_logarithm_of_a_determinant_has_a_gradient():
    Session().run("var A = [[2, 1], [1, 3]]\ntorch.logdet(A).backward()\nassert A.grad ~= inv(A).T")


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
