"""Exported C, JavaScript, Python and agrad give the values, gradients and Hessians that agrad gives, within bounds that hold; LaTeX is pinned."""

import contextlib
import math
import random
import re
import shutil
import subprocess
from fractions import Fraction
from itertools import pairwise, product
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from error_bounds import ULPS, bounded
from exports import GCC, NAMES, arguments, by_c, by_node, by_python, expression, functions
from refused import refusals, refuses
from rows import each
from transcript import sections

import agrad.engine as ag
from agrad.engine.compile.export.derive import derived
from agrad.engine.compile.export.formulas import Written
from agrad.engine.compile.export.languages import LANGUAGES
from agrad.engine.core.op import FUNCTIONS
from agrad.engine.errors import AgradError
from agrad.engine.program.trace import extract, trace
from agrad.grammar.diagnostics import Source
from agrad.grammar.session.formulas import exported
from agrad.grammar.session.session import Session
from agrad.grammar.syntax.parser import parse_expression

RUN = {"c": by_c, "js": by_node, "py": lambda texts, points, folder: by_python(texts, points)}


TOOLS = {"c": "cc", "js": "node", "py": "python3"}


PIPED = {"capture_output": True, "text": True, "check": True}
TRIED = ["py", *[pytest.param(one, marks=pytest.mark.long) for one in ("c", "js")]]
POINTS = [(0.5, 1.5, -0.7), (1.0, 0.0, 2.0), (-0.3, 0.3, 5.0)]


EDGES = [(-1.0, 1e200, 1e-200), (math.inf, -0.0, math.nan)]  # where sums in another order may overflow


def eager(text, point):
    """The value that agrad gives without compiling."""
    session = Session()
    session.names.update(zip(NAMES, point, strict=True))
    return float(session.machine.run(session.machine.expression(parse_expression(Source("expression", text)))))


def is_close(found, expected):
    if not all(map(math.isfinite, expected[:4])):  # at a pole the derivatives may be infinite or nan
        found, expected = found[:1], expected[:1]
    scale = max([abs(x) for x in expected if math.isfinite(x)], default=1.0)
    return all(
        x == y or (x != x and y != y) or abs(x - y) <= max(1e-9 * max(abs(x), abs(y)), 1e-12 * scale)
        for x, y in zip(found, expected, strict=False)
    )


def written(language, texts):
    """What is written of expressions, with second derivatives, and the programs of which that is made."""
    programs, write = [], LANGUAGES[language]
    with patch.dict(LANGUAGES, {language: lambda what, *names: programs.append(what.program) or write(what, *names)}):
        names = [f"f{number}" if language == "c" else "f" for number in range(len(texts))]
        sources = [exported(Session(), text, NAMES, 2, language, name) for text, name in zip(texts, names, strict=True)]
    return sources, programs


def graph_of(text, point):
    """The value, gradient and Hessian that agrad gives, and the program of the graph behind them as it is."""
    session = Session()
    xs = [ag.tensor(x, requires_grad=True) for x in point]
    session.names.update(zip(NAMES, xs, strict=True))
    zero = 0 * sum(xs)  # what depends on no leaf has no derivative
    y = session.machine.run(session.machine.expression(parse_expression(Source("expression", text)))) + zero
    grad = ag.grad(y, xs, create_graph=True)
    results = [y, *grad, *[x for one in grad for x in ag.grad(one + zero, xs, create_graph=True)]]
    return [x.item() for x in results], extract(results, xs, list(NAMES))


def compare(language, count, seed, folder):
    """At POINTS, each result is as near to agrad's as its rounding allows: 4 ulp a call (see `error_bounds`)."""
    dice, known = random.Random(seed), functions(language)
    texts = [expression(dice, known) for _ in range(count)]
    sources, programs = written(language, texts)
    for point in EDGES:
        points = [[point[place] for place in arguments(text)] for text in texts]
        for text, found in zip(texts, RUN[language](sources, points, folder), strict=True):
            expected = [eager(text, point)]
            assert is_close(found, expected), f"{text} at {point}: {found} is not {expected}"
    check(language, texts, sources, programs, POINTS, folder)


