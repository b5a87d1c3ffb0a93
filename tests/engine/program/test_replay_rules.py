"""Running a graph again: in place, right, guarded, and refused where it would be wrong."""

import numpy as np
import pytest
from refused import leaf, lines, named, refusal

import agrad.engine as ag

AGAIN = "fix: compute it again"


def minors(a):
    """The determinant of a 3x3 matrix by minors."""
    first = a[1, 1] * a[2, 2] - a[1, 2] * a[2, 1]
    second = a[1, 0] * a[2, 2] - a[1, 2] * a[2, 0]
    third = a[1, 0] * a[2, 1] - a[1, 1] * a[2, 0]
    return a[0, 0] * first - a[0, 1] * second + a[0, 2] * third


def test_forward_keeps_the_nodes_and_renews_the_values():
    x = leaf([1.0, 2.0])
    b = x * 3
    y = b.sum()
    alias, nodes = b.detach(), (b.node, y.node)
    x.set_([10, 20])
    y.forward()
    assert (b.node, y.node) == nodes
    assert (y.item(), b.tolist(), alias.tolist()) == (90, [30, 60], [30, 60])


def test_forward_of_several_shares_what_they_share():
    x = leaf(2.0)
    s = ag.exp(x)
    y, z = s * 2, s + 1
    x.set_(0)
    ag.forward(y, z)
    assert (y.item(), z.item()) == (2, 2)
    y.backward(retain_graph=True)
    z.backward()


def test_forward_of_one_leaves_the_other_stale():
    x = leaf(2.0, "x")
    s = ag.exp(x)
    y, z = s * 2, named("z", s + x)
    x.set_(0)
    y.forward()
    with pytest.raises(ag.AgradError, match="z is stale"):
        z.backward()


def test_right_where_other_tools_answer_209():
    a = leaf([2.0])
    p = a * a * a
    p.backward(retain_graph=True)
    a.clear_grad()
    a.data = [10.0]
    p.forward()
    p.backward()
    assert p.tolist() == [1000]
    assert a.grad.tolist() == [300]


def test_right_for_the_determinant():
    generator = np.random.default_rng(1)
    a = leaf(generator.normal(size=(3, 3)))
    az = minors(a)
    for _ in range(20):
        matrix = generator.normal(size=(3, 3))
        a.set_(matrix)
        az.forward()
        az.backward(retain_graph=True, fresh=True)
        np.testing.assert_allclose(a.grad.data, np.linalg.det(matrix) * np.linalg.inv(matrix).T, rtol=1e-10)


def test_right_for_gradients_with_a_graph():
    x = leaf(2.0)
    g = ag.grad(x**3, x, create_graph=True)
    x.set_(5)
    g.forward()
    assert g.item() == 75
    assert ag.grad(g, x).item() == 30


# Guards


def branch(x):
    return x**2 if x > 0 else -x


def halved(x):
    while x > 1:
        x = x / 2
    return x


def power(x):
    y = x
    for _ in range(int(x)):
        y = y * x
    return y


GUARDS = {
    "branch": (branch, 2.0, -1.0, 3.0, "a result of Greater was true; now it is false"),
    "while": (halved, 5.0, 100.0, 6.0, "a result of Greater was false; now it is true"),
    "loop count": (power, 2.0, 3.0, 2.5, "x was 2; now it is 3"),
}


@pytest.mark.parametrize("name", GUARDS)
def test_guards_stop_what_would_come_out_otherwise(name):
    function, first, other, same, said = GUARDS[name]
    x = leaf(first, "x")
    y = named("y", function(x))
    before = y.item()
    x.set_(other)
    expected = lines(f"guard: y cannot be replayed: it was built where {said}", AGAIN)
    assert refusal(y.forward) == expected
    assert refusal(y.forward) == expected
    assert y.item() == before
    x.set_(same)
    y.forward()
    assert y.item() == function(leaf(same)).item()
    y.backward()


