"""Random statements: each gives results or an AgradError, and one that fails has changed nothing."""

import warnings
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from session_state import deep

from agrad.engine.core.op import FUNCTIONS, REQUIRED
from agrad.engine.errors import AgradError
from agrad.grammar.elsewhere import RENAMED
from agrad.grammar.results import Quit
from agrad.grammar.runtime.attributes import ATTRIBUTES, METHODS, NODE_ATTRIBUTES
from agrad.grammar.session.session import Session

START = Path(__file__).with_name("random_statements.ag").read_text()

FILES = {"load_csv", "load_npy"}
NAMES = ["x", "s", "W", "k", "n", "E", "m", "p", "y", "z", "f", "g", "x.grad", "y.grad_fn", "sin", "nothing"]
NUMBERS = ["0", "1", "2", "3", "-1", "0.5", "-2", "1e300", "1e30", "inf", "nan", "100"]
OTHERS = ["None", "()", "[]", "(1, 2)", "[1, 2]", "[[1, 0], [0, 2]]", "range(3)", '"a"', '"sum"', '"ij,j->i"', "W.T"]
OPERATORS = ["+", "-", "*", "/", "//", "%", "**", "@", "==", "!=", "<", "<=", "and", "or", "~=", "if 1 else"]
KEYWORDS = ["axis", "dim", "keepdims", "ord", "n", "k", "shape", "reduction", "num", "create_graph", "gradient", "foo"]
METHOD_NAMES = sorted({*METHODS, *FUNCTIONS, *RENAMED})
ATTRIBUTE_NAMES = sorted({*ATTRIBUTES, *NODE_ATTRIBUTES, "mT"})
CALLED = sorted((FUNCTIONS.keys() - FILES) | {"f", "g", "torch.max", "torch.std", "torch.autograd.grad", "torch.cat"})
STEPS = ["+=", "-=", "*=", "/=", "**=", "@=", "//=", "%="]


def listed(part, most=3):
    return st.lists(part, max_size=most).map(", ".join)


def joined(*parts):
    return st.tuples(*(st.just(part) if isinstance(part, str) else part for part in parts)).map("".join)


OPERANDS = st.sampled_from(["x", "s", "W", "k", "m", "E", "z", "y", "2", "-0.5", "[[2, 1], [1, 3]]", "x[0]", "x > 1"])
VALUES = st.sampled_from(
    ["0", "1", "-1", "2", "3", "0.5", "(0, 1)", "(1, 0)", "()", "None", '"sum"', "inf", "1e30", "[0]", "x"]
)


def fitting(name):
    """Calls of a function with as many operands as it takes."""
    signature = FUNCTIONS[name].signature
    operands = ["[", OPERANDS, ", ", OPERANDS, "]"] if signature.variadic else []
    for _ in () if signature.variadic else signature.operands:
        operands += [OPERANDS, ", "]
    attributes = [
        st.one_of(st.just(""), joined(f", {attribute}=", VALUES)) if default is not REQUIRED else joined(", ", VALUES)
        for attribute, default in signature.attributes.items()
    ]
    return joined(name, "(", joined("", *operands, *attributes).map(_tidied), ")")


def _tidied(arguments):
    return ", ".join(part for part in arguments.split(", ") if part)


FITTING = st.one_of(*(fitting(name) for name in sorted(FUNCTIONS.keys() - FILES)))
ATOMS = st.one_of(*map(st.sampled_from, (NAMES, NAMES, NUMBERS, OTHERS)))


def _deeper(inner):
    argument = st.one_of(inner, inner, inner, joined(st.sampled_from(KEYWORDS), "=", inner))
    ends = st.sampled_from(["", ":", "::", "...", "None, ", ":, "])
    index = st.one_of(inner, joined(inner, ":", inner), joined(ends, inner), joined(inner, ", ", inner), st.just(":"))
    return st.one_of(
        joined(st.sampled_from(CALLED), "(", listed(argument), ")"),
        FITTING,
        joined(inner, ".", st.sampled_from(METHOD_NAMES), "(", listed(argument), ")"),
        joined(inner, ".", st.sampled_from(ATTRIBUTE_NAMES)),
        joined(inner, "[", index, "]"),
        joined("(", inner, " ", st.sampled_from(OPERATORS), " ", inner, ")"),
        joined("[", listed(inner), "]"),
        joined("(", inner, ", ", inner, ")"),
        joined(st.sampled_from(["-", "not "]), inner),
        joined('f"{', st.sampled_from(NAMES), st.sampled_from([":.2f", ":d", ":>9", ":c", ":e", "="]), '}"'),
    )


DERIVED = st.one_of(
    joined("backward sum(", FITTING, st.sampled_from([") retain", ") create_graph", ")"])),
    joined("grad(sum(", FITTING, "), x)"),
    joined("hessian(sum(", FITTING, "), [x, s])"),
    joined("jacobian(", FITTING, ", x)"),
    joined("jvp(", FITTING, ", x, x)"),
    joined("check sum(", FITTING, ")"),
)
EXPRESSIONS = st.recursive(ATOMS, _deeper, max_leaves=5)
PLACES = st.one_of(st.sampled_from(["x", "s", "k", "n", "W", "m", "y", "z", "E", "a, b", "x.data", "x.grad"]))
INDEXED = joined(st.sampled_from(["x", "k", "W", "z", "m", "E"]), "[", EXPRESSIONS, "]")
TARGETS = st.one_of(PLACES, INDEXED)
SIMPLE = st.one_of(
    EXPRESSIONS,
    joined(TARGETS, " = ", EXPRESSIONS),
    joined(TARGETS, " ", st.sampled_from(STEPS), " ", EXPRESSIONS),
    joined("var ", st.sampled_from(["x", "s", "q"]), " = ", EXPRESSIONS),
    joined("backward ", EXPRESSIONS, st.sampled_from(["", " retain", " create_graph", " fresh"])),
    joined("backward ", EXPRESSIONS, " seed ", EXPRESSIONS),
    joined(st.sampled_from(["grad", "retain", "zero_grad", "graph"]), " ", st.sampled_from(NAMES)),
    joined("set ", st.sampled_from(NAMES), " = ", EXPRESSIONS),
    joined("step sgd x lr=", EXPRESSIONS),
    joined("check ", EXPRESSIONS),
    joined("assert ", EXPRESSIONS),
    joined("print ", EXPRESSIONS),
    joined("del ", st.sampled_from(["x", "k", "f", "sin"])),
    st.sampled_from(["vars", "zero_grad", "quit", "help backward", "pass"]),
)
STATEMENTS = st.one_of(
    SIMPLE,
    SIMPLE,
    FITTING,
    DERIVED,
    joined("no_grad: ", SIMPLE),
    joined("for i in range(2):\n    ", SIMPLE, "\n    ", SIMPLE),
    joined("for i in ", EXPRESSIONS, ":\n    ", SIMPLE),
    joined("if ", EXPRESSIONS, ": ", SIMPLE),
    joined("def f(t): return ", EXPRESSIONS),
    joined("fails type: ", SIMPLE),
)


def run(statements):
    """Run statements one by one in a new session."""
    session = Session()
    session.run(START)
    session.run("manual_seed(1)")
    for statement in statements:
        before = deep(session)
        try:
            session.run(statement, lambda result: result.text(session.settings))
        except AgradError as error:
            assert deep(session) == before, statement
            assert str(error)
        except Quit:
            return


@pytest.mark.long
@settings(max_examples=400, suppress_health_check=list(HealthCheck))
@given(st.lists(STATEMENTS, min_size=1, max_size=3))
def test_random_statements_give_results_or_agrad_errors(statements):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(statements)
