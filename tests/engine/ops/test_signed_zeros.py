"""The sign of zero: each operation on numbers gives the same of a number, of arrays, and as compiled and exported."""

import itertools
import math
import shutil

import numpy as np
import pytest
from exports import NAMES, by_c, by_node, by_python
from native import program_of
from random_programs import on_numbers
from rows import each

import agrad.engine as ag
from agrad.engine.compile.llvm import backend, target
from agrad.engine.compile.python_backend import Compiled
from agrad.engine.core.op import FUNCTIONS, OPS
from agrad.engine.program.ir import optimised
from agrad.grammar.session.formulas import exported
from agrad.grammar.session.session import Session

ZEROS = (0.0, -0.0, 0.5, -0.5)
STEPS = (
    "erfinv(x)|trunc(x)|ceil(x)|floor(x)|round(x)|sign(x)|abs(x)|relu(x)|copysign(1.0, trunc(x))|atan2(ceil(x), -1.0)|heaviside(x, y)|"
    "reciprocal(floor(x))|maximum(x, y)|minimum(x, y)|clip(x, y, 0.5)|fmod(x, y)|floor_divide(x, y)|remainder(x, y)"
).split("|")


def same(found, expected):
    """Whether a number is another one, to rounding, with its sign: of 0 and of infinity, too."""
    if found != found or expected != expected or found == 0.0 or expected == 0.0:
        return repr(float(found)) == repr(float(expected))
    return found == expected or math.isclose(found, expected, rel_tol=1e-13)


@each(
    "name, given",
    [
        (name, given)
        for name, given in on_numbers()
        if "axis" not in OPS[name].signature.attributes and OPS[name].reach == "pointwise"
    ],
)
def test_the_sign_of_zero_of_numbers_arrays_and_compiled_code(name, given):
    op = OPS[name]
    count = len(op.signature.operands)
    attrs = op.signature.bind((0.5,) * count, given)[1]
    where = [*itertools.product(ZEROS, repeat=count)]
    columns = [np.array(column) for column in zip(*where, strict=True)]
    program = program_of([(name, range(count), attrs)], count)
    ways = {"python": Compiled(optimised(program)).call}
    if backend.supports(program) is None and target.binding() is not None:
        ways["llvm"] = (native := backend.Native(program)).call
        native.map(columns, [rows := np.full(len(where), 7.0)])
        ways["llvm rows"] = None
    long = op.call(*[np.tile(column, 9) for column in columns], **attrs)
    for place, operands in enumerate(where):
        number = op.call(*operands, **attrs)
        found = {way: call(*operands)[0] for way, call in ways.items() if call is not None}
        found["leaf"] = op.call(*[ag.tensor(x, requires_grad=True) for x in operands], **attrs).item()
        if "llvm rows" in ways:
            found["llvm rows"] = rows[place]
        found["array"], found["end of an array"] = long[place], long[place - len(where)]
        by_numpy = getattr(np, name, None)
        if isinstance(by_numpy, np.ufunc) and name != "pow":  # (-0)**0.5 is 0 in IEEE 754
            with np.errstate(all="ignore"):
                found["numpy"] = by_numpy(*operands)
        for way, value in found.items():
            assert same(value, number), (way, operands, value, number)


@each("language, run, tool", [("py", by_python, "python3"), ("c", by_c, "cc"), ("js", by_node, "node")])
def test_the_sign_of_zero_in_exported_code(language, run, tool, tmp_path):
    if not shutil.which(tool):
        pytest.skip(f"{tool} is not installed")
    tried = [(text, [x, y, 2.0]) for text in STEPS for x in ZEROS for y in ZEROS]
    names = [f"f{number}" if language == "c" else "f" for number in range(len(tried))]
    texts = [exported(Session(), text, NAMES, 2, language, name) for (text, _), name in zip(tried, names, strict=True)]
    found = run(texts, [point for _, point in tried], *([] if language == "py" else [tmp_path]))
    functions = {name: entry.call for name, entry in FUNCTIONS.items()}
    for (text, point), (value, *_) in zip(tried, found, strict=True):
        expected = eval(text, functions | dict(zip(NAMES, point, strict=True)))
        assert same(value, expected), (text, point, value, expected)
