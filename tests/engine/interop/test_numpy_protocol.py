"""NumPy's own functions on Tensors: the same values as on arrays, and the derivatives of what NumPy computes.

The derivatives are held against differences of NumPy's results, so that nothing of agrad is on that side.
"""

import contextlib
import math
import operator
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from refused import leaf, refuses
from rows import divided, each
from transcript import sections

import agrad.engine as ag
from agrad.engine.core.op import FUNCTIONS
from agrad.engine.interop.numpy_functions import MADE, MOVING, TABLES, counterpart, describing

autograd = pytest.importorskip("autograd")
anp = pytest.importorskip("autograd.numpy")


HERE = Path(__file__).parent
V = np.array([0.7, -1.2, 0.4, 1.9])
W = np.array([0.31, 0.83, -1.07, 0.61])
M = np.array([[0.7, -1.2, 0.4, 1.9], [0.2, 0.9, -0.8, 1.1], [-1.5, 0.5, 1.3, -0.6]])
N = np.cos(np.arange(12.0)).reshape(3, 4) + 2.1
S = np.array([[2.0, 0.3, -0.5], [0.4, 1.7, 0.6], [-0.2, 0.1, 2.4]])
B = np.stack([S, S @ S + 0.1])
C = np.sin(np.arange(24.0)).reshape(2, 3, 4)
POSITIVE, UNIT, ABOVE_1 = np.abs(V) + 0.2, V / 2.5, np.abs(V) + 1.1
GAPS = np.array([0.5, np.nan, -2.0, np.inf])
HOLES = np.array([[0.0, 0.0, np.nan, 0.0], [np.nan, 0.0, 0.0, 0.0], [0.0, 0.0, np.nan, 0.0]])
MODES = ("full", "same", "valid")

ARRAYS = {name: globals()[name] for name in "V W M N S B C POSITIVE UNIT ABOVE_1".split()}
TEXTS = {name: re.sub("(?m)^#.*\n", "", text) for name, (text,) in sections(HERE / "numpy_calls.txt").items()}


def in_numpy(path):
    room = np
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of names that it had
        for name in path.split("."):
            room = getattr(room, name, None)
    return room


