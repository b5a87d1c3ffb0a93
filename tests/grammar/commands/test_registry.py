"""The table of commands: every command declares all that is derived from it, and what it declares is so."""

from __future__ import annotations

import re
from pathlib import Path

from answers import answers
from rows import each

from agrad.engine.errors import AgradError
from agrad.grammar.commands.registry import COMMANDS, Call, Command
from agrad.grammar.diagnostics import Source
from agrad.grammar.help.completion import completions
from agrad.grammar.help.help import topics
from agrad.grammar.results import Quit
from agrad.grammar.session.session import Session
from agrad.grammar.syntax import keywords
from agrad.grammar.syntax.parser import parse

GIVEN = "var a = 3; b = 2*a; c = b*a; d = a**2; m = 2 ± 0.1; n = 3 ± 0.1; def f(x) = x**2"
# The operands of each command that needs some, as typed behind GIVEN, and the values of options that have one.
TYPED, OPTIONS = (answers(Path(__file__).with_name(f"{name}.txt")) for name in ("operands", "options"))
# What precedes the options, where the operands above have some already.
BEFORE = {
    "fit": "fit [1, 2, 3] ~ a*[1, 2, 4]",
    "solve": "solve x**2 == 4 for x",
    "minimize": "minimize d",
    "maximize": "maximize -d",
    "tangent": "tangent x^2",
}


def words(applies):
    return {made.word for made in COMMANDS.values() if applies(made)}


def typed(made: Command) -> str:
    """A command with operands: those above, or those of its example."""
    example = re.search(rf"(?:^|; ){made.word}\b([^;]*)", made.example)
    operands = TYPED.get(made.word, example[1] if example else "")
    return f"{made.word} {operands.strip()}".strip().replace(" :", ":")


@each("made", COMMANDS.values())
def test_the_language_knows_every_command(made: Command) -> None:
    assert made.word in keywords.RESERVED | keywords.SOFT
    assert keywords.SHAPES[made.word]
    assert made.word in made.usage.split(":")[0].split()[0]
    assert parse_word(made) == made.word
    assert made.word in topics(COMMANDS)
    assert made.word in [one.text for one in completions(made.word[:-1], Session())[1]]


def parse_word(made: Command) -> str:
    (statement,) = parse(Source("session", typed(made)))
    return getattr(statement, "word", "time")


def test_every_command_of_the_language_is_in_the_table() -> None:
    statements = {"print", "var", "fails", "no_grad"}
    assert COMMANDS.keys() | statements == keywords.COMMANDS | keywords.SOFT


@each("made", COMMANDS.values())
def test_the_options_are_those_of_the_grammar(made: Command) -> None:
    """Each is offered behind the operands, and read there; none else is known to the lexer."""
    session = Session()
    session.run(GIVEN)
    before = BEFORE.get(made.word, typed(made))
    offered = {one.text for one in completions(f"{before} ", session)[1]}
    assert set(made.options) <= offered
    assert keywords.OPTIONS.get(made.word, {}).keys() <= made.options.keys()
    for word, option in made.options.items():
        assert option.meaning
        given = OPTIONS.get(f"{made.word} {word}") or OPTIONS[word] if option.value or option.choices else ""
        needed = " over a" if "over" in made.options and word != "over" else ""
        (statement,) = parse(Source("session", f"{before} {word} {given}{needed}".strip()))
        behind = [*statement.operands, *(name for name, _ in statement.options)]
        alone = 0 if made.word in BEFORE else len(parse_all(before)[0].operands)  # these need an option
        assert len(behind) > alone, word


@each("made", COMMANDS.values())
def test_what_a_command_says_that_it_changes(made: Command) -> None:
    """What changes nothing leaves nothing for `undo`; the rest does, or takes something back."""
    session = Session()
    session.steps.depth = 10
    session.run(GIVEN.replace("; ", "\n"))
    session.run("backward c retain")
    before = len(session.steps)
    try:
        session.run("forward c with a=4" if made.word == "forward" else typed(made))
    except Quit:
        assert made.ends
    except AgradError as error:
        if made.word in ("again", "redo", "last"):  # which need a line before it, one that was taken back, and a fit
            return
        assert error.kind == "file"
        assert made.operands.file or any(option.writes for option in made.options.values())
        return
    if made.alone:
        assert len(session.steps) == before - 1
    else:
        assert (len(session.steps) == before) == (made.changes == "nothing")


@each("made", COMMANDS.values())
def test_whether_a_command_is_logged(made: Command) -> None:
    session = Session()
    session.record.on, session.steps.depth = True, 10
    session.run(GIVEN.replace("; ", "\n"))
    session.run("x = 1; backward c retain")
    before = len(session.record.entries)
    try:
        session.run(typed(made))
    except (Quit, AgradError):
        return
    alone = {"undo": -1, "again": 2}  # what they take back, or run
    assert len(session.record.entries) - before == alone.get(made.word, int(made.logged))


def test_a_check_needs_no_values() -> None:
    """Lint calls it with none."""
    for made in COMMANDS.values():
        if made.check is not None:
            (statement,) = parse_all(typed(made))
            texts = {name: getattr(value, "value", None) for name, value in statement.options}
            made.check(Call(statement, [], texts, {}, statement.span))


def parse_all(text):
    return parse(Source("session", text))


def test_words_by_what_they_are() -> None:
    assert words(lambda made: made.needs == "log") == {"again", "history", "redo", "report", "save"}
    assert words(lambda made: made.loads) == {"load"}
    assert words(lambda made: made.ends) == {"quit"}
