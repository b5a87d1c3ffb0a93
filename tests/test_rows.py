"""One place for an operation: what is known about one stands in its row, and everything else is derived from it."""

import ast
from pathlib import Path

import numpy as np
import pytest
from compiled import listing
from reference import functions_page as markdown
from rows import each

import agrad.engine as ag
from agrad.engine.autodiff.gradcheck import check
from agrad.engine.compile.llvm import target
from agrad.engine.core.dispatch import row
from agrad.engine.core.op import FUNCTIONS, OPS, Identity, Kink, Operator
from agrad.engine.program.ir import optimised
from agrad.engine.program.trace import trace
from agrad.grammar.commands import COMMANDS
from agrad.grammar.help.completion import completions
from agrad.grammar.help.help import functions, help_on
from agrad.grammar.session.session import Session

ROOT = Path(__file__).parents[1]


@pytest.fixture
def joint():
    """A new operation, x + y + x*y, which nothing but its row says anything about."""
    yield row(
        "joint",
        "x, y",
        family="elementary",
        scalar=lambda x, y: x + y + x * y,
        array=lambda x, y: np.asarray(x) + y + np.asarray(x) * y,  # np.asarray takes no symbols
        rules={"x": ("y", lambda g, out, x, y: g * (1.0 + y)), "y": ("x", lambda g, out, x, y: g * (1.0 + x))},
        operator=Operator("<+>", 1, "joint"),
        commutes=True,
        identities=(Identity("x", 0.0), Identity("y", 0.0), Identity("y", -2.0, "cancelled")),
        python="{0} + {1} + {0}*{1}",
        lower=lambda x, y: x + y + x * y,
        kinks=(Kink("joint at infinity", "inf", "inf"),),
        domain="all but opposite infinities",
        doc="The sum of x, y and x*y.",
        derivative="by x: 1 + y; by y: 1 + x",
        example="joint(1, 2) == 5",
    )
    del OPS["joint"], FUNCTIONS["joint"]


@pytest.fixture
def cancelled():
    """What joint(x, -2) is."""
    yield row("cancelled", "x", family="internal", scalar=lambda x: -x - 2.0, array=lambda x: -x - 2.0, doc="-x - 2.")
    del OPS["cancelled"]


def test_it_computes_and_has_a_gradient(joint):
    assert joint(1.0, 2.0) == 5.0
    assert joint([1.0, 2.0], 3.0).tolist() == [7.0, 11.0]
    assert check(lambda x, y: ag.sum(joint(x, y)), 1.5, [1.0, -2.0]).ok
    x = ag.tensor(1.0, requires_grad=True)
    y = joint(x, 2.0)
    y.backward(retain_graph=True)
    assert x.grad.item() == 3.0
    x.data = ag.tensor(4.0)
    ag.forward(y)
    assert y.item() == 14.0


def test_passes_know_it(joint, cancelled):
    shared = optimised(trace(lambda x, y: joint(x, y) * joint(y, x), (2.0, 3.0)))
    assert [step.op.name for step in shared.steps] == ["joint", "mul"]
    assert optimised(trace(lambda x: joint(joint(x, 0.0), 0.0), (2.0,))).steps == ()
    assert [step.op.name for step in optimised(trace(lambda x: joint(x, -2.0), (2.0,))).steps] == ["cancelled"]
    assert [step.op.name for step in optimised(trace(lambda x: joint(x, -0.0), (2.0,))).steps] == ["joint"]


def test_listings_write_it(joint):
    program = trace(lambda x, y: joint(joint(x, y), x * y) * joint(x, joint(x, y)), (2.0, 3.0), ("x", "y"))
    assert "# (x <+> y <+> x*y)*(x <+> (x <+> y))" in listing(program)


@each("backend", ["python", "llvm"])
def test_backends_write_it(joint, backend):
    if backend == "llvm" and target.binding() is None:
        pytest.skip("llvmlite is not installed")
    compiled = ag.compile(lambda x, y: joint(x, y) * x, 2.0, 3.0, backend=backend)
    assert compiled.value_and_grad(2.0, 3.0) == (22.0, (19.0, 6.0))
    assert "no machine code" not in compiled.source()
    assert {"python": "x + y + x*y", "llvm": "fmul"}[backend] in compiled.source()
    if backend == "llvm":
        OPS["joint"].lower = None
        compiled = ag.compile(joint, 2.0, 3.0, backend="llvm")
        assert "no machine code: joint has no machine code" in compiled.source()
        assert compiled.value_and_grad(2.0, 3.0) == (11.0, (4.0, 3.0))