def _quiet_trapz(y, x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # deprecated since 2.0
        return np.trapz(y, x)


def _whole(x):
    tenths = np.round(x * 10)
    return tenths if isinstance(x, ag.Tensor) else tenths.astype(int)


def _running(into, x):
    for place in range(len(x)):
        into[place] = x[place] ** 2 + (into[place - 1] if place else 0.0)
    return into


def named(text):
    """The functions of NumPy in a call."""
    return re.findall(r"\bnp\.([\w.]*\w)", text)


def case(text):
    """The function that a call is, and the arrays that it is called with."""
    names = [name for name in ARRAYS if re.search(rf"\b{name}\b", text)]
    code, known = compile(text, text, "eval"), globals() | {name.lower(): array for name, array in ARRAYS.items()}
    return lambda *xs: eval(code, known | dict(zip(names, xs, strict=True))), *[ARRAYS[name] for name in names]


CASES = [
    f"np.{name}({xs})"
    for xs, names in (line.split(": ") for line in TEXTS["entries"].splitlines())
    for name in names.split()
]
CASES += divided(TEXTS["calls"])
CASES += [text for text in divided(TEXTS["newer"]) if all(in_numpy(name) is not None for name in named(text))]
if not hasattr(np, "trapz"):
    CASES.remove("_quiet_trapz(M, N)")


def parts(result):
    return [part for one in result for part in parts(one)] if isinstance(result, tuple | list) else [result]


def number(results):
    """One number from several results, with weights that hide no entry."""
    total = 0.0
    for result in results:
        weights = np.cos(np.arange(np.size(result)) * 1.7 + 0.3).reshape(np.shape(result)) + 0.3
        total = total + np.sum(result * weights)
    return total


def slopes(function, xs):
    """Central differences of what NumPy computes, two step widths combined."""
    found = []
    for place, x in enumerate(xs):
        slope = np.zeros(x.shape)
        for index in np.ndindex(*x.shape):
            values = {}
            for step in (1e-3, -1e-3, 5e-4, -5e-4):
                moved = [np.array(one) for one in xs]
                moved[place][index] += step
                values[step] = number(parts(function(*moved)))
            wide, narrow = ((values[h] - values[-h]) / (2 * h) for h in (1e-3, 5e-4))
            slope[index] = (4 * narrow - wide) / 3
        found.append(slope)
    return found


@each("text", CASES)
def test_value_and_gradient(text):
    function, *xs = case(text)
    leaves = [leaf(x) for x in xs]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected, derivatives = parts(function(*xs)), slopes(function, xs)
    results = parts(function(*leaves))
    assert len(results) == len(expected)
    for result, plain in zip(results, expected, strict=True):
        assert isinstance(result, ag.Tensor | int | np.ndarray)
        assert np.shape(result) == np.shape(plain)
        # The rounding of a sum depends on the layout.
        assert MOVING.keys().isdisjoint(named(text)) or result.numpy().flags.c_contiguous
        np.testing.assert_allclose(getattr(result, "data", result), plain, rtol=1e-12, atol=1e-12)
    total = number([result for result in results if isinstance(result, ag.Tensor) and result.requires_grad])
    for x, derivative in zip(leaves, derivatives, strict=True):
        found = np.zeros(x.shape)
        if isinstance(total, ag.Tensor):
            try:
                found = ag.grad(total, x).numpy()
            except ag.AgradError as error:
                assert error.kind == "grad"
        np.testing.assert_allclose(found, derivative, rtol=1e-7, atol=1e-7)


@each("text", CASES)
def test_second_derivatives(text):
    """Those in one direction, against differences of the first."""
    function, *xs = case(text)
    directions = [np.sin(np.arange(x.size) * 1.3 + place + 0.5).reshape(x.shape) for place, x in enumerate(xs)]

    def gradients(step, create_graph=False):
        leaves = [leaf(x + step * v) for x, v in zip(xs, directions, strict=True)]
        results = [one for one in parts(function(*leaves)) if isinstance(one, ag.Tensor) and one.requires_grad]
        found = [ag.tensor(np.zeros(x.shape)) for x in xs]
        for place, x in enumerate(leaves):
            with contextlib.suppress(ag.AgradError):  # where nothing depends on it
                found[place] = ag.grad(number(results), x, create_graph=create_graph)
        return leaves, number(found)

    leaves, first = gradients(0.0, create_graph=True)
    second = 0.0
    for x, v in zip(leaves, directions, strict=True):
        with contextlib.suppress(ag.AgradError):
            second += np.sum(ag.grad(first, x, create_graph=True).numpy() * v)
    wide, narrow = ((float(gradients(h)[1]) - float(gradients(-h)[1])) / (2 * h) for h in (1e-3, 5e-4))
    np.testing.assert_allclose(second, (4 * narrow - wide) / 3, rtol=1e-6, atol=1e-6)


# Coverage


COVERED = {in_numpy(name) for text in CASES for name in named(text)} | {in_numpy("trapz")}


def test_every_counterpart_has_a_case():
    known = [*DISPATCHED.items(), *UFUNCS.items()]
    missing = {name for name, function in known if counterpart(function) and function not in COVERED}
    assert missing == set()


def test_every_function_that_numpy_has_is_covered():
    theirs = {ours: name for name, ours in TABLES["functions"].items()}
    for name, entry in FUNCTIONS.items():
        found = [in_numpy(path) for path in (name, f"linalg.{name}", theirs.get(name, name))]
        found = [function for function in found if callable(function) and not isinstance(function, type)]
        assert (
            entry.family in ("creation", "complex numbers")
            or not found
            or any(function in COVERED for function in found)
        ), name


def test_every_name_of_the_tables_is_numpys():
    known = {name for name in (*TABLES["functions"], *MADE) if in_numpy(name) is not None}
    assert {*TABLES["functions"], *MADE} - known <= {"trapz"} | (
        {*named(TEXTS["newer"])} if np.__version__ < "2.4" else set()
    )


# Operators: an array on the left, a Tensor on the right


BINARY = "add sub mul truediv floordiv mod pow lt le gt ge eq ne".split()
LEFT = [V, 2.0, 3, True, np.float64(1.5), np.int64(2), np.float32(0.5), np.arange(1, 5)]


@each("left", LEFT)
@each("name", BINARY)
def test_an_operator_with_a_tensor_on_the_right(name, left):
    apply, right = getattr(operator, name), np.array([0.7, 1.3, 2.0, 1.9])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = apply(left, right)
    result = apply(left, leaf(right))
    assert isinstance(result, ag.Tensor)
    assert result.node.recorded
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-12)


@each("exponent", [-1.0, 0.0, 0.5, 1.0, 2.0, 3.0])
def test_an_array_to_the_power_of_a_number_keeps_the_graph(exponent):
    y = leaf(exponent)
    result = np.array([1.5, 2.5]) ** y
    assert isinstance(result, ag.Tensor)
    np.testing.assert_allclose(ag.grad(result.sum(), y).item(), (np.array([1.5, 2.5]) ** exponent) @ np.log([1.5, 2.5]))


