"""Programs: what is read off a graph, what it computes, and what the passes leave of it."""

import math
import random
from itertools import product

import numpy as np
import pytest
from compiled import gradient_of, gradient_program, listing
from random_programs import of_numbers
from refused import refuses
from replays import same_bits
from rows import each, table

import agrad.engine as ag
from agrad.engine.program import ir
from agrad.engine.program.ir import Diverged, arranged, key, optimised, rewritten, simplify
from agrad.engine.program.trace import extract, trace

EDGES = (0.0, -0.0, 1.0, -2.5, math.inf, -math.inf, math.nan, 5e-324, 1e308)


def names(program):
    return [step.op.name for step in program.steps]


def test_a_program_is_written_in_readable_lines():
    program = trace(lambda x, y: x * ag.sin(y) - (x - y) ** 2, (2.0, 3.0), ("x", "y"))
    assert listing(program).splitlines() == [
        "inputs     x, y",
        "t3 = sin(y)",
        "t4 = mul(x, t3)   # x*sin(y)",
        "t5 = sub(x, y)    # x - y",
        "t6 = pow(t5, 2)   # (x - y)**2",
        "t7 = sub(t4, t6)  # x*sin(y) - (x - y)**2",
        "outputs    t7",
    ]


def test_arrays_constants_and_guards_are_written_too():
    def f(x):
        return ag.sum(x[1:] * np.array([2.0, 3.0])) if ag.sum(x) > 0 else x[0]

    lines = listing(trace(f, ([1.0, 2.0, 3.0],))).splitlines()
    assert lines[0] == "inputs     x of shape (3)"
    assert "c1 = [2, 3]" in lines[1:3] or "c2 = [2, 3]" in lines[1:3]
    assert any("getitem(x, index=(1:,))" in line and "shape (2)" in line for line in lines)
    assert any(line.startswith("check      ") and line.endswith("is true") for line in lines)


def test_a_formula_needs_no_more_brackets_than_are_typed():
    def f(x, y):
        return (x - (y - x)) * -(x**y) / (x / y) + (-x) ** 2 + (x**y) ** 2

    text = listing(trace(f, (2.0, 3.0), ("x", "y")))
    for formula in ("x - (y - x)", "-x**y", "(-x)**2", "(x**y)**2"):
        assert formula in text


def test_what_is_not_among_the_inputs_is_constant():
    w = ag.tensor(3.0, requires_grad=True)
    program = trace(lambda x: w * x + w * 2, (1.0,))
    w.set_(100.0)
    assert program.run(5.0) == (21.0,)


def test_a_program_is_read_off_a_graph_that_is_there():
    a = ag.tensor([1.0, 2.0], requires_grad=True)
    a.name = "a"
    d = ag.mean(a**2 * 2)
    program = extract([d], [a])
    assert program.inputs[0].name == "a"
    assert program.run(np.array([3.0, 5.0])) == (34.0,)


def test_a_condition_that_led_to_no_operation_is_a_guard_all_the_same():
    program = trace(lambda x: 1.0 if x > 0 else 2.0, (1.0,))
    assert program.run(4.0) == (1.0,)
    with pytest.raises(Diverged):
        program.run(-4.0)


def test_guards_before_and_beside_a_function_are_none_of_its_own():
    z = ag.tensor(1.0, requires_grad=True)
    assert z > 0
    assert not trace(lambda x: x * 2, (1.0,)).checks
    program = trace(lambda x: x * 2 if z > 0 else x, (1.0,))
    assert not program.checks


def test_an_argument_without_a_derivative_may_be_an_index():
    program = trace(lambda x, n: x[n] * 2, ([1.0, 2.0], 1), wrt=(0,))
    assert program.run(np.array([5.0, 7.0]), 1.0) == (14.0,)
    with pytest.raises(Diverged):
        program.run(np.array([5.0, 7.0]), 0.0)


def test_what_is_detached_has_its_value_and_no_derivative():
    program = gradient_program(lambda x: x * x.detach() + x, (2.0,))
    assert program.run(3.0) == (12.0, 4.0)


