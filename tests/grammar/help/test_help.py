"""`help`: something on every word, and nothing that is not so."""

import math
import re
from pathlib import Path
from typing import get_args

import pytest
from reference import functions_page as markdown
from rows import each
from transcript import sections

from agrad.engine.core.op import FUNCTIONS
from agrad.engine.errors import AgradError, Kind
from agrad.engine.text import fit
from agrad.grammar.commands import COMMANDS
from agrad.grammar.help.help import (
    START,
    TOPICS,
    all_kinks,
    families,
    functions,
    help_on,
    kinks,
    overview,
    start,
    topics,
)
from agrad.grammar.runtime.builtins import CONSTANTS
from agrad.grammar.session.session import Session


def text_on(word):
    return help_on(word, COMMANDS)


@each("entry", FUNCTIONS.values())
def test_help_on_a_function(entry):
    lines = help_on(entry.name, {}).partition("\n\n")[0].splitlines()  # behind that, a statement of this name
    assert lines[:2] == [entry.signature.usage, f"  {entry.doc}"]
    words = [line.split(":")[0].strip() for line in lines[2:]]
    assert words == sorted(words, key=["derivative", "domain", "kink", "example"].index)
    assert not entry.derivative or f"  derivative: {entry.derivative}" in "\n".join(lines)
    assert not entry.example or lines[-1] == f"  example: {entry.example}"


def test_the_g_of_a_derivative_is_explained():
    assert "  derivative: -inv(x).T @ g @ inv(x).T (g: the gradient of the result)" in text_on("inv").splitlines()
    assert "(g:" not in text_on("sin")


@each(
    "word, first",
    [
        ("backward", "backward d [retain] [create_graph] [fresh] [trace] [seed [1, 2]]"),
        ("**", "pow(x, y)"),
        ("^", "pow(x, y)"),
        ("<=", "less_equal(x, y)"),
        ("pi", "pi = 3.141592653589793"),
        ("grad", "grad a …"),
    ],
)
def test_help_on_other_words(word, first):
    assert text_on(word).splitlines()[0] == first


@each(
    "word, lines",
    [
        ("~=", ["x ~= y   x ~= y +- 0.1", "  Equal to 1e-9 relative, or to a tolerance."]),
        ("and", ["x and y", "  x if that is 0, else y."]),
        ("x.grad", ["x.grad", "  The gradient, or None."]),
        ("item", ["x.item()", "  The number, without its graph."]),
        ("x.size", ["x.size(axis=None)", "  The shape, or the length of one axis."]),
        ("internal", ["error[internal]", "  An error in agrad itself; the statement is taken back."]),
        ("variable", ["x.variable", "  The leaf that it stands for."]),
    ],
)
def test_help_on_what_is_no_function(word, lines):
    assert text_on(word).splitlines() == lines


def test_help_on_not_is_on_the_operator():
    assert "not x\n  1 where x is 0." in text_on("not")


@each("word", ["torch.sin", "x.sin"])
def test_help_on_a_function_behind_a_point(word):
    assert text_on(word) == text_on("sin")


def test_help_on_a_family():
    assert text_on("linalg").splitlines()[0] == "linear algebra"
    for family, entries in families():
        lines = functions().split(f"{family}\n")[1].splitlines()[: len(entries)]
        if family.isidentifier() and family not in (*COMMANDS, *FUNCTIONS):
            assert text_on(family).splitlines() == [family, *lines]


def test_the_page_of_errors_has_every_kind():
    kinds = text_on("errors").partition("\n\n")[0]  # what follows is on options and commands
    words = [line.split()[0] for line in kinds.splitlines() if line.startswith("  ")]
    assert words == list(get_args(Kind))


def test_there_is_help_on_every_word_that_is_offered():
    for word in [*topics(COMMANDS), *re.findall(r"\w+", text_on("topics").partition("functions: ")[2])]:
        assert text_on(word)


def test_a_word_that_is_a_command_a_function_and_a_kind_of_error_gets_all():
    assert [part.splitlines()[0] for part in text_on("grad").split("\n\n")] == [
        "grad a …",
        FUNCTIONS["grad"].signature.usage,
        "error[grad]",
    ]


@each("word, fixes", [("sine", ["help sin", "help sinc", "help sinh"]), ("kink", ["help kinks"]), ("qwertz", ["help"])])
def test_an_unknown_word(word, fixes):
    with pytest.raises(AgradError, match=f"there is no help on {word}") as caught:
        text_on(word)
    assert (caught.value.kind, caught.value.fixes) == ("name", fixes)


