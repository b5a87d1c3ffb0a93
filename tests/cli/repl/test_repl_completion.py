"""Tab: exactly what the grammar accepts at this point, and of the names those that make sense there."""

import time
from pathlib import Path

import pytest
from answers import answers
from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import to_plain_text
from rows import each

from agrad.cli.repl.editor import Words
from agrad.engine.autodiff.optim import STEPS
from agrad.grammar.commands import COMMANDS
from agrad.grammar.commands.graphs import FORMS
from agrad.grammar.help.help import TOPICS
from agrad.grammar.runtime.attributes import ATTRIBUTES, METHODS, NODE_ATTRIBUTES
from agrad.grammar.session.session import Session

SETTING = """
var a = [1, 2, 3]
var w = 2
k = 3
b = a**2
d = mean(b)
def f(x, y=2) = x*y
sincere = 1
"""


@pytest.fixture
def tab():
    """What may become of the word that a text ends with."""
    session = Session()
    session.run(SETTING)

    def completions(text):
        return [completion.text for completion in Words(session).get_completions(Document(text), None)]

    return completions


def test_names_functions_and_commands(tab):
    assert tab("since") == ["sincere"]
    assert "sin" in tab("2*si")
    assert tab("backw") == tab("x = 1; backw") == tab("for i in b:\n    backw") == ["backward"]
    assert tab("2*backw") == []
    assert tab("zzz") == []


OFFERED = {text: words.split() for text, words in answers(Path(__file__).with_name("completions.txt")).items()}
OFFERED |= {"graph d as ": list(FORMS), "step ": list(STEPS), "d.grad_fn.": list(NODE_ATTRIBUTES)}


@each("text, words", OFFERED.items())
def test_what_the_place_asks_for(tab, text, words):
    assert tab(text) == words


@each("text", ['print "si', "# si", "2", "x.5.", "x = )si", "1 2 si", "3 +* si"])
def test_nothing_fits_in_strings_in_comments_and_behind_mistakes(tab, text):
    assert tab(text) == []


def test_units_behind_a_number_a_bracket_and_a_to(tab):
    assert tab("3 kno") == tab("[1, 2] kno") == tab("k to kno") == tab("(k + 1) to kno") == ["knot"]
    assert {"kg", "km", "kPa"} <= {*tab("3 k")}
    assert "knot" not in tab("k kno") + tab("kno")
    assert tab("k t") == ["to"]
    session = Session()
    session.run("unit smoot = 1.7018 m")
    assert [one.text for one in Words(session).get_completions(Document("3 smo"), None)] == ["smoot"]


def test_options_stand_behind_the_operand(tab):
    options = [*COMMANDS["backward"].options]
    assert tab("backward d ")[: len(options)] == options
    assert "retain" not in tab("y = d ")


def test_a_forward_takes_further_values_and_new_data(tab):
    assert tab("forward ") == ["d", "b"]
    assert tab("forward d ") == ["with", "d", "b"]


def test_info_is_about_anything_graphs_first(tab):
    assert tab("info ") == ["d", "b", "sincere", "f", "k", "w", "a"]


def test_attributes_and_methods_behind_a_point(tab):
    assert tab("a.")[: len(ATTRIBUTES)] == list(ATTRIBUTES)
    assert "reshape" in tab("a.resh")
    assert tab("a.requires_gr") == ["requires_grad", "requires_grad_"]
    assert tab("f.") == []


def test_help_is_about_topics_and_words(tab):
    assert tab("help ")[: len(TOPICS)] == list(TOPICS)
    assert tab("help backw") == ["backward"]
    assert set(tab("help ")) >= set(COMMANDS)


def test_arguments_by_name(tab):
    assert tab("sum(b, ax") == tab("b.sum(ax") == ["axis="]
    assert tab("sum(b, axis=0, keep") == ["keepdims="]
    assert "axis=" not in tab("sum(b, axis=0, ax")
    assert tab("f(1, ")[:2] == ["x=", "y="]
    assert "axis=" not in tab("sum([1, ax") + tab("sum(2*ax")


def test_the_likeliest_come_first(tab):
    """What begins with the letters; else in other case; else what contains them; else what has them in this order."""
    assert tab("since") == ["sincere"]
    assert tab("SINCE") == ["sincere"]
    assert tab("2*cere") == ["sincere"]
    assert tab("2*scr") == ["sincere"]
    assert tab("graph d as bxs") == ["boxes"]
    assert tab("backward d crgr") == ["create_graph"]
    assert tab("2*zqx") == []
    assert tab("k")[0] == "k" and tab("w")[:2] == ["w", "watch"]


def test_nothing_comes_after_a_module_without_its_import(tab):
    assert tab("torch.si") == []
    assert "torch" in tab("import ") and "torch" in tab("x = 1; import ")


def test_inside_a_call_of_a_command_any_expression_may_stand(tab):
    assert "sin" in tab("backward si")
    assert "sin" in tab("backward f(si")


@pytest.mark.parametrize("before", ['load "', 'load_csv("', "y = load_npy('", 'graph d to "'])
def test_files_where_the_name_of_one_is_asked_for(tab, before, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.csv").write_text("1")
    (tmp_path / ".hidden").write_text("1")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "inner.csv").write_text("1")
    quote = '"' if '"' in before else "'"
    assert tab(before) == ["data/", f"data.csv{quote}"]
    assert tab(f"{before}data/i") == [f"inner.csv{quote}"]
    assert tab(f"{before}nowhere/") == []


def test_a_candidate_says_how_it_is_used_and_what_it_is():
    session = Session()
    session.run(SETTING)

    def shown(text):
        found = Words(session).get_completions(Document(text), None)
        return [(to_plain_text(each.display), to_plain_text(each.display_meta)) for each in found]

    assert ("sin(x)", "The sine of an angle in radians.") in shown("2*si")
    assert shown("d")[:2] == [
        ("d", "Mean 4.666666667"),
        ("def f(x, y=2) = x**y", "A function on one line, also f(x) = x^2; a block, indented, ends with `return x`."),
    ]
    assert shown("backward d ret") == [("retain", "keeps the graph for another backward")]
    assert shown("a.numel") == [("x.numel()", "The number of entries.")]
    assert ("d", "Mean 4.666666667") in shown("2*d")
    assert ("a", "leaf (3)") in shown("2*a")
    assert ("f(x, y=…)", "function") in shown("2*f")
    assert shown("sum(b, ax") == [("axis=None", "argument of sum")]


@pytest.mark.long
def test_every_word_offered_is_one_that_the_grammar_takes(tab):
    """What is offered at a statement's start does not make it wrong before it goes on."""
    from agrad.grammar.syntax.parser import followers

    for before in ("", "x = ", "backward d ", "for i in b:\n    ", "graph d ", "if k:\n    k\n", "print "):
        words = [word for word in tab(before) if word.isidentifier()]
        assert words
        for word in words:
            read, _ = followers(f"{before}{word} ")
            assert read[-1].end_pos == len(before) + len(word), f"{before}{word}"


def test_completion_in_a_large_session_is_quick():
    session = Session()
    session.run("var y = 1\n" + "\n".join(f"name{i} = {i}" for i in range(1000)))
    session.run("for i in range(20000): y = y*1.0001")
    words = Words(session)
    list(words.get_completions(Document("2*"), None))
    start = time.process_time()
    assert len(list(words.get_completions(Document("2*"), None))) > 1000
    assert time.process_time() - start < 3  # a look at the whole graph for each name would take 20


def test_every_small_word_has_a_meaning():
    assert all(one.meaning for one in [*ATTRIBUTES.values(), *METHODS.values()])