def check(language, texts, sources, programs, places, folder):
    """Each result at some places is within its bounds, and these are narrow."""
    tight = compared = 0
    for point in places:
        points = [[point[place] for place in arguments(text)] for text in texts]
        results = RUN[language](sources, points, folder)
        for text, program, given, found in zip(texts, programs, points, results, strict=True):
            expected, graph = graph_of(text, point)
            pairs = zip(bounded(program, given), bounded(graph, point, further=ULPS), strict=True)
            bounds = [here.error + there.error for here, there in pairs]
            if not all(map(math.isfinite, expected[:4])):  # at a pole the derivatives may be infinite or nan
                found, expected, bounds = found[:1], expected[:1], bounds[:1]
            for x, y, bound in zip(found, expected, bounds, strict=True):
                is_same = x == y or (x != x and y != y)
                assert is_same or not abs(x - y) > bound, f"{text} at {point}: {found} is not {expected}, by {bounds}"
                compared += 1
                tight += is_same or bound <= 1e-10 * max(abs(x), abs(y), 1.0)
    assert tight > 0.95 * compared


@pytest.fixture
def tools(language):
    if shutil.which(TOOLS[language]) is None:
        pytest.skip(f"{TOOLS[language]} is not installed")


@pytest.mark.parametrize("language", TRIED)
def test_random_expressions_in_another_language(tools, language, tmp_path):
    compare(language, 20, 5, tmp_path)


# Of C's headers, of the languages, and of what is written around a formula.
NAMED = """
HUGE_VAL INFINITY NAN NULL M_PI FP_ZERO EXIT_FAILURE MATH_ERRNO RAND_MAX _Bool __func__ size_t div_t unix linux double
sinf erf value grad hess Math Array Number Infinity NaN undefined globalThis eval arguments f math abs round float range
len tuple divide sqrt math_errhandling asm typeof bool nullptr agrad_gamma t0 x0 x_ x malloc free work lambda_ None_ true_ self np EOF OVERFLOW AB x_AB
""".split()


@pytest.mark.parametrize("language", TRIED)
def test_an_argument_may_have_any_name(tools, language, tmp_path):
    texts, names = [], [name for name in NAMED if name not in FUNCTIONS]
    for begin in range(len(names) - 2):
        a, b, c = names[begin : begin + 3]
        called = f"f{begin}" if language == "c" else "f"
        text = exported(Session(), f"erf({a})*{b}**2 + abs({a})/({c} - 1)", (a, b, c), 2, language, called)
        assert f"in the formula {a}" in text or re.search(rf"[( ]{a}[,)]", text), text
        texts.append(text)
    found = RUN[language](texts, [[0.5, 3.0, 2.0]] * len(texts), tmp_path)
    assert all(row == found[0] for row in found)
    assert found[0][0] == pytest.approx(math.erf(0.5) * 9 + 0.5)


@each("language, name", [("py", "divide"), ("py", "exp"), ("js", "pow"), ("js", "copysign")])
def test_a_function_has_no_name_that_it_calls(language, name):
    text = "erf(x)*x**2.5/y + exp(x) + copysign(x, y)"
    with pytest.raises(AgradError, match=f"cannot be called {name}$"):
        exported(Session(), text, ("x", "y"), 1, language, name)
    assert f" {name}(x, y)" in exported(Session(), "x*y", ("x", "y"), 1, language, name)


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_a_function_has_no_name_of_the_c_library(tmp_path):
    headers = subprocess.run(["cc", "-std=c99", "-E", "-"], input="#include <math.h>\n#include <stdlib.h>", **PIPED)
    declared = sorted({name for name in re.findall(r"\b[a-z]\w+(?=\s*\()", headers.stdout) if "__" not in name})
    texts = []
    for name in declared:
        with contextlib.suppress(AgradError):
            texts.append(exported(Session(), "x**2", ("x",), 1, "c", name))
    assert len(texts) < len(declared) / 5
    (tmp_path / "all.c").write_text("#include <stdlib.h>\n" + "\n".join(texts))
    subprocess.run([*GCC, "all.c", "-o", "all.so"], cwd=tmp_path, check=True)


@pytest.mark.long
@pytest.mark.parametrize("language", sorted(RUN))
def test_many_random_expressions_in_another_language(tools, language, tmp_path):
    compare(language, 500, 6, tmp_path)


@pytest.mark.parametrize("language", TRIED)
def test_each_function_in_another_language(tools, language, tmp_path):
    known = functions(language)
    assert len(known) > 60
    texts = [f"{name}({', '.join(NAMES[:count])})" for name, count in known.items()]
    places = [(0.3, 0.7, 1.0), (-0.3, 2.5, 1.0), (1.0, 1.0, 1.0), (-0.0, 0.0, 1.0), (1e9, -2.0, 1.0)]
    check(language, texts, *written(language, texts), places, tmp_path)


