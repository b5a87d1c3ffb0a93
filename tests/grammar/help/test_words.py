"""`help` says something on every word that the documents and messages mark as code."""

import ast
import re
import tomllib
from functools import cache
from pathlib import Path

import click
import pytest
from installed import TOOLS
from rows import each

from agrad.cli.commands import help as command
from agrad.cli.main import root
from agrad.engine.core.op import FUNCTIONS
from agrad.engine.errors import AgradError
from agrad.grammar.commands import COMMANDS
from agrad.grammar.help.help import EXTRAS, GLOSSARY, help_on
from agrad.grammar.session.session import Session
from agrad.grammar.syntax.keywords import OPTIONS, RESERVED

ROOT = Path(__file__).parents[3]
CODE = re.compile(r"`([^\W\d]\w*)`")
# Pages about the source, about Python, about the fields of JSON objects, and the lesson, which has names of its own.
ELSEWHERE = {"architecture.md", "api.md", "json.md", "python.md", "pytorch.md", "speed.md"}
# A misspelling that is corrected; a value of TERM; a function of SciPy; a word of the format of the lesson; a tag; a column;
# values of an option; a module of Python.
NO_WORDS = {"arrow", "backwrad", "blanks", "dumb", "jsonl", "least_squares", "parameters", "statistics", "tab", "when"}
NO_WORDS |= {"year"}
# What is named as refused: words of Python, units with several sizes, and a text on paper.
NO_WORDS |= {
    "BaseException",
    "__getattr__",
    "__init_subclass__",
    "cache_info",
    "throw",
    "cup",
    "hp",
    "ton",
    "sin²x",
    "m²",
}


def of_documents():
    pages = [path for path in (*(ROOT / "docs").glob("*.md"), ROOT / "README.md") if path.name not in ELSEWHERE]
    return {word for path in pages for word in CODE.findall(path.read_text("utf-8"))}


def of_messages():
    """The words in backquotes in all texts of the sources that are no docstrings."""
    for floor in ("cli", "grammar", "engine"):
        for path in (ROOT / floor).rglob("*.py"):
            if path.parent.name in ("torch", "numpy"):  # whose messages have PyTorch's and NumPy's words
                continue
            tree = ast.parse(path.read_text("utf-8"))
            owners = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
            bodies = [node.body[0] for node in ast.walk(tree) if isinstance(node, owners) and node.body]
            docstrings = {id(first.value) for first in bodies if isinstance(first, ast.Expr)}
            for node in ast.walk(tree):
                if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
                    yield from CODE.findall(node.value)


@cache
def words():
    options = {word for words in OPTIONS.values() for word in words}
    found = of_documents() | set(of_messages()) | options | RESERVED
    return {word for word in found if len(word) > 1} - NO_WORDS


def answered(word):
    """Whether `agrad help WORD` has something to say."""
    try:
        return bool(help_on(word, COMMANDS))
    except AgradError:
        with click.Context(root, info_name="agrad") as outer:
            return bool(command._own(click.Context(root, info_name="help", parent=outer), word))


@pytest.mark.long
def test_there_are_words():
    assert len(words()) > 150
    assert {"retain", "fresh", "NO_COLOR"} <= words()


@pytest.mark.long
def test_every_word_has_help():
    assert sorted(word for word in words() if not answered(word)) == []


@each("word", "leaf gradient autograd retain_graph ans args numbers jit device Linear fresh create_graph seed".split())
def test_a_session_has_help_on_it(word):
    shown = []
    Session().run(f"help {word}", shown.append)
    assert word in shown[0].text(Session().settings)


@each(
    "word, text",
    [
        ("arccos", "arccos\n  Another name of acos: help acos"),
        ("break", help_on("for", COMMANDS)),
        ("fresh", "backward … fresh\n  Overwrites gradients instead of adding to them."),
        ("float32", "torch.float32\n  PyTorch's"),
        ("Linear", "Linear\n  Here: from torch.nn import Linear"),
        ("csv", "budget … as csv\n  A line for each source.\n\ncsv\n  In the name of load_csv: help load_csv"),
        ("nan", "nan\n  Not a number: "),
        ("km", "km\n  1 km = 1000 m, a length. Others: m, Å, micron,"),
        ("km/h", "km/h\n  1 km/h = 5/18 m/s, a speed. Others: kn, mph."),
        ("m", "m=\n  An argument of eye.\n\nm\n  m is a base unit, a length."),
        ("°F", "°F\n  1 °F = 5/9 K, with its zero at 255.3722222 K, a temperature."),
        ("deg", "deg\n  Here: rad2deg(…)\n\ndeg\n  1 deg = about 0.0174532925199, a number."),
        ("cup", "cup\n  `cup` has no one size, as us_cup and metric_cup have."),
        ("kitty", "set plots kitty\n  As pictures, by kitty's protocol."),
        ("correction", "correction=\n  Read as ddof=, an argument of "),
    ],
)
def test_words_of_each_sort(word, text):
    assert help_on(word, COMMANDS).startswith(text)


def test_the_extras_are_those_there_are():
    optional = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    assert EXTRAS.keys() == optional.keys() - TOOLS


def test_no_word_of_the_glossary_is_that_of_a_function_or_command():
    """These have help of their own."""
    assert GLOSSARY.keys() & (FUNCTIONS.keys() | COMMANDS.keys()) == set()


@each(
    "word, fixes",
    [("Leibniz", ["help"]), ("deviation", ["help std", "help nanstd"]), ("nosuchword", ["help"])],
)
def test_a_word_without_help_leads_to_what_has_it_in_its_help(word, fixes):
    with pytest.raises(AgradError) as caught:
        help_on(word, COMMANDS)
    assert caught.value.fixes == fixes or len(caught.value.fixes) == fixes
    for fix in caught.value.fixes:
        session = Session()
        session.run(fix)


def test_a_word_without_help_is_still_an_error():
    with pytest.raises(AgradError, match="there is no help on nosuchword"):
        help_on("nosuchword", COMMANDS)
