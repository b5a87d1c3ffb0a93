"""What a pasted script has beside calculations: imports, `plt`, `make_dot`, transcripts, texts, lost writes.

Whole messages, and what they advise.
"""

from agrad.grammar.session.session import Session

PLT = "import matplotlib.pyplot as plt\n"


def test_make_dot_writes_the_graph(tmp_path):
    path = tmp_path / "g"
    session = Session()
    session.run(f"from torchviz import make_dot\nvar x = 2\ny = x**2\nmake_dot(y, params={{'x': x}}).render('{path}')")
    assert (tmp_path / "g.gv").read_text("utf-8").startswith("digraph")
    session.run(f"make_dot(y).render('{path}', format='svg')")
    assert (tmp_path / "g.svg").read_text("utf-8").startswith("<svg")


def test_plt_writes_a_picture(tmp_path):
    Session().run(f"{PLT}plt.plot([1, 2]); plt.savefig('{tmp_path}/p.svg')")
    assert "svg" in (tmp_path / "p.svg").read_text("utf-8")