CALLS = (line.split(": ") for line in Path(__file__).with_name("special_calls.txt").read_text("utf-8").splitlines())
SPECIAL_CALLS = {text: [*map(float, ends.split())] for ends, texts in CALLS for text in texts.split(" | ")}


@pytest.mark.parametrize("language", TRIED)
def test_special_functions_that_the_language_lacks(tools, language, tmp_path):
    dice = random.Random(3)
    texts = [text for text in SPECIAL_CALLS for _ in range(5 if language == "py" else 2)]
    sources, _ = written(language, texts)
    points = [[dice.uniform(*SPECIAL_CALLS[text]), dice.uniform(0.5, 5.0), 1.0] for text in texts]
    wrong = []
    for text, point, found in zip(texts, points, RUN[language](sources, points, tmp_path), strict=True):
        wanted = graph_of(text, point)[0]
        if found != pytest.approx(wanted, rel=1e-11, abs=1e-12) or found[:4] != pytest.approx(wanted[:4], rel=1e-12):
            wrong.append((text, point, found, wanted))
    assert not wrong, "\n".join(map(str, wrong))


ENDS = "rgamma(x)|log_ndtr(x)|logit(x)|entr(x)|lbeta(abs(x), 2)|beta(abs(x), 2)|comb(x, 2)|perm(x, 2)|comb(2.5, x)|"
ENDS = (ENDS + "perm(3, x)|betainc(2, 3, x)|gammasgn(x)|gammainc(x, 1)|gammaincc(x, 0.5)|gammaincc(x, 3)|").split("|")
ENDS = [
    *ENDS[:-1],
    "lbeta(abs(x), 1)",
    "beta(abs(x), 30)",
    "comb(abs(x), 0.5)",
    "perm(abs(x), 0.5)",
    "gammainc(1e20, x)",
    *"j0(x)|j1(x)|i0(x)|i1(x)|y0(x)|y1(x)|jv(2, x)|jv(0.5, x)|jv(-3, x)|jv(-2.5, x)|yv(2, x)|yv(-2.2, x)".split("|"),
    *"iv(2, x)|iv(0.5, x)|iv(-3, x)|iv(-1.5, x)|kv(0, x)|kv(-2.5, x)|ive(1, x)|ive(0.5, x)|kve(1, x)".split("|"),
]


@each(
    "text", ["lgamma(x)", "gamma(x)", "digamma(x)", "polygamma(1, x)", "erfinv(x)", "ndtri(x)", "gammainc(2, x)", *ENDS]
)
@each("x", [0.0, -0.0, -1.0, 1.0, 2.0, 1e-310, 1e-300, 1e300, math.inf, -math.inf, math.nan])
def test_poles_and_ends_of_special_functions(text, x):
    names = {}
    exec(exported(Session(), text, ("x",), 0, "py", "f"), names)
    found, expected = names["f"](x), eager(text, (x, 0.0, 0.0))
    if text[0] in "ijky" and abs(x) >= 1e300 and math.isnan(expected):
        expected = math.inf if text[0] == "i" and "e" not in text else 0.0  # the limit, which SciPy does not have
        found = abs(found) if found == found else expected * (x < 0.0)
    assert found == pytest.approx(expected, rel=1e-12, abs=1e-12, nan_ok=True)


@each(
    "text, x",
    [
        *[("beta(x, 0.5)", -1.0), ("beta(x, 2)", -3.0), ("beta(x, 1)", -3.0), ("lbeta(x, 4)", -3.0)],
        *[("beta(x, 2.5)", -2.5), ("beta(x, 3)", -1000.5), ("lbeta(x, 3)", -1000.5), ("beta(x, 25.3)", -30.5)],
    ],
)
def test_beta_is_written_for_negative_numbers_too(text, x):
    names = {}
    exec(exported(Session(), text, ("x",), 0, "py", "f"), names)
    assert names["f"](x) == pytest.approx(eager(text, (x, 0.0, 0.0)), rel=1e-11, abs=1e-30)