def test_what_requires_grad_is_no_index():
    refuses(lambda: [1, 2, 3][leaf(1.0)], "as an index it has no derivative")
    assert [1, 2, 3][ag.tensor(1.0)] == 2


@each("name", "iadd isub imul itruediv ifloordiv imod ipow iand ior ixor".split())
def test_an_array_is_not_written_with_a_tensor(name):
    array = np.ones(4, dtype=bool) if name in ("iand", "ior", "ixor") else np.ones(4)
    refuses(lambda: getattr(operator, name)(array, leaf(V)), "cannot write a Tensor into an array", kind="type")
    np.testing.assert_array_equal(array, np.ones(4))


def test_out_is_refused_by_name():
    out = np.ones(4)
    for name, call in {
        "np.add": lambda: np.add(1.0, leaf(V), out=out),
        "np.sum": lambda: np.sum(leaf(M), axis=0, out=out),
        "np.concatenate": lambda: np.concatenate((leaf(V),), out=out),
        "np.stack": lambda: np.stack((leaf(V),), out=out),
        "np.dot": lambda: np.dot(leaf(M), V, out=out),
        r"np\.add cannot write": lambda: np.add(V, V, out=leaf(V)),
    }.items():
        refuses(call, name)
    np.testing.assert_array_equal(out, np.ones(4))


def test_a_tensor_is_written_with_an_array_and_a_number_of_numpys_becomes_one():
    x, s = leaf(V), np.float64(1.0)
    y = x * 2
    y += M[0]
    assert y.requires_grad
    np.testing.assert_allclose(y.numpy(), 2 * V + M[0])
    s += x[0]
    assert isinstance(s, ag.Tensor)
    assert ag.grad(s, x).tolist() == [1, 0, 0, 0]
    refuses(lambda: np.matmul(x, M))
    written = ag.zeros(2)
    written[0] = x[0]
    assert written.requires_grad
    assert written.tolist() == [V[0], 0]


# What there is no counterpart for

DISPATCHED = {
    f"{path}{name}": function
    for path, room in (("np.", np), ("np.linalg.", np.linalg), ("np.fft.", np.fft))
    for name, function in sorted(vars(room).items())
    if type(function).__name__ == "_ArrayFunctionDispatcher"
}
UNKNOWN = {n: f for n, f in DISPATCHED.items() if counterpart(f) is None and f not in describing()}
UFUNCS = {f"np.{name}": function for name, function in sorted(vars(np).items()) if isinstance(function, np.ufunc)}


@each("name", UNKNOWN)
def test_a_function_without_a_counterpart_is_refused_by_name(name):
    caught = refuses(lambda: leaf(V).__array_function__(UNKNOWN[name], (ag.Tensor,), (leaf(V),), {}))
    assert caught.message == f"{name} has no counterpart in agrad"
    assert caught.kind == "type"
    assert "x.detach().numpy()" in caught.fixes[-1]


@each("name", [name for name, function in UFUNCS.items() if counterpart(function) is None])
def test_a_ufunc_without_a_counterpart_is_refused_by_name(name):
    caught = refuses(lambda: UFUNCS[name](*[leaf(V)] * UFUNCS[name].nin), "has no counterpart in agrad")
    assert f"np.{UFUNCS[name].__name__} " in caught.message


X = leaf(M)
OBJECTS = np.empty(1, dtype=object)
OBJECTS[0] = X[0, 0]


@each("message, call", [line.rsplit(" | ", 1) for line in TEXTS["refused"].splitlines()])
def test_what_is_refused_is_named(message, call):
    caught = refuses(lambda: eval(call))
    assert caught.kind == "type"
    assert caught.message.startswith(message)


@each("call", [lambda: np.fft.rfft(X), lambda: np.fft.ifft(X), lambda: np.linalg.eig(X @ X.T)])
def test_what_needs_complex_numbers_says_so(call):
    assert refuses(call).notes == ["agrad computes with real numbers alone"]


@each("call", divided("np.mean([x[0], x[1]]); np.r_[x, 1.0]; np.c_[x, x]; np.array([x[0], 2.0])"))
def test_what_numpy_makes_an_array_of_says_what_keeps_the_graph(call):
    caught = refuses(lambda: eval(call, {"np": np, "x": leaf(V)}))
    assert any("np.mean(np.stack([x, y]))" in fix for fix in caught.fixes)
    assert any("np.concatenate for np.r_, np.column_stack for np.c_" in fix for fix in caught.fixes)


