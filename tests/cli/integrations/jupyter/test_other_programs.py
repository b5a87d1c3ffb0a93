"""Notebooks of the language in the real programs of Jupyter, in the environment of `others`."""

import json
import socket
import subprocess
import time
import urllib.request

import browser
import others
import pytest

pytestmark = pytest.mark.long
CELLS = ["x = 1", "var a = 3; d = a**2\ngraph d", "plot sin(t) for t in 0..x", "sin?", "y = tags[1]"]


def test_papermill_sets_parameters_and_nbconvert_shows_pictures_and_colours(tmp_path):
    run = {"cwd": tmp_path, "check": True, "env": others.environment(tmp_path)}
    others.run("-m", "agrad", "kernel", "install", **run)
    logo = (tmp_path / ".local/share/jupyter/kernels/agrad/logo-svg.svg").read_text("utf-8")
    assert logo.startswith("<svg")
    cells = [
        {"cell_type": "code", "metadata": {}, "source": code, "outputs": [], "execution_count": None} for code in CELLS
    ]
    cells[0]["metadata"]["tags"] = ["parameters"]
    kernel = {"kernelspec": {"name": "agrad", "display_name": "agrad", "language": "agrad"}}
    notebook = {"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 4}
    (tmp_path / "in.ipynb").write_text(json.dumps(notebook))
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
    others.run("jupyter", "nbconvert", "--to", "html", "out.ipynb", **run)
    assert '<span class="kr">graph</span>' in (tmp_path / "out.html").read_text("utf-8")


@pytest.mark.skipif(browser.MISSING is not None, reason=str(browser.MISSING))
def test_jupyterlab_colours_cells_as_the_language(tmp_path):
    run = {"cwd": tmp_path, "check": True, "env": others.environment(tmp_path)}
    others.run("-m", "agrad", "kernel", "install", **run)
    cell = {"cell_type": "code", "metadata": {}, "source": "graph y as dot  # one\nfor i in 1..3: print 'a', graph", "outputs": [], "execution_count": None}  # fmt: skip
    kernel = {"kernelspec": {"name": "agrad", "display_name": "agrad", "language": "agrad"}}
    (tmp_path / "a.ipynb").write_text(
        json.dumps({"cells": [cell], "metadata": kernel, "nbformat": 4, "nbformat_minor": 4})
    )
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}"
    words = f"lab --no-browser --allow-root --port={address.rpartition(':')[2]} --IdentityProvider.token= --ServerApp.password="
    with (tmp_path / "log").open("w") as log:
        server = subprocess.Popen([others.python().parent / "jupyter", *words.split()], cwd=tmp_path, env=run["env"], stdout=log, stderr=log)  # fmt: skip
        try:
            assert coloured(f"{address}/lab/tree/a.ipynb") == [
                ["graph", "as", "# one"],
                ["for", "in", "1", "..", "3", ":", "print", "'a'", ","],
            ]
        finally:
            server.terminate()
            server.wait()
    others.run("-m", "agrad", "kernel", "remove", **run)
    assert [*(tmp_path / ".local/share/jupyter/labextensions").iterdir()] == []


def coloured(address):
    """The words of the first cell that have a colour of their own, line by line, once JupyterLab shows them."""
    for _ in range(200):
        try:
            urllib.request.urlopen(address)
            break
        except OSError:
            time.sleep(0.3)
    window, found = browser.Browser(), None
    try:
        window.open_address(address)
        for _ in range(200):
            lines = "document.querySelectorAll('.jp-CodeCell .cm-line')"
            found = window.js(
                f"return [...{lines}].map(line => [...line.querySelectorAll('span')].map(one => one.textContent))"
            )
            if found and found[0]:
                return found
            time.sleep(0.5)
    finally:
        window.close()
    return found