@each("share", [-9.0, -3.0, -0.1, 0.0, 1e-3, 2.0, 5.0])
@each("a", [1.5e6, 1e9, 1e15])
def test_the_incomplete_gamma_function_of_large_shapes_is_written(a, share):
    names, x = {}, a + share * math.sqrt(a)
    exec(exported(Session(), "gammainc(a, x)", ("a", "x"), 0, "py", "f"), names)
    assert names["f"](a, x) == pytest.approx(float(ag.gammainc(a, x)), rel=1e-9)


EDGES_OF_TWO = [0.0, -0.0, 1e-310, 1.0, -1.0, 2.5, -2.5, 1e300, math.inf, math.nan]


@each("text", "beta(x, y)|lbeta(x, y)|comb(x, y)|perm(x, y)|polygamma(1, x)*digamma(y)|rgamma(x)*lgamma(y)".split("|"))
def test_exported_python_raises_nothing(text):
    names = {}
    exec(exported(Session(), text, ("x", "y"), 2, "py", "f"), names)
    for x, y in product(EDGES_OF_TWO, EDGES_OF_TWO):
        value, grad, hess = names["f"](x, y)
        assert all(isinstance(one, float) for one in (value, *grad, *hess[0], *hess[1])), (x, y)
    if "beta" in text:
        for y in (0.5, 1.0, 3.0):
            value, (slope, _), _ = names["f"](0.0, y)
            assert (value, slope) == (math.inf, -math.inf), y


@each("text", ["lcm(x, y)", "[1, 2, 3][x] + y"])
def test_where_whole_numbers_alone_are_taken_it_is_said_that_an_argument_is_any(text):
    with pytest.raises(AgradError, match="must be a whole number") as caught:
        exported(Session(), text, ("x",), 0, "c", "f")
    assert caught.value.notes == ["x, y may be any number, such as 0.5 here; a name with a value is a constant"]


@each("language", sorted(RUN))
def test_each_special_function_is_written_or_it_is_said_that_none_is_short_and_accurate(language):
    refused = set()
    for name, entry in FUNCTIONS.items():
        if entry.family != "special" or name in ("gcd", "lcm"):
            continue
        calls = {"multigammaln": "multigammaln(x, 2)"} | {
            f: f"{f}(2, x)" for f in "polygamma jv yv iv kv ive kve".split()
        }
        count = 1 if name in calls else len(entry.signature.operands)
        call = calls.get(name, f"{name}({', '.join(NAMES[:count])})")
        for order in (0, 1, 2):
            try:
                exported(Session(), call, NAMES[:count], order, language, "f")
            except AgradError as problem:
                assert problem.message.endswith(": no short algorithm for it is accurate"), problem.message
                refused.add((name, order))
    shares = {(name, order) for name in ("gammainc", "gammaincc", "betainc") for order in (1, 2)}
    assert refused == shares


@each("language", ["ag", "tex"])
def test_each_function_has_a_formula_or_it_is_said_why_not(language):
    told = 0
    for name, entry in FUNCTIONS.items():
        call = f"{name}({', '.join(NAMES[: len(entry.signature.operands)])})"
        for order in (0, 1):
            with contextlib.suppress(AgradError):  # any other exception is a fault
                told += len(exported(Session(), call, (), order, language, "f")) > 0
    assert told > 150


TEXTS = {name: text for name, (text,) in sections(Path(__file__).with_name("exported_code.txt")).items()}
OF_SMALL_ARRAYS, CHOICES = (TEXTS[name].splitlines() for name in ("of small arrays", "choices"))


@pytest.mark.parametrize("language", TRIED)
def test_operations_on_small_arrays_with_second_derivatives(tools, language, tmp_path):
    sources, _ = written(language, OF_SMALL_ARRAYS)
    for point in [(0.7, 1.3, -0.4), (2.0, -0.5, 1.1)]:
        points = [[point[place] for place in arguments(text)] for text in OF_SMALL_ARRAYS]
        for text, found in zip(OF_SMALL_ARRAYS, RUN[language](sources, points, tmp_path), strict=True):
            assert is_close(found, graph_of(text, point)[0]), f"{text} at {point}"


ARRAYS = "sum(w*w)*x + mean(v) + w[1, 0] + det(w)"


def arrays(language):
    session = Session()
    session.run("w = [[1, 2], [3, 4]]; v = [1, 2, 3]")
    return exported(session, ARRAYS, ["w", "x"], 1, language, "f")


