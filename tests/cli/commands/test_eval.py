"""`agrad eval`: exact output, on its stream, with its exit code."""

import json

import pytest

USAGE = "Usage: agrad eval [OPTIONS] EXPR [NAME=VALUE]...\nTry 'agrad eval --help' for help.\n\n"


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        (["a**2*2", "a=3", "--wrt", "a"], "18\nd/da = 12\n"),
        (["--wrt", "a", "a=3", "a**2*2"], "18\nd/da = 12\n"),
        (
            ["x**2 + y**3 - sin(x*y)", "x=2", "y=3", "--wrt", "x,y"],
            "31.2794155\nd/dx = 1.11948914\nd/dy = 25.07965943\n",
        ),
        (["x*y", "x=2", "y=3", "--wrt", "y"], "6\nd/dy = 2\n"),
        (["sum(x**2)", "x=[1, 2, 3]", "--wrt", "x"], "14\nd/dx = [2, 4, 6]\n"),
        (["2*x", "x=[1, 2]"], "[2, 4]\n"),
        (["x*2", "x=2**3 + 1"], "18\n"),
        (["x*y", "x=2", "y=3", "--wrt", "x", "--wrt", "y"], "6\nd/dx = 3\nd/dy = 2\n"),
        (["x*y", "x=2", "y=3", "--wrt", "x y"], "6\nd/dx = 3\nd/dy = 2\n"),
        (["jacobian(x**2, x)", "x=[1, 2]"], "[[2, 0], [0, 4]]\n"),
        (["hessian(x**2*y, [x, y])", "x=1", "y=2"], "[[4, 2], [2, 0]]\n"),
        (["zeros(n) + v[n - 1]", "n=2", "v=[1, 2]"], "[2, 2]\n"),
        (["a == 3", "a=3"], "True\n"),
        (["x**2", "x=3", "--wrt", "x", "-q"], "9\n6\n"),
        (["1/3", "--precision", "3"], "0.333\n"),
        (["1/3", "--precision", "full"], "0.3333333333333333\n"),
    ],
)
def test_the_value_then_a_line_for_each_derivative(agrad, arguments, answer):
    assert agrad("eval", *arguments) == (answer, "", 0)


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        (["-2+x", "x=5"], "3\n"),
        (["-2*a", "a=3", "-q"], "-6\n"),
        (["-q*2", "q=4"], "-8\n"),
        (["-h*2", "h=4"], "-8\n"),
        (["-x", "x=4", "--wrt", "x"], "-4\nd/dx = -1\n"),
        (["--", "--x", "x=4"], "4\n"),
    ],
)
def test_an_expression_may_begin_with_a_minus(agrad, arguments, answer):
    assert agrad("eval", *arguments) == (answer, "", 0)


def test_a_lone_minus_reads_the_expression_from_standard_input(agrad):
    assert agrad("eval", "-", "x=5", "--wrt", "x", given="x**2\n") == ("25\nd/dx = 10\n", "", 0)


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        (["a**2*2", "a=3"], {"schema": 1, "value": 18}),
        (["a**2*2", "a=3", "--wrt", "a"], {"schema": 1, "value": 18, "grad": {"a": 12}}),
        (
            ["sum(x**2)", "x=[[1, 2], [3, 4]]", "--wrt", "x"],
            {"schema": 1, "value": 30, "grad": {"x": [[2, 4], [6, 8]]}},
        ),
        (["1/3"], {"schema": 1, "value": 1 / 3}),
        (
            ["log(x)", "x=0", "--wrt", "x"],
            {
                "schema": 1,
                "value": None,
                "grad": {"x": None},
                "nonfinite": {"value": "-inf", "grad.x": "inf"},
            },
        ),
        (["[1, nan]"], {"schema": 1, "value": [1, None], "nonfinite": {"value[1]": "nan"}}),
    ],
)
def test_json_is_one_object_on_one_line_and_never_a_bare_nan(agrad, arguments, answer):
    out, _, code = agrad("eval", *arguments, "--json")
    assert (json.loads(out, parse_constant=pytest.fail), out.count("\n"), code) == (answer, 1, 0)


