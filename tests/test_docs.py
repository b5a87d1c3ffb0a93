"""The generated files in docs/ are fresh, and what the documents show holds; so do the examples of every --help."""

import doctest
import os
import re
import shutil
import subprocess
import sys
from html import unescape
from importlib.metadata import version
from itertools import groupby
from pathlib import Path

import click
import launch
import pytest
from rows import each
from test_tour import PAGES as PAGES_OF_TOUR
from test_tour import TOUR
from transcript import replayed

from agrad.cli.main import COMMANDS, root

DOCS = Path(__file__).parents[1] / "docs"


def pages():
    """What docs/make_pages.py makes, by the path of each page."""
    sys.path.insert(0, str(DOCS))
    try:
        from make_pages import PAGES
    finally:
        sys.path.remove(str(DOCS))
    return PAGES


@each("path, made", pages().items())
def test_a_document_is_fresh(path, made, monkeypatch):
    monkeypatch.chdir(DOCS.parent)  # programs in the pages read examples/
    assert (DOCS.parent / path).read_text(encoding="utf-8") == made(), "make docs writes it anew"


@pytest.mark.skipif(
    tuple(map(int, version("click").split(".")[:2])) < (8, 2), reason="older versions of click write other scripts"
)
@each("shell, name", [("bash", "agrad"), ("zsh", "_agrad"), ("fish", "agrad.fish")])
def test_a_script_for_completion_is_fresh(shell, name):
    made = subprocess.run([*launch.agrad(), "completion", shell], capture_output=True, check=True).stdout
    assert (DOCS / "completions" / name).read_bytes() == made, "make docs writes it anew"


