"""How many lines of code there are of uncertain values, budgets, fits, and other answers to questions, in all floors.

A line of code has a token that is neither a comment nor part of a docstring. Their own lines are those of some files, of
functions and classes of other files, and of rules of the grammar. Apart from these are counted the lines of other features
that name one of them, such as an import. `python tests/support/size.py` lists all.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
FILES = """
    cli/commands/fit.py
    cli/data/fit_work.py
    engine/autodiff/uncertainty.py
    engine/inspect/budget.py
    engine/ops/solvers/*.py
    grammar/commands/plot/fitted.py
    grammar/commands/solving.py
    grammar/commands/uncertainty.py
""".split()
PARTS = {
    "cli/data/request.py": "RowFormula._uncertainty RowFormula._spread",
    "engine/core/graph.py": "Uncertainty Node.uncertainty",
    "engine/values.py": "format_uncertain",
    "grammar/commands/plot/command.py": "_fit",
    "grammar/results.py": "Estimated uncertainty_of",
    "grammar/runtime/attributes.py": "_u",
    "grammar/runtime/compiler.py": "_unknowns",
    "grammar/runtime/machine.py": "note_second_order",
    "grammar/session/session.py": "_note_sign",
    "grammar/syntax/ast.py": "Unknowns",
    "grammar/syntax/ast_builder.py": "Builder.within Builder.fit Builder.solve Builder.difference Builder.minimize "
    "Builder.over",
    "grammar/syntax/expression_builder.py": "Expressions.plus_minus Expressions.measured",
}
# What adds up the sums of parts, for `--on dask`, is no part of them, nor is `cli/data/cluster`.
OTHERS = {"engine/ops/solvers/sums.py": "Sums.joined Tree joined"}
RULES = "budget budget_option correlate fit fit_option solve solve_option minimize minimize_option uncertain UNCERTAIN"  # of agrad.lark
NAMED = "names it"
NAMES = re.compile(
    r"uncertain|around = self|around\.isspace|second_order|\bestimated\b|\bis_budget|inspect\.budget|--budget|\bfitted\b|plus_minus|as_leaf"
    r"|session\.fit\b|\bUnknowns\b|_unknowns\b|ops\.solvers",
    re.IGNORECASE,
)


def code_lines(text: str) -> set[int]:
    """The numbers of the lines with code."""
    found: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.string.strip() and token.type != tokenize.COMMENT:
            found.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            found.difference_update(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    return found


def definitions(tree: ast.AST, above: str = "") -> Iterator[tuple[str, range]]:
    """The classes and functions, by their names, with their lines."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            first = min(one.lineno for one in (node, *node.decorator_list))
            yield above + node.name, range(first, node.end_lineno + 1)
            yield from definitions(node, f"{above}{node.name}.")


def counted() -> Iterator[tuple[str, str, int]]:
    """The files, the parts of each that belong to it, and how many lines of code they have."""
    whole = {path for pattern in FILES for path in ROOT.glob(pattern)}
    for path in sorted(path for floor in ("cli", "engine", "grammar") for path in (ROOT / floor).rglob("*.py")):
        text, name = path.read_text(encoding="utf-8"), str(path.relative_to(ROOT))
        if path not in whole and name not in PARTS and not NAMES.search(text):
            continue
        lines = code_lines(text)
        known = dict(definitions(ast.parse(text))) if name in PARTS or name in OTHERS else {}
        if path in whole:
            for part in OTHERS.get(name, "").split():
                lines -= set(known[part])
            yield name, "", len(lines)
            continue
        if name in PARTS:
            for part in PARTS[name].split():
                its = lines.intersection(known[part])
                lines -= its
                yield name, part, len(its)
        others = sum(bool(NAMES.search(line)) for number, line in enumerate(text.splitlines(), 1) if number in lines)
        if others:
            yield name, NAMED, others
    grammar = (ROOT / "grammar/agrad.lark").read_text(encoding="utf-8").splitlines()
    rules = [line for line in grammar if re.match(r"\??(\w+)(\.\d+)?:", line)]
    for rule in RULES.split():
        yield "grammar/agrad.lark", rule, sum(bool(re.match(rf"\??{rule}(\.\d+)?:", line)) for line in rules)


def sums() -> tuple[int, int]:
    """The sum of their own lines, and that of the lines of other features that name them."""
    rows = [*counted()]
    named = sum(count for _, part, count in rows if part == NAMED)
    return sum(count for _, _, count in rows) - named, named


if __name__ == "__main__":
    rows = [*counted(), *zip(("their own", "of others"), ("", NAMED), sums(), strict=True)]
    sys.stdout.write("".join(f"{count:5}  {file}  {part}\n" for file, part, count in rows))
