"""Lists: their parts are the very values that were put into them, and an array where one is needed."""

import pytest

from agrad.engine.errors import AgradError
from agrad.grammar.help.words import LISTS
from agrad.grammar.results import Noted
from agrad.grammar.session.session import Session

HOLDS = {
    "a gradient is cleared through a loop": """
var w = 2; w.grad = 1
params = [w]
for p in params: p.grad = None
assert w.grad is None""",
    "a gradient is cleared through a new list": """
var v = 2; v.grad = 1
[v][0].grad = None
assert v.grad is None""",
    "a loop writes into the leaves": """
var w = 2; var b = [4, 6]
with torch.no_grad():
    for p in [w, b]: p.mul_(0.5)
assert w == 1; assert b == [2, 3]""",
    "an entry is written in place": """
var w = 2
params = [w]
no_grad: params[0] -= 1
assert w == 1""",
    "an entry has the gradient": """
var w = 3
xs = [w, 1]
backward w**2
assert xs[0].grad == 6""",
    "an update by hand": """
var w = 1; var b = 0
params = [w, b]
for i in range(3):
    loss = (w*2 + b - 3)**2
    for p in params: p.grad = None
    loss.backward()
    with torch.no_grad():
        for p in params: p -= 0.1*p.grad
assert loss == 0""",
    "a list grows": """
losses = []
losses += [3.0]
losses.append(2.0)
losses.extend([1, 0])
losses.insert(0, 4)
assert losses == [4, 3, 2, 1, 0]; assert len(losses) == 5
assert losses.pop() == 0; assert losses.pop(0) == 4; assert losses == [3, 2, 1]
losses.remove(2); losses.reverse()
assert losses == [1, 3]; assert losses.index(3) == 1; assert losses.count(7) == 0
losses.sort(reverse=True); assert losses == [3, 1]
del losses[0]; assert losses == [1]
losses.clear(); assert len(losses) == 0""",
    "a vector of numbers becomes a list under each of its names": """
xs = [1, 2]; ys = xs; zs = (xs, 3)
def f(u): u.append(5)
f(xs)
assert ys == [1, 2, 5]; assert xs + [6] == [1, 2, 5, 6]""",
    "tuples are put together": "t = (1, 2); t += (3, 4); assert t == (1, 2, 3, 4); assert (1,)*2 == (1, 1)",
    "a literal is a vector in arithmetic": "a = tensor(1); assert [a, 2] + [3, 4] == [4, 6]; assert 2*[a, 2] == [2, 4]",
    "a list that was changed is put together": """
a = tensor(1); xs = [a]; assert xs + [2] == [1, 2]; assert [1] + [2, 3] == [1, 2, 3]; ns = [4]; assert [5] + ns == [5, 4]
xs.append(2); assert xs + [3] == [1, 2, 3]; assert xs*2 == [1, 2, 1, 2]
assert xs - [1, 1] == [0, 1]; assert xs*0.5 == [0.5, 1]""",
    "the parts keep their shapes": """
ps = [ones(2, 3), ones(3)]
ps[1][0] = 5
assert ps[1] == [5, 1, 1]; assert ps[0].shape == (2, 3); assert len(ps) == 2""",
    "a matrix stays a matrix": "A = [[1, 2], [3, 4]]; assert A.shape == (2, 2); assert (A + A)[1, 1] == 8; assert A.T[0, 1] == 3",
    "a list of arrays is stacked where an array is needed": """
var a = [1, 2]; b = tensor([3, 4]); xs = [a, b]
assert xs.shape == (2, 2); assert mean(xs) == 2.5; assert (xs @ [1, 1]) == [3, 7]; assert xs[:, 0] == [1, 3]
backward mean(xs); assert a.grad == [0.25, 0.25]""",
    "the sum of a list adds its entries": "xs = [ones(2), 2*ones(2)]; assert sum(xs) == [3, 3]; assert sum([[1, 2], [3, 4]]) == 10",
    "the parts are given to functions of several values": """
var w = 2; ps = [w, ones(2)]
assert concat([ones(1), ones(2)]).shape == (3,); xs = [ones(1), ones(2)]; assert torch.cat(xs).shape == (3,)
ws = [w]; g = torch.autograd.grad(w**2, ws); assert g[0] == 4""",
    "a slice is a list": "var w = 1; xs = [w, 2, 3][1:]; ys = [w, 2][:1]; \nno_grad: ys[0] += 1\nassert w == 2; assert len(xs) == 2",
    "an entry is replaced": "var w = 1; xs = [w, 2]; xs[0] = 5; assert xs == [5, 2]; assert w == 1; xs[0:1] = [7, 8]; assert xs == [7, 8, 2]",
    "an empty list is false": "xs = []; y = 1 if xs else 2; assert y == 2; xs.append(0); y = 1 if xs else 2; assert y == 1",
    "a list in a list": "var w = 2; deep = [[w], [3]]\nno_grad: deep[0][0] += 1\nassert w == 3; assert deep + 1 == [[4], [4]]",
    "unpacking": "var w = 2; a, b = [w, 3]\nno_grad: a += 1\nassert w == 3",
    "chains of methods that write": "x = tensor([1, 2]); x.add_(1).mul_(2); assert x == [4, 6]; x.fill_(3); assert x == [3, 3]",
    "a gradient is deleted": "var w = 2; backward w**2; del w.grad; assert w.grad is None",
    "a list of leaves, each": """
ps = [torch.tensor(k, requires_grad=True) for k in range(20)]
sum(p**2 for p in ps).backward()
assert ps[3].grad == 6""",
    "a graph of a list is made once": "var a = 1; var b = 2; v = [a, b]; y = sum(v*v) + sum(v); backward y; assert a.grad == 3",
    "a computed gradient of a list": "var a = 1; f = [a**2, a**3]; assert jacobian(f, a) == [2, 3]",
    "a replay": "var a = 1; v = [a, 2*a]; y = sum(v**2); backward y retain; forward y with a=2; assert y == 20",
    "0-d is written": "s = tensor(5); s[...] = 9; assert s == 9",
}