def test_guards_of_an_index():
    v = leaf([3.0, 1.0, 2.0])
    j = named("j", ag.argmax(v))
    y = named("y", v.sum() * ag.tensor([10.0, 20.0, 30.0])[j])
    v.set_([1, 5, 2])
    assert refusal(y.forward) == lines("guard: y cannot be replayed: it was built where j was 0; now it is 1", AGAIN)
    v.set_([9, 5, 2])
    y.forward()
    assert y.item() == 160


def test_guards_of_a_mask():
    v = leaf([3.0, 1.0, 2.0])
    m = named("m", v > 1)
    y = named("y", v[m].sum())
    v.set_([1, 5, 2])
    assert refusal(y.forward) == lines(
        "guard: y cannot be replayed: entries were selected by m, which has changed", AGAIN
    )
    v.set_([4, 0, 7])
    y.forward()
    assert y.item() == 11


def test_guards_of_what_has_no_graph():
    n = leaf(2.0, "n")
    y = named("y", ag.ones(n.detach()).sum() * n)
    n.set_(3)
    assert refusal(y.forward) == lines(
        "guard: y cannot be replayed: it was built where a number that was read was 2",
        "note: the value of the guard is gone, and n has changed",
        AGAIN,
    )


def test_guards_are_forgotten_when_the_leaf_is_written():
    x = leaf(2.0)
    branch(x)
    x.set_(-3)
    y = x * 2
    x.set_(5)
    y.forward()
    assert y.item() == 10


def test_cut_off_and_out_of_date():
    a = leaf(2.0, "a")
    with ag.no_grad():
        k = named("k", a * 2)
    y, z = named("y", a * k), named("z", a * (a * 3).detach())
    a.set_(3)
    assert refusal(y.forward) == lines(
        "guard: y cannot be replayed: it uses k, computed from a without recording", AGAIN
    )
    with pytest.raises(ag.AgradError, match=r"z cannot be replayed: it uses .*, computed from a without recording"):
        z.forward()


def test_cut_off_but_an_alias_of_what_the_graph_holds():
    a = leaf(2.0)
    b = a * 3
    y, z = a * b.detach(), a * a.detach()
    a.set_(3)
    ag.forward(y, z)
    assert (y.item(), z.item()) == (27, 9)


def test_a_number_read_in_python_is_a_guard():
    a, w = leaf(2.0), leaf(5.0)
    before = a * 3
    y = a * w * a.item()
    w.set_(1)
    y.forward()
    assert y.read_only() == 4
    a.set_(3)
    ag.forward(before)
    assert before.read_only() == 9
    said = refusal(y.forward)
    assert said.startswith("guard: a result of Mul cannot be replayed: before it was built, a value was read as a ")
    assert f"{__file__}:{test_a_number_read_in_python_is_a_guard.__code__.co_firstlineno + 3}" in said


# Shapes, random numbers, freed graphs


@pytest.mark.parametrize(("data", "shape"), [(3, "()"), ([1, 2, 3], "(3)"), ([[1, 2]], "(1, 2)")])
def test_shapes_stay(data, shape):
    a = leaf([1.0, 2.0], "a")
    assert refusal(lambda: a.set_(data)) == f"shape: set: a has shape (2), not {shape}"
    assert (a.tolist(), a.version) == ([1, 2], 0)


def test_random_numbers_are_kept():
    ag.manual_seed(1)
    x = leaf(1.0)
    y = ag.rand(5) * x
    first = np.array(y.data)
    x.set_(2)
    y.forward()
    np.testing.assert_array_equal(y.data, 2 * first)


def test_freed_is_built_again():
    a = leaf(3.0)
    y = named("y", a**2)
    y.backward()
    a.set_(4.0)
    y.forward()
    y.backward()
    assert (y.item(), a.grad.item()) == (16, 14)


def test_nothing_to_replay():
    a, k = leaf(3.0, "a"), named("k", ag.tensor(2.0))
    assert refusal(a.forward) == "grad: a is a leaf: there is nothing to replay"
    assert refusal(k.forward) == "grad: k has no graph: there is nothing to replay"
