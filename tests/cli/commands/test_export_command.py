"""`agrad export`: what it prints and writes, and what it refuses."""

import pytest

C = """#include <math.h>

/* x**2*sin(x)
   grad: the derivatives by x */
double f(double x, double grad[1])
{
    const double t0 = sin(x);
    const double t1 = x*x;
    grad[0] = t1*cos(x) + 2.0*t0*x;
    return t1*t0;
}
"""
JAVASCRIPT = """// sum(w)*x
// w: an array of shape (2)
// grad: the derivatives by w, x; hess: the second ones, row by row
export function loss(w, x) {
    const t0 = w[0] + w[1];
    return {value: t0*x, grad: [[x, x], t0], hess: [[0.0, 0.0, 1], [0.0, 0.0, 1], [1, 1, 0.0]]};
}
"""


def test_the_source_is_printed(agrad):
    assert agrad("export", "x**2*sin(x)", "--to", "c") == (C, "", 0)
    words = ["sum(w)*x", "w=[1, 2]", "--wrt", "w,x", "--to", "js", "--hessian", "--name", "loss"]
    assert agrad("export", *words) == (JAVASCRIPT, "", 0)
    assert agrad("export", *words, "-o", "-") == (JAVASCRIPT, "", 0)


def test_the_source_is_written(agrad, tmp_path):
    assert agrad("export", "a*x", "a=3", "-o", "f.py") == ("wrote f.py\n", "", 0)
    text = (tmp_path / "f.py").read_text("utf-8")
    assert text == "# a*x\n# grad: the derivatives by x\ndef f(x):\n    return (3.0*x, (3.0,))\n"


@pytest.mark.parametrize(
    ("words", "message", "code"),
    [
        (["x"], "Error: the language is missing: --to c, js, py, ag or tex", 2),
        (["x", "-o", "f.rs"], "Error: the language is missing: --to c, js, py, ag or tex", 2),
        (["x+", "--to", "c"], "error[syntax]: a value is missing after `+`", 2),
        (["x", "--to", "c", "--name", "double"], "error[name]: a function in C cannot be called double", 1),
        (["x", "--to", "c", "--name", "a b"], "error[name]: a function in C cannot be called a b", 1),
        (["gamma(x)", "--to", "c", "-o", "f.c"], "error[type]: gamma cannot be written in C", 1),
        (["x", "--to", "c", "-o", "no/f.c"], "error[file]: cannot write no/f.c", 1),
        (["x", "y=foo", "--to", "c"], "error[name]: foo has no value", 1),
    ],
)
def test_what_is_refused(agrad, tmp_path, words, message, code):
    out, err, found = agrad("export", *words)
    assert (out, found) == ("", code)
    assert any(line.startswith(message) for line in err.splitlines()), err
    assert not list(tmp_path.glob("f.*"))


def test_names_that_a_language_has_are_changed(agrad):
    text = agrad("export", "long*hess + t0*sin(t0) + sin(t0)", "--to", "c")[0]
    assert "double f(double long_, double hess_, double t0, double grad[3])" in text
    assert "const double v0 = sin(t0);" in text


def test_an_argument_that_is_not_used_is_allowed(agrad):
    assert "    (void)y;\n" in agrad("export", "2*x", "--wrt", "x,y", "--to", "c")[0]
