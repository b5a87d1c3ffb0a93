"""`scan` is the loop that it stands for: its values bit for bit in Python, to the last digits in machine code."""

import random

import numpy as np
import pytest
from backends import USABLE
from refused import leaf, refuses
from rows import each

import agrad.engine as ag
from agrad.engine.compile.llvm import target
from agrad.engine.core.op import OPS
from agrad.engine.program import closed

native = pytest.mark.skipif(target.binding() is None, reason="llvmlite is not installed")


def unrolled(f, state, rows, count=None):
    """What `scan` computes, as a loop."""
    results = []
    for i in range(len(rows) if rows is not None else count):
        state, result = f(state, rows[i] if rows is not None else None)
        results.append(result)
    parts = list(zip(*results, strict=True)) if isinstance(results[0], tuple) else None
    return state, tuple(map(ag.stack, parts)) if parts is not None else ag.stack(results)


def entries(value):
    """All numbers in a value, as bytes."""
    parts = value if isinstance(value, tuple) else (value,)
    return b"".join(np.asarray(getattr(x, "data", x), dtype=float).tobytes() for x in parts)


RNG = np.random.default_rng(5)


W, M, V, ROWS = RNG.normal(size=3), RNG.normal(size=(3, 3)) / 2, RNG.normal(size=3), RNG.normal(size=(6, 3))


# A body of (w, m), a state and rows.
LOOPS = {
    "numbers": (lambda w, m: lambda s, x: (s + w[0] * (x[0] - s), s * x[1]), 0.5),
    "functions of numbers": (lambda w, m: lambda s, x: (ag.sin(s) * w[1] + ag.exp(-x[2]), s), 0.5),
    "an array": (lambda w, m: lambda s, x: (ag.tanh(m @ s + x), s * w), V),
    "two parts": (lambda w, m: lambda s, x: ((s[0] + x * s[1], s[1] * w[2]), (ag.sum(s[0]), s[0])), (V, 0.5)),
    "a choice": (lambda w, m: lambda s, x: (ag.where(s > x, s * w, x), s), V),
    "without what is outside": (lambda w, m: lambda s, x: (s * 0.5 + x, s), V),
    "a state that is not used": (lambda w, m: lambda s, x: (x * w, x), V),
}


