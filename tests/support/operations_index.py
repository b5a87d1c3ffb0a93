"""Writes engine/ops/index.txt: which module makes which row. `make table` runs it; with --check it shows what is wrong.

The argument is the folder that has `engine`; that of the project by default.
"""

from __future__ import annotations

import difflib
import re
import sys
import textwrap
from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(next((word for word in sys.argv[1:] if word[0] != "-"), Path(__file__).parents[2]))
INDEX = ROOT / "engine/ops/index.txt"
HEAD = """\
# Which module makes which row of the tables of operations; the operators; the names of operands: made by `make table`.
# `-name` is an operation for rules only, and no function; `+name` a function, and no operation. `name.` is also a method.

"""
ROWS: dict[str, list[str]] = {}  # by module, what it makes, in order
BEFORE = re.findall(r"^([a-z_.]+): ", INDEX.read_text("utf-8"), re.MULTILINE)  # its modules
SEEN: dict[int, object] = {}  # rows
RUN = SourceFileLoader.exec_module


def run(loader: SourceFileLoader, module: ModuleType) -> None:
    """Run a module, and see which rows it makes: those that none of its imports have made."""
    RUN(loader, module)
    if module.__name__ == "agrad.engine.text":
        module.beside = partial(beside, module.beside)
    if module.__name__ == "agrad.lazy":
        module.Rows.__missing__ = missing
    core = sys.modules.get("agrad.engine.core.op")
    if not module.__name__.startswith("agrad.engine.") or not hasattr(core, "FUNCTIONS"):
        return
    functions, ops = core.FUNCTIONS, core.OPS
    made = [name for name in in_order(list(functions), list(ops)) if is_new(functions, name) or is_new(ops, name)]
    if made:
        ROWS[module.__name__.removeprefix("agrad.engine.")] = [word(name, functions, ops) for name in made]
    SEEN.update((id(row), row) for table in (functions, ops) for row in table.values())


def beside(read: Callable[..., str], path: str, name: str) -> str:
    """A text beside a module; that of the index without its rows, so that what it says now does not matter."""
    head, _, *rest = (text := read(path, name)).split("\n\n")
    return "\n\n".join([head, "", *rest]) if name == INDEX.name else text


def missing(table: Any, name: str) -> Any:
    """A row that is asked for while its module is not known yet."""
    for module in makers(rf'"{name}"|\bdef {name}\('):
        import_module(module)
        if name in table:
            return table[name]
    raise KeyError(name)


def in_order(functions: list[str], ops: list[str]) -> list[str]:
    """The names of both tables, in the order of both."""
    found: dict[str, None] = {}
    for name in functions:
        if name in ops:
            found |= dict.fromkeys(ops[: ops.index(name)])
        found[name] = None
    return list(found | dict.fromkeys(ops))


def is_new(table: Any, name: str) -> bool:
    return name in table and id(table[name]) not in SEEN


def word(name: str, functions: Any, ops: Any) -> str:
    if name not in functions:
        return f"-{name}"
    entry = functions[name]
    is_method = entry.signature.operands[:1] == ("x",) and entry.family not in ("creation", "comparison")
    return f"{'' if is_new(ops, name) else '+'}{name}{'.' if is_method else ''}"


def makers(having: str = "") -> list[str]:
    """The modules that may make rows, and have a text; not those of torch and NumPy, which stand over the tables."""
    found = sorted(file for file in (ROOT / "engine").rglob("*.py") if file.parent.name not in ("torch", "numpy"))
    texts = {file: file.read_text("utf-8") for file in found}
    files = [file for file, text in texts.items() if re.search(r"\b(composed|row)\b", text) and re.search(having, text)]
    names = [".".join(("agrad", *file.relative_to(ROOT).with_suffix("").parts)) for file in files]
    return [name for name in names if not name.startswith("agrad.engine.torch.")]  # it has another name, and no rows


def written() -> str:
    """The text of the index, with the modules in the order that they had, and new ones last."""
    places = {name: place for place, name in enumerate(BEFORE)}
    text = HEAD
    for module in sorted(ROWS, key=lambda name: places.get(name, len(places))):
        line = f"{module}: {' '.join(ROWS[module])}"
        text += textwrap.fill(line, 120, subsequent_indent="    ", break_on_hyphens=False) + "\n"
    ops = sys.modules["agrad.engine.core.op"].OPS
    operators = [(name, op.operator) for name, op in ops.items() if op.operator is not None]
    signs = [f"{name} {x.sign} {x.precedence} {x.method}{' right' * x.is_right}" for name, x in operators]
    operands = sorted({name for op in ops.values() for name in op.signature.operands})
    return f"{text}\n{textwrap.fill(', '.join(signs), 120)}\n\n{' '.join(operands)}\n"


def main() -> int:
    SourceFileLoader.exec_module = run  # type: ignore[method-assign,assignment]
    for name in makers():
        import_module(name)
    made, there = written(), INDEX.read_text("utf-8")
    if "--check" not in sys.argv:
        INDEX.write_text(made, "utf-8")
        return 0
    sys.stdout.write("\n".join(difflib.unified_diff(there.splitlines(), made.splitlines(), lineterm="")))
    return int(made != there)


if __name__ == "__main__":
    sys.exit(main())