@pytest.mark.parametrize("name", HOLDS)
def test_it_holds(name):
    Session().run(HOLDS[name])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("xs = [ones(2), ones(3)]; 2*xs", "the entries of a list must have the same shape to make an array, but these"),
        ('xs = ["a", ones(3)]; 2.5*xs', 'an entry of a list needs a number or an array, not the text "a"'),
        ("xs = []\nxs.append(xs)", "a list cannot be a part of itself"),
        ("xs = []; xs.append(1); ys = arange(3); xs + ys", "one side of + is a list, which + puts together"),
        ("var w = 1; xs = [w]; xs.zero_()", "a list has no .zero_: its entries have"),
        ("var w = 1; xs = [w]; xs.grad = None", "a list has no .grad: its entries have"),
        ("var w = 1; xs = [w]; xs.grad", "a list has no .grad: its entries have"),
        ("xs = []; xs.pop()", "index -1 is out of range: the list has no entry"),
        ("var w = 1; xs = [w]; xs[0, 0] = 1", "an entry of a list is assigned to by one index"),
        ("x = ones(2); del x[0]", "the entries of an array of shape (2) cannot be deleted"),
        ("x = ones(2); del x.data", "x.data cannot be deleted"),
        ("m = ones(2, 2)\nfor r in m: r[0] = 9", "r is a copy, not a view: a write into it would be lost"),
        ("x = ones(4); x.view(2, 2)[0] = 9", "x.view(2, 2) is a copy, not a view: a write into it would be lost"),
        ("x = ones(4); y = x[1:]; y += 1", "y is a copy, not a view: a write into it would be lost"),
        ("x = ones(4); y = reshape(x, 2, 2); y[0, 0] = 1", "y is a copy, not a view"),
        ("x = ones(4); y = x[1:]; y.data = zeros(3)", "y is a copy, not a view"),
        ("var x = 2; d = x.detach(); x.data = 3", "this value shares its data with another"),
        ("xs = []; xs.append(1)\nwhile 1 < 2: xs += xs", "needs"),
    ],
)
def test_an_error_says_what_to_write(text, message):
    session = Session()
    session.watch.allow(1e6)
    with pytest.raises(AgradError) as caught:
        session.run(text)
    assert caught.value.message.startswith(message) or message in caught.value.message


def test_an_entry_of_plain_numbers_is_a_number_of_its_own_and_that_is_noted():
    said = []
    session = Session()
    session.run("x = ones(3); y = x[0]; y += 1; y += 1", lambda result: said.append(result))
    (note,) = [result.note for result in said if isinstance(result, Noted)]
    assert note.message == "y is a number of its own: x stays as it is"
    assert session.names["x"].tolist() == [1, 1, 1] and session.names["y"].item() == 3