def test_arguments_that_change_nothing_are_taken():
    x = leaf(M)
    for y in (
        np.sum(x, axis=None, dtype=float, out=None),
        np.sum(x, dtype="float64", where=True),
        np.sort(x, kind="stable").sum(),
        np.add(x, 0.0, dtype=np.float64, where=True, out=None).sum(),
        np.reshape(x, -1, order="A").sum(),
        np.median(x, overwrite_input=True) * 0 + x.sum(),
    ):
        np.testing.assert_allclose(y.item(), M.sum())


@each("call", [lambda x: np.sum(x, axis=2), lambda x: np.swapaxes(x, 0, 5), lambda x: np.expand_dims(x, 4)])
def test_a_wrong_axis_is_agrads_own_error(call):
    refuses(lambda: call(leaf(M)), kind="shape")


class Foreign:
    def __array_ufunc__(self, ufunc, method, *inputs, **keywords):
        return "theirs"

    def __array_function__(self, function, types, args, keywords):
        return "theirs"


def test_another_kind_of_array_has_its_say():
    assert np.add(leaf(V), Foreign()) == "theirs"
    assert np.concatenate([leaf(V), Foreign()]) == "theirs"


# Out of the graph, on purpose


def test_what_tells_something_about_an_array():
    x = leaf(M)
    assert (np.shape(x), np.ndim(x), np.size(x), np.size(x, 0)) == ((3, 4), 2, 12, 3)
    assert np.allclose(x, M) is True
    assert np.array_equal(x, M + 1) is False
    assert np.result_type(x, 1) == np.float64
    assert not np.iscomplexobj(x)
    assert np.array2string(leaf(2.0)) == "2."


def test_the_way_out_is_explicit():
    x = leaf(V)
    assert type(x.numpy()) is np.ndarray
    assert not x.numpy().flags.writeable
    assert x.tolist() == V.tolist()
    one = leaf(2.5)
    assert (one.item(), float(one), int(one), math.sqrt(one), np.float64(one)) == (2.5, 2.5, 2, math.sqrt(2.5), 2.5)
    entries, numbers = np.zeros(2), {}
    entries[0], numbers["one"] = float(one), one
    assert entries.tolist() == [2.5, 0]
    assert numbers["one"] is one


@each("x", [ag.tensor(V), leaf(V).detach(), leaf(V) > 0])
def test_what_does_not_require_grad_is_an_array_for_numpy(x):
    for array in (np.asarray(x), np.array(x), np.asarray(x, dtype=np.float32), np.asanyarray(x[0])):
        assert type(array) is np.ndarray
    assert np.asarray(x, dtype=np.float32).dtype == np.float32
    assert not np.asarray(x).flags.writeable
    before, copy, entries = x[0].item(), np.array(x), np.zeros(4)
    copy[0], entries[0], entries[1:] = 9.0, x[0], x[1:]
    assert x[0].item() == before
    np.testing.assert_array_equal(entries, x.data)


@each("value", [0.5, [0.5], [0.5, 0.6, 0.7]])
@each("statement", divided(TEXTS["plain"]))
def test_numpy_never_makes_a_plain_array_of_what_requires_grad(statement, value):
    x, y = leaf(value), leaf(value)
    x.name = y.name = "x"
    arrays = {"a": np.ones(3), "m": np.ones((3, 3)), "k": np.ones(3, dtype=int), "z": np.ones(3, dtype=complex)}
    with pytest.raises((ag.AgradError, ValueError)) as caught:
        exec(statement, {"np": np, "x": x, "y": y, **arrays})
    error = caught.value if isinstance(caught.value, ag.AgradError) else caught.value.__cause__
    assert error.kind == "type"
    assert error.message.startswith("x requires grad: ")
    assert "for the value alone" in error.fixes[0]
    assert all((array == 1).all() for array in arrays.values())


def test_an_entry_of_an_array_is_not_written():
    a = np.ones(3)
    with pytest.raises(ValueError, match="Error setting single item of array"):  # NumPy drops what was raised
        a.flat[0] = leaf(0.5)
    with pytest.raises(ValueError, match="setting an array element") as caught:
        a[0] += 2 * leaf(0.5)
    assert caught.value.__cause__.message.startswith("a result of Add requires grad")
    assert (a == 1).all()


# What arrays have and a plain function may ask for


