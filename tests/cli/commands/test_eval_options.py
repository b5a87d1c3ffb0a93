"""The options of `agrad eval`: derivatives of all kinds, several expressions, values from files, forms."""

import numpy as np
import pytest

from agrad.engine import grad, jacobian, sin, tensor

USAGE = "Usage: agrad eval [OPTIONS] EXPR [NAME=VALUE]...\nTry 'agrad eval --help' for help.\n\n"

# Derivatives


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        (["x**2", "x=5", "--wrt", "x", "--order", "1"], "25\nd/dx = 10\n"),
        (["x**2", "x=5", "--wrt", "x", "--order", "2"], "25\nd/dx = 10\nd2/dx2 = 2\n"),
        (["x**2", "x=5", "--wrt", "x", "--order", "3", "-q"], "25\n10\n2\n0\n"),
        (
            ["x**2*y", "x=3", "y=2", "--wrt", "x,y", "--order", "3"],
            "18\nd/dx = 12\nd/dy = 9\nd2/dx2 = 4\nd2/dxdy = 6\nd2/dy2 = 0\n"
            "d3/dx3 = 0\nd3/dx2dy = 2\nd3/dxdy2 = 0\nd3/dy3 = 0\n",
        ),
        (
            ["sum(x**2)*y", "x=[1, 2]", "y=3", "--wrt", "x,y", "--order", "2"],
            "15\nd/dx = [6, 12]\nd/dy = 5\nd2/dx2 = [[6, 0], [0, 6]]\nd2/dxdy = [2, 4]\nd2/dy2 = 0\n",
        ),
        (
            ["x**2*y", "x=3", "y=2", "--wrt", "x,y", "--hessian"],
            "18\nd/dx = 12\nd/dy = 9\nhessian = [[4, 6], [6, 0]]\n",
        ),
        (["sum(x**2)", "x=[1, 2]", "--wrt", "x", "--hessian"], "5\nd/dx = [2, 4]\nhessian = [[2, 0], [0, 2]]\n"),
        (
            ["y*sum(x**2)", "x=[1, 2]", "y=3", "--wrt", "y,x", "--hessian"],
            "15\nd/dy = 5\nd/dx = [6, 12]\nd2/dy2 = 0\nd2/dydx = [2, 4]\nd2/dx2 = [[6, 0], [0, 6]]\n",
        ),
        (["[x*y, x + y]", "x=2", "y=3", "--wrt", "x,y", "--jacobian"], "[6, 5]\nd/dx = [3, 1]\nd/dy = [2, 1]\n"),
        (["(x*y, x + y)", "x=2", "y=3", "--wrt", "x", "--jacobian"], "(6, 5)\nd/dx = [3, 1]\n"),
        (["x**2", "x=[3, 4]", "--wrt", "x", "--jacobian"], "[9, 16]\nd/dx = [[6, 0], [0, 8]]\n"),
        (["x**2*y", "x=[3, 4]", "y=2", "--jvp", "x=[1, 0]", "--jvp", "y=1"], "[18, 32]\njvp = [21, 16]\n"),
        (["x*y", "x=3", "y=4", "--jvp", "x=y"], "12\njvp = 16\n"),
        (["x**2", "x=[3, 4]", "--wrt", "x", "--vjp", "[1, 1]"], "[9, 16]\nvjp x = [6, 8]\n"),
        (["π*x", "π=3", "x=2", "--wrt", "π,x"], "6\nd/dpi = 2\nd/dx = 3\n"),  # π is read as pi on both sides
        (["π**2", "π=3", "--jvp", "π=1"], "9\njvp = 6\n"),
    ],
)
def test_derivatives_of_every_kind(inside, arguments, answer):
    assert inside("eval", *arguments) == (answer, "", 0)


def test_mixed_derivatives_are_those_of_the_engine(inside):
    out, _, _ = inside("eval", "sin(x*y)", "x=2", "y=3", "--wrt", "x,y", "--order", "3", "-q", "--precision", "full")
    x, y = tensor(2.0, requires_grad=True), tensor(3.0, requires_grad=True)
    first = grad(sin(x * y), x, create_graph=True)
    second = grad(first, y, create_graph=True)
    numbers = [float(line) for line in out.splitlines()]
    assert (numbers[1], numbers[4], numbers[8]) == (first.item(), second.item(), jacobian(second, y).item())


