"""Values that are computed from other values: what a derivative by a name includes then."""

import unicodedata

import pytest
from thinned import thinned

THROUGH = "d/dx includes what goes through y"


@pytest.mark.parametrize(
    ("values", "wrt", "answer", "notes"),
    [
        (["y=x + 1"], "x", "6\nd/dx = 5\n", [f"y was computed from x: {THROUGH}"]),
        (
            ["y=x + 1"],
            "x,y",
            "6\nd/dx = 3\nd/dy = 2\n",
            ["y was computed from x, and is differentiated by itself: d/dx leaves out what goes through y"],
        ),
        (
            ["k=4", "t=k*x", "y=x + t - 7"],
            "x,k",
            "6\nd/dx = 13\nd/dk = 4\n",
            [
                "t was computed from k and x: d/dk and d/dx include what goes through t",
                "y was computed from k, x and t: d/dk and d/dx include what goes through y",
            ],
        ),
        (["y=3"], "x", "6\nd/dx = 3\n", []),
        (["y=x + 1"], "", "6\n", []),
    ],
)
def test_a_note_says_what_a_derivative_includes(inside, values, wrt, answer, notes):
    values = ["x=2", *values] if "k=4" not in values else [values[0], "x=2", *values[1:]]
    asked = ["--wrt", wrt] if wrt else []
    assert inside("eval", "x*y", *values, *asked) == (answer, "".join(f"note: {note}\n" for note in notes), 0)


def test_bare_numbers_come_without_it(inside):
    assert inside("eval", "x*y", "x=2", "y=x + 1", "--wrt", "x", "-q") == ("6\n5\n", "", 0)


def test_it_is_on_stderr_beside_json(inside):
    out, err, code = inside("eval", "x*y", "x=2", "y=x + 1", "--wrt", "x", "--json")
    assert (out, code) == ('{"schema": 1, "value": 6.0, "grad": {"x": 5.0}}\n', 0)
    assert err == f"note: y was computed from x: {THROUGH}\n"


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (["x=1"], "the expression is missing: x=1 gives x its value"),
        ([], "the expression is missing"),
    ],
)
def test_a_missing_expression_says_what_the_words_are(inside, words, fault):
    out, err, code = inside("eval", *words)
    assert (out, code) == ("", 2)
    assert err.endswith(f"\nError: {fault}\n")


def test_a_statement_is_no_expression(inside):
    out, err, code = inside("eval", "1; 2")
    assert (out, code) == ("", 2)
    assert err.endswith('  fix: agrad eval -e "1; 2"   for statements; the last must be an expression\n')
    assert inside("eval", "-e", "y = 2; y") == ("2\n", "", 0)


MARKED = "e\u0301"  # é as some systems write it: a letter, and a mark that stands on it


@pytest.mark.long
@pytest.mark.parametrize("typed", ["é", MARKED])
@pytest.mark.parametrize("written", thinned(["é", MARKED], 2))
def test_a_column_is_addressed_by_any_spelling_of_its_name(agrad, tmp_path, typed, written):
    (tmp_path / "d.csv").write_text(f"{written},x\n1,2\n3,4\n", "utf-8")
    out = agrad("map", f"{typed}**2*k", "d.csv", "-D", "k=2", "--wrt", f"{typed},k", "--keep", typed)
    assert out == (f"{written},value,d/dé,d/dk\n1,2,4,1\n3,18,12,9\n", "", 0)
    assert agrad("eval", "sum(x)", f"x=@d.csv:{typed}") == ("4\n", "", 0)
    assert agrad("eval", f"{typed}*2", f"{written}=3", "--wrt", typed) == ("6\nd/dé = 2\n", "", 0)


@pytest.mark.long
def test_of_two_columns_that_look_alike_each_is_addressed_by_its_own_spelling(agrad, tmp_path):
    (tmp_path / "d.csv").write_text(f"é,{MARKED}\n1,2\n", "utf-8")
    assert agrad("eval", "sum(x)", "x=@d.csv:é") == ("1\n", "", 0)
    assert agrad("eval", "sum(x)", f"x=@d.csv:{MARKED}") == ("2\n", "", 0)
    (tmp_path / "d.csv").write_text("ﬁ,fi\n1,2\n", "utf-8")
    assert agrad("map", "fi", "d.csv") == ("value\n2\n", "", 0)


def test_two_columns_that_look_alike_and_unlike_the_name_are_not_told_apart(agrad, tmp_path):
    (tmp_path / "d.csv").write_text("ﬁ,ｆi\n1,2\n", "utf-8")
    out, err, code = agrad("map", "fi", "d.csv")
    assert (out, code) == ("", 1)
    assert err.startswith("error[name]: d.csv has no column fi\n")


@pytest.mark.parametrize("name", ["हिन्दी", "ｆｉ", "ﬁ", "a\u0323\u0302"])
def test_names_of_all_scripts_are_names_on_the_command_line(agrad, name):
    spelled = unicodedata.normalize("NFKC", name)
    assert agrad("eval", f"{name}*2", f"{name}=3", "--wrt", name) == (f"6\nd/d{spelled} = 2\n", "", 0)
