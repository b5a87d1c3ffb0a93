"""What docs/pytorch.md says of PyTorch, tried with PyTorch where it is installed."""

import math
import re

import pytest
import typed_sessions
from reference import DIFFERENT
from rows import each

torch = pytest.importorskip("torch")

NAMES = (typed_sessions.FOLDER / "names_of_pytorch.txt").read_text("utf-8")
SAME = re.findall(r"assert (.*)", NAMES.split("\n## ")[1])  # what PyTorch computes


def raises(text):
    try:
        exec(text, {"torch": torch})
    except RuntimeError:
        return True
    return False


T = torch.tensor
# For each row of the table of differences, what is true in PyTorch.
THERE = {
    "numbers are integers": lambda: T([7, 2]).dtype == torch.int64 and T([7.0]).dtype == torch.float32,
    "`std` and `var` divide by n - 1": lambda: torch.var(T([1.0, 3.0])) == 2,
    "`x.max(0)` and `x.min(0)`": lambda: [float(part) for part in T([1.0, 3.0]).max(0)] == [3, 1],
    "`x.sort()` returns": lambda: [part.tolist() for part in T([3.0, 1.0]).sort()] == [[1, 3], [1, 0]],
    "`x.norm(1)`": lambda: T([[1.0, 5.0], [3.0, 4.0]]).norm(1) == 13,
    "`x.split(2)`": lambda: len(torch.arange(6.0).split(2)) == 3,
    "`x.equal(y)`": lambda: T([1.0, 2.0]).equal(T([1.0, 3.0])) is False,
    "`x.repeat(2, 1)`": lambda: T([[1.0, 2.0]]).repeat(2, 1).tolist() == [[1, 2], [1, 2]],
    "`x.svd()` ends with V": lambda: torch.allclose(
        T([[1.0, 2.0], [3.0, 4.0]]).svd()[2], torch.linalg.svd(T([[1.0, 2.0], [3.0, 4.0]]))[2].T
    ),
    "`x.cross(y)`": lambda: T([[1.0, 5.0], [3.0, 4.0], [0.0, 2.0]]).cross(T([[1.0], [1.0], [1.0]])).shape == (3, 2),
    "of equal entries one gets": lambda: gradient(lambda x: torch.max(x, 0)[0], [3.0, 3.0]) in ([1, 0], [0, 1]),
    "`median` of four entries": lambda: torch.median(T([1.0, 2.0, 3.0, 4.0])) == 2,
    "a gradient is differentiable with": lambda: raises(
        "x = torch.tensor(5., requires_grad=True); (g,) = torch.autograd.grad(x**2, x); g.backward()"
    ),
    "`grad` gives a tuple": lambda: isinstance(tuple_of(), tuple),
    "`x[0]`, `x.view(2)` and `x.T` share": lambda: shared() == [1, 1, 1, 1],
    "`where` passes on the nan": lambda: math.isnan(gradient(lambda x: torch.where(x > 0, torch.log(x), 0 * x), 0.0)),
    "a backward frees the nodes that saved": lambda: (
        not raises("x = torch.tensor(2., requires_grad=True); y = x + 1; y.backward(); y.backward()")
    ),
    "float32 overflows above 3.4e38": lambda: bool(torch.isinf(torch.exp(T(100.0)))),
    "of masks, `m + n` is true": lambda: (
        (T([True, False]) + T([True, True])).tolist() == [True, True] and raises("1 - torch.tensor([True, False])")
    ),
    "the derivative of `log(x)` below 0": lambda: (
        math.isnan(torch.log(T(-2.0)))
        and gradient(torch.log, -2.0) == -0.5
        and gradient(torch.log1p, -3.0) == -0.5
        and all(math.isfinite(gradient(f, x)) for f, x in ((torch.atanh, 2.0), (torch.acosh, -2.0)))
    ),
    "`binary_cross_entropy` takes no": lambda: torch.nn.functional.binary_cross_entropy(T([0.0]), T([1.0])) == 100,
    "`g = x.grad` follows": lambda: followed() == [2, 0],
    "`enumerate(xs)`, `zip(xs, ys)`": lambda: len(list(lengthened())) == 3,
    "`[lambda: k for k in range(3)]`": lambda: [f() for f in [lambda: k for k in range(3)]] == [2, 2, 2],  # noqa: B023
}


def followed():
    x = torch.tensor(3.0, requires_grad=True)
    (x * 1).backward()
    gradient, seen = x.grad, []
    (x * 1).backward()
    seen.append(gradient.item())
    x.grad.zero_()
    return [*seen, gradient.item()]


def lengthened():
    xs = [1, 2]
    made = zip(xs, xs, strict=True)
    xs.append(3)
    return made


def gradient(function, x):
    leaf = torch.tensor(x, requires_grad=True)
    function(leaf).backward()
    return leaf.grad.tolist()


def tuple_of():
    x = torch.tensor(3.0, requires_grad=True)
    return torch.autograd.grad(x**2, x)


def shared():
    x = torch.zeros(4)
    y = x.view(2, 2)
    y += 1
    return x.tolist()


@pytest.mark.filterwarnings("ignore:Using torch.cross")
@each("row", [row[0] for row in DIFFERENT])
def test_a_difference_is_there(row):
    (claim,) = [claim for start, claim in THERE.items() if row.startswith(start)]
    assert claim()


def names(arrays):
    return {
        "torch": torch,
        "x": T([[1.0, 5.0], [3.0, 4.0]]),
        "inf": float("inf"),
        "nan": float("nan"),
        "tensor": lambda *data: torch.tensor(*data),
        "arange": lambda *ends: torch.arange(*map(float, ends)),
        "zeros": torch.zeros,
        "svd": torch.linalg.svd,
        "sum": torch.sum,
        "isnan": torch.isnan,
        "T": T,
    } | arrays


def listed(value):
    if isinstance(value, tuple | list):
        return [listed(part) for part in value]
    return value.tolist() if isinstance(value, torch.Tensor) else value


# What has agrad's functions in it, or arrays where torch takes only tensors.
OURS = re.compile(r"grad\(|allclose|\[nan|dims=|equal\(x, \[")


@each("line", [line for line in SAME if not OURS.search(line)])
def test_a_line_is_true_in_torch(line):
    text = re.sub(r"torch\.(norm|median)\((\[[^\]]*\])", r"torch.\1(T(\2).double()", line)
    left, _, right = re.split(r" (==|~=) ", text) if re.search(r" (==|~=) ", text) else (text, "", "True")
    found, wanted = (listed(eval(side, names({}))) for side in (left, right))
    assert flat(found) == pytest.approx(flat(wanted), rel=1e-6)


def flat(value):
    return [number for part in value for number in flat(part)] if isinstance(value, list) else [float(value)]