def test_arrays_in_python():
    names = {}
    exec(arrays("py"), names)
    value, (w, x) = names["f"]([[1.0, 2.0], [3.0, 4.0]], 2.0)
    assert (value, w, x) == (30 * 2 + 2 + 3 - 2, [[8.0, 5.0], [11.0, 17.0]], 30.0)
    assert names["f"](np.array([[1.0, 2.0], [3.0, 4.0]]), 2.0)[0] == value


def ran_in_c(text, body, folder):
    """The numbers that a program prints."""
    (folder / "a.c").write_text(f"#include <stdio.h>\n{text}\nint main(void) {{ {body} return 0; }}\n", "utf-8")
    subprocess.run([*GCC[:-2], "-fsanitize=address", "a.c", "-o", "a", "-lm"], cwd=folder, check=True)
    done = subprocess.run([folder / "a"], capture_output=True, text=True, check=True)
    return [float(x) for x in done.stdout.split()]


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_arrays_and_jacobians_in_c(tmp_path):
    text = arrays("c")
    assert "double f(const double *w, double x, double grad[5])" in text
    print_all = 'for (int i = 0; i < {1}; i++) printf("%.17g ", {0}[i]);'.format
    call = 'double w[4] = {1, 2, 3, 4}, g[5]; printf("%g ", f(w, 2, g)); '
    assert ran_in_c(text, call + print_all("g", 5), tmp_path) == [63, 8, 5, 11, 17, 30]
    text = exported(Session(), "[x*y, sin(x), 3]", ["x", "y"], 1, "c", "f")
    assert "void f(double x, double y, double value[3], double grad[6])" in text
    found = ran_in_c(text, f"double v[3], g[6]; f(2.0, 5.0, v, g); {print_all('v', 3)} {print_all('g', 6)}", tmp_path)
    assert found == pytest.approx([10.0, math.sin(2.0), 3.0, 5.0, 2.0, math.cos(2.0), 0.0, 0.0, 0.0], rel=1e-15)


def test_a_jacobian_has_the_shape_of_the_value_and_of_the_argument():
    session, names = Session(), {}
    session.run("w = [1, 2]")
    exec(exported(session, "[[w[0]*x, w[1]], [x, 3*w[0]]]", ["w", "x"], 1, "py", "f"), names)
    value, (w, x) = names["f"]([5.0, 7.0], 2.0)
    assert value == [[10.0, 7.0], [2.0, 15.0]]
    assert w == [[[2.0, 0.0], [0.0, 1.0]], [[0.0, 0.0], [3.0, 0.0]]]
    assert x == [[5.0, 0.0], [1.0, 0.0]]
    exec(exported(Session(), "[x*y, sin(x), 3]", ["x", "y"], 1, "py", "f"), names)
    assert names["f"](2.0, 5.0) == ([10.0, math.sin(2.0), 3.0], ([5.0, math.cos(2.0), 0.0], [2.0, 0.0, 0.0]))


@pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not installed")
def test_a_jacobian_in_javascript(tmp_path):
    (tmp_path / "f.mjs").write_text(exported(Session(), "[x*y, 3*x]", ["x", "y"], 1, "js", "f"))
    (tmp_path / "a.mjs").write_text("import {f} from './f.mjs'; console.log(JSON.stringify(f(2, 5)));")
    done = subprocess.run(["node", "a.mjs"], cwd=tmp_path, check=True, capture_output=True, text=True)
    assert done.stdout == '{"value":[10,6],"grad":[[5,3],[2,0]]}\n'


@each("x", [2.0, -0.0, 0.0, math.inf, -3.0])
@each("y", [5.0, 0.0, -0.0, -2.0])
@each("text", ["-x*y", "-x*-y", "-x/y", "x/-y + 1", "-x + y", "x - -y", "-x - y", "-x + -y", "-(-x)"])
def test_signs_move_to_the_same_bits(text, x, y):
    names = {}
    exec(exported(Session(), f"{text} + 0*x*y" if "y" not in text else text, ["x", "y"], 0, "py", "f"), names)
    (value,) = names["f"](x, y) if isinstance(names["f"](x, y), tuple) else (names["f"](x, y),)
    expected = eager(text if "y" in text else f"{text} + 0*x*y", (x, y, 1.0))
    assert np.float64(value).tobytes() == np.float64(expected).tobytes() or (value != value and expected != expected)


