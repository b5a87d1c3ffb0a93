"""A loop in machine code gives what the uncompiled one gives, to the bit but for products of matrices; and says the same."""

import math
import random

import pytest
from rows import divided
from test_bits_of_loops import after
from test_hot_loops import DATA, STATIC, everything
from thinned import thinned

from agrad.engine.compile.llvm.repeated import Repeated
from agrad.engine.values import np
from agrad.grammar.loops import compiled_run
from agrad.grammar.session.session import Session

pytest.importorskip("llvmlite")
WITH_PRODUCTS = {"arrays and matrices"}
# np.power of an array is a product here, and products of vectors are summed by BLAS.
WITH_POWERS = {"momentum by hand", "adam", "momentum"}
# What has no number for each entry.
BY_COUNTER = {
    "one point after the other",
    "one batch after the other",
    "rows of a matrix",
    "entries that are written",
    "a list of losses in an array",
    "entries of a leaf",
    "an index that is out of range at last, of what is not used",
    "an index that is out of range at last, in a condition",
}
REGRESSION = """x = [{}]
var w = 0; var b = 0
for i in range({}):
    loss = mean((w*x + b - 3*x)**2)
    backward loss
    step sgd w b lr=0.1
    zero_grad
"""


@pytest.fixture
def native(monkeypatch):
    """How many iterations machine code ran each time, where one is enough for it to pay."""
    monkeypatch.setattr(compiled_run, "iterations_to_repay", lambda program: 1.0)
    return _counted(monkeypatch)


def _counted(monkeypatch):
    ran, run = [], Repeated.tested

    def counted(*given):
        done, undefined = run(*given)
        ran.append(0 if undefined else done)
        return done, undefined

    monkeypatch.setattr(Repeated, "tested", counted)
    return ran


@pytest.mark.parametrize("name", thinned(sorted(STATIC.keys() - WITH_PRODUCTS - WITH_POWERS), 4))
def test_all_that_a_loop_says_and_leaves(native, name):
    assert everything(STATIC[name], True) == everything(STATIC[name], False)
    assert (sum(native) > 90) is (name not in BY_COUNTER)


@pytest.mark.parametrize("name", sorted(WITH_POWERS | WITH_PRODUCTS))
def test_powers_and_products_up_to_their_rounding(native, name):
    found = []
    for compiles in (True, False):
        session = Session()
        session.compiles = compiles
        session.run(DATA + STATIC[name])
        found.append({key: np.asarray(x.value) for key, x in session.names.items() if hasattr(x, "value")})
    for key, value in found[0].items():
        np.testing.assert_allclose(value, found[1][key], rtol=1e-9, atol=1e-12)
    assert sum(native) > 90


@pytest.mark.parametrize("seed", thinned([seed for seed in range(60) if seed % 3 != 2], 8))
def test_random_loops_of_numbers_and_vectors_have_the_same_bits(native, monkeypatch, seed):
    found = after(seed, 1), after(seed, 4)
    assert sum(native) > 300 or isinstance(found[0][0] if isinstance(found[0], tuple) else None, str)
    monkeypatch.setattr(compiled_run, "iterations_to_repay", lambda program: math.inf)
    assert found == (after(seed, 1),) * 2


@pytest.mark.parametrize("count", thinned([1, 2, 7, 8, 9, 15, 16, 50, 127, 128, 129, 136, 300], 2))
def test_a_sum_has_the_bits_that_numpy_gives_it(native, count):
    dice = random.Random(count)
    numbers = ", ".join(repr(dice.uniform(-1, 1) * 10.0 ** dice.randrange(-3, 3)) for _ in range(count))
    text = REGRESSION.format(numbers, 200).replace("lr=0.1", "lr=1e-5")
    assert everything(text, True) == everything(text, False)
    assert sum(native) > 190


@pytest.mark.parametrize(
    "text",
    [
        "var w = 0.5\nfor i in range(300):\n    zero_grad; backward sqrt(w)\n    no_grad: w -= 0.002*w.grad",
        "s = 5; z = 0\nfor i in range(300):\n    s = s - 0.02\n    z = 0*z + log(s)",
        "s = 5\nfor i in range(300):\n    s = s - 0.02\n    z = where(s > 0, sqrt(s), 0)",
        "s = 1\nfor i in range(3000): s = s*2",
        "s = 1e300; t = 0\nfor i in range(300):\n    s = s*1.2\n    t = s - s",
        "s = 0\nfor i in range(400):\n    s = s + 1/(i - 200)",
        "var w = 1\nfor i in range(400):\n    zero_grad; backward w**1.5/(i - 333)\n    no_grad: w -= 1e-9*w.grad",
    ],
)
def test_what_is_not_finite_or_not_defined_is_told_in_its_iteration(native, text):
    assert everything(text, True) == everything(text, False)
    assert native


CONDITIONS = "i % 100 == 7; sin(i) > 0.999; i == 250; i > 120 and i < 125; not i % 90; i // 100 == 2; i**2 == 14400"


@pytest.mark.parametrize("condition", divided(CONDITIONS))
def test_iterations_that_take_another_path(native, condition):
    text = f"s = 0\nfor i in range(400):\n    s = 0.5*s + i\n    if {condition}: print i, s"
    assert everything(text, True) == everything(text, False)
    assert sum(native) > 190


@pytest.mark.parametrize(
    "numbers", ["range(-300, 200)", "range(900, 0, -3)", "range(0, 10**6, 997)", "range(2**53 - 400, 2**53)"]
)
def test_the_counter(native, numbers):
    text = f"s = 0\nfor i in {numbers}: s = 0.5*s + i\nprint s, i"
    assert everything(text, True) == everything(text, False)
    assert sum(native) > 290


def test_an_interruption_between_two_calls_of_machine_code_changes_nothing(native, monkeypatch):
    session = Session()
    session.run(DATA)
    before = session.names["w"].item(), session.names["w"].version
    monkeypatch.setattr(compiled_run, "iterations_at_once", lambda length: 50)
    run = Repeated.tested

    def interrupted(*given):
        if len(native) == 3:
            raise KeyboardInterrupt
        return run(*given)

    monkeypatch.setattr(Repeated, "tested", interrupted)
    with pytest.raises(KeyboardInterrupt):
        session.run(STATIC["descent"])
    assert (session.names["w"].item(), session.names["w"].version) == before
    assert sum(native) == 150


def test_machine_code_is_made_where_it_pays(monkeypatch):
    native = _counted(monkeypatch)
    numbers = ", ".join(str(i / 50) for i in range(50))
    Session().run(REGRESSION.format(numbers, 1_000))
    assert not native
    Session().run(REGRESSION.format(numbers, 30_000))
    assert sum(native) > 29_900
    native.clear()
    # The iterations of all runs of a loop count.
    inner = REGRESSION.format(numbers, 3_000).splitlines()
    Session().run("\n".join([*inner[:2], "for k in range(10):", *[f"    {line}" for line in inner[2:]]]) + "\n")
    assert 3_000 < sum(native) < 29_900


def test_a_loop_with_many_entries_is_left_to_python(native):
    Session().run(REGRESSION.replace("[{}]", "linspace(0, 1, 2*10**5)").format(150))
    assert not native
