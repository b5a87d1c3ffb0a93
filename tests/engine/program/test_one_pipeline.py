"""Rules are applied, and ways of computing chosen, in one place each: what docs/architecture.md draws."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]

# What reads the rules of an operation. The passes apply them; the others ask whether there is one, or show one step.
READ_RULES = {
    "engine/autodiff/forward_mode.py",
    "engine/autodiff/reverse.py",
    "engine/compile/hessian.py",  # whether there is one
    "engine/core/dispatch.py",  # whether there is one
    "engine/core/graph.py",  # whether an operation is one of numbers
    "engine/core/op.py",  # where they are
    "engine/inspect/backward_trace.py",  # shows one step
    "engine/inspect/explain.py",  # whether there is one
}
# What compares costs, and so decides to compile, and how.
CHOOSE = {
    "engine/compile/hessian.py",  # by entries, or by products
    "engine/compile/llvm/repeated.py",  # the body of a loop: loops, or Python
    "engine/compile/function.py",  # numbers, loops, or Python, as `lowered` finds
    "engine/compile/specializations.py",  # when a function is compiled
    "grammar/loops/compiled_run.py",  # when the loop of a script is
}


def modules_with(pattern):
    found = set()
    for floor in ("engine", "grammar", "cli"):
        for path in (ROOT / floor).rglob("*.py"):
            if re.search(pattern, path.read_text("utf-8")):
                found.add(path.relative_to(ROOT).as_posix())
    return found


def test_the_rules_of_operations_are_applied_by_the_two_passes_alone():
    assert modules_with(r"\bop\.rules?\b|rules_of_scalars") == READ_RULES


def test_costs_are_compared_in_a_few_places():
    assert modules_with(r"from agrad\.engine\.compile(\.cost import| import cost)") == CHOOSE