def test_shared_parts_are_found_before_the_derivative():
    def minors(rows, columns):
        if len(columns) == 1:
            return rows[0][columns[0]]
        parts = [rows[0][k] * minors(rows[1:], [x for x in columns if x != k]) for k in columns]
        return sum(part if place % 2 else -part for place, part in enumerate(parts))

    def determinant(*flat):
        return minors([flat[6 * row : 6 * row + 6] for row in range(6)], range(6))

    given = [math.sin(place) for place in range(36)]
    program = trace(determinant, given, [f"x{place}" for place in range(36)])
    assert len(derived(program, given, range(36), 1).program.steps) < 1300


PLACES = [(-4.0, 2.0, 0.5), (0.0, 0.5, 2.0), (-0.0, -1.0, 1e4), (3.0, 3.0, 1.0), (-0.3, 0.5, -2.0), (1.5, 0.5, 0.0)]


@pytest.mark.parametrize("language", TRIED)
def test_choices(tools, language, tmp_path):
    sources, _ = written(language, CHOICES)
    for point in PLACES:
        points = [[point[place] for place in arguments(text)] for text in CHOICES]
        for text, found in zip(CHOICES, RUN[language](sources, points, tmp_path), strict=True):
            assert is_close(found, graph_of(text, point)[0]), f"{text} at {point}: {found}"


def test_a_function_with_paths_in_a_session(tmp_path):
    session, said = Session(), []
    session.run(
        """def f(x, y):
    print "here"
    if x > y:
        return x**2
    t = 0
    for k in range(3):
        t = t + (x*k if y > 100 else y)
    return t""",
        said.append,
    )
    session.run(f'export f to "{tmp_path}/f.py"', said.append)
    assert [type(one).__name__ for one in said] == ["Printed"]
    names = {}
    exec((tmp_path / "f.py").read_text(), names)
    assert names["f"](3.0, 1.0) == (9.0, (6.0, 0.0))
    assert names["f"](3.0, 200.0) == (9.0, (3.0, 0.0))
    assert names["f"](3.0, 50.0) == (150.0, (0.0, 3.0))


@each(
    "text, held",
    [
        ("def f(x):\n    while x > 1:\n        x = x/2\n    return x", "x > 1 is false, line 2"),
        ("def f(x):\n    if x > 1:\n        if x > 0:\n            return x\n    return 1", "x > 1 is false, line 2"),
    ],
)
def test_paths_that_cannot_all_be_found(text, held, tmp_path):
    session = Session()
    session.run(text)
    caught = refuses(lambda: session.run(f'export f to "{tmp_path}/f.py"'))
    assert caught.message == f"a function with a choice is not exported: this one holds only where {held}"
    assert caught.notes == ["all its other paths were not found"]
    assert not list(tmp_path.iterdir())


def in_language(language, text):
    return exported(Session(), text, (), 1, language, "f")


def test_small_powers_are_products():
    assert "pow(" not in in_language("c", "sum(tanh([x, y])**2)*x**3/y**4")


@each("call, kind, message", refusals("exported code", globals()))
def test_what_is_refused(call, kind, message):
    refuses(call, message, kind=kind)


def one(f, *point):
    program = trace(f, list(point), [f"x{place}" for place in range(len(point))])
    return bounded(program, point)[0]


def test_an_exact_argument_is_exact():
    assert one(lambda x: -x, 0.1) == (-0.1, 0.0)


def test_a_call_may_be_wrong_by_four_units():
    assert one(ag.sin, 0.5) == (math.sin(0.5), 4 * math.ulp(math.sin(0.5)))


@each("x", [0.1, 0.7, 1.3, 2.9])
def test_arithmetic_is_bounded_where_digits_cancel(x):
    value, error = one(lambda x: (x + 0.1) * (x + 0.1) - x * x - 0.2 * x, x)
    a, b, c = Fraction(x), Fraction(0.1), Fraction(0.2)
    exact = (a + b) * (a + b) - a * a - c * a
    assert abs(Fraction(value) - exact) <= error < 1e-14


def test_an_error_is_magnified_by_a_steep_function():
    value, error = one(lambda x: ag.exp(100.0 * ag.sin(x)), 0.5)
    assert 100 * 4 * math.ulp(math.sin(0.5)) * value < error < 1000 * 4 * math.ulp(math.sin(0.5)) * value


