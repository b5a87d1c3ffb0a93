"""What the operations refuse: always an AgradError, which names the operation, the operand and what would do."""

import random
import warnings

import numpy as np
import pytest
from rows import each

import agrad.engine as ag

EMPTY = np.zeros((0, 3))
CASES = [
    # shapes that do not fit
    (lambda: ag.add([1, 2], [1, 2, 3]), "shape", r"add: shapes \(2\) and \(3\)"),
    (lambda: ag.hypot([1, 2], [1, 2, 3]), "shape", r"hypot: shapes \(2\) and \(3\)"),
    (lambda: ag.less([1, 2], [1, 2, 3]), "shape", r"less: shapes \(2\) and \(3\)"),
    (lambda: ag.where([1, 0], [1, 2, 3], 0), "shape", r"where: shapes \(2\) and \(3\)"),
    (lambda: ag.mse_loss([1, 2], [[1], [2]]), "shape", r"mse_loss of shapes \(2\) and \(2, 1\)"),
    (lambda: ag.cross_entropy([[1, 2]], [1, 0]), "shape", r"target has shape \(2\)"),
    (lambda: ag.matmul([[1, 2, 3]], [[1, 2, 3]]), "shape", r"\(1, 3\) and \(1, 3\): 3 columns .* 1 rows"),
    (lambda: ag.tensor([1.0]) @ 2, "shape", r"@ of shapes \(1\) and \(\): .*use \*"),
    (lambda: ag.solve([[1, 2], [3, 4]], [1, 2, 3]), "shape", r"solve: .*\(2, 2\) .* \(3\)"),
    (lambda: ag.inv([[1, 2, 3]]), "shape", r"inv needs a square matrix, not .*\(1, 3\)"),
    (lambda: ag.det([1, 2]), "shape", r"det needs a square matrix, not .*\(2\)"),
    (lambda: ag.svd(3), "shape", r"svd needs a matrix, not .*\(\)"),
    (lambda: ag.lstsq([[1, 2]], [1, 2]), "shape", r"lstsq"),
    (lambda: ag.einsum("ij,jk->ik", [[1, 2, 3]], [[1], [2]]), "shape", "index j has lengths 3 and 2"),
    (lambda: ag.einsum("ij->i", [1, 2]), "shape", r"ij does not fit \(2\)"),
    (lambda: ag.concat([[1, 2], [[1, 2]]]), "shape", r"concat: shapes \(2\) and \(1, 2\)"),
    (lambda: ag.stack([[1, 2], [1, 2, 3]]), "shape", r"stack: shapes \(2\) and \(3\)"),
    (lambda: ag.reshape([1, 2, 3], 2, 2), "shape", r"\(3\) has 3 entries, which do not fill \(2, 2\)"),
    (lambda: ag.expand([1, 2, 3], 2), "shape", r"\(3\) cannot be broadcast to \(2\)"),
    (lambda: ag.split([1, 2, 3], 2), "shape", "3 entries do not divide into 2"),
    (lambda: ag.squeeze([[1, 2]], 1), "shape", "axis 1 .* length 2"),
    (lambda: ag.permute([[1, 2]], 0, 0), "shape", "each axis"),
    (lambda: ag.tensor([[1, 2], [3]]), "shape", "same length"),
    # axes
    (lambda: ag.sum([1, 2], axis=1), "shape", r"sum: there is no axis 1 of shape \(2\): valid are -1 to 0"),
    (lambda: ag.sum(3, axis=0), "shape", r"sum: there is no axis 0 of shape \(\): it has none"),
    (lambda: ag.max([[1]], axis=2), "shape", "max: there is no axis 2 .* -2 to 1"),
    (lambda: ag.softmax([1, 2], axis=1), "shape", "softmax: there is no axis 1"),
    (lambda: ag.sort([1, 2], axis=-2), "shape", "no axis -2"),
    (lambda: ag.cumsum([1, 2], axis=1), "shape", "cumsum: there is no axis 1"),
    (lambda: ag.flip([1, 2], axis=1), "shape", "flip: there is no axis 1"),
    (lambda: ag.norm([1, 2], axis=1), "shape", "norm: there is no axis 1"),
    (lambda: ag.unsqueeze([1, 2], 2), "shape", "unsqueeze: there is no axis 2 .* -2 to 1"),
    (lambda: ag.sum([[1, 2]], axis=(0, 0)), "shape", "named twice"),
    (lambda: ag.sum([1, 2], axis=0.5), "type", "sum: an axis must be a whole number, not the number 0.5"),
    (lambda: ag.max(1, 2, axis=0), "arity", "max of several values takes no axis"),
    # indices
    (lambda: ag.tensor([1, 2])[2], "shape", r"index 2 is out of range for axis 0 of shape \(2\): valid are -2 to 1"),
    (lambda: ag.tensor([[1, 2]])[0, -3], "shape", "index -3 is out of range for axis 1 .* -2 to 1"),
    (lambda: ag.tensor([1, 2])[[0, 5]], "shape", "index 5 is out of range"),
    (lambda: ag.tensor([1, 2])[0, 0], "shape", r"2 indices for a value of shape \(2\)"),
    (lambda: ag.tensor(1)[0], "shape", "a scalar has no entries"),
    (lambda: ag.tensor([1, 2])[0.5], "type", "an index must be a whole number, not the number 0.5"),
    (lambda: ag.tensor([1, 2])[[0.5]], "type", "whole numbers, not the number 0.5"),
    (lambda: ag.tensor([1, 2])["a"], "type", 'not the text "a"'),
    (
        lambda: ag.tensor([1, 2, 3])[ag.tensor([1, 2]) > 1],
        "shape",
        r"a mask of shape \(2\) does not fit the shape \(3\)",
    ),
    (lambda: ag.tensor([1, 2])[::0], "type", "step of a slice"),
    # what is no number
    (lambda: ag.sin("text"), "type", 'a number is needed here, not the text "text"'),
    (lambda: ag.sum([1, "a"]), "type", "numbers are needed here"),
    (lambda: ag.matmul(None, 1), "type", "None"),
    (lambda: ag.concat("ab"), "type", "concat takes a list of values"),
    (lambda: ag.leaky_relu(1, slope="a"), "type", "leaky_relu: slope must be a number"),
    (lambda: ag.leaky_relu(1, slope=ag.tensor(1, requires_grad=True)), "type", "a plain number without a derivative"),
    (lambda: ag.var([1, 2], ddof=[1]), "type", "var: ddof must be a number"),
    (lambda: ag.mse_loss(1, 2, reduction="max"), "type", 'mse_loss: reduction is "mean"'),
    (lambda: ag.norm([1, 2], ord="x"), "domain", "norm: the order"),
    (lambda: ag.zeros("a"), "type", "a size"),
    (lambda: ag.zeros(2.5), "type", "zeros: a size must be a whole number, not the number 2.5"),
    # what has no entries
    (lambda: ag.max(EMPTY), "shape", r"max of shape \(0, 3\): there is no entry"),
    (lambda: ag.argmin(EMPTY), "shape", "argmin .* there is no entry"),
    (lambda: ag.median(EMPTY, axis=0), "shape", "median .* there is no entry"),
    (lambda: ag.topk([1, 2], 3), "shape", "topk: k = 3 of 2 entries"),
    (lambda: ag.concat([]), "arity", "concat of an empty list"),
    # arguments
    (lambda: ag.sum([1, 2], axes=0), "arity", r"sum has no argument axes: sum\(x, axis=None, keepdims=False\)"),
    (lambda: ag.reshape([1, 2]), "arity", "reshape needs shape"),
    (lambda: ag.einsum("ij", [[1]], [[1]]), "arity", 'einsum "ij" needs 1 operands, not 2'),
    (lambda: ag.einsum("i1", [[1]]), "type", "indices are letters"),
    (lambda: ag.einsum("i->j", [1]), "type", "the result names"),
    # what is too large, or is not there
    (lambda: ag.zeros(1e6, 1e6), "limit", "needs 8 TB; the limit is"),
    (lambda: ag.load_csv("nowhere.csv"), "file", "load_csv: there is no file nowhere.csv"),
    (lambda: ag.load_npy("nowhere.npy"), "file", "load_npy: there is no file nowhere.npy"),
    (lambda: ag.arange(0, 1, 0), "domain", "the step not 0"),
    (lambda: ag.manual_seed(-1), "domain", "negative"),
]