@each("page, kinds, least, needed", [
    ("python.md", {"pycon"}, 20, ()),
    ("notebooks.md", {"pycon", "text"}, 4, ()),
    ("pytorch.md", {"pycon", "sh", "text"}, 5, ()),
    ("clusters.md", {"pycon"}, 14, ("dask.array", "pandas")),
], short=4)  # fmt: skip
def test_the_examples_of_a_page_about_python(page, kinds, least, needed):
    for library in needed:
        pytest.importorskip(library)
    text = (DOCS / page).read_text(encoding="utf-8")
    blocks = re.findall(r"^```(\w*)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert {kind for kind, _ in blocks} == kinds
    code = "".join(code for kind, code in blocks if kind == "pycon")
    examples = doctest.DocTestParser().get_doctest(code, {}, page, page, 0)
    wrong = []
    done = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(examples, out=wrong.append)
    assert done.failed == 0, "".join(wrong)
    assert done.attempted >= least


# The file of tests that runs the blocks of code of each document; the pages of docs/make_pages.py run theirs when made.
RUN_BY = {
    "README.md": "test_readme.py and test_transcripts.py",
    "SECURITY.md": "test_security.py",
    "docs/architecture.md": "test_architecture.py",
    "docs/clusters.md": "test_docs.py",
    "docs/libraries.md": "engine/interop/test_other_libraries.py",
    "docs/json.md": "cli/output/test_json.py",
    "docs/notebooks.md": "test_docs.py",
    "docs/python.md": "test_docs.py",
    "docs/pytorch.md": "test_docs.py",
} | dict.fromkeys([f"docs/{page.name}" for page in (TOUR, *PAGES_OF_TOUR)], "test_tour.py")
NOT_RUN = {
    "CONTRIBUTING.md": "running tests",
    "docs/editors.md": "settings of editors",
}


def test_every_document_with_code_has_tests_that_run_it():
    documents = [*DOCS.glob("*.md"), *(DOCS.parent / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md"))]
    with_code = {page.relative_to(DOCS.parent).as_posix() for page in documents if "\n```" in page.read_text("utf-8")}
    assert with_code - pages().keys() == RUN_BY.keys() | NOT_RUN.keys()
    for page, files in RUN_BY.items():
        text = "".join((DOCS.parent / "tests" / file).read_text("utf-8") for file in files.split(" and "))
        assert page == "docs/tour.md" or Path(page).stem in text, f"{files} does not name {page}"


def test_every_document_has_a_place_on_the_site():
    nav = (DOCS.parent / "mkdocs.yml").read_text("utf-8").partition("\nnav:\n")[2]
    listed = re.findall(r"^ +- (\S+\.md)$", nav, re.MULTILINE)
    assert len(listed) == len(set(listed))
    assert {page.name for page in DOCS.glob("*.md")} <= set(listed), "a line in mkdocs.yml puts it there"


def test_every_rule_of_the_semantics_has_a_session():
    text = (DOCS / "semantics.md").read_text("utf-8")
    rules = re.split(r"^(?=\*\*)", text, flags=re.MULTILINE)[1:]
    assert [rule.partition("\n")[0] for rule in rules if rule.count("\n```agrad\n") != 1] == []
    assert len(rules) >= 25


def rows_of(markdown):
    """The cells of every row of every table."""
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in markdown.splitlines() if line[:1] == "|"]


def test_the_speed_page_lists_the_limits_that_are_missed():
    results = rows_of((DOCS.parent / "bench" / "results.md").read_text(encoding="utf-8"))
    missed = [[work, peer, ratio, limit] for work, peer, ratio, _, limit, holds, *_ in results if holds == "**no**"]
    listed = [row[:4] for row in rows_of((DOCS / "speed.md").read_text(encoding="utf-8")) if len(row) == 5]
    assert listed[2:] == missed


def test_the_speed_page_names_every_benchmark():
    text = (DOCS / "speed.md").read_text(encoding="utf-8")
    named = {*re.findall(r"ONLY=(\w+)`", text), *re.findall(r"`python bench/(\w+)\.py`", text)}
    assert named == {path.stem for path in (DOCS.parent / "bench").glob("*.py")} - {"run", "harness"}


def drawn(picture):
    """The text in one of the pictures, line by line."""
    found = re.findall(r'<text x="([\d.]+)" y="(\d+)" textLength="[\d.]+"[^>]*>(.*?)</text>', picture, re.DOTALL)
    lines = []
    for _, pieces in groupby(found, key=lambda piece: piece[1]):
        line = ""
        for x, _, text in pieces:
            line = line.ljust(round((float(x) - 16) / 8.4)) + unescape(text)
        lines.append(line)
    return "\n".join(lines) + "\n"


@each("theme", ["light", "dark"])
def test_a_picture_shows_what_agrad_answers_and_is_fresh(theme, tmp_path):
    text = drawn((DOCS / f"session-{theme}.svg").read_text(encoding="utf-8"))
    assert text.count("agrad> ") >= 5
    assert replayed(text) == text
    path = tmp_path / "session.svg"
    options = ["--theme", theme, "--svg", path, "docs/session.ag"]
    subprocess.run([*launch.agrad(), "--no-init", "--color", "always", "run", *options], cwd=DOCS.parent, check=True)
    assert (DOCS / f"session-{theme}.svg").read_bytes() == path.read_bytes(), "make docs draws it anew"


@pytest.mark.skipif(not shutil.which("groff"), reason="groff is not installed")
def test_the_manual_page_has_no_mistakes():
    done = subprocess.run(["groff", "-man", "-ww", "-z", DOCS / "agrad.1"], capture_output=True, text=True, check=True)
    assert done.stderr == ""


def commands():
    """The root and its commands, by the words that call them."""
    context = click.Context(root, info_name="agrad")
    return {"agrad": root} | {f"agrad {name}": root.get_command(context, name) for name in COMMANDS}


def examples():
    """The lines at the end of each help, each without the remark behind it."""
    for command in commands().values():
        *_, last = command.help.split("\n\n")
        mark, *lines = last.splitlines()
        assert mark.strip() == "\b", f"the help of {command.name} ends without an example"
        yield from (re.split(r"\s{2,}", line.strip())[0] for line in lines)


@pytest.mark.skipif(os.name == "nt", reason="they are for a Unix shell")
@each("line", dict.fromkeys(examples()), short=4)
def test_an_example_of_a_help(workshop, line):
    done = subprocess.run(["sh", "-c", line], stdin=subprocess.DEVNULL, capture_output=True, text=True, **workshop)
    assert (done.stderr, done.returncode) == ("", 0)


def test_a_test_that_is_also_a_script_runs_with_python_alone():
    root = DOCS.parent
    files = sorted((root / "tests").glob("test_*.py"))
    scripts = [file for file in files if f"python tests/{file.name}" in file.read_text(encoding="utf-8")]
    assert len(scripts) >= 2
    plain = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    for file in scripts:  # imported, but not run: it would write documents anew
        command = [sys.executable, "-c", f"import runpy; runpy.run_path({str(file)!r})['main']"]
        done = subprocess.run(command, cwd=root, env=plain, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
