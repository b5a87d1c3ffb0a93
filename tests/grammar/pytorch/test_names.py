"""The table of names that PyTorch, NumPy and Python have, beside what is installed."""

import warnings
from pathlib import Path

import pytest
from rows import each

from agrad.engine.core.op import FUNCTIONS
from agrad.grammar.pytorch import CONSTANTS, names

ROOT = Path(__file__).parents[3]
USUAL = {"np": "numpy"}


TABLE = names.table()
# Releases of NumPy and PyTorch differ in these.
OF_SOME_RELEASES = {"long", "bool", "concat", "pow", "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh"} | {
    "cross", "diagonal", "matmul", "outer", "trace",
}  # fmt: skip


@each("prefix", TABLE)
def test_the_names_are_those_of_the_library(prefix):
    head, _, rest = prefix.partition(".")
    module = pytest.importorskip(USUAL.get(head, head))
    for part in rest.split(".") if rest else ():
        module = getattr(module, part)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        missing = {name for name in TABLE[prefix] if not hasattr(module, name)}
    assert missing <= OF_SOME_RELEASES


@each("prefix", TABLE)
def test_each_name_of_the_table_is_read_and_is_what_it_says(prefix):
    for name, here in TABLE[prefix].items():
        found = names.function(prefix, name) or names.constant(prefix, name)
        assert found is not None, name
        if here in FUNCTIONS and "(" not in here:
            assert found in (FUNCTIONS[here].call, names.constant(prefix, name)), name
        else:
            assert here in CONSTANTS or here == "float64" or callable(found), name
