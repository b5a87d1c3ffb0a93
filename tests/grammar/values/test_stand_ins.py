"""What a pasted script has beside calculations: imports, `plt`, `make_dot`, transcripts, texts, lost writes.

Whole messages, and what they advise.
"""

import pytest

from agrad.engine.errors import AgradError
from agrad.grammar.diagnostics import render
from agrad.grammar.results import Noted
from agrad.grammar.session.session import Session

PLT = "import matplotlib.pyplot as plt\n"
WHOLE = {
    "import matplotlib.pyplot as plt\n": """\
note: matplotlib is not needed: plt.plot, plt.scatter, plt.show and plt.savefig draw with agrad's plots
  session line 1 | import matplotlib.pyplot as plt
                 | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^""",
    PLT + "plt.plot([1, 2], [1, 2, 3])": """\
error[shape]: plt.plot: x has 2 entries, and y has 3
  session line 2 | plt.plot([1, 2], [1, 2, 3])
                 | ^^^^^^^^^^^^^^^^^^^^^^^^^^^""",
    PLT + "plt.plot([[1, 2], [3, 4]])": """\
error[type]: a curve is a vector of numbers, and this is a matrix
  session line 2 | plt.plot([[1, 2], [3, 4]])
                 | ^^^^^^^^^^^^^^^^^^^^^^^^^^""",
    PLT + "plt.plot()": """\
error[arity]: plt.plot takes y, or x and y: call it once for each curve
  session line 2 | plt.plot()
                 | ^^^^^^^^^^""",
    PLT + 'plt.savefig("x.png")': """\
error[file]: plt.savefig: nothing is drawn
  session line 2 | plt.savefig("x.png")
                 | ^^^^^^^^^^^^^^^^^^^^
  fix: plt.plot(x, y)   first""",
    PLT + "plt.plot([1, 2]); plt.savefig(3)": """\
error[type]: plt.savefig needs the name of a file, not the number 3
  session line 2 | plt.plot([1, 2]); plt.savefig(3)
                 |                   ^^^^^^^^^^^^^^""",
    PLT + "plt.polt([1, 2])": """\
error[name]: agrad has no plt.polt
  session line 2 | plt.polt([1, 2])
                 | ^^^^^^^^
  fix: plt.plot""",
    PLT + "plt.hist([1, 2])": """\
error[name]: agrad has no plt.hist
  session line 2 | plt.hist([1, 2])
                 | ^^^^^^^^
  fix: plt.plot
  fix: plt.scatter""",
    PLT + "fig, ax = plt.subplots()": """\
error[type]: plt.subplots: agrad draws one picture after the other, and has no axes
  session line 2 | fig, ax = plt.subplots()
                 |           ^^^^^^^^^^^^^^
  fix: plt.plot(x, y); plt.show()   for each""",
    "from torchviz import make_dot\nmake_dot(3)": """\
note: torchviz is not needed: make_dot(y).render("g") writes the graph; graph y shows it
  session line 1 | from torchviz import make_dot
                 | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
error[type]: make_dot needs a value with a graph, not the number 3
  session line 2 | make_dot(3)
                 | ^^^^^^^^^^^""",
    'make_dot(ones(2)).rendr("x")': """\
error[name]: Picture has no attribute .rendr
  session line 1 | make_dot(ones(2)).rendr("x")
                 | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  fix: make_dot(ones(2)).render("x")""",
    "make_dot(ones(2)).render(3)": """\
error[type]: render does not take these values: render(filename='graph', format=None, options)
  session line 1 | make_dot(ones(2)).render(3)
                 | ^^^^^^^^^^^^^^^^^^^^^^^^^^^""",
    "import seaborn as sns\nsns.lineplot([1, 2])": """\
note: agrad has nothing of seaborn: plt.plot and plt.scatter draw with agrad's plots
  session line 1 | import seaborn as sns
                 | ^^^^^^^^^^^^^^^^^^^^^
error[name]: sns comes from seaborn, and agrad has nothing of it
  session line 2 | sns.lineplot([1, 2])
                 | ^^^
  fix: plot x, y""",
    "from foo import bar\nbar(2)": """\
note: agrad has nothing of foo: its names have no value
  session line 1 | from foo import bar
                 | ^^^^^^^^^^^^^^^^^^^
error[name]: bar comes from foo, and agrad has nothing of it
  session line 2 | bar(2)
                 | ^^^""",
    'import pandas as pd\nd = pd.read_csv("x.csv")': """\
note: agrad has nothing of pandas: load_csv("data.csv") reads the numbers of a file, load_csv("data.csv", columns="x") a column
  session line 1 | import pandas as pd
                 | ^^^^^^^^^^^^^^^^^^^
error[name]: pd comes from pandas, and agrad has nothing of it
  session line 2 | d = pd.read_csv("x.csv")
                 |     ^^
  fix: d = load_csv("x.csv")""",
    "from sklearn.datasets import make_moons as moons\nX, y = moons(100)": """\
note: agrad has nothing of sklearn: load_csv("data.csv") reads data from a file
  session line 1 | from sklearn.datasets import make_moons as moons
                 | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
error[name]: moons comes from sklearn, and agrad has nothing of it
  session line 2 | X, y = moons(100)
                 |        ^^^^^
  fix: load_csv("data.csv") reads data from a file""",
    "import os\nos.getcwd()": """\
note: os is not needed: files are read by load_csv and written by save, graph and plot
  session line 1 | import os
                 | ^^^^^^^^^
error[name]: os is a module, and agrad has nothing of it
  session line 2 | os.getcwd()
                 | ^^
  fix: files are read by load_csv and written by save, graph and plot""",
    "from __future__ import annotations": """\
note: __future__ is not needed: there is nothing to turn on
  session line 1 | from __future__ import annotations
                 | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^""",
    "import sys, time\nsys.exit()": """\
note: sys is not needed: quit ends a script, and args has its arguments
  session line 1 | import sys, time
                 | ^^^^^^^^^^^^^^^^
note: time is not needed: time.time() is the clock; time: STATEMENT measures a statement
  session line 1 | import sys, time
                 | ^^^^^^^^^^^^^^^^
error[name]: sys is a module, and agrad has nothing of it
  session line 2 | sys.exit()
                 | ^^^
  fix: quit""",
    "import foo.bar.baz\nfoo.x": """\
note: agrad has nothing of foo: its names have no value
  session line 1 | import foo.bar.baz
                 | ^^^^^^^^^^^^^^^^^^
error[name]: foo is a module, and agrad has nothing of it
  session line 2 | foo.x
                 | ^^^""",
    ">>> x = 2\n>>> x +\n3\n": """\
session:2:8: error[syntax]: a value is missing after `+`
  session line 2 | >>> x +
                 |        ^""",
    ">>> for k in range(2)\n...     k\n": """\
session:1:22: error[syntax]: a `:` is missing here, before the block
  session line 1 | >>> for k in range(2)
                 |                      ^""",
    "x = 1\n>>> x\n": """\
error[syntax]: `>>` is not an operator
  session line 2 | >>> x
                 | ^^""",
    '"abc".foo()': """\
error[name]: a text has no .foo in agrad
  session line 1 | "abc".foo()
                 | ^^^^^^^^^^^""",
    '"abc".uper()': """\
error[name]: a text has no .uper in agrad
  session line 1 | "abc".uper()
                 | ^^^^^^^^^^^^
  fix: .upper(…)""",
    '"abc".upper': """\
error[type]: upper is a function: call it, with brackets
  session line 1 | "abc".upper
                 | ^^^^^^^^^^^
  fix: .upper(…)""",
    '"a".join(3)': """\
error[type]: .join() needs several texts, not the number 3
  session line 1 | "a".join(3)
                 | ^^^^^^^^^^^""",
    '" ".join(["a", 2])': """\
error[type]: .join() needs a text, not the number 2
  session line 1 | " ".join(["a", 2])
                 | ^^^^^^^^^^^^^^^^^^""",
    '"a".startswith(1)': """\
error[type]: .startswith() needs a text, not the number 1
  session line 1 | "a".startswith(1)
                 | ^^^^^^^^^^^^^^^^^""",
    '"a" * "b"': """\
error[type]: how often a text is repeated must be a whole number, not the text "b"
  session line 1 | "a" * "b"
                 | ^^^^^^^^^""",
    "m = ones(2, 2)\nfor r in m: r[0] = 9": """\
error[type]: r is a copy, not a view: a write into it would be lost
  session line 2 | for r in m: r[0] = 9
                 |             ^
  fix: m[0] = …   writes into m itself; in a loop: for i in range(len(m)): m[i] = …
  fix: r = r.clone()   before it, to change the copy alone""",
    "xs = [3, 1, 2]\ndef f(xs):\n    xs.sort()\n    return xs\nf(xs)": """\
note: .sort() gives the entries in order, and xs stays as it is
  session line 3 |     xs.sort()
                 |     ^^^^^^^^^
  fix: xs = sorted(xs)
[3, 1, 2]""",
    "xs = []; xs.append(3); xs.append(1); xs.sort(); xs": "[1, 3]",
    "x = 3; type(x) == int": """\
error[type]: types are not compared: isinstance tells of what kind a value is
  session line 1 | x = 3; type(x) == int
                 |        ^^^^^^^^^^^^^^
  fix: isinstance(x, list), isinstance(x, torch.Tensor), …""",
    "m = ones(2, 2)\nm.view(4)[0] = 9": """\
error[type]: m.view(4) is a copy, not a view: a write into it would be lost
  session line 2 | m.view(4)[0] = 9
                 | ^^^^^^^^^
  fix: write into m itself, by the indices of the entries in it""",
    "m = ones(2, 2)\nm.T[0, 1] = 3": """\
error[type]: m.T is a copy, not a view: a write into it would be lost
  session line 2 | m.T[0, 1] = 3
                 | ^^^
  fix: write into m itself, by the indices of the entries in it""",
    "m = ones(2, 2)\nm.reshape(4).add_(1)": """\
error[type]: m.reshape(4) is a copy, not a view: a write into it would be lost
  session line 2 | m.reshape(4).add_(1)
                 | ^^^^^^^^^^^^
  fix: write into m itself, by the indices of the entries in it""",
    "m = ones(2, 2)\ny = m.flatten(); y += 1": """\
error[type]: y is a copy, not a view: a write into it would be lost
  session line 2 | y = m.flatten(); y += 1
                 |                  ^
  fix: m[0] = …   writes into m itself; in a loop: for i in range(len(m)): m[i] = …
  fix: y = y.clone()   before it, to change the copy alone""",
    "m = ones(2, 2)\n(m + 1)[0] = 2": """\
error[type]: (m + 1) is a copy, not a view: a write into it would be lost
  session line 2 | (m + 1)[0] = 2
                 | ^^^^^^^
  fix: b = (m + 1)   names it, so that a write into it is kept""",
    "m = ones(2, 2)\nm[0][1] = 5": """\
error[type]: m[0] is a copy, not a view: a write into it would be lost
  session line 2 | m[0][1] = 5
                 | ^^^^
  fix: m[0, 1] = …   in one step, as in A[0, 1] = 5""",
    "m = ones(2, 2)\nx = m[0]; x *= 2": """\
error[type]: x is a copy, not a view: a write into it would be lost
  session line 2 | x = m[0]; x *= 2
                 |           ^
  fix: m[0] = …   writes into m itself; in a loop: for i in range(len(m)): m[i] = …
  fix: x = x.clone()   before it, to change the copy alone""",
    "m = ones(2, 2)\nx = m[0][0]; x += 1": """\
note: x is a number of its own: m stays as it is
  session line 2 | x = m[0][0]; x += 1
                 |              ^
  fix: m[0] += 1   changes an entry, as this would in PyTorch""",
    "xs = [1, 2]\nfor x in xs: x += 1": """\
note: x is a number of its own: xs stays as it is
  session line 2 | for x in xs: x += 1
                 |              ^
  fix: xs[0] += 1   changes an entry, as this would in PyTorch""",
}