@each("call, kind, message", CASES)
def test_a_refusal_says_what_and_why(call, kind, message):
    with pytest.raises(ag.AgradError, match=message) as caught:
        call()
    assert caught.value.kind == kind


def test_an_empty_array_is_an_array():
    x = ag.tensor(EMPTY, requires_grad=True)
    for f in (
        ag.sum,
        ag.prod,
        lambda x: ag.sum(ag.sin(x) * x),
        lambda x: ag.sum(x @ np.ones((3, 2))),
        ag.norm,
        lambda x: ag.sum(ag.max(x, axis=1)),
        lambda x: ag.sum(ag.softmax(x)),
        lambda x: ag.sum(ag.cumprod(x, 0)),
        lambda x: ag.sum(ag.sort(x)),
        lambda x: ag.sum(ag.concat([x, x]).T),
        lambda x: ag.sum(x[:, [0, 0]]),
    ):
        g = ag.grad(f(x), x, create_graph=True)
        assert g.shape == (0, 3)
        assert ag.grad(ag.sum(g), x).shape == (0, 3)


def test_numbers_of_numpy_are_numbers():
    for number in (np.float64(2.5), np.float32(2.5), np.array(2.5), np.int64(2)):
        assert ag.square(number) == float(number) ** 2
        assert (ag.tensor([1.0, 2.0]) * number).tolist() == [float(number), 2 * float(number)]
    assert ag.log(np.float64(-1)) != ag.log(np.float64(-1))


