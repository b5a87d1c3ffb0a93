"""Where functions are not smooth, not finite or not defined, and what agrad says there: tables for `help`.

Each line carries statements of the language that hold if it is true; the tests run them.
"""

from __future__ import annotations

from typing import NamedTuple


class Kink(NamedTuple):
    """One line: the functions it is about, the place, the value and the derivative there, and what proves it."""

    functions: str
    at: str
    value: str
    derivative: str
    claims: tuple[str, ...]


class Domain(NamedTuple):
    """Where a function gives numbers, in words; an expression inside, and one outside."""

    functions: str
    told: str
    inside: str
    outside: str


HEADING = "What a function and its derivative are where it has a kink, an end or a pole"
FOOTING = """\
Elsewhere derivatives are exact, in all orders. What a choice did not select contributes exactly 0; with a 0
that was computed, IEEE arithmetic goes on: 0*inf is nan. A backward that meets an inf or a nan says so, once,
and where it began."""

KINKS = (
    Kink(
        "abs sign relu",
        "abs, sign, relu at 0",
        "0",
        "0",
        ("abs(0) == 0", "grad(abs)(0) == 0", "grad(sign)(0) == 0", "relu(0) == 0", "grad(relu)(0) == 0"),
    ),
    Kink(
        "maximum minimum max min",
        "maximum, minimum, max, min of two equal values",
        "",
        "half to each",
        ("grad(maximum, (0, 1))(2, 2) == (0.5, 0.5)", "grad(min, (0, 1))(2, 2) == (0.5, 0.5)"),
    ),
    Kink(
        "max min median",
        "max, min, median with ties",
        "",
        "shared equally, along an axis too",
        (
            "grad(max)([1, 3, 3]) == [0, 0.5, 0.5]",
            "grad(min)([1, 1, 3]) == [0.5, 0.5, 0]",
            "grad(median)([1, 2, 2]) == [0, 0.5, 0.5]",
            "jacobian(max)([[5, 5], [1, 2]]) == [[0.5, 0.5], [0, 0]]",
        ),
    ),
    Kink(
        "sort topk",
        "sort, topk with ties",
        "in the order they had",
        "1, in the new place",
        ("jacobian(sort)([2, 1, 2]) == [[0, 1, 0], [1, 0, 0], [0, 0, 1]]",),
    ),
    Kink(
        "clip",
        "clip at a bound",
        "the bound",
        "1",
        ("clip(0, 0, 1) == 0", "grad(clip)(0, 0, 1) == 1", "grad(clip)(1, 0, 1) == 1"),
    ),
    Kink("hardtanh", "hardtanh at its ends", "the end", "0", ("grad(hardtanh)(1) == 0", "grad(hardtanh)(-1) == 0")),
    Kink("leaky_relu", "leaky_relu at 0", "0", "the slope on the left (0.01)", ("grad(leaky_relu)(0) == 0.01",)),
    Kink("elu", "elu at 0", "0", "1", ("elu(0) == 0", "grad(elu)(0) == 1")),
    Kink(
        "huber_loss",
        "huber_loss at delta",
        "",
        "delta",
        ("grad(huber_loss)(1, 0) == 1", "grad(huber_loss)(3, 0, 3) == 3"),
    ),
    Kink("l1_loss", "l1_loss where x == y", "0", "0", ("grad(l1_loss)(2, 2) == 0",)),
    Kink(
        "floor ceil round trunc floor_divide",
        "floor, ceil, round, trunc, x // y where they jump",
        "",
        "0, as everywhere",
        tuple(f"grad({name})({x}) == 0" for name, x in (("floor", 2), ("ceil", 2), ("round", 2.5), ("trunc", 2))),
    ),
    Kink(
        "remainder",
        "x % y, also where it jumps",
        "",
        "by x 1; by y -floor(x/y)",
        ("grad(remainder, (0, 1))(6, 3) == (1, -2)",),
    ),
    Kink(
        "fmod",
        "fmod(x, y), also where it jumps",
        "",
        "by x 1; by y -trunc(x/y)",
        ("grad(fmod, (0, 1))(-7, 3) == (1, 2)",),
    ),
    Kink("sqrt cbrt", "sqrt, cbrt at 0", "0", "inf", ("sqrt(0) == 0", "grad(sqrt)(0) == inf", "grad(cbrt)(0) == inf")),
    Kink("rsqrt", "rsqrt at 0", "inf", "-inf", ("rsqrt(0) == inf", "grad(rsqrt)(0) == -inf")),
    Kink("asin acosh", "asin at -1, 1; acosh at 1", "", "inf", ("grad(asin)(-1) == inf", "grad(acosh)(1) == inf")),
    Kink("acos", "acos at -1, 1", "", "-inf", ("grad(acos)(1) == -inf", "grad(acos)(-1) == -inf")),
    Kink(
        "atanh erfinv",
        "atanh, erfinv at -1, 1",
        "-inf, inf",
        "inf",
        ("atanh(-1) == -inf", "atanh(1) == inf", "grad(atanh)(-1) == inf"),
    ),
    Kink(
        "log log2 log10 log1p",
        "log, log2, log10 at 0, log1p at -1",
        "-inf",
        "inf",
        ("log(0) == -inf", "grad(log)(0) == inf", "grad(log1p)(-1) == inf"),
    ),
    Kink(
        "log sqrt asin acos acosh atanh",
        "log(-1), sqrt(-1), atanh(2) and the like",
        "nan",
        "nan",
        ("isnan(log(-1))", "isnan(grad(log)(-1))", "isnan(grad(sqrt)(-1))", "isnan(grad(atanh)(2))"),
    ),
    Kink(
        "div reciprocal",
        "1/x at 0",
        "inf",
        "-inf",
        ("1/0 == inf", "grad(reciprocal)(0) == -inf", "grad(div, 1)(1, 0) == -inf"),
    ),
    Kink(
        "norm hypot atan2",
        "norm, hypot, atan2 at 0",
        "0",
        "0; the second nan",
        (
            "grad(norm)([0, 0]) == [0, 0]",
            "all(isnan(hessian(norm)([0, 0])))",
            "grad(hypot, (0, 1))(0, 0) == (0, 0)",
            "grad(atan2, (0, 1))(0, 0) == (0, 0)",
        ),
    ),
    Kink(
        "std var",
        "std, var of equal entries",
        "exactly 0",
        "0",
        ("std([0.1, 0.1, 0.1]) == 0", "grad(std)([0.1, 0.1, 0.1]) == [0, 0, 0]", "hessian(std)([1, 1]) == zeros(2, 2)"),
    ),
    Kink(
        "pow",
        "x**0 for any x",
        "1",
        "by x 0; by y log(x), 0 at 0**0",
        ("0**0 == 1", "nan**0 == 1", "grad(pow, (0, 1))(0, 0) == (0, 0)", "grad(pow, (0, 1))(2, 0) == (0, log(2))"),
    ),
    Kink("pow", "0**y for y > 0", "0", "by y 0", ("0**2 == 0", "grad(pow, 1)(0, 2) == 0")),
    Kink(
        "pow",
        "0**y for y < 0",
        "inf",
        "by x and by y -inf",
        ("0**-1 == inf", "grad(pow, (0, 1))(0, -1) == (-inf, -inf)"),
    ),
    Kink(
        "pow",
        "x**y for x < 0 and a whole y",
        "",
        "by x exact; by y nan",
        ("(-2)**3 == -8", "grad(pow)(-2, 3) == 12", "isnan(grad(pow, 1)(-2, 3))"),
    ),
    Kink(
        "prod cumprod",
        "prod, cumprod with zeros",
        "0",
        "exact: nothing is divided by the product",
        (
            "grad(prod)([0, 3, 4]) == [12, 0, 0]",
            "hessian(prod)([0, 0, 4]) == [[0, 4, 0], [4, 0, 0], [0, 0, 0]]",
            "jacobian(cumprod)([0, 3]) == [[1, 0], [3, 0]]",
        ),
    ),
    Kink(
        "logsumexp softmax sigmoid softplus logaddexp",
        "logsumexp, softmax, sigmoid, softplus, logaddexp far out",
        "finite",
        "finite",
        (
            "logsumexp([1000, 0]) == 1000",
            "grad(logsumexp)([1000, 0]) == [1, 0]",
            "grad(grad(softplus))(1000) == 0",
            "grad(sigmoid)(-1000) == 0",
            "softmax([1000, -1000]) == [1, 0]",
            "grad(logsumexp)([inf, 0]) == [1, 0]",
        ),
    ),
    Kink(
        "tanh sigmoid",
        "tanh, sigmoid far out",
        "",
        "to full relative accuracy",
        ("grad(tanh)(20) ~= 4*exp(-40)", "grad(sigmoid)(-30) ~= exp(-30)/(1 + exp(-30))**2"),
    ),
    Kink(
        "det",
        "det of a singular matrix",
        "0",
        "its cofactors, in all orders",
        ("det([[1, 2], [2, 4]]) ~= 0 +- 1e-15", "grad(det)([[1, 2], [2, 4]]) ~= [[4, -2], [-2, 1]]"),
    ),
    Kink("slogdet", "slogdet of a singular matrix", "0, -inf", "", ("slogdet([[1, 2], [2, 4]]) == (0, -inf)",)),
    Kink("inv solve", "inv, solve of a singular matrix", "an error", "", ("refused()",)),
    Kink(
        "eigh svd",
        "eigh, svd with repeated values",
        "",
        "of the values exact; of the vectors nan",
        ("grad(eigenvalues)(eye(2)) ~= eye(2)", "any(isnan(grad(eigenvectors)(eye(2))))"),
    ),
    Kink(
        "sinc",
        "sinc at 0",
        "1",
        "0; the second -pi**2/3",
        ("sinc(0) == 1", "grad(sinc)(0) == 0", "grad(grad(sinc))(0) ~= -pi**2/3"),
    ),
    Kink(
        "xlogy",
        "xlogy at (0, 0)",
        "0",
        "by x -inf; by y 0",
        ("xlogy(0, 0) == 0", "grad(xlogy, (0, 1))(0, 0) == (-inf, 0)"),
    ),
    Kink(
        "binary_cross_entropy",
        "binary_cross_entropy(0, 1)",
        "inf",
        "-inf",
        ("binary_cross_entropy(0, 1) == inf", "grad(binary_cross_entropy)(0, 1) == -inf"),
    ),
    Kink(
        "where",
        "where(x > 0, log(x), 0) at 0",
        "0",
        "exactly 0, in all orders",
        ("grad(chosen)(0) == 0", "grad(grad(chosen))(0) == 0"),
    ),
)

