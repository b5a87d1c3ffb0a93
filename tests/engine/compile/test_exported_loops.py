"""Functions of large arrays in C and JavaScript: loops, which give what agrad gives."""

import ctypes
import json
import shutil
import subprocess
from functools import cache

import numpy as np
import pytest
from exports import GCC
from refused import refuses
from rows import each

import agrad.engine as ag
from agrad.engine.compile.export.derive import derived
from agrad.engine.compile.export.languages import LANGUAGES
from agrad.engine.program.trace import trace
from agrad.grammar.session.session import Session

dice = np.random.default_rng(7)
A, Y = dice.normal(size=(300, 20)), dice.normal(size=300)
CASES = {
    "logistic": (lambda w: ag.mean(ag.log(1 + ag.exp(-Y * (A @ w)))), [dice.normal(size=20)]),
    "layer": (
        lambda w, b: ag.sum(ag.tanh(A @ w.T + b) ** 2) / 6,
        [dice.normal(size=(30, 20)), dice.normal(size=30)],
    ),
    "slices": (
        lambda x, s: s * ag.sum((x[1:] - x[:-1]) ** 2) + ag.sum(x[::2] * x[::-2]),
        [dice.normal(size=30_000), 2.0],
    ),
    "choices": (
        lambda x: ag.sum(ag.where(x > 0, x, 0.1 * x).reshape(100, 200).sum(axis=0) ** 2) + x[3] * 2,
        [dice.normal(size=20_000)],
    ),
    "products": (
        lambda a, b: ag.sum((a @ b) * (b.T @ a.T).T) + ag.mean(a, axis=0) @ ag.mean(b, axis=1),
        [dice.normal(size=(80, 70)), dice.normal(size=(70, 80))],
    ),
    "names of the language": (lambda i, work: ag.sum(ag.exp(i) * work), [dice.normal(size=30_000), 2.0]),
}
NAMES = {"names of the language": ["i", "work"]}


def expected(f, values):
    grad = ag.grad(f, tuple(range(len(values))))(*values)
    return [float(f(*values)), *np.concatenate([np.ravel(one) for one in grad])]


@cache
def derivative(name):
    """What each language writes; it takes longer to find than to write."""
    f, values = CASES[name]
    names = NAMES.get(name, [f"x{place}" for place in range(len(values))])
    found = derived(trace(f, values, names), values, range(len(values)), 1)
    assert found.arrays
    return found


def written(name, language):
    found = derivative(name)
    return LANGUAGES[language](found, "f", name), found.count


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
@each("name", list(CASES), short=2)
def test_loops_in_c(name, tmp_path):
    (f, values), (text, count) = CASES[name], written(name, "c")
    assert len(text) < 300_000  # some 12,000 numbers of data
    (tmp_path / "f.c").write_text(text)
    subprocess.run([*GCC, "f.c", "-o", f"{name}.so", "-lm"], cwd=tmp_path, check=True)
    function, grad = ctypes.CDLL(str(tmp_path / f"{name}.so")).f, (ctypes.c_double * count)()
    function.restype = ctypes.c_double
    function.argtypes = [ctypes.c_double if isinstance(x, float) else ctypes.c_void_p for x in values] + [
        ctypes.c_void_p
    ]
    value = function(*[x if isinstance(x, float) else x.ctypes.data for x in values], grad)
    np.testing.assert_allclose([value, *grad], expected(f, values), rtol=1e-9, atol=1e-11)


@pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not installed")
@each("name", list(CASES), short=3)
def test_loops_in_javascript(name, tmp_path):
    f, values = CASES[name]
    (tmp_path / "f.mjs").write_text(written(name, "js")[0])
    given = json.dumps([np.asarray(x).tolist() for x in values])
    (tmp_path / "a.mjs").write_text(
        f"import {{f}} from './f.mjs'; const r = f(...{given}); console.log(JSON.stringify([r.value, r.grad]));"
    )
    done = subprocess.run(["node", "a.mjs"], cwd=tmp_path, check=True, capture_output=True, text=True)
    value, grad = json.loads(done.stdout)
    assert [np.shape(one) for one in grad] == [np.shape(x) for x in values]
    found = [value, *np.concatenate([np.ravel(one) for one in grad])]
    np.testing.assert_allclose(found, expected(f, values), rtol=1e-9, atol=1e-11)


@each("name", CASES)
def test_numpy_in_python(name):
    (f, values), names = CASES[name], {}
    text = written(name, "py")[0]
    exec(compile(text, name, "exec"), names)
    value, grad = names["f"](*values)
    assert [np.shape(one) for one in grad] == [np.shape(x) for x in values]
    found = [value, *np.concatenate([np.ravel(one) for one in grad])]
    np.testing.assert_allclose(found, expected(f, values), rtol=1e-9, atol=1e-11)
    assert names["f"](*values)[0] == value


def test_powers_are_products():
    assert "pow(" not in written("layer", "c")[0]


@each(
    "text, language, message",
    [
        ("sum(sort(w))", "py", "argsort of an array of so many entries has no code in Python"),
        ("sum(w**2)", "tex", "arrays of so many entries are not exported as formulas"),
        ("sum(sort(w))", "c", "the function cannot be exported: argsort of an array of so many entries has no loop"),
    ],
)
def test_what_is_refused(text, language, message, tmp_path):
    session = Session()
    session.run(f"var w = arange(30000)/7\nd = {text}")
    caught = refuses(lambda: session.run(f'export d to "{tmp_path}/d.{language}"'))
    assert caught.kind == "limit"
    assert message in caught.message
    assert not list(tmp_path.iterdir())