@pytest.mark.parametrize("option", [["--order", "2"], ["--hessian"], ["--jacobian"], ["--vjp", "1"]])
def test_what_does_not_reach_a_name_has_derivative_0_in_every_order(inside, option):
    out, err, code = inside("eval", "x*2", "x=1", "y=1", "--wrt", "y", *option)
    assert err == "note: x*2 does not depend on y: the derivative is 0\n"
    assert (out.splitlines()[0], {line.split(" = ")[1] for line in out.splitlines()[1:]}, code) == ("2", {"0"}, 0)


def test_a_direction_that_leads_nowhere_gives_0(inside):
    assert inside("eval", "x*2", "x=1", "y=1", "--jvp", "y=1", "-q") == ("2\n0\n", "", 0)


@pytest.mark.parametrize("option", [[], ["--order", "2"], ["--hessian"]])
def test_only_one_number_has_a_gradient_whatever_the_order(inside, option):
    out, err, code = inside("eval", "x*2", "x=[1, 2]", "--wrt", "x", *option)
    assert (out, code) == ("", 1)
    assert err.startswith("error[grad]: only one number has a gradient; this is an array of shape (2)\n")


def test_a_direction_must_fit(inside):
    out, err, code = inside("eval", "sum(x)", "x=[1, 2]", "--jvp", "x=1")
    assert (out, err.splitlines()[0], code) == ("", "error[shape]: the direction has shape (), not (2)", 1)


def test_an_error_in_a_direction_says_which(inside):
    err = inside("eval", "x", "x=1", "--jvp", "x=q")[1]
    assert err.startswith("error[name]: q has no value\n") and "  note: in --jvp x=q\n" in err
    err = inside("eval", "x", "x=1", "--jvp", "y=1")[1]
    assert err == (
        "error[name]: y, which --jvp asks for, has no value\n  fix: give it one: agrad eval x x=1 y=1 --jvp y=1\n"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--order", "2", "--hessian", "--wrt", "x"],
            "--order and --hessian cannot be combined: use one at a time",
        ),
        (["--jvp", "x=1", "--vjp", "1", "--wrt", "x"], "--jvp and --vjp cannot be combined: use one at a time"),
        (["--jacobian"], "--jacobian needs --wrt: the names to differentiate by, as in --wrt x,y"),
        (["--order", "1"], "--order needs --wrt: the names to differentiate by, as in --wrt x,y"),
        (["--jvp", "x=1", "--wrt", "x"], "--jvp names what to differentiate with respect to: leave --wrt out"),
        (["--jvp", "1"], "--jvp 1 has no name: write NAME=VALUE, as in --jvp x=1"),
        (["--jvp", "x=1", "--jvp", "x=2"], "--jvp gives x twice"),
        (
            ["--jvp", "x=1,y=2"],
            "--jvp takes one name and its value; repeat it for the next: --jvp x=1 --jvp y=2",
        ),
        (["--jvp", "x=max(1, 2), y=2"], "--jvp takes one name and its value; repeat it for the next\n"),
        (["--wrt", ""], "--wrt takes names, separated by commas, and there are none\n"),
        (["2y=3"], "2y=3 is not NAME=VALUE: 2y is not a name\n"),
        (["y==3"], 'one expression at a time; if this is one, quote it: agrad eval "x y==3"\n'),
        (["y=@"], "y=@ does not name a file: write y=@data.csv, or y=@data.csv:column\n"),
        (["y=@:"], "y=@: does not name a file: write y=@data.csv, or y=@data.csv:column\n"),
        (["y=@d.csv:"], "y=@d.csv: does not name a column: write y=@d.csv:column, or y=@d.csv for all\n"),
        (["--order", "0"], "Invalid value for '--order': 0 is not in the range x>=1."),
        (["--format", "csv", "-q"], "-q applies to text: leave it out, since --format csv has no labels"),
        (["-e", "1"], "with -e, only NAME=VALUE can follow, and x is not one"),
        (["-e", "1", "-f", "f"], "-e and -f both say what to compute: use one of them"),
        (["--graph", "g.dot", "--no-files"], "--graph writes a file, which --no-files does not allow"),
        (["--graph", "g"], "the extension of g does not give the form of a graph; these do:"),
    ],
)
def test_what_does_not_go_together_is_wrong_usage(inside, arguments, message):
    out, err, code = inside("eval", "x", "x=1", *arguments)
    assert (out, code) == ("", 2)
    assert err.startswith(f"{USAGE}Error: {message}")


