"""`agrad help` and `agrad functions` say what a session says."""

import pytest
from thinned import thinned

from agrad.cli.main import COMMANDS as OWN
from agrad.engine.core.op import FUNCTIONS
from agrad.grammar.commands import COMMANDS
from agrad.grammar.help.documents import functions_page as markdown
from agrad.grammar.help.help import TOPICS, functions, help_on, overview
from agrad.grammar.help.words import EXTRAS


def test_help_alone(agrad):
    assert agrad("help") == (f"{overview(COMMANDS)}\n", "", 0)


@pytest.mark.parametrize("word", ["sin", "backward", "**", "kinks", "pi"])
def test_help_on_a_word(agrad, word):
    assert agrad("help", word) == (f"{help_on(word, COMMANDS)}\n", "", 0)


@pytest.mark.parametrize("word", thinned(OWN, 4))
def test_help_on_a_command_of_the_terminal(agrad, word):
    of_the_language = f"{help_on(word, COMMANDS)}\n\n" if word in (*COMMANDS, *TOPICS, *FUNCTIONS, *EXTRAS) else ""
    assert agrad("help", word) == (of_the_language + agrad(word, "--help")[0], "", 0)


@pytest.mark.parametrize(
    ("word", "fixes"),
    [
        ("confg", ["agrad help config"]),
        ("sine", ["agrad help sin", "agrad help sinc", "agrad help sinh"]),
        ("qwertz", ["agrad help"]),
    ],
)
def test_an_unknown_word(agrad, word, fixes):
    lines = [f"error[name]: there is no help on {word}", *(f"  fix: {fix}" for fix in fixes)]
    assert agrad("help", word) == ("", "".join(f"{line}\n" for line in lines), 1)


def test_functions(agrad):
    assert agrad("functions") == (f"{functions()}\n", "", 0)
    assert agrad("functions", "--markdown") == (markdown(), "", 0)