def test_an_uncertain_choice_may_be_either():
    assert one(lambda x: ag.where(ag.sin(x) > math.sin(0.5), 1.0, 3.0), 0.5).error == 2.0
    assert one(lambda x: ag.where(ag.sin(x) > 0.4, 1.0, 3.0), 0.5).error == 0.0


def test_a_jump_is_in_the_bound():
    assert one(lambda x: ag.floor(3.0 * (x / 3.0)), 1.0).error == pytest.approx(1.0, rel=0.1)


def test_equations():
    session = Session()
    session.run("w = 3")
    assert exported(session, "x**2*sin(alpha*w)", ["x", "alpha"], 2, "tex", "f") == TEXTS["tex"]


def test_the_length_of_formulas_is_that_of_all_their_parts():
    assert Written([("t1", "x + y"), ("t2", "t1*x")], ["t1*t2", "x"]).length == 2 + 5 + 2 + 4 + 5 + 1


@each("order, has", [(0, (False, False)), (1, (True, False)), (2, (True, True))])
def test_javascript_has_the_derivatives_that_are_asked_for(order, has):
    text = exported(Session(), "x**2*y", ["x", "y"], order, "js", "f")
    assert ("grad: [" in text, "hess: [" in text) == has


def test_entries_of_arrays():
    session = Session()
    session.run("w = [0, 0]")
    text = exported(session, "sum(w**2)*x1", ["w", "x1"], 1, "ag", "loss")
    assert text.splitlines()[-1] == "    return x1*(w[0]**2 + w[1]**2), ([2*x1*w[0], 2*x1*w[1]], w[0]**2 + w[1]**2)"
    assert r"\frac{\partial f}{\partial w_{0}} &= 2 x_{1} w_{0}" in exported(
        session, "sum(w**2)*x1", ["w", "x1"], 1, "tex", "f"
    )


@each("seed", range(10), short=10)
def test_random_functions_in_agrad(seed):
    dice, known, compared = random.Random(seed), functions("py"), 0
    for _ in range(20):
        text, point = expression(dice, known), [dice.uniform(0.2, 2.0) for _ in NAMES]
        try:
            source = exported(Session(), text, NAMES, 2, "ag", "f")
        except AgradError as error:
            assert "no formula" in error.message or error.kind == "limit"
            continue
        given = ", ".join(f"{name}={x!r}" for name, x in zip(NAMES, point, strict=True))
        session = Session()
        session.run(f"{source}\nv, g, h = f({given})\ndef e({', '.join(NAMES)}) = {text}")
        eager = session.names["e"]
        wanted = [eager(*point), *ag.grad(eager, (0, 1, 2))(*point), *np.ravel(ag.hessian(eager, (0, 1, 2))(*point))]
        found = [session.names["v"], *session.names["g"], *np.ravel(session.names["h"].tolist())]
        wanted, found = [float(x) for x in wanted], [float(x) for x in found]
        if np.isfinite(wanted).all() and np.isfinite(found).all():
            compared += 1
            assert found == pytest.approx(wanted, rel=1e-8, abs=1e-8 * max(map(abs, wanted))), f"{text}\n{source}"
    assert compared > 8


STANDARDS = "c99 c11 c17 c2x gnu90 gnu99 gnu11 gnu17 gnu2x"


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
@pytest.mark.parametrize("optimized", ["-O0", "-O3"])
def test_every_standard_of_c_reads_what_is_exported(optimized, tmp_path):
    names = [name for name in NAMED if name not in FUNCTIONS]
    texts = [
        exported(Session(), f"erf({a})*{b}**2", (a, b), 2, "c", f"f{i}") for i, (a, b) in enumerate(pairwise(names))
    ]
    special = [exported(Session(), text, NAMES, 2, "c", f"g{i}") for i, text in enumerate(SPECIAL_CALLS)]
    special = [re.sub(r"agrad_(?=\w+\()", f"agrad{number}_", one) for number, one in enumerate(special)]
    (tmp_path / "all.c").write_text("\n".join([*texts, *special]), "utf-8")
    for standard in STANDARDS.split():
        words = ["cc", f"-std={standard}", "-Wall", "-Wextra", "-Werror", optimized, "-c", "all.c", "-o", "all.o"]
        done = subprocess.run(words, cwd=tmp_path, stderr=subprocess.PIPE, encoding="utf-8")
        assert not done.stderr, (standard, done.stderr[:2000])