def test_every_function_has_its_line_in_its_family():
    lines = functions().splitlines()
    for family, entries in families():
        start = lines.index(family)
        usages = [entry.signature.usage for entry in entries]
        assert [line.strip()[: len(usage)] for line, usage in zip(lines[start + 1 :], usages, strict=False)] == usages
    assert sum(len(entries) for _, entries in families()) == len(FUNCTIONS)


def test_every_function_and_every_kink_is_in_the_document():
    text = markdown()
    for entry in FUNCTIONS.values():
        assert f"* `{entry.signature.usage}`: " in text
    assert text.count("\n| ") == len(KINKS) + 1


def test_the_overview_names_everything():
    words = set(re.findall(r"\w+", overview(COMMANDS)))
    assert words >= {*COMMANDS, *FUNCTIONS, *CONSTANTS, *TOPICS}


def test_help_alone_is_one_screen_of_examples_that_run():
    lines = start().splitlines()
    assert len(lines) < 24 and max(map(len, lines)) < 80
    session = Session()
    for line in START.splitlines():
        session.run(line[2:37].rstrip())


def test_the_overview_takes_fewer_lines_where_the_terminal_is_wide():
    narrow, wide = overview(COMMANDS).splitlines(), overview(COMMANDS, 200).splitlines()
    assert len(wide) < 0.85 * len(narrow)
    assert max(len(line) for line in wide if line.startswith(" " * 25)) <= 110
    assert re.findall(r"\w+", "\n".join(wide)) == re.findall(r"\w+", "\n".join(narrow))
    assert overview(COMMANDS, 40).splitlines() == narrow


def test_a_constant_that_is_written_as_it_is_has_no_value_beside_it():
    assert help_on("nan", COMMANDS).startswith("nan\n  Not a number")
    assert help_on("pi", COMMANDS).startswith("pi = 3.14")


# Kinks and domains, as the rows have them

KINKS = all_kinks()
CLAIMS = {at: text for at, (text,) in sections(Path(__file__).with_name("kinks.txt")).items()}
DOMAINS = sections(Path(__file__).with_name("domains.txt"))
ENDS = [(told, *line.split(" | ")) for told, (text,) in DOMAINS.items() for line in text.splitlines()]


def test_there_are_claims_for_each_kink_and_domain():
    assert len(KINKS) >= 38 and len(DOMAINS) >= 20
    assert {kink.at for kink in KINKS} == CLAIMS.keys()
    assert {entry.domain for entry in FUNCTIONS.values()} - {""} == DOMAINS.keys()


@pytest.mark.parametrize("at", CLAIMS)
def test_what_is_said_of_a_kink_is_so(at):
    assert "assert " in CLAIMS[at]
    Session().run(CLAIMS[at])


def test_a_wrong_claim_would_be_seen():
    session = Session()
    session.run(CLAIMS[FUNCTIONS["where"].kinks[0].at])
    for claim in ("grad(abs)(0) == 1", "grad(chosen)(0) == 1", "isnan(grad(log)(1))", "grad(sort)([1]) == [0]"):
        with pytest.raises(AgradError, match="does not hold"):
            session.run(f"assert {claim}")


@pytest.mark.parametrize("kink", KINKS, ids=lambda kink: kink.at)
def test_a_kink_is_shown_with_its_functions(kink):
    told = [f"{word} {text}" for word, text in (("value", kink.value), ("derivative", kink.derivative)) if text]
    assert f" {kink.at}: {', '.join(told)} " in " ".join(kinks().split())
    for name, entry in FUNCTIONS.items():
        assert (f"  kink: {kink.at}: " in help_on(name, {})) == (kink in entry.kinks)


@each("told, inside, outside", ENDS)
def test_a_domain_ends_where_it_is_said_to(told, inside, outside):
    session = Session()
    assert math.isfinite(float(session.evaluate(inside)))
    try:
        outside = float(session.evaluate(outside))
    except AgradError as error:
        assert error.kind in ("domain", "shape")
    else:
        assert not math.isfinite(outside)
    for name, entry in FUNCTIONS.items():
        if entry.domain == told:
            assert f"  domain: {told}" in help_on(name, {}).splitlines()


@each("word", TOPICS)
def test_the_topics_in_a_session(word):
    shown = []
    session = Session()
    session.run(f"help {word}", shown.append)
    assert [result.text(session.settings) for result in shown] == [help_on(word, COMMANDS)]


@each("width", [60, 80, 120])
@each("word", [None, *TOPICS, "step", "graph", "backward", "huber_loss"])
def test_help_fits_the_terminal(width, word):
    whole = overview(COMMANDS) if word is None else help_on(word, COMMANDS)
    text = fit(whole, width)
    assert max(map(len, text.splitlines())) <= width
    assert text.split() == whole.split()
    assert fit(whole, None) == whole