def test_files_of_numbers(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,2\n\n3,4.5\n")
    assert ag.load_csv(str(tmp_path / "a.csv")).tolist() == [[1, 2], [3, 4.5]]
    (tmp_path / "b.csv").write_text("1,2\n3\n")
    (tmp_path / "c.csv").write_text("1,2\n3,x\n")
    for name, message in (("b", "line 2: 1 entry, not 2"), ("c", 'line 2, column 2: "x" is not a number')):
        with pytest.raises(ag.AgradError, match=message):
            ag.load_csv(str(tmp_path / f"{name}.csv"))
    np.save(tmp_path / "a.npy", [[1.0, 2.0]])
    assert ag.load_npy(str(tmp_path / "a.npy")).tolist() == [[1, 2]]
    (tmp_path / "bom.csv").write_bytes(b"\xef\xbb\xbf1,2\n")  # as spreadsheets write it
    assert ag.load_csv(str(tmp_path / "bom.csv")).tolist() == [[1, 2]]


def test_files_that_cannot_be_read(tmp_path):
    np.save(tmp_path / "a.npy", [[1.0, 2.0]])
    np.save(tmp_path / "complex.npy", [1j])
    np.savez(tmp_path / "two.npz", [1.0], [2.0])
    whole = (tmp_path / "a.npy").read_bytes()
    damaged = {"a.csv": b"1,2", "empty": b"", "cut": whole[:-3], "head": whole[:40], "torn": whole[:12] + b"\xff" * 99}
    for name, content in damaged.items():
        (tmp_path / name).write_bytes(content)
    for name in (*damaged, "two.npz"):
        with pytest.raises(ag.AgradError, match="not an array saved by numpy") as caught:
            ag.load_npy(str(tmp_path / name))
        assert caught.value.kind == "file"
    with pytest.raises(ag.AgradError, match="complex"):
        ag.load_npy(str(tmp_path / "complex.npy"))
    (tmp_path / "latin.csv").write_bytes("1,2\n3,é".encode("latin-1"))
    with pytest.raises(ag.AgradError, match="is not UTF-8 text"):
        ag.load_csv(str(tmp_path / "latin.csv"))
    with pytest.raises(ag.AgradError, match="there is no file"):
        ag.load_csv("a" * 5000)


@each("given", [np.array([1j]), [1j], [[np.complex64(1)]], np.complex64(1), (1.0, np.complex128(1))])
def test_complex_numbers_do_not_lose_their_imaginary_part(given):
    with pytest.raises(ag.AgradError) as caught:
        ag.tensor(given)
    assert caught.value.kind == "type"


def test_whole_numbers_too_large_for_a_float_are_infinite():
    assert ag.tensor([10**400, 2, -(10**400)]).tolist() == [float("inf"), 2, float("-inf")]


# Whatever is thrown at them

VALUES = [
    0.0, 1.0, -2.5, 3, True, float("nan"), float("inf"), 1e308, [1.0, 2.0], [[1.0, 2.0], [3.0, 4.0]], [], [[]], EMPTY,
    np.zeros((2, 0)), np.array(3.0), np.ones((2, 3, 4)), np.float64(2.5), np.array([1, 2, 3]), np.array([True, False]),
    "abc", None, (1, 2), (), {}, ag.sin, [1, [2, 3]], 1j, b"x", [None], ["a"],
]  # fmt: skip
ATTRIBUTES = [0, 1, -1, 2, 7, 0.5, None, "x", (0, 1), [0], float("nan"), True, [1, 2], "ij->ji", -3, len, {}]
NAMES = sorted(
    name for name, entry in ag.FUNCTIONS.items() if entry.family not in ("creation", "derivatives") and name in dir(ag)
)


@each("name", NAMES, short=3)
def test_nothing_but_its_own_error_and_no_warning_leaves_a_function(name):
    entry, rng = ag.FUNCTIONS[name], random.Random(name)
    leaves = [ag.tensor(x, requires_grad=True) for x in (2.0, [1.0, 2.0], [[1.0, 2.0], [3.0, 5.0]], [])]
    signature = entry.signature
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(150):
            values = [rng.choice(VALUES + leaves * 6) for _ in range(max(len(signature.operands), 1))]
            args = [values] if signature.variadic else values[: len(signature.operands)]
            words = {key: rng.choice(ATTRIBUTES) for key in signature.attributes if rng.random() < 0.3}
            try:
                result = entry.call(*args, **words)
                for y in result if isinstance(result, tuple) else (result,):
                    if isinstance(y, ag.Tensor) and y.requires_grad:
                        check_gradients(y, leaves)
            except ag.AgradError as error:
                assert str(error)


def check_gradients(y, leaves):
    for x in leaves:
        try:
            g = ag.grad(ag.sum(y), x, create_graph=True)
        except ag.AgradError as error:
            assert error.kind in ("grad", "domain", "limit")
        else:
            assert g.shape == x.shape