def test_json_shows_numbers_in_full(agrad):
    out, _, _ = agrad("eval", "x**2 + y**3 - sin(x*y)", "x=2", "y=3", "--wrt", "x,y", "--json")
    grad = '{"x": 1.119489140048902, "y": 25.07965942669927}'
    assert out == '{"schema": 1, "value": 31.279415498198926, "grad": ' + grad + "}\n"


def test_what_does_not_reach_a_name_has_derivative_0_and_a_note(agrad):
    note = "note: x*2 does not depend on y: the derivative is 0\n"
    assert agrad("eval", "x*2", "x=1", "y=[1, 2]", "--wrt", "x,y") == (
        "2\nd/dx = 2\nd/dy = [0, 0]\n",
        note,
        0,
    )
    assert agrad("eval", "3", "x=1", "--wrt", "x", "-q") == ("3\n0\n", "", 0)


def test_a_name_without_value_comes_with_the_command_that_gives_it_one(agrad):
    assert agrad("eval", "sin(q)") == (
        "",
        'error[name]: q has no value\n  1 | sin(q)\n    |     ^\n  fix: give it one: agrad eval "sin(q)" q=1\n',
        1,
    )
    fix = agrad("eval", "x*q", "x=[1, 2]", "--wrt", "x")[1].splitlines()[-1]
    assert fix == '  fix: give it one: agrad eval "x*q" "x=[1, 2]" q=1 --wrt x'


def test_a_name_in_wrt_needs_a_value(agrad):
    assert agrad("eval", "x*2", "x=1", "--wrt", "y") == (
        "",
        'error[name]: y, which --wrt asks for, has no value\n  fix: give it one: agrad eval "x*2" x=1 y=1 --wrt y\n',
        1,
    )


def test_only_one_number_has_a_gradient(agrad):
    assert agrad("eval", "x*2", "x=[1, 2]", "--wrt", "x") == (
        "",
        "error[grad]: only one number has a gradient; this is an array of shape (2)\n"
        '  fix: add its entries up: agrad eval "sum(x*2)" …\n'
        '  fix: or take the derivatives of each: agrad eval "x*2" "x=[1, 2]" --wrt x --jacobian\n',
        1,
    )


def test_a_syntax_error_points_one_past_the_end_and_exits_with_2(agrad):
    out, err, code = agrad("eval", "2*")
    lines = err.splitlines()
    assert (out, code) == ("", 2)
    assert lines[0].startswith("error[syntax]: ")
    assert lines[1:3] == ["  1 | 2*", "    |   ^"]


def test_an_error_in_a_value_says_which(agrad):
    out, err, code = agrad("eval", "a", "a=2*")
    assert (out, err.splitlines()[0][:14], code) == ("", "error[syntax]:", 2)
    assert "  note: in a=2*" in err.splitlines()


def test_a_word_of_the_language_is_no_name(agrad):
    out, err, code = agrad("eval", "1", "backward=3")
    assert (out, code) == ("", 2)
    assert err == "error[syntax]: backward is a reserved word of agrad; choose another name\n  note: in backward=3\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--jsno", "1"], "no such option --jsno: did you mean --json?"),
        (["1", "--zzz"], "no such option --zzz"),
        ([], "the expression is missing"),
        (["x=3"], "the expression is missing: x=3 gives x its value"),
        (["sin(x^2)", "-D", "x=2"], 'no such option -D: values follow as they are: agrad eval "sin(x^2)" x=2'),
        (["2", "*", "3"], 'one expression at a time; if this is one, quote it: agrad eval "2 * 3"'),
        (["x", "x=1", "x=2"], "x is given twice"),
        (
            ["1", "--precision", "0"],
            "Invalid value for '--precision': 0 is neither a number of digits (1 to 17) nor full",
        ),
    ],
)
def test_wrong_usage_exits_with_2_and_says_what_was_meant(agrad, arguments, message):
    assert agrad("eval", *arguments) == ("", f"{USAGE}Error: {message}\n", 2)
