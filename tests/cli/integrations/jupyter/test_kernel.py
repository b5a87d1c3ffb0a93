"""What a notebook asks of the kernel while a cell is typed, and how results look there."""

import re
from html import unescape
from pathlib import Path

import numpy as np
import pytest
from answers import table
from ipykernel.kernelapp import IPKernelApp
from rows import each

import agrad.engine as ag
from agrad.cli.integrations.jupyter.kernel import AgradKernel
from agrad.cli.integrations.jupyter.magic import bundle
from agrad.grammar.session.session import Session


@pytest.fixture
def kernel():
    made = AgradKernel()
    made.language_session.run("var w = [1, 2]\ndef model(a, b=2): return a*b")
    return made


def test_completion_is_that_of_the_prompt(kernel):
    found = kernel.do_complete("y = 2*mod + 1", 9)
    assert (found["matches"], found["cursor_start"], found["cursor_end"]) == (["model", "mod"], 6, 9)
    found = kernel.do_complete("😀 = 1", 0)
    assert "backward" in found["matches"]
    (kind,) = kernel.do_complete("grad w", 6)["metadata"]["_jupyter_types_experimental"]
    assert (kind["text"], kind["type"]) == ("w", "leaf (2)")


@each("code, place, first", table(Path(__file__).with_name("inspected.txt")))
def test_help_is_on_the_word_at_the_cursor_or_the_function_around_it(kernel, code, place, first):
    found = kernel.do_inspect(code, int(place))
    assert found["found"] == (first != "nothing")
    if found["found"]:
        assert found["data"]["text/plain"].startswith(first)


@each(
    "code, status, indent",
    [
        ("x = 1", "complete", None),
        ("x = (1,", "incomplete", ""),
        ("for i in range(3):", "incomplete", "    "),
        ("for i in range(3):\n    print i", "incomplete", "    "),
        ("for i in range(3):\n    print i\n", "complete", None),
        ("x = )", "invalid", None),
    ],
)
def test_a_console_knows_whether_a_cell_is_complete(kernel, code, status, indent):
    assert kernel.do_is_complete(code) == {"status": status} | ({} if indent is None else {"indent": indent})


def test_the_history_of_cells(kernel):
    kernel._publish_execute_input = kernel.send_response = lambda *words, **named: None
    for kernel.execution_count, code in enumerate(["x = 1", "y = x", "x?", "x = 1"], 1):
        kernel.do_execute(code, False)
    kernel.do_execute("hidden = 1", True, store_history=False)
    told = kernel.do_history("tail", False, True, n=2)["history"]
    assert told == [(0, 3, "x?"), (0, 4, "x = 1")]
    assert kernel.do_history("range", True, True, session=0, start=1, stop=2)["history"] == [(0, 1, ("x = 1", None))]
    found = kernel.do_history("search", False, True, pattern="x*", unique=True)["history"]
    assert found == [(0, 4, "x = 1"), (0, 3, "x?")]


def bundles(text):
    session, found = Session(), []
    session.run(text, lambda result: found.append(bundle(result, session.settings)))
    return found


def test_a_matrix_is_a_table_and_a_large_one_is_cut():
    (made,) = bundles("[[1, 2], [3, 1/3]]")
    rows = "<tr><td>1</td><td>2</td></tr><tr><td>3</td><td>0.3333333333</td></tr>"
    assert made == {
        "text/plain": "[[1, 2], [3, 0.3333333333]]",
        "text/html": f"<table><tbody>{rows}</tbody></table><p>shape (2, 2)</p>",
    }
    (made,) = bundles("ones(100, 50)")
    assert made["text/html"].count("<tr>") == 21
    assert made["text/html"].count("<td>") == 21 * 13
    assert made["text/html"].endswith("<p>shape (100, 50)</p>")


RESULTS = """x = [1 ± 0.1, 2 ± 0.2]; x*x*1
[[1 ± 0.1, 2 ± 0.2], [3 ± 0.5, 400 ± 10]]*2
[1, 2.5, 1e-9]
[1, 2] > 1
a = 2 ± 0.1; b = 3 ± 0.2; y = a*b; budget y
a = 2 ± 0.1; y = a**2; budget y samples 1000
a = 2 ± 0.1; y = a**2; budget y order 2 coverage 0.9
var m = 1; var c = 0; x = [1, 2, 3, 4]; y = [2, 4.1, 6.2, 7.9]; fit y ~ m*x + c over m, c
var m = 1; fit [2, 4.1, 6.2] ~ m*[1, 2, 3] over m sigma 0.1
var w = [1, 2]; check sum(w**3)
var w = ones(2000); check sum(w**3)"""


@each("text", RESULTS.split("\n"))
def test_html_says_what_the_text_says(text):
    html = [made for made in bundles(text) if "text/html" in made]
    assert html
    for made in html:
        said = unescape(re.sub("<[^>]*>", " ", made["text/html"]))
        said, expected = (re.sub(r"[\[\],]", " ", told).split() for told in (said, made["text/plain"]))
        assert said[: len(expected)] == expected


@each("text", ["3", '"<b>"', "(1, [1, 2])", "sin", "[]", "zeros(2, 2, 2)"])
def test_what_is_no_table_is_text(text):
    (made,) = bundles(text)
    assert made.keys() == {"text/plain"}