def test_the_language_and_its_help_know_it(joint):
    session = Session()
    session.run("var x = 1\ny = joint(x, 2)\nbackward y\nassert y == 5 and x.grad == 3 and joint(1, 2) == 5")
    text = help_on("joint", COMMANDS)
    said = "The sum of x, y and x*y.", "domain: all but opposite infinities", "kink: joint at infinity: value inf"
    assert [one for one in said if one not in text] == []
    assert "joint(x, y)" in functions() and "joint at infinity" in markdown()
    assert "joint" in [candidate.text for candidate in completions("y = join", session)[1]]


# Nothing elsewhere

# Translations of the names that NumPy, PyTorch and the C library have for operations: facts about these.
TRANSLATIONS = {
    "engine/compile/export/languages.py",
    "engine/compile/export/formulas.py",  # LaTeX's
    "engine/compile/export/source.py",  # the signs of arithmetic
    "engine/compile/symbols.py",
    "engine/data/tables.py",  # numbers about columns that are read piece by piece
    "engine/interop/numpy_functions.py",
    "engine/nn/init.py",  # PyTorch's gains
    "engine/numpy/arrays.py",  # NumPy's names
    *(f"engine/torch/{name}.py" for name in ("grad_fn", "registry")),  # PyTorch's
    "engine/numpy/functions.py",
    "engine/units/infer.py",  # the words of errors, and what keeps the zero of °C
    "engine/torch/grad_fn.py",
    "engine/torch/functions.py",  # PyTorch's names of operations and of their derivatives
    "engine/torch/modules.py",
    "engine/torch/tensor.py",
    "grammar/elsewhere.py",  # other names of functions
    "grammar/runtime/python_builtins.py",  # Python's operators and methods
    "grammar/run/python.py",
}
MODULES = [path for floor in ("engine", "grammar", "cli") for path in sorted((ROOT / floor).rglob("*.py"))]
OUTSIDE = [path for path in MODULES if not path.is_relative_to(ROOT / "engine" / "ops")]


def asks_for_a_name(node):
    """Whether code compares the name of an operation: `op.name == "mul"`, `step.op.name in (…)`."""
    sides = [node.left, *node.comparators] if isinstance(node, ast.Compare) else []
    owners = [side.value for side in sides if isinstance(side, ast.Attribute) and side.attr == "name"]
    return any(getattr(owner, "attr", getattr(owner, "id", "")) == "op" for owner in owners)


def names_operations(node):
    """The operations that a table names."""
    if isinstance(node, ast.Dict):
        entries = [*node.keys, *node.values]
    else:
        entries = node.elts if isinstance(node, ast.Set | ast.List | ast.Tuple) else []
    texts = [entry.value for entry in entries if isinstance(entry, ast.Constant) and isinstance(entry.value, str)]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "split":
        texts = node.func.value.value.split() if isinstance(node.func.value, ast.Constant) else []
    return {text for text in texts if text in OPS}


def facts_elsewhere(code):
    tree = ast.parse(code)
    yield from (node.lineno for node in ast.walk(tree) if asks_for_a_name(node))
    yield from (node.lineno for node in ast.walk(tree) if len(names_operations(node)) > 2)


@each("path", OUTSIDE)
def test_no_table_of_operations_stands_elsewhere(path):
    if str(path.relative_to(ROOT)) not in TRANSLATIONS:
        assert list(facts_elsewhere(path.read_text("utf-8"))) == []


@each("code", [
    'if step.op.name == "mul": pass',
    "if op.name in known: pass",
    '_COMMUTES = ("add", "mul", "equal")',
    '_SOURCE = {"add": "{0} + {1}", "sub": "{0} - {1}", "mul": "{0}*{1}"}',
    '_PLAIN = "reshape permute swap".split()',
])  # fmt: skip
def test_a_table_elsewhere_would_be_seen(code):
    assert list(facts_elsewhere(code)) != []
