"""Notebooks of the language in the real programs of Jupyter, in the environment of `others`."""

import json
import re
import shutil
import socket
import subprocess
import time
import urllib.request
from html import unescape

import browser
import others
import pytest

pytestmark = pytest.mark.long
CELLS = ["x = 1", "var a = 3; d = a**2\ngraph d", "plot sin(t) for t in 0..x", "sin?", "y = tags[1]"]
# Cells, and words of what they show: in its text, in its HTML, which JupyterLab prefers, and in the page of nbconvert.
OF_AGRAD = {
    "p = [1 ± 0.1, 2 ± 0.2]; p*1": ["1.00 ± 0.10", "2.00 ± 0.20"],
    "a = 2 ± 0.1; b = 3 ± 0.2; y = a*b; budget y": ["6.00 ± 0.50", "source", "U =", "k =", "95"],
    "var m = 1; var c = 0; fit [2, 4.1, 6.2, 7.9] ~ m*[1, 2, 3, 4] + c over m, c": [
        "R2 =",
        "degrees of freedom",
        "correlation",
    ],
    "var w = [1, 2]; check sum(w**3)": ["w[0]", "exact", "difference", "ok"],
    "x = 1\n[1, nothing]": ["cell 5, line 2", "nothing has no value"],
}
OF_PYTHON = {
    "import agrad as ag, agrad.engine.inspect.explain as e, inspect": [],
    "x = ag.tensor([1.0, 2.0], requires_grad=True); y = (x**2).sum()": [],
    "ag.check(lambda x, y: ag.sin(x) * y, 1.0, 2.0)": ["entry exact", "y 0.8414709848 0.8414709848", "ok"],
    "ag.compile(lambda x: ag.sin(x) * x, 1.0).explain()": ["python about", "2 operations computed by python"],
    "e.explain(y)": ["= [2, 4] at leaf = [1, 2] [2, 4] sum 6", "Pow (by %1: [2, 4])"],
    "ag.formula('x**2*y')": ["formula('x**2*y')"],
    "x": ["1", "2", "requires"],
    "y.graph('y')": ["graph of y: 3 nodes"],
    "help(ag.mean)": ["mean(x, axis=None, keepdims=False) The mean of all entries"],
    "inspect.signature(ag.Tensor.sum)": ["axis=None, keepdims=False"],
    "import matplotlib.pyplot as plt; plt.plot(x); plt.show()": ["Figure"],
}


def notebook(path, language, cells):
    """Write one whose kernel is that of a language. A cell is its text, or that and its tags."""
    name = {"python": "python3"}.get(language, language)
    kernel = {"kernelspec": {"name": name, "display_name": name, "language": language}}
    made = [
        {"cell_type": "code", "metadata": {}, "source": code, "outputs": [], "execution_count": None} for code in cells
    ]
    path.write_text(json.dumps({"cells": made, "metadata": kernel, "nbformat": 4, "nbformat_minor": 4}))
    return made


@pytest.fixture
def run(tmp_path):
    """How programs are run, by a user who has the kernel."""
    options = {"cwd": tmp_path, "check": True, "env": others.environment(tmp_path)}
    others.run("-m", "agrad", "kernel", "install", **options)
    return options


def test_papermill_sets_parameters_and_nbconvert_shows_pictures_and_colours(tmp_path, run):
    logo = (tmp_path / ".local/share/jupyter/kernels/agrad/logo-svg.svg").read_text("utf-8")
    assert logo.startswith("<svg")
    notebook(tmp_path / "in.ipynb", "agrad", CELLS)
    read = json.loads((tmp_path / "in.ipynb").read_text())
    read["cells"][0]["metadata"]["tags"] = ["parameters"]
    (tmp_path / "in.ipynb").write_text(json.dumps(read))
    words = ["-p", "x", "2.5", "-r", "name", 'a "b"', "-y", "tags: [1, 2]", "-y", "flag: true", "-y", "low: .nan"]
    others.run("papermill", "in.ipynb", "out.ipynb", *words, **run)
    done = json.loads((tmp_path / "out.ipynb").read_text())["cells"]
    given = [line.strip() for line in done[1]["source"]]
    assert {"x = 2.5", 'name = "a \\"b\\""', "tags = [1, 2]", "flag = True", "low = nan"} <= set(given)
    shown = [output for cell in done for output in cell["outputs"]]
    assert "sin(x)" in shown[-1]["text"][0]
    pictures = [output["data"] for output in shown if "data" in output]
    assert [{"image/png", "image/svg+xml", "text/plain"} <= one.keys() for one in pictures] == [True, True]
    others.run("jupyter", "nbconvert", "--to", "latex", "--SVG2PDFPreprocessor.enabled=False", "out.ipynb", **run)
    assert (tmp_path / "out.tex").read_text("utf-8").count(".png}") == 2
    pngs = [path.read_bytes() for path in (tmp_path / "out_files").glob("*.png")]
    assert [one[:4] for one in pngs] == [b"\x89PNG"] * 2
    others.run("jupyter", "nbconvert", "--to", "html", "out.ipynb", **run)
    assert '<span class="kr">graph</span>' in (tmp_path / "out.html").read_text("utf-8")


def words_of(text, kind):
    """A text without colours, or HTML without tags, in words."""
    text = unescape(re.sub(r"<[^>]*>", " ", text)) if kind == "text/html" else text
    return " ".join(re.sub(r"\x1b\[[\d;]*m", " ", text).split())


