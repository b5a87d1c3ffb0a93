"""How large the project is, in the figures that tests/test_budget.py limits: `python tests/support/size.py` prints them.

A line of code is one that is not blank, not a comment and not in a docstring.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
FLOORS = ("engine", "grammar", "cli")
OP, PLAIN = "engine/core/op.py", "computed()"  # where `Op` is; what the value of a field that is no fact begins with
EVAL = ["eval", "a**2*2", "a=3", "--wrt", "a"]
GENERATED = re.compile(r"[Mm]ade by `make docs`|`make docs` generates")


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """A module or statement, and all statements inside, but no expressions."""
    yield node
    for field in ("body", "orelse", "finalbody", "handlers", "cases"):
        inner = getattr(node, field, [])
        for one in inner if isinstance(inner, list) else []:
            yield from _statements(one)


def code_lines(text: str) -> int:
    """The lines of code of a module."""
    documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    docs: set[int] = set()
    for node in _statements(ast.parse(text)):
        if isinstance(node, documented) and ast.get_docstring(node, clean=False) is not None:
            docs.update(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    lines = enumerate(map(str.strip, text.splitlines()), 1)
    return sum(number not in docs and line != "" and line[0] != "#" for number, line in lines)


def files(*folders: str) -> dict[str, str]:
    """The texts of the modules in some folders, by their paths; without programs that tests run, as they were found."""
    every = (path for folder in folders for path in sorted((ROOT / folder).rglob("*.py")))
    found = (path for path in every if path.parent.name not in ("tutorials", "numpy_programs"))
    return {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in found}


def lines_by_folder() -> dict[str, int]:
    """Lines of code of each folder of a floor, of the files at its top, and of all three floors together."""
    found: dict[str, int] = {}
    for path, text in files(*FLOORS).items():
        parts = path.split("/")
        count = code_lines(text)
        for place in ("/".join(parts[: 2 if len(parts) > 2 else 1]), "cli, grammar and engine"):
            found[place] = found.get(place, 0) + count
    return found


def local_imports() -> int:
    """The imports inside functions."""

    found = 0
    for text in files(*FLOORS).values():
        inside: set[ast.AST] = set()
        for node in _statements(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                inside.update(one for one in _statements(node) if isinstance(one, ast.Import | ast.ImportFrom))
        found += len(inside)
    return found


def facts_of_operations() -> int:
    """The fields of `Op` that an operation need not state."""
    (op,) = (one for one in ast.parse((ROOT / OP).read_text("utf-8")).body if getattr(one, "name", "") == "Op")
    stated = [one.value for one in op.body if isinstance(one, ast.AnnAssign) and one.value is not None]
    return sum(ast.unparse(value) != PLAIN for value in stated)


def modules_for_an_answer() -> int:
    """The modules of agrad that `agrad eval` loads for one gradient, in a process of its own."""
    code = f"""
import os, sys
end = os._exit
os._exit = lambda code: (print(*sys.modules, file=sys.stderr, flush=True), end(code))
sys.argv = ["agrad", "--no-init", *{EVAL!r}]
from agrad.cli.__main__ import process
process()
"""
    command = [sys.executable, "-c", code]
    told = subprocess.run(command, capture_output=True, text=True, cwd=ROOT / "tests", check=True).stderr
    return sum(name.partition(".")[0] == "agrad" for name in told.split())


def typing_circles() -> int:
    """The modules that are in a circle of imports, if those for types count too."""
    from test_rooms import arrows

    graph = arrows("top", "function", "typing")
    return sum(name in _behind(name, graph) for name in graph)


def _behind(name: str, graph: dict[str, set[str]]) -> set[str]:
    """All modules that a module imports, and that these import."""
    found: set[str] = set()
    new = graph[name] - {name}
    while new:
        found |= new
        new = {other for one in new for other in graph[one] - {one}} - found
    return found


def words_by_hand() -> int:
    """The words of the documents that no program writes, without the list of changes."""
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *(ROOT / "docs").glob("*.md")]
    texts = (path.read_text("utf-8") for path in pages)
    return sum(len(text.split()) for text in texts if not GENERATED.search(text[:600]))


def figures() -> dict[str, int]:
    """All figures, by what they count."""
    return {
        **{f"lines of {place}": count for place, count in sorted(lines_by_folder().items())},
        "lines of tests": sum(map(code_lines, files("tests").values())),
        "files of Python": len(files(*FLOORS)),
        "imports inside functions": local_imports(),
        "modules in circles, with those of types": typing_circles(),
        "modules for an answer": modules_for_an_answer(),
        "facts of operations": facts_of_operations(),
        "words by hand": words_by_hand(),
        "words of CHANGELOG.md": len((ROOT / "CHANGELOG.md").read_text("utf-8").split()),
    }


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT / "tests"))
    sys.stdout.write("".join(f"{name}: {count:_}\n" for name, count in figures().items()))