def test_a_write_into_what_nothing_else_has_is_no_loss():
    Session().run("y = (ones(2, 2)*2)[0]; y += 1; assert y == [3, 3]; y = y[0:1]; y[0] = 5; assert y == [5]")


@pytest.mark.parametrize("change", ["xs.append(1)", "xs += [1]", "xs[0] = 5", "xs.clear()", "del xs[0]", "xs.sort()"])
def test_a_failed_statement_and_undo_take_the_change_of_a_list_back(change):
    session = Session()
    session.steps.depth = 9
    session.run("var w = 2; xs = [w, 1]; ys = xs")
    before = list(session.names["xs"].parts)
    with pytest.raises(AgradError):
        session.run(f"if 1:\n    {change}\n    log(None)")
    assert session.names["ys"].parts == before and not session.names["xs"].joins
    session.run(change)
    assert session.names["ys"].parts != before
    session.undo(1)
    assert session.names["ys"].parts == before and session.names["ys"] is session.names["xs"]


def test_undo_makes_a_list_a_vector_again():
    session = Session()
    session.steps.depth = 9
    session.run("xs = [1, 2]; ys = xs\nxs.append(3)")
    session.undo(1)
    session.run("assert xs + [1, 1] == [2, 3]; xs += 1; assert ys == [2, 3]")


def test_a_loop_over_a_list_is_compiled_and_gives_the_same():
    text = """
var w = [1, 2]; var b = 1; params = [w, b]
for i in range(300):
    loss = (sum(params[0]) + b - 3)**2 + sum(w**2)
    loss.backward()
    no_grad:
        for p in params: p -= 0.01*p.grad
    for p in [w, b]: p.grad = None
"""
    found = []
    for compiles in (True, False):
        session = Session()
        session.compiles = compiles
        session.run(text)
        found.append((session.names["w"].tolist(), session.names["b"].item(), session.names["w"].version))
    assert found[0] == found[1]


def test_a_list_is_printed_as_an_array_or_by_its_parts():
    said = []
    session = Session()
    session.run(
        'var a = 1; [a, 2]\n[ones(2), 3]\nprint [], [(1, 2), "x"], f"{[a, 2]:.2f}"\n[[a, 2], [3, 4]]',
        lambda result: said.append(result.text(session.settings)),
    )
    assert said == ["[1, 2]", "[[1, 1], 3]", "[] [(1, 2), 'x'] [1.00, 2.00]", "[[1, 2], [3, 4]]"]


@pytest.mark.parametrize(("told", "shown"), LISTS)
def test_what_help_says_of_lists_holds(told, shown):
    for line in shown.split("; "):
        text = f"assert {line}" if " == " in line else line
        shown = shown.replace(line, text, 1)
    Session().run(shown.replace("; ", "\n"))


@pytest.mark.parametrize(
    ("text", "message", "fix"),
    [
        (
            "x.requires_grad_()",
            "x is the number 2, not a tensor, and .requires_grad_() would change nothing",
            "var x = 2   instead",
        ),
        ("x.add_(1)", "x is the number 2, not a tensor, and .add_() would change nothing", "x = tensor(x)   before it"),
        (
            "x.clamp_(0, 1)",
            "x is the number 2, not a tensor, and .clamp_() would change nothing",
            "x = tensor(x)   before it",
        ),
        (
            "xs[0].zero_()",
            "xs[0] is the number 1, not a tensor, and .zero_() would change nothing",
            "xs[0] = tensor(xs[0])   before it",
        ),
    ],
)
def test_a_method_that_would_change_a_number_is_refused(text, message, fix):
    session = Session()
    session.run("x = 2.; xs = [1, [2, 3]]; xs.append(5)")
    with pytest.raises(AgradError) as caught:
        session.run(text)
    assert (caught.value.message, caught.value.fixes) == (message, [fix])
    session.run(fix.partition("   ")[0])
    session.run(text.replace("x.requires_grad_()", "x.requires_grad_(True)"))


def test_what_is_no_place_may_be_a_number():
    session = Session()
    session.run("w = torch.sin(0).requires_grad_(); y = cos(0).add_(1)")
    assert session.names["w"].requires_grad and session.names["y"].item() == 2