# What the claims use beside the functions of the language.
CLAIMS_NEED = """
def chosen(x) = where(x > 0, log(x), 0)
def refused():
    fails domain: inv([[1, 2], [2, 4]])
    fails domain: solve([[1, 2], [2, 4]], [1, 1])
    return 1
def eigenvalues(x) = sum(eigh(x)[0])
def eigenvectors(x) = sum(eigh(x)[1])
"""

DOMAINS = (
    Domain("log log2 log10", "x > 0", "log(1e-300)", "log(-1e-300)"),
    Domain("log1p", "x > -1", "log1p(-0.999)", "log1p(-1.001)"),
    Domain("sqrt", "x >= 0", "sqrt(0)", "sqrt(-1e-300)"),
    Domain("rsqrt", "x > 0", "rsqrt(1e-300)", "rsqrt(-1e-300)"),
    Domain("asin acos", "from -1 to 1", "asin(-1) + acos(1)", "asin(1.001)"),
    Domain("acosh", "x >= 1", "acosh(1)", "acosh(0.999)"),
    Domain("atanh", "between -1 and 1", "atanh(0.999)", "atanh(1.001)"),
    Domain("erfinv", "between -1 and 1", "erfinv(0.999)", "erfinv(1.001)"),
    Domain("reciprocal", "x not 0", "reciprocal(1e-300)", "reciprocal(0)"),
    Domain("div floor_divide remainder fmod", "y not 0", "1/1e-300", "1 % 0"),
    Domain("pow", "x > 0; x = 0 with y >= 0; x < 0 with a whole y", "0**0 + (-2)**3", "(-2)**0.5"),
    Domain("xlogy", "y > 0; y = 0 where x = 0", "xlogy(0, 0)", "xlogy(1, -1)"),
    Domain("gamma lgamma digamma", "all but 0, -1, -2, …", "gamma(-0.5)", "gamma(0)"),
    Domain("beta lbeta", "x > 0 and y > 0", "beta(0.1, 3)", "beta(0, 3)"),
    Domain("binary_cross_entropy", "x from 0 to 1", "binary_cross_entropy(0.1, 1)", "binary_cross_entropy(-0.1, 1)"),
    Domain("det slogdet", "square matrices", "det([[1, 2], [3, 4]])", "det([[1, 2]])"),
    Domain("inv solve", "square matrices that are not singular", "inv([[2]])[0, 0]", "inv([[1, 2], [2, 4]])"),
    Domain("cholesky", "symmetric positive definite matrices", "cholesky([[4]])[0, 0]", "cholesky([[1, 2], [2, 1]])"),
    Domain("eigh", "symmetric matrices", "eigh([[4]])[0][0]", "eigh([[1, 2]])"),
    Domain(
        "matrix_power",
        "square matrices; not singular for n < 0",
        "matrix_power([[2]], -1)[0, 0]",
        "matrix_power([[0]], -1)",
    ),
)
