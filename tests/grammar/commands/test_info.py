"""`info`: all about one value. `vars`: a line a name, in 80 columns."""

import pytest

from agrad.grammar.commands.info import describe, list_graphs, list_names
from agrad.grammar.session.session import Session


def after(text):
    session = Session()
    session.run(text)
    return session


def info(name, text):
    session = after(text)
    return describe(name, session.names[name], session)


def facts(name, text):
    """The lines of `info` by their first word."""
    lines = info(name, text).split("\n")
    start = len(lines[0]) - len(lines[0].split("  ", 1)[1].lstrip())
    return {line[:start].strip(): line[start:] for line in lines}


SHARED = "var a = [1, 2, 3, 4]\nb = exp(a)\nc = b*2\nd = mean(c)\n"


def test_a_computed_value():
    assert (
        info("d", SHARED)
        == """\
d        computed by Mean at line 4: mean(c)
shape    (), 1 entry
value    42.39551244
version  0, never written in place
grad     none: d was computed, and only leaves keep a gradient; to keep it, type retain d before backward
grad_fn  <MeanBackward>
graph    4 nodes, 1 leaf: a
state    held
memory   40 bytes saved by its rules: 1 array and 1 number
         40 bytes in leaves and constants
kept by  d"""
    )


def test_a_leaf():
    assert (
        info("a", f"{SHARED}backward d\nno_grad: a += 1")
        == """\
a        leaf that requires grad
shape    (4), 4 entries
value    [2, 3, 4, 5]
version  1, last written at line 6: a += 1
grad     [1.359140914, 3.694528049, 10.04276846, 27.29907502]
grad_fn  none
memory   32 bytes, its own
kept by  a, b, c and d"""
    )


def test_a_freed_graph_says_who_freed_it_and_what_to_type():
    told = info("d", f"{SHARED}backward d")
    assert (
        "state    freed at line 5: backward d\n         fix: backward d retain   at line 5, or evaluate lines 2 to 4 again\n"
        in told
    )
    assert "memory   0 bytes saved by its rules\n" in told


def test_a_partly_freed_graph():
    told = facts("e", f"{SHARED}e = sum(c)\nbackward d")
    assert told["state"] == "partly freed at line 6: backward d"


def test_a_stale_graph_says_since_which_write():
    told = info("d", f"{SHARED}set a = [1, 1, 1, 1]\nset a = [2, 2, 2, 2]")
    assert "state    stale since line 6: set a = [2, 2, 2, 2]\n         fix: " in told


def test_a_graph_of_several_leaves():
    text = "var a = 1\nvar b = 2\ny = a*b*tensor(3, requires_grad=True)"
    assert facts("y", text)["graph"] == "5 nodes, 3 leaves: a, b and 1 without a name"
    names = [f"x{i}" for i in range(12)]
    text = "\n".join([*(f"var {name} = 1" for name in names), f"y = {' + '.join(names)}"])
    assert facts("y", text)["graph"].endswith("12 leaves: x0, x1, x2, x3, x4, x5, x6 and 5 more")


@pytest.mark.parametrize(
    ("name", "text", "first"),
    [
        ("k", "k = 3", "plain number, with no graph and no gradient"),
        ("m", "m = [1, 2]", "plain value, with no graph and no gradient"),
        ("t", "t = (1, 2)", "tuple"),
        ("r", "r = range(3)", "range"),
        ("f", "def f(x, y=2) = x*y", "function f(x, y=…), defined at line 1"),
        ("s", "s = sin", "function sin(x)"),
        ("g", "var a = 1\ng = a > 2", "computed by Greater at line 2: a > 2"),
        ("l", "var l = 1", "leaf that requires grad"),
        ("n", "n = None", "none"),
    ],
)
def test_what_a_name_stands_for(name, text, first):
    assert facts(name, text)[name] == first


def test_who_keeps_a_graph():
    text = f"{SHARED}def f(x, k=c) = k*x\npair = (1, d)\nz = b.detach()\nvar q = 2\nbackward q**3 create_graph"
    session = after(text)

    def keepers(name):
        return describe(name, session.names[name], session).split("\n")[-1]

    assert keepers("b") == "kept by  b, c, d, f and pair"
    assert keepers("q") == "kept by  q and q.grad"
    assert keepers("z") == "kept by  z"


def test_a_value_that_no_name_keeps():
    session = after("var a = 2")
    value = session.evaluate("a*3")
    assert describe("a*3", value, session).endswith("kept by  no name")


def test_a_large_value_is_cut():
    lines = info("m", "m = ones(100, 100)").split("\n")
    assert max(map(len, lines)) <= 80
    assert lines[1] == "shape    (100, 100), 10000 entries"
    assert lines[-2] == "memory   80 kB, its own"


# vars


def test_vars_lists_every_name_in_columns():
    text = f"{SHARED}k = 3\nm = [1, 2]\ndef f(x, y=2) = x*y\nt = (1, 2)\ng = a > 2\nz = sin\nbackward a[0]*2"
    assert (
        list_names(after(text))
        == """\
a  leaf           (4)  [1, 2, 3, 4]                  grad [2, 0, 0, 0]
b  Exp, held      (4)  [2.718281828, 7.389056099, …  32 bytes
c  Mul, held      (4)  [5.436563657, 14.7781122, …   32 bytes
d  Mean, held          42.39551244                   40 bytes
k  number              3
m  value          (2)  [1, 2]
f  function            f(x, y=…)
t  tuple               (1, 2)
g  Greater, held  (4)  [0, 0, 1, 1]
z  function            sin(x)"""
    )