def said(text):
    """What a script says: results, notes and its error, without the note on the import of plt."""
    session, found = Session(), []

    def emit(result):
        shown = render(result.note) if isinstance(result, Noted) else result.text(session.settings)
        if not (text.startswith(PLT) and text != PLT and "matplotlib is not needed" in shown):
            found.append(shown)

    try:
        session.run(text, emit, is_file=text.startswith(">>>"))
    except AgradError as error:
        found.append(render(error))
    return "\n".join(found)


@pytest.mark.parametrize("text", WHOLE)
def test_whole_message(text):
    assert said(text) == WHOLE[text]


WORKS = {
    PLT + "plt.plot([1, 2], [3, 4], 'o', label='a'); plt.xlabel('x'); plt.legend(); plt.show()": "plot of a (2 points)",
    PLT
    + "fig = plt.figure(figsize=(4, 3)); plt.scatter([1, 2], [3, 4]); plt.title('t'); plt.show()": "plot of t (2 points)",
    "m = ones(2, 2)\nfor i in range(len(m)): m[i] = 9\nm[0, 1] = 5; m": "[[9, 5], [9, 9]]",
    "m = ones(2)\ny = m.flatten(); y = y.clone(); y += 1; m": "[1, 1]",
    "'abc'.upper() + ' '.join(['a', 'b']).title()": "ABCA B",
    "import time\nt = time.time(); time.time() >= t": "True",
}


@pytest.mark.parametrize("text", WORKS)
def test_what_is_advised_works(text):
    assert said(text).split("\n")[-1] == WORKS[text]


def test_make_dot_writes_the_graph(tmp_path):
    path = tmp_path / "g"
    session = Session()
    session.run(f"var x = 2\ny = x**2\nmake_dot(y, params={{'x': x}}).render('{path}')")
    assert (tmp_path / "g.gv").read_text("utf-8").startswith("digraph")
    session.run(f"make_dot(y).render('{path}', format='svg')")
    assert (tmp_path / "g.svg").read_text("utf-8").startswith("<svg")


def test_plt_writes_a_picture(tmp_path):
    Session().run(f"{PLT}plt.plot([1, 2]); plt.savefig('{tmp_path}/p.svg')")
    assert "svg" in (tmp_path / "p.svg").read_text("utf-8")
