"""The table of operations is complete: every function of the language is there, with all that help and tests read."""

import math
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
from rows import each
from samples import TABLE, samples_of, scipy_or_skipped

import agrad.engine as ag
from agrad.engine.core.op import OPS, Op

LANGUAGE = dict(line.split(": ") for line in Path(__file__).with_name("families.txt").read_text("utf-8").splitlines())
NEEDS_FILE = {"load_csv", "load_npy"}
NEEDS_GRAPH = {"custom", "depends", "scanned", "solved", "stop"}
FAMILIES = {*LANGUAGE, "arithmetic", "comparison"}
NAMES = sorted({name for names in LANGUAGE.values() for name in names.split()} | (set(OPS) & set(ag.FUNCTIONS)))
ids = {"ids": lambda entry: entry.name}


@each("name", sorted({name for names in LANGUAGE.values() for name in names.split()}))
def test_every_function_of_the_language_is_there(name):
    assert callable(getattr(ag, name))


@each("op", list(OPS.values()))
def test_every_row_has_its_words_and_samples(op):
    assert op.doc.endswith(".")
    assert op.derivative or op.family == "internal"
    assert samples_of(op) or op.name in NEEDS_GRAPH
    assert op.family in {*FAMILIES, "internal"}


def test_samples_are_of_what_is_there():
    assert {name.removesuffix(".row") for name in TABLE} <= {*OPS, *ag.FUNCTIONS}


def test_without_docstrings_all_is_there_with_the_words():
    code = "from agrad.engine.core.op import FUNCTIONS, OPS; import agrad.engine.ops; rows = (*OPS.items(), *FUNCTIONS.items()); "
    code += "print([(name, e.signature.text, e.total, e.pure, e.kinks != (), not e.domain) for name, e in rows]); "
    code += (
        "print([(name, FUNCTIONS[name].family, FUNCTIONS[name].doc, FUNCTIONS[name].example) for name in FUNCTIONS]); "
    )
    code += "from agrad.grammar.commands import COMMANDS; print([(name, COMMANDS[name].help) for name in COMMANDS])"
    whole, bare = (
        subprocess.check_output([sys.executable, *way, "-c", code], text=True) for way in ((), ("-OO", "-B"))
    )
    assert whole == bare


@each("op", list(OPS.values()))
def test_a_rule_reads_only_what_it_says(op):
    known = {*op.signature.operands, "out", ""}
    assert {word for reads in op.reads for word in reads.split(" ")} <= known


@each("entry", [ag.FUNCTIONS[name] for name in NAMES])
def test_every_function_has_its_words_and_an_example(entry):
    assert entry.doc.endswith(".")
    assert entry.example or entry.name in NEEDS_FILE


def scope():
    functions = {name: entry.call for name, entry in ag.FUNCTIONS.items()}
    return functions | {"pi": math.pi, "e": math.e, "inf": math.inf, "nan": math.nan}


def as_python(example):
    """The language's ~= as a call; the rest of the examples is Python, but for lists as operands."""
    left, near, right = example.partition(" ~= ")
    return f"near({left}, {right})" if near else example


def near(a, b):
    return np.allclose(np.asarray(a), np.asarray(b), rtol=1e-9, atol=0)


def holds(example):
    left, equals, right = as_python(example).rpartition(" == ")
    if not equals or "(" in right or " and " in left or " is " in right:
        value = eval(as_python(example), scope() | {"near": near})
        return bool(np.all(np.asarray(value)))
    left = left.replace("[[1, 2], [3, 4]] @", "tensor([[1, 2], [3, 4]]) @")
    names = scope()
    a, b = eval(left, names), eval(right, names)
    return bool(np.all(np.asarray(a) == np.asarray(b)))


@each("entry", [ag.FUNCTIONS[name] for name in NAMES if ag.FUNCTIONS[name].example])
def test_every_example_holds(entry):
    with scipy_or_skipped():
        assert holds(entry.example)


@each("name", sorted(name for names in LANGUAGE.values() for name in names.split()))
def test_a_function_of_one_value_is_also_a_method(name):
    entry = ag.FUNCTIONS[name]
    if entry.signature.operands[:1] == ("x",) and entry.family not in ("creation",):
        assert callable(getattr(ag.tensor(1.0), name))


@each("op", [op for op in OPS.values() if samples_of(op)])
def test_tensors_and_plain_values_agree_and_nothing_is_shared(op):
    for sample in samples_of(op):
        operands, attrs = (sample[:-1], sample[-1]) if isinstance(sample[-1], dict) else (sample, {})
        plain = [x if isinstance(x, float) else np.array(x, dtype=float) for x in operands]
        leaves = [ag.tensor(x, requires_grad=True) for x in operands]
        with scipy_or_skipped():
            one, two = (op.call(xs, **attrs) if op.variadic else op.call(*xs, **attrs) for xs in (plain, leaves))
        np.testing.assert_array_equal(one, two.value)
        assert type(one) is float or one.dtype == np.float64
        assert isinstance(two, ag.Tensor)
        assert two.requires_grad == op.differentiable
        for x in leaves:
            assert not np.shares_memory(np.asarray(x.value), np.asarray(two.value))


STUBS = re.findall(
    r"^def (\w+)\(.*\) -> (.*):$", Path(ag.__file__).with_name("functions.pyi").read_text("utf-8"), re.MULTILINE
)


@each("name, told", [(name, told) for name, told in STUBS if told != "Any" and samples_of(ag.FUNCTIONS[name])])
def test_the_stubs_say_which_functions_give_several_results(name, told):
    entry, (*operands, last) = ag.FUNCTIONS[name], samples_of(ag.FUNCTIONS[name])[0]
    attrs, operands = (last, operands) if isinstance(last, dict) else ({}, [*operands, last])
    xs = [x if isinstance(x, str) else ag.tensor(x) for x in operands]
    with scipy_or_skipped():
        found = entry.call(xs, **attrs) if entry.signature.variadic else entry.call(*xs, **attrs)
    assert isinstance(found, tuple) == (told == "tuple[Tensor, ...]")


SCALARS_ONLY = Path(__file__).with_name("scalars_only.txt").read_text()
MAKE_ARRAYS = "expand reshape flatten polar"
NEED_SCIPY = "bessel_iv bessel_jv bessel_kv bessel_yv betainc_slope betainc digamma_derivative digamma_difference entr erfcinv gamma_slope gammainc gammaincc log_ndtr logit ndtri normal_hazard hazard_derivative hazard_slope y0 y1"
NEED_SCIPY += " bessel_ive bessel_kve rgamma reciprocal_gamma_derivative multigammaln"
NEED_SCIPY += " erfinv digamma comb perm beta beta_slope beta_mixed lbeta bessel_j bessel_i j0 j1 i0 i1 gamma lgamma"


def test_a_calculation_on_scalars_does_not_load_numpy():
    found = {
        entry.name + ".row" * isinstance(entry, Op): [
            one for one in samples_of(entry) if {*map(type, one)} <= {float, dict}
        ]
        for entry in (*OPS.values(), *ag.FUNCTIONS.values())
    }
    code = SCALARS_ONLY.replace("{}", f"{MAKE_ARRAYS} {NEED_SCIPY}").replace("SAMPLES", repr(found))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr == ""