# Several expressions


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        (["-e", "y = x**2", "-e", "y + 1", "x=3", "--wrt", "x"], "10\nd/dx = 6\n"),
        (["-e", "x**2", "-e", "x**3", "x=2", "--wrt", "x"], "4\nd/dx = 4\n8\nd/dx = 12\n"),
        (["-e", "y = x**2", "-e", "y + 1", "-e", "2*y", "x=3", "--wrt", "x"], "10\nd/dx = 6\n18\nd/dx = 12\n"),
        (["-e", "def f(t) = t**2\nf(x)\nf(2*x)", "x=1", "--wrt", "x"], "1\n4\nd/dx = 8\n"),
        (["-e", "var x = 2", "-e", "x**2", "--wrt", "x"], "4\nd/dx = 4\n"),
        (["-e", "var x = detach(2*k)", "-e", "x**2*k", "k=3", "--wrt", "k,x"], "108\nd/dk = 36\nd/dx = 36\n"),
        (["-e", "var x = [1, 2]", "-e", "x**2", "--jvp", "x=[1, 0]"], "[1, 4]\njvp = [2, 0]\n"),
        (["-e", "-x", "-e", "-2*x", "x=3"], "-3\n-6\n"),
    ],
)
def test_expressions_one_after_the_other(inside, arguments, answer):
    assert inside("eval", *arguments) == (answer, "", 0)


@pytest.mark.parametrize(
    ("arguments", "message", "fix"),
    [
        (
            ["-e", "x = 2", "-e", "x**2*k", "k=3", "--wrt", "k,x"],
            "x, which --wrt asks for, is set by -e, and not as a leaf",
            'make it one: agrad eval -e "var x = 2" -e "x**2*k" k=3 --wrt k,x',
        ),
        (
            ["-e", "x = 2; x", "--jvp", "x=1"],
            "x, which --jvp asks for, is set by -e, and not as a leaf",
            'make it one: agrad eval -e "var x = 2; x" --jvp x=1',
        ),
        (
            ["-f", "f.ag", "--wrt", "x"],
            "x, which --wrt asks for, is set by -f, and not as a leaf",
            "var x = …   where it is set",
        ),
    ],
)
def test_what_is_set_must_be_a_leaf_to_differentiate_by(inside, tmp_path, arguments, message, fix):
    (tmp_path / "f.ag").write_text("x = 2\nx**2\n", "utf-8")
    assert inside("eval", *arguments) == ("", f"error[leaf]: {message}\n  fix: {fix}\n", 1)


def test_a_name_to_differentiate_by_that_nothing_sets_has_no_value(inside):
    fix = "give it one: agrad eval -e 1 x=1 --wrt x"
    assert inside("eval", "-e", "1", "--wrt", "x") == (
        "",
        f"error[name]: x, which --wrt asks for, has no value\n  fix: {fix}\n",
        1,
    )


def test_a_file_is_computed_as_far_as_its_last_expression(inside, tmp_path):
    (tmp_path / "f.ag").write_text('y = x**2\ny\nprint "then"\ny*2\n', "utf-8")
    assert inside("eval", "-f", "f.ag", "x=3", "--wrt", "x") == ("9\nthen\n18\nd/dx = 12\n", "", 0)
    assert inside("eval", "-f", "-", "x=3", given="x\nquit\nx + 1\n") == ("3\n", "", 0)