@each("name", LOOPS)
def test_values_and_derivatives_are_those_of_the_loop(name):
    make, start = LOOPS[name]
    found = []
    for run in (ag.scan, unrolled):
        w, m, rows = leaf(W), leaf(M), leaf(ROWS)
        state, results = run(make(w, m), start, rows)
        parts = [
            *(state if isinstance(state, tuple) else (state,)),
            *(results if isinstance(results, tuple) else (results,)),
        ]
        loss = sum((ag.sum(part * part) for part in parts), 0.0) + 0 * (ag.sum(w) + ag.sum(m))
        slopes = ag.grad(loss, (w, m, rows), create_graph=True)
        curved = ag.grad(sum(ag.sum(slope * slope) for slope in slopes) + 0 * ag.sum(w), w)
        found.append((entries(tuple(parts)), *[x.data for x in slopes], curved.data))
    assert found[0][0] == found[1][0]
    for one, other in zip(found[0][1:], found[1][1:], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


@each("seed", range(20))
def test_random_bodies_of_numbers(seed):
    rng = random.Random(seed)
    functions = [ag.sin, ag.tanh, ag.exp, lambda x: x * x, ag.atan]

    def body(w):
        dice = random.Random(seed)

        def f(s, x):
            a, b = s
            for _ in range(dice.randrange(1, 5)):
                a, b = b * w - x * 0.1, dice.choice(functions)(a * 0.3) + b * 0.2
            dice.seed(seed)
            return (a, b), (a * b, x)

        return f

    start, rows, at = (rng.uniform(-1, 1), rng.uniform(-1, 1)), RNG.normal(size=9), rng.uniform(-1, 1)
    found = []
    for run in (ag.scan, unrolled):
        w = leaf(at)
        (a, b), (products, _) = run(body(w), start, rows)
        found.append((entries((a, b, products)), ag.grad(a * b + ag.sum(products), w).item()))
    assert found[0][0] == found[1][0]
    assert found[0][1] == pytest.approx(found[1][1], rel=1e-12)  # terms are summed up iteration by iteration


def lotka(a, b):
    """The last state after many small steps."""

    def step(s, _):
        x, y = s
        return (x + 0.01 * (a * x - b * x * y), y + 0.01 * (b * x * y - ag.sin(a) * y)), ()

    (x, y), _ = ag.scan(step, (1.0, 0.5), count=300)
    return (x - 1) ** 2 + (y - 1) ** 2


@native
def test_machine_code_computes_the_same():
    plain, fast = (ag.compile(lotka, 1.1, 0.4, backend=backend) for backend in ("python", "llvm"))
    for point in ((1.1, 0.4), (0.7, 0.9), (2.0, -0.3)):
        assert plain.value(*point) == lotka(*point).item() if hasattr(lotka(*point), "item") else lotka(*point)
        expected, slopes = plain.value_and_grad(*point)
        value, found = fast.value_and_grad(*point)
        np.testing.assert_allclose([value, *found], [expected, *slopes], rtol=1e-11)
    assert "machine code" in fast.explain().splitlines()[-1]


@native
def test_machine_code_of_many_iterations_goes_on_from_piece_to_piece(monkeypatch):
    from agrad.engine.compile.llvm import repeated
    from agrad.engine.program import scan

    monkeypatch.setattr(repeated, "PIECE", 7)
    monkeypatch.setattr(scan, "PIECE", 7)
    f = ag.compile(lotka, 1.1, 0.4, backend="llvm")
    assert f.value_and_grad(1.1, 0.4)[0] == pytest.approx(float(lotka(1.1, 0.4)), rel=1e-12)


def test_a_replay_runs_it_again():
    w, rows = leaf(W), leaf(ROWS)
    state, kept = ag.scan(lambda s, x: (s * w + x, s), V, rows)
    y = ag.sum(state) + ag.sum(kept)
    w.set_(W * 2)
    rows.set_(ROWS + 1)
    y.forward()
    again, more = unrolled(lambda s, x: (s * w + x, s), V, rows)
    assert y.item() == (ag.sum(again) + ag.sum(more)).item()


def test_its_derivative_is_at_the_values_that_it_was_built_with():
    w = leaf(W)
    expected = ag.grad(ag.sum(unrolled(lambda s, x: (s * w + x, s), V, ROWS)[0]), w)
    c = w * 1
    y = ag.sum(ag.scan(lambda s, x: (s * c + x, ()), V, ROWS)[0])
    c += 1
    y.backward()
    np.testing.assert_allclose(w.grad.data, expected.data, rtol=1e-13)


def test_it_is_one_node_and_keeps_its_states_alone():
    w = leaf(2.0)
    state, _ = ag.scan(lambda s, x: (ag.sin(s * w), ()), 0.5, count=1000)
    nodes, stack = set(), [state.node]
    while stack:
        node = stack.pop()
        if node not in nodes:
            nodes.add(node)
            stack += [x for x in node.inputs if hasattr(x, "inputs")]
    assert sum(node.op is OPS["scanned"] for node in nodes) == 1
    assert len(nodes) < 12


def test_a_scan_in_a_scan():
    def outer(s, row):
        inner, kept = ag.scan(lambda t, x: (t * s + x, t), s, row)
        return inner, ag.sum(kept)

    def loop(s, rows):
        sums = []
        for row in rows:
            t = s
            kept = []
            for x in row:
                kept.append(t)
                t = t * s + x
            s = t
            sums.append(ag.sum(ag.stack(kept)))
        return s, ag.stack(sums)

    a, b = leaf(0.3), leaf(0.3)
    (s, sums), (t, totals) = ag.scan(outer, a, ROWS), loop(b, ROWS)
    assert entries((s, sums)) == entries((t, totals))
    assert ag.grad(s + ag.sum(sums), a).item() == pytest.approx(ag.grad(t + ag.sum(totals), b).item(), rel=1e-13)


def test_structures_of_state_rows_and_results():
    state, kept = ag.scan(
        lambda s, x: ({"sum": s["sum"] + x["a"] * x["b"][0]}, {"b": x["b"], "twice": (2 * s["sum"],)}),
        {"sum": 0.0},
        {"a": [1.0, 2.0], "b": [[3.0, 4.0], [5.0, 6.0]]},
    )
    assert float(state["sum"]) == 13.0
    assert kept["b"].tolist() == [[3.0, 4.0], [5.0, 6.0]]
    assert kept["twice"][0].tolist() == [0.0, 6.0]
    state, _ = ag.scan(lambda s, x: ({"b": s["a"], "a": s["b"] + x}, ()), {"a": 1.0, "b": 10.0}, [5.0])
    assert (float(state["a"]), float(state["b"])) == (15.0, 1.0)  # whatever the order of the keys
    assert ag.scan(lambda s, x: (s + 1, ()), 5.0, count=0) == (5.0, ())
    state, kept = ag.scan(lambda s, x: (s * x, s), 1.0, [2.0, 3.0])
    assert (type(state), state, type(kept), kept.tolist()) == (float, 6.0, np.ndarray, [1.0, 2.0])


def written(change):
    """The message where a body changes what is outside of it, which is then as it was."""
    total, w = ag.tensor([1.0, 2.0]), leaf([1.0, 2.0])
    w.grad = ag.tensor([5.0, 5.0])

    def f(s, x):
        change(total, w)
        return s * x, ag.sum(total * w)

    caught = refuses(lambda: ag.scan(f, 1.0, [1.0, 2.0]))
    assert (total.tolist(), w.tolist(), w.grad.tolist()) == ([1.0, 2.0], [1.0, 2.0], [5.0, 5.0])
    return caught.message


def add(total, w):
    total += 1.0


def multiply(total, w):
    with ag.no_grad():
        w *= 2.0


CHANGES = {
    "in place": add,
    "of a leaf": multiply,
    "of an entry": lambda total, w: total.__setitem__(0, 5.0),
    "of a gradient": lambda total, w: ag.sum(w * w).backward(),
}


@each("name", CHANGES)
def test_a_change_of_what_is_outside_is_refused_and_taken_back(name):
    assert written(CHANGES[name]) == (
        "the function of scan changes something outside of it, and is called once for all iterations"
    )


def test_sums_and_products_in_iterations_are_rounded_as_those_of_arrays():
    a, m = np.random.default_rng(0).normal(size=40), np.random.default_rng(1).normal(size=(5, 5))

    def step(state, row):
        x, v = state
        v = ag.tanh(ag.tensor(m) @ v)
        return (ag.sum(ag.tensor(a) * x) * 0.1 + ag.mean(v), v), ()

    state = 0.3, m[0]
    for _ in range(5):
        state = step(state, None)[0]
    found = ag.scan(step, (0.3, m[0]), count=5)[0]
    assert found[0] == state[0].item() and np.array_equal(found[1], state[1].value)


def test_what_is_detached_in_an_iteration_has_no_derivative():
    def step(rate):
        return lambda state, row: (state * 0.9 + rate * state.detach(), ())

    def loop(rate):
        state = ag.tensor(1.0)
        for _ in range(3):
            state = step(rate)(state, None)[0]
        return state

    def scanned(rate):
        return ag.scan(step(rate), 1.0, count=3)[0]

    expected = ag.grad(loop)(0.5)
    assert ag.grad(scanned)(0.5) == pytest.approx(expected)
    for backend in USABLE:
        assert ag.compile(scanned, 0.5, backend=backend).grad(0.5) == pytest.approx(expected)


@each(
    "what, draws, fixes",
    [("scan", True, ["rand(100)"]), ("quad", True, []), ("scan", False, ["with the state"]), ("quad", False, [])],
)
def test_only_of_a_scan_another_way_is_known_to_do_something_each_time(what, draws, fixes):
    problem = closed._has_effect(what, draws, "at another point")
    assert [part in fix for part, fix in zip(fixes, problem.fixes, strict=True)] == [True] * len(fixes)