def test_masks():
    x, some, others = leaf(M), np.array([True, False, False, False]), np.array([True, False, True, False])
    inside, expected = (x > -1) & (x < 1) | some, (M > -1) & (M < 1) | some
    np.testing.assert_array_equal(x[inside].numpy(), M[expected])
    np.testing.assert_array_equal(x[~inside].numpy(), M[~expected])
    np.testing.assert_array_equal((others & (x > 0)).numpy(), others * (M > 0))


@each("name", "erf erfc gamma gammaln psi expit log_expit ndtr j0 j1 i0 rgamma gammasgn".split())
def test_functions_of_scipy(name):
    special = pytest.importorskip("scipy.special")
    function = getattr(special, name)
    x = leaf(POSITIVE)
    y = function(x)
    np.testing.assert_allclose(y.numpy(), function(POSITIVE), rtol=1e-12)
    difference = (function(POSITIVE + 1e-6) - function(POSITIVE - 1e-6)) / 2e-6
    np.testing.assert_allclose(ag.grad(y.sum(), x).numpy(), difference, rtol=1e-6, atol=1e-6)
    refuses(lambda: special.ellipk(x), "ellipk has no counterpart")


# Whole functions, as they are written for NumPy, against HIPS autograd


def least_squares(np, w):
    residual = np.dot(M, w) - np.array([1.0, 2.0, -0.5])
    return np.sum(residual**2) / 2 + 0.1 * np.linalg.norm(w) ** 2


def logistic_regression(np, w):
    signs = np.array([1.0, -1.0, 1.0])
    return -np.mean(np.log(1 / (1 + np.exp(-signs * (M @ w)))))


def cross_entropy(np, w):
    logits = np.reshape(w, (2, 2)) @ M[:2]
    logits = logits - np.max(logits, axis=0, keepdims=True)
    softmax = np.exp(logits) / np.sum(np.exp(logits), axis=0)
    return -np.sum(np.log(softmax[np.array([0, 1, 1, 0]), np.arange(4)]))


def network(np, w):
    hidden = np.tanh(np.outer(np.linspace(-1, 1, 7), w) + w[::-1])
    features = np.concatenate((hidden, np.ones((7, 1))), axis=1)
    output = np.where(features > 0, features, 0.01 * features).mean(axis=0)
    return np.var(output) + np.einsum("i,i->", output, output) - np.prod(np.clip(w, -1, 1))


def gaussian_process(np, w):
    place = np.arange(5.0)
    distance = (place[:, None] - place[None, :]) ** 2
    kernel = np.exp(w[0]) * np.exp(-distance * np.exp(w[1])) + np.exp(w[2]) * np.eye(5)
    rest = np.sin(place) - w[3]
    return 0.5 * np.dot(rest, np.linalg.solve(kernel, rest)) + 0.5 * np.linalg.slogdet(kernel)[1]


def pendulum(np, w):
    angle, speed = w[0], w[1]
    path = []
    for _ in range(20):
        speed = speed - 0.1 * (np.sin(angle) + 0.2 * np.abs(w[2]) * speed)
        angle = angle + 0.1 * speed
        path.append(angle)
    return np.sum(np.stack(path) * np.hstack([w, w, w, w, w]))


FUNCTIONS_OF_W = [least_squares, logistic_regression, cross_entropy, network, gaussian_process, pendulum]


@each("function", FUNCTIONS_OF_W)
def test_a_plain_numpy_function_is_differentiable_unchanged(function):
    w = leaf(V)
    y = function(np, w)
    second = ag.hessian(y, w).numpy()
    y.backward()
    np.testing.assert_allclose(y.item(), function(np, V), rtol=1e-12)
    np.testing.assert_allclose(w.grad.numpy(), autograd.grad(lambda w: function(anp, w))(V), rtol=1e-10, atol=1e-12)
    if function is not network:  # whose variance HIPS autograd differentiates once
        theirs = autograd.hessian(lambda w: function(anp, w))(V)
        np.testing.assert_allclose(second, theirs, rtol=1e-8, atol=1e-10)


# What it costs


def test_quantiles_of_nan_are_nan():
    x = leaf(np.array([[1.0, np.nan], [3.0, 4.0]]))
    np.testing.assert_array_equal(np.quantile(x, 0.5, axis=0).numpy(), [2.0, np.nan])
    np.testing.assert_array_equal(np.nanquantile(x, 0.5, axis=0).numpy(), [2.0, 4.0])
    assert np.isnan(np.nanmedian(leaf(np.array([np.nan, np.nan]))).numpy())
    with pytest.raises(ag.AgradError, match="all entries along an axis are nan"):
        np.nanargmax(leaf(np.array([[np.nan, np.nan], [1.0, 2.0]])), axis=1)