def test_an_error_in_a_file_has_its_place(inside, tmp_path):
    (tmp_path / "f.ag").write_text("y = x**2\ny + q\n", "utf-8")
    out, err, code = inside("eval", "-f", "f.ag", "x=3")
    assert (out, err.splitlines()[0], code) == ("", "f.ag:2:5: error[name]: q has no value", 1)
    assert err.splitlines()[-1] == "  fix: give it one: agrad eval -f f.ag x=3 q=1"


@pytest.mark.parametrize("words", [["-e", "y = 3"], ["-e", 'x; print "no"']])
def test_there_must_be_a_value(inside, words):
    err, code = inside("eval", *words, "x=1")[1:]
    message = "error[type]: there is no value to show: the last thing to compute must be an expression\n"
    assert (err, code) == (message, 1)


# Values from files


@pytest.fixture
def data(tmp_path):
    (tmp_path / "d.csv").write_text("time,speed,place\n1,2,here\n2,3.5,there\n", "utf-8")
    (tmp_path / "plain.csv").write_text("1,2\n3,4\n", "utf-8")
    shapes = {"m": (3, 2), "v": (6,), "n": (), "t": (1, 2, 3)}
    for name, shape in shapes.items():
        np.save(tmp_path / f"{name}.npy", np.resize(np.arange(6.0), shape))


@pytest.mark.parametrize(
    ("value", "answer"),
    [
        ("@plain.csv", "[[1, 2], [3, 4]]\n"),
        ("@plain.csv:1", "[2, 4]\n"),
        ("@d.csv:speed", "[2, 3.5]\n"),
        ("@d.csv:0", "[1, 2]\n"),
        ("@m.npy", "[[0, 1], [2, 3], [4, 5]]\n"),
        ("@m.npy:1", "[1, 3, 5]\n"),
    ],
)
def test_a_value_from_a_file(inside, data, value, answer):
    assert inside("eval", "x", f"x={value}") == (answer, "", 0)


def test_a_column_is_a_leaf_like_any_other(inside, data):
    assert inside("eval", "sum(x**2)", "x=@d.csv:speed", "--wrt", "x") == ("16.25\nd/dx = [4, 7]\n", "", 0)


@pytest.mark.parametrize(
    ("value", "lines"),
    [
        ("@d.csv:sped", ["d.csv has no column sped; its columns are time, speed, place", "  fix: @d.csv:speed"]),
        ("@d.csv:7", ["d.csv has no column 7; its columns are time, speed, place"]),
        (
            "@d.csv",
            [
                'load_csv: d.csv, line 2, column 3: "here" is not a number',
                "  fix: @d.csv:0   for one column of it, by its name or number",
            ],
        ),
        ("@no.csv:x", ["there is no file no.csv"]),
        ("@m.npy:5", ["m.npy has no column 5: there are 2, counted from 0"]),
        ("@m.npy:x", ["m.npy has no column x: there are 2, counted from 0"]),
        ("@v.npy:0", ["v.npy is a vector, which has no column 0", "  fix: @v.npy   for all of it"]),
        ("@n.npy:0", ["n.npy is one number, which has no column 0", "  fix: @n.npy   for all of it"]),
        ("@t.npy:1", ["t.npy is an array of shape (1, 2, 3), which has no column 1", "  fix: @t.npy   for all of it"]),
    ],
)
def test_what_is_not_in_a_file(inside, data, value, lines):
    first, *fixes = lines
    expected = "\n".join([f"error[file]: {first}", f"  note: in x={value}", *fixes])
    assert inside("eval", "x", f"x={value}") == ("", f"{expected}\n", 1)


def test_an_entry_of_a_column_that_is_no_number_has_its_place(inside, data):
    expected = (
        'd.csv:2:5: error[file]: column place: "here" is not a number\n  2 | 1,2,here\n    |     ^^^^\n'
        "  note: in x=@d.csv:place\n"
    )
    assert inside("eval", "x", "x=@d.csv:place") == ("", expected, 1)


def test_no_files_are_none_for_values_either(inside, data):
    expected = "error[file]: @d.csv:speed: file access is switched off\n  note: in x=@d.csv:speed\n"
    assert inside("eval", "x", "x=@d.csv:speed", "--no-files") == ("", expected, 1)