def test_vars_tells_freed_and_stale():
    text = f"{SHARED}e = sum(a**2)\nbackward e\nset a = [1, 1, 1, 1]"
    kinds = [line.split("  ")[1] for line in list_names(after(text)).split("\n")]
    assert kinds == ["leaf", "Exp, stale", "Mul, stale", "Mean, stale", "Sum, freed"]


def test_vars_fits_80_columns():
    long = "a_name_that_goes_on_and_on_for_some_time"
    text = f"var {long} = arange(200)\n{long}2 = log_softmax({long}*1.1)\nvar b = randn(40, 30)\nbackward sum(b**2)\ns = softplus(b)/3"
    lines = list_names(after(text)).split("\n")
    assert max(map(len, lines)) <= 80
    assert [line.split()[0] for line in lines] == ["a_name_that_goe…", "a_name_that_goe…", "b", "s"]
    assert lines[2].endswith("grad (40, 30)")


def test_vars_never_cuts_a_number():
    session = after(
        "loss = 1.381491223e126; w = [1.1753685e100, 2.5]; k = 2/3; s = -1.23456789e-30; n = [[1, 2], [3, 4]]"
    )
    session.settings.width = 26
    assert list_names(session).split("\n") == [
        "loss  number  1.381491e126",
        "w     value   […",
        "k     number  0.6666666667",
        "s     number  -1.23457e-30",
        "n     value   [[1, 2], …",
    ]


def test_where_there_is_little_room_vars_leaves_out_gradients_and_graphs_has_two_lines():
    session = after("var x = [1, 2, 3]; y = exp(x); z = sum(y); backward z retain")
    session.settings.width = 40
    names, graphs = list_names(session), list_graphs(session)
    assert "grad" not in names
    assert "bytes" not in names
    assert "[1, 2, 3]" in names
    assert max(map(len, [*names.split("\n"), *graphs.split("\n")])) <= 40
    assert graphs.split("\n")[1].startswith("  kept by y and z")


def test_vars_without_names():
    assert list_names(Session()) == "no names yet"


GRAPHS = {
    "numbers": "var x = 2; y = sin(x)*x + 3",
    "a constant with a name": "var x = [1, 2]; c = [3, 4]; y = sum(x*c) + 1",
    "detached": "var x = [1, 2]; y = sum(sin(x)*x + detach(x)*2)",
    "a loop": "var x = 1; y = x\nfor i in range(5):\n    y = y*2 + sin(y)",
    "a gradient": "var x = [1, 2]; z = sum(sin(x)*x); y = grad(z, x)",
    "a second gradient": "var x = 2; y = grad(grad(x**3, x), x)",
    "a gradient of a loop": "var x = 1; z = x\nfor i in range(5):\n    z = z*2 + sin(z)\ny = grad(z, x)",
    "a gradient of a function": "var x = 2; def f(t) = t**3\ny = grad(f)(x)*2",
    "a hessian": "var x = [1, 2]; y = sum(hessian(prod(x)*sum(x), x))",
    "a product with a Jacobian": "var x = [1, 2]; y = sum(jvp(sin, x, [1, 1]) + vjp(sin, x, [1, 1]))",
    "a gradient with a graph": "var x = 2; z = x**3; z.backward(create_graph=True); y = x.grad*x",
    "the gradient itself": "var x = 2; z = x**3; z.backward(create_graph=True); y = x.grad",
    "a derivative that vanishes": "var x = 2; y = grad(3*x, x)",
    "written": "var x = [1, 2]; y = x*2; y[0] = x[1]",
    "freed": "var x = [1, 2]; y = sum(exp(x)*[2, 3]); backward y",
}


@pytest.mark.parametrize("name", GRAPHS)
def test_info_counts_the_nodes_that_graph_lists(name):
    lines, session = [], after(GRAPHS[name])
    session.run("graph y", lines.append)
    listing = str(lines[0].text(session.settings))
    counted = facts("y", GRAPHS[name])["graph"].split(":")[0]
    heading, *rows = listing.split("\n")
    assert f"{counted.split(',')[0]}," in heading
    assert len([row for row in rows if row.lstrip().startswith("%")]) == int(counted.split()[0])
    for internal in ("Clone", "Depends", "Own", "Stop"):
        assert internal not in listing + info("y", GRAPHS[name])


def test_a_clone_of_the_program_is_listed():
    lines = []
    after("var x = 2; y = clone(x)*3").run("graph y", lines.append)
    assert "Clone" in str(lines[0].text(None))


def test_shared_data():
    text = "var x = [1, 2]; b = x.detach(); c = b.detach()\n"
    found = facts("b", text)
    assert found["shared"] == "with x and c: a write to one of them writes all"
    assert found["memory"] == "16 bytes, shared"
    assert facts("x", text)["shared"].startswith("with b and c")
    assert facts("y", f"{text}y = x*2; d = y.detach()")["shared"].startswith("with d:")
    assert "shared" not in facts("x", "var x = [1, 2]; b = x*2")
    assert facts("x", "var x = 2; y = x.detach(); y = 1")["memory"] == "8 bytes, its own"
    assert facts("a", "var x = [1, 2]; a = x.detach(); b = (x.detach(), 1)\nno_grad: x += 1")["value"] == "[2, 3]"