def without_a_record(x):
    with ag.no_grad():
        y = x * 2
    return x * y


def written(x):
    with ag.no_grad():
        x += 1
    return x * 2


@each("f", [without_a_record, written, lambda x: x * (x.detach() * 2)])
def test_what_has_no_record_is_refused(f):
    caught = refuses(lambda: trace(f, (1.0,)), r"^this cannot be compiled: .* without recording")
    assert caught.kind == "guard"
    assert caught.fixes


def test_a_freed_graph_is_refused():
    a = ag.tensor(2.0, requires_grad=True)
    d = a**2
    d.backward()
    refuses(lambda: extract([d], [a]), "cannot be compiled: part of its graph was freed")


@each("result", [None, (1.0, 2.0), "text"])
def test_a_function_gives_a_number_or_an_array(result):
    refuses(lambda: trace(lambda x: result, (1.0,)), "not a number or an array")


def chain(length):
    def f(x):
        for _ in range(length // 2):
            x = x * 0.5 + 1.0
        return x

    return f


@pytest.mark.long
def test_a_chain_of_100_000_operations_is_a_program():
    program = trace(chain(100_000), (1.0,))
    assert len(program.steps) == 100_000
    assert program.run(3.0) == (2.0,)


@pytest.mark.long
def test_neither_a_gradient_nor_a_pass_goes_deep():
    program = gradient_program(chain(20_000), (1.0,))
    assert program.run(3.0) == optimised(program).run(3.0) == (2.0, 0.0)


# The passes


def unused(x):
    ag.exp(x) + 5
    return x if ag.sin(x) > 0 else -x


FOUR = ag.tensor(4.0, requires_grad=True)


@each("f, applied, left", table("""
(x + y) * (y + x) - x * y / (y * x) | ir.share | "add mul mul div sub"
(x - y) * (y - x) | ir.share | "sub sub mul"
ag.maximum(x, y) - ag.maximum(y, x) | ir.share | "maximum maximum sub"
ag.sum(x[0]) + ag.sum(x[1]) + ag.sum(x[0]) + 0 * y | ir.share | "getitem sum getitem sum add add mul add"
# what is not used is dropped, but not what a guard reads
unused(x) + 0 * y | ir.share | "sin greater mul add"
# what only constants lead to is computed
x * ag.sqrt(FOUR) | ir.fold | "mul"
""", "x, y", globals()))  # fmt: skip
def test_what_the_passes_leave(f, applied, left):
    program = trace(f, (np.ones((2, 2)) if "[0]" in f.name else 1.0, 3.0))
    program = rewritten(program, applied)
    assert " ".join(names(program)) == left
    assert applied is not ir.fold or program.constants == (2.0,)


@each("f", [lambda x: x * 1, lambda x: 1.0 * x, lambda x: x / 1, lambda x: x**1, lambda x: x - 0.0, lambda x: x + -0.0,
     lambda x: -0.0 + x, lambda x: ag.neg(-x), ag.sum, ag.mean, ag.prod, ag.max, ag.clone])  # fmt: skip
def test_what_is_exactly_its_operand_is_left_out(f):
    program = trace(lambda x: ag.abs(f(x)), (2.0,))
    short = rewritten(program, simplify)
    assert names(short) == ["abs"]
    for x in EDGES:
        assert same_bits(short.run(x), program.run(x))


@each("f", [lambda x: x * 0, lambda x: x + 0.0, lambda x: 0.0 - x, lambda x: x - x, lambda x: x / x])
def test_what_differs_at_an_edge_stays(f):
    assert len(optimised(trace(f, (2.0,))).steps) == 1


@each("number", range(40))
def test_the_passes_keep_every_bit(number):
    f = of_numbers(number, 25)
    program = gradient_program(f, (0.7, -1.3))
    short = optimised(program)
    assert len(short.steps) < len(program.steps)
    for point in product(EDGES, EDGES):
        assert same_bits(short.run(*point), program.run(*point)), point


def test_the_gradient_of_a_shared_program_is_as_short_as_that():
    def f(*xs):
        return minors([list(xs[row : row + 5]) for row in range(0, 25, 5)])

    def minors(rows):
        if len(rows) == 1:
            return rows[0][0]
        parts = [(-1) ** j * x * minors([row[:j] + row[j + 1 :] for row in rows[1:]]) for j, x in enumerate(rows[0])]
        return sum(parts[1:], parts[0])

    rng = random.Random(1)
    values = [rng.random() for _ in range(25)]
    plain = gradient_program(f, values)
    short = optimised(gradient_of(optimised(trace(f, values), again=True), values, range(25)))
    assert len(short.steps) < len(optimised(plain).steps) / 2
    np.testing.assert_allclose(short.run(*values), plain.run(*values), rtol=1e-9, atol=1e-12)


def test_arranged_steps_stand_right_before_what_needs_them():
    def f(x, y):
        a, b, _ = ag.sin(x), ag.cos(y), ag.exp(y)
        c = ag.tan(x) if a > b else x
        return (a + c) * (b + c)

    program = trace(f, (2.0, 3.0))
    short = arranged(program)
    assert names(program) == ["sin", "cos", "greater", "tan", "add", "add", "mul"]
    assert names(short) == ["cos", "sin", "greater", "tan", "add", "add", "mul"]
    assert [check.text for check in short.checks] == [check.text for check in program.checks]
    assert short.run(2.0, 3.0) == program.run(2.0, 3.0)
    with pytest.raises(Diverged):
        short.run(-2.0, 0.1)


def test_programs_of_one_structure_have_one_key():
    def program(slope):
        return optimised(trace(lambda x: ag.sin(x) * slope, (1.0,)))

    assert key(program(2.0)) == key(program(2.0))
    assert key(program(2.0)) != key(program(3.0))
    assert key(program(0.0)) != key(program(-0.0))


def put_together(seed):
    """A function that takes a matrix apart and puts rows, columns and ranges of it together, in any order."""
    dice = random.Random(seed)
    plan = [(dice.random(), dice.randrange(4), dice.choice((0, 0, 1)), dice.random()) for _ in range(3)]

    def f(m):
        known = m
        for kind, place, axis, other in plan:
            rows = [known[i] for i in range(known.shape[0])]
            if kind < 0.3:
                rows = rows[place % len(rows) :]
            elif kind < 0.5:
                rows = [known[:, i] for i in range(known.shape[1])]
            elif kind < 0.7:
                rows = [rows[place % len(rows)], *rows[:-1], -rows[-1]]
            y = ag.stack(rows, axis)
            if other < 0.5:
                y = ag.concat([y[:, i : i + 1] for i in range(y.shape[1])], 1)
            known = ag.concat([y[:1] * y[-1], y[1:], y[:1] if other < 0.3 else -0.0 * y[:1]])
        return ag.sum(ag.maximum(known, -0.0) * known) - ag.sum(known[0] * known[-1] * m[0, 0]) + ag.sum(m[1:] * m[:-1])

    return f


@each("seed", range(200), short=40)
def test_parts_put_together_have_the_same_bits(seed, monkeypatch):
    m = np.random.default_rng(seed).normal(size=(4, 4))
    m[0, 1], m[2, 2] = -0.0, 0.0
    found = []
    for merged in (ir.merged, lambda program: program):
        monkeypatch.setattr(ir, "merged", merged)
        compiled = ag.compile(put_together(seed), m, backend="python")
        value, slope = compiled.value_and_grad(m)
        found.append(np.array([value, *slope.ravel(), *np.ravel(compiled.jvp(m, m))]).tobytes())
    monkeypatch.undo()
    assert found[0] == found[1]


@each("f, count", [
    (lambda x: ag.sum(ag.sin(ag.stack(list(x)))), 4),
    (lambda x: ag.sum(ag.sin(ag.stack([x[0] * 2.0, *x[1:]]))), 15),
    (lambda x: ag.sum(ag.sin(ag.concat([x[k : k + 2] for k in range(0, 50, 2)]))), 4),
])  # fmt: skip
def test_rows_of_an_array_are_taken_in_one_step(f, count):
    assert len(optimised(gradient_program(f, [np.ones((50, 3))])).steps) <= count