# Forms


@pytest.mark.parametrize(
    ("arguments", "table"),
    [
        (["x**2", "x=3", "--wrt", "x"], "value,d/dx\n9,6\n"),
        (["1/3"], "value\n0.3333333333333333\n"),
        (["1/3", "--precision", "3"], "value\n0.333\n"),
        (["sum(x**2)", "x=[1, 2]", "--wrt", "x"], "value,d/dx\n5,2\n5,4\n"),
        (["x**2", "x=[1, 2]", "--wrt", "x", "--jacobian"], "value,d/dx[0],d/dx[1]\n1,2,0\n4,0,4\n"),
        (["zeros(2, 1, 2)"], '"value[0,0]","value[0,1]"\n0,0\n0,0\n'),
        (["[nan, inf, -inf]"], "value\nnan\ninf\n-inf\n"),
        (["zeros(0)"], "value\n"),
    ],
)
def test_csv_is_a_table_with_a_line_of_names(inside, arguments, table):
    assert inside("eval", *arguments, "--format", "csv") == (table, "", 0)


def test_csv_reads_back(inside, tmp_path):
    (tmp_path / "out.csv").write_text(inside("eval", "[[1, 2], [3, 4]]/3", "--format", "csv")[0], "utf-8")
    assert inside("eval", "all(3*x == [[1, 2], [3, 4]])", "x=@out.csv") == ("1\n", "", 0)


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        (["a**2*2", "a=3", "--wrt", "a"], ["2 a^{2} = 18", r"\frac{\partial}{\partial a} = 4 a = 12"]),
        (["1e-20*[1, 2]"], [r"\begin{bmatrix} 1 \times 10^{-20} \\ 2 \times 10^{-20} \end{bmatrix}"]),
        (["[[1, 2], [inf, nan]]"], [r"\begin{bmatrix} 1 & 2 \\ \infty & \mathrm{nan} \end{bmatrix}"]),
        (
            ["theta*w_1**2", "theta=1", "w_1=1", "--wrt", "theta,w_1", "--hessian"],
            [
                r"\theta \mathrm{w\_1}^{2} = 1",
                r"\frac{\partial}{\partial \theta} = \mathrm{w\_1}^{2} = 1",
                r"\frac{\partial}{\partial \mathrm{w\_1}} = 2 \mathrm{w\_1} \theta = 2",
                r"H = \begin{bmatrix} 0 & 2 \\ 2 & 2 \end{bmatrix}",
            ],
        ),
        (
            ["x**2*y", "x=1", "y=1", "--wrt", "x,y", "--order", "2"],
            [
                "x^{2} y = 1",
                r"\frac{\partial}{\partial x} = 2 x y = 2",
                r"\frac{\partial}{\partial y} = x^{2} = 1",
                r"\frac{\partial^{2}}{\partial x^{2}} = 2 y = 2",
                r"\frac{\partial^{2}}{\partial x \partial y} = 2 x = 2",
                r"\frac{\partial^{2}}{\partial y^{2}} = 0",
            ],
        ),
        (
            ["sum(x)", "x=[1, 2]", "--wrt", "x"],
            ["3", r"\frac{\partial}{\partial x} = \begin{bmatrix} 1 \\ 1 \end{bmatrix}"],
        ),
    ],
)
def test_latex_is_the_same_lines_as_formulas(inside, arguments, lines):
    assert inside("eval", *arguments, "--format", "latex") == ("".join(f"{line}\n" for line in lines), "", 0)


@pytest.mark.parametrize("form", ["csv", "latex"])
def test_a_function_is_no_table_and_no_formula(inside, form):
    message = "error[type]: only numbers and arrays can be written as CSV or LaTeX\n"
    assert inside("eval", "sin", "--format", form) == ("", message, 1)


def test_the_graph_is_written_beside_the_answer(inside, tmp_path):
    assert inside("eval", "x**2", "x=3", "--wrt", "x", "--graph", "g.txt") == ("9\nd/dx = 6\n", "", 0)
    assert (tmp_path / "g.txt").read_text("utf-8") == inside("graph", "x**2", "x=3")[0]
