"""`agrad check`: exact output, on its stream, with its exit code."""

import pytest
from thinned import thinned

USAGE = "Usage: agrad check [OPTIONS] EXPR NAME=VALUE...\nTry 'agrad check --help' for help.\n\n"


def lines(*rows):
    return "".join(f"{row}\n" for row in rows)


@pytest.mark.parametrize(
    ("arguments", "answer"),
    thinned(
        [
            (
                ["x**2", "x=1e5"],
                lines("entry   exact  difference  abs  rel  verdict", "x      200000      200000    0    0  ok"),
            ),
            (
                ["4*x + 2*y", "x=2", "y=8", "--wrt", "y"],
                lines("entry  exact  difference  abs  rel  verdict", "y          2           2    0    0  ok"),
            ),
            (
                ["-2*x", "x=4", "k=3"],
                lines(
                    "entry  exact  difference  abs  rel  verdict",
                    "x         -2          -2    0    0  ok",
                    "k          0           0    0    0  ok",
                ),
            ),
            (
                ["sum(8*x)", "x=[1, 2]", "--claim", "x=8"],
                lines(
                    "entry  claim  exact  difference  abs  rel  verdict",
                    "x[0]       8      8           8    0    0  ok",
                    "x[1]       8      8           8    0    0  ok",
                ),
            ),
            (
                ["abs(x) + 2*y", "x=0", "y=1", "--claim", "x=5"],
                lines(
                    "entry  claim  exact  difference  abs  rel  verdict",
                    "x          5      0           0    5    1  kink: slope -1 on the left, 1 on the right",
                    "y          -      2           2    0    0  ok",
                ),
            ),
        ],
        3,
    ),
)
def test_a_line_for_each_entry(agrad, arguments, answer):
    assert agrad("check", *arguments) == (answer, "", 0)


def test_what_is_computed_from_a_name_belongs_to_its_derivative(agrad):
    answer = lines("entry  exact  difference  abs  rel  verdict", "x          6           6    0    0  ok")
    note = "note: y was computed from x: d/dx includes what goes through y\n"
    assert agrad("check", "4*x + 2*y", "x=2", "y=x+6", "--wrt", "x") == (answer, note, 0)


@pytest.mark.parametrize(
    "arguments",
    [
        ["x**2", "x=2", "--claim", "x=2*x"],
        ["exp(x)", "x=20", "--claim", "x=exp(x)"],
        ["1e-8*x", "x=3"],
        ["relu(x)", "x=0"],
        ["floor(x)", "x=2"],
        ["log(x)", "x=1e-300"],
        ["x**2*sin(y)", "x=2", "y=3", "--claim", "x=2*x*sin(y)", "--claim", "y=x**2*cos(y)"],
        ["det(A)", "A=[[1, 2], [3, 4]]", "--claim", "A=det(A)*inv(A).T"],
        ["2*x", "path='f.csv'", "x=1"],
    ],
)
def test_what_is_right_or_a_kink_exits_with_0(agrad, arguments):
    out, err, code = agrad("check", *arguments)
    assert (err, code) == ("", 0), out


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["x**2", "x=2", "--claim", "x=3*x"], "the derivative with respect to x does not match the claim"),
        (
            ["x*y", "x=2", "y=3", "--claim", "x=1", "--claim", "y=1"],
            "2 derivatives with respect to x, y do not match the claims",
        ),
        (
            ["x*y", "x=2", "y=3", "--wrt", "x", "--claim", "y=1"],
            "the derivative with respect to y does not match the claim",
        ),
        (["x*detach(x)", "x=2"], "the derivative with respect to x does not match the differences"),
        (["x**2", "x=2", "--claim", "x=nan"], "the derivative with respect to x does not match the claim"),
        (["x**2", "x=1e5", "--claim", "x=200020"], "the derivative with respect to x does not match the claim"),
    ],
)
def test_what_disagrees_exits_with_1(agrad, arguments, error):
    out, err, code = agrad("check", *arguments)
    assert (err.splitlines()[0], code) == (f"error[assert]: {error}", 1)
    assert " mismatch" in out


def test_the_expression_may_come_from_standard_input(agrad):
    answer = lines("entry  exact  difference  abs  rel  verdict", "x          8           8    0    0  ok")
    assert agrad("check", "-", "x=4", given="x**2\n") == (answer, "", 0)


def test_precision(agrad):
    out, _, _ = agrad("check", "sin(x)", "x=1", "--precision", "3")
    assert out.splitlines()[1].split()[:3] == ["x", "0.54", "0.54"]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (
            ["2*x", "x=[1, 2]"],
            lines(
                "error[shape]: check needs one number, not an array of shape (2)",
                "  1 | 2*x",
                "    | ^^^",
                '  fix: add its entries up: agrad check "sum(2*x)" …',
            ),
        ),
        (
            ["x*q", "x=2", "--claim", "x=q"],
            lines(
                "error[name]: q has no value",
                "  1 | q",
                "    | ^",
                "  note: in --claim x=q",
                '  fix: give it one: agrad check "x*q" x=2 q=1 --claim x=q',
            ),
        ),
        (
            ["x", "x=2", "--claim", "y=3"],
            lines(
                "error[name]: y, in --claim, has no value",
                "  fix: give it one: agrad check x x=2 y=1 --claim y=3",
            ),
        ),
        (
            ["x", "x=2", "--wrt", "y"],
            lines(
                "error[name]: y, which --wrt asks for, has no value",
                "  fix: give it one: agrad check x x=2 y=1 --wrt y",
            ),
        ),
        (
            ["sum(x)", "x=[1, 2]", "--claim", "x=[1, 2, 3]"],
            lines(
                "error[shape]: the claimed derivative has shape (3), and x has (2): they must be the same",
                "  note: in --claim x=[1, 2, 3]",
            ),
        ),
    ],
)
def test_what_cannot_be_checked_exits_with_1(agrad, arguments, error):
    assert agrad("check", *arguments) == ("", error, 1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["sin(1)"], "a NAME=VALUE to differentiate by is missing"),
        (["x=1"], "the expression is missing: x=1 gives x its value"),
        (["2", "*", "x", "x=1"], 'one expression at a time; if this is one, quote it: agrad check "2 * x"'),
        (["x", "x=1", "--claim", "2"], "--claim 2 has no name: write NAME=EXPR, as in --claim x=2"),
        (["x", "x=1", "--claim", "x=1", "--claim", "x=2"], "--claim gives x twice"),
        (["x", "x=1", "--cliam", "x=1"], "no such option --cliam: did you mean --claim?"),
    ],
)
def test_wrong_usage_exits_with_2(agrad, arguments, message):
    assert agrad("check", *arguments) == ("", f"{USAGE}Error: {message}\n", 2)


def test_a_script_stops_where_a_check_fails(agrad, tmp_path):
    script = tmp_path / "f.ag"
    script.write_text("var x = 2\ncheck x**2*4\ncheck x*detach(x)\nprint 1\n")
    out, err, code = agrad("run", str(script))
    assert code == 1
    assert err.startswith(
        f"{script}:3:7: error[assert]: the derivative with respect to x does not match the differences\n"
    )
    assert [line.split()[-1] for line in out.splitlines()] == ["verdict", "ok", "verdict", "mismatch"]