@pytest.mark.parametrize(("language", "cells"), [("agrad", OF_AGRAD), ("python", OF_PYTHON)])
def test_nbconvert_shows_what_cells_say(language, cells, tmp_path, run):
    notebook(tmp_path / "a.ipynb", language, cells)
    words = ["--execute", "--allow-errors", "--to", "notebook", "--inplace", "a.ipynb"]
    others.run("jupyter", "nbconvert", *words, **run)
    others.run("jupyter", "nbconvert", "--to", "html", "a.ipynb", **run)
    page, lacking = words_of((tmp_path / "a.html").read_text("utf-8"), "text/html"), []
    for cell, needed in zip(json.loads((tmp_path / "a.ipynb").read_text())["cells"], cells.values(), strict=True):
        for kind in ("text/plain", "text/html"):
            parts = [
                "".join([*one.get("data", {}).get(kind, []), *one.get("text", []), *one.get("traceback", [])])
                for one in cell["outputs"]
            ]
            told = words_of("\n".join(parts), kind)
            assert "\\n" not in told, told
            lacking += [(kind, word, told) for word in needed if told and word not in told]
            assert told or kind == "text/html" or not needed, cell
        hidden = any("image/png" in one.get("data", {}) for one in cell["outputs"])
        lacking += [("page", word) for word in needed if word not in page and not hidden]
    assert lacking == []


@pytest.mark.skipif(browser.MISSING is not None, reason=str(browser.MISSING))
def test_a_browser_makes_a_pdf_of_pictures(tmp_path, run):
    notebook(tmp_path / "a.ipynb", "agrad", CELLS[:3])
    others.run("jupyter", "nbconvert", "--execute", "--to", "html", "a.ipynb", **run)
    window = browser.Browser()
    try:
        window.open_address((tmp_path / "a.html").as_uri())
        boxes = "[...document.querySelectorAll('.jp-OutputArea-output svg, .jp-OutputArea-output img')]"
        sizes = window.js(f"return {boxes}.map(one => one.getBoundingClientRect()).map(one => [one.width, one.height])")
        assert len(sizes) == 2
        assert all(width > 100 and height > 50 for width, height in sizes)
        assert window.printed().startswith(b"%PDF")
    finally:
        window.close()


@pytest.mark.skipif(not shutil.which("xelatex"), reason="there is no TeX: xelatex is not installed")
def test_nbconvert_makes_a_pdf_with_the_pictures(tmp_path, run):
    notebook(tmp_path / "a.ipynb", "agrad", CELLS[:3])
    words = ["--execute", "--to", "pdf", "--SVG2PDFPreprocessor.enabled=False", "a.ipynb"]
    others.run("jupyter", "nbconvert", *words, **run)
    assert (tmp_path / "a.pdf").read_bytes().count(b"/Subtype /Image") >= 2


@pytest.mark.skipif(browser.MISSING is not None, reason=str(browser.MISSING))
def test_jupyterlab_colours_cells_and_shows_pictures_of_a_notebook_that_it_does_not_trust(tmp_path, run):
    cells = ["graph y as dot  # one\nfor i in 1..3: print 'a', graph", CELLS[1], "p = [1 ± 0.1, 2 ± 0.2]; p*1"]
    notebook(tmp_path / "a.ipynb", "agrad", cells)
    others.run("jupyter", "nbconvert", "--execute", "--allow-errors", "--to", "notebook", "--inplace", "a.ipynb", **run)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}"
    words = f"lab --no-browser --allow-root --port={address.rpartition(':')[2]} --IdentityProvider.token= --ServerApp.password="
    with (tmp_path / "log").open("w") as log:
        server = subprocess.Popen([others.python().parent / "jupyter", *words.split()], cwd=tmp_path, env=run["env"], stdout=log, stderr=log)  # fmt: skip
        try:
            lines, pictures, told = seen(f"{address}/lab/tree/a.ipynb")
            assert lines == [
                ["graph", "as", "# one"],
                ["for", "in", "1", "..", "3", ":", "print", "'a'", ","],
            ]
            assert pictures == 1
            assert "1.00 ± 0.10" in told
        finally:
            server.terminate()
            server.wait()
    others.run("-m", "agrad", "kernel", "remove", **run)
    assert [*(tmp_path / ".local/share/jupyter/labextensions").iterdir()] == []


def seen(address):
    """What JupyterLab shows: of the first cell's lines the words that have a colour, the PNGs, and the text of results."""
    for _ in range(1000):
        try:
            urllib.request.urlopen(address)
            break
        except OSError:
            time.sleep(0.3)
    window, found = browser.Browser(), ([], 0, "")
    try:
        window.open_address(address)
        for _ in range(500):
            found = window.js(SEEN)
            if found[0] and found[0][0] and found[1] and found[2]:
                break
            time.sleep(0.5)
    finally:
        window.close()
    return found


SEEN = """
const cell = document.querySelector('.jp-CodeCell'), all = (from, what) => [...(from ? from.querySelectorAll(what) : [])]
return [
    all(cell, '.cm-line').map(line => all(line, 'span').map(one => one.textContent)),
    all(document, '.jp-OutputArea-output img').filter(one => one.src.startsWith('data:image/png')).length,
    all(document, '.jp-OutputArea-output table').map(one => one.textContent).join(' '),
]
"""