def test_a_budget_is_a_table():
    (made,) = bundles("x = 2 ± 0.1\ny = 3 ± 0.2\nz = x*y\nbudget z")
    assert made["text/html"].startswith("<table><thead><tr><th>source</th>")
    assert made["text/html"].count("<tr>") == 3
    assert "z = 6.00 ± 0.50" in made["text/plain"]


def test_a_graph_has_the_form_that_is_asked_for():
    (made,) = bundles("var x = 2\ny = x**2\ngraph y as svg")
    assert made["image/svg+xml"].startswith("<svg")
    (made,) = bundles("var x = 2\ny = x**2\ngraph y as mermaid")
    assert made["text/vnd.mermaid"] == made["text/plain"]
    (made,) = bundles("var x = 2\ny = x**2\ngraph y as page")
    assert made["text/html"].startswith('<iframe sandbox="allow-scripts" ')
    assert made["text/html"].endswith('"></iframe>')
    assert "<" not in made["text/html"][1:-10]


def test_without_the_extra_that_draws_a_plot_is_text_and_a_graph_a_picture(monkeypatch):
    from agrad.engine import extras

    def missing(name):
        raise ModuleNotFoundError(f"No module named '{name}'", name=name)

    monkeypatch.setattr(extras.LOADING, "load", missing)
    (graph,) = bundles("var x = 2\ny = x**2\ngraph y")
    (plot,) = bundles("plot x for x in 0..1")
    assert plot.keys() == {"text/plain"}
    assert graph.keys() == {"text/plain", "image/svg+xml"}


def test_a_tensor_and_its_graph_show_themselves():
    x = ag.tensor([[1, 2]], requires_grad=True)
    y = (x**2).sum()
    made = x._repr_mimebundle_()
    assert made["text/plain"] == "tensor([[1, 2]], requires_grad=True)"
    assert made["text/html"] == x._repr_html_()
    assert x._repr_html_().endswith("<p>shape (1, 2), a leaf that requires grad</p>")
    assert (y._repr_html_(), y._repr_mimebundle_().keys()) == (None, {"text/plain"})
    assert (x * 2)._repr_html_().endswith("<p>shape (1, 2), &lt;MulBackward&gt;</p>")
    graph = y.graph("y")
    assert str(graph).startswith("graph of y: 3 nodes, 1 leaf, held\n")
    assert graph._repr_mimebundle_()["text/plain"] == str(graph)
    assert graph._repr_mimebundle_()["image/svg+xml"].startswith("<svg")
    assert str(y.graph(depth=1)).endswith("… 1 node left out")
    assert y.grad_fn is not None  # and it is as it was
    y.backward()
    assert np.array_equal(x.grad.numpy(), [[2, 4]])


def test_the_kernel_says_what_it_is(inside, tmp_path):
    assert AgradKernel.language_info["pygments_lexer"] == "agrad"
    out, err, code = inside("kernel", "install", "--prefix", str(tmp_path), "--sys-prefix")
    assert (out, code) == ("", 2)
    assert "--sys-prefix and --prefix name two places: use one of them" in err


def test_a_kernel_that_is_not_there_cannot_be_removed(agrad, environment, tmp_path):
    environment["JUPYTER_PATH"] = str(tmp_path / "share" / "jupyter")
    environment["JUPYTER_DATA_DIR"] = str(tmp_path / "share" / "jupyter")
    assert agrad("kernel", "remove") == ("", "the kernel is not installed: agrad kernel install\n", 1)
    folder = tmp_path / "share" / "jupyter" / "kernels" / "agrad"
    assert agrad("kernel", "install", "--prefix", str(tmp_path)) == (f"installed in {folder}\n", "", 0)
    assert (folder / "kernel.json").is_file()
    assert agrad("kernel", "remove") == (f"removed {folder}\n", "", 0)
    assert not folder.exists()


def test_only_the_process_of_a_notebook_limits_its_memory(monkeypatch):
    called = []
    monkeypatch.setattr("agrad.cli.integrations.jupyter.kernel.limit_memory", called.append)
    AgradKernel()
    assert called == []
    AgradKernel(parent=IPKernelApp())
    assert called == [None]


def test_a_notebook_reads_python_from_its_first_import_on(kernel):
    shown = []
    kernel.send_response = lambda _, kind, content: shown.append((kind, content))
    for cell in ("import torch", "x = torch.ones(2); x\nx + 1", "calculator", "[1, 2]*2"):
        assert kernel.do_execute(cell, False)["status"] == "ok"
    told = [content.get("text") or content["data"]["text/plain"] for _, content in shown]
    assert [kind for kind, _ in shown] == ["stream", "execute_result", "execute_result"]
    assert told[1:] == ["tensor([2., 2.])", "[2, 4]"]
    assert kernel.do_execute("import torch", False)["status"] == "ok"
    assert kernel.do_complete("torch.on", 8)["matches"] == ["ones", "ones_like"]
    assert kernel.do_inspect("torch.ones(", 11)["data"]["text/plain"].startswith("torch.ones(")
    assert kernel.do_is_complete("try:\n    x")["status"] == "incomplete"
