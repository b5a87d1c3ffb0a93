"""Makes the generated pages: python docs/make_pages.py"""

import inspect
import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import agrad.engine as ag
from agrad.cli.integrations import textmate
from agrad.cli.lesson import pages as lesson
from agrad.engine.autodiff.gradcheck import Report
from agrad.engine.compile.function import Compiled
from agrad.engine.core.op import FUNCTIONS, Op
from agrad.grammar.help import errors_doc, functions_doc, language_doc, pytorch_doc

ROOT = Path(__file__).parents[1]


def package_page() -> str:
    """README.md for a package index, where neither its links nor its pictures lead anywhere."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    text = re.sub(r"<picture>.*?</picture>\n\n", "", text, flags=re.DOTALL)
    return re.sub(r"\[([^\]]+)\]\((?!https?:)[^)]+\)", r"`\1`", text)


_API = """\
# The Python API

Made by `make docs` from the docstrings; [python.md](python.md) is an introduction with examples.

```python
import agrad.engine as ag
```

Every function of the language ([functions.md](functions.md#index)) is a function of the module, `ag.sin(x)`, and a
method of its first operand, `x.sin()`. On plain numbers and arrays it returns plain numbers and arrays.
"""
# What other modules of the engine use, and what is listed elsewhere.
_INTERNAL = {
    ag.Tensor: {
        "adopt",
        "array",
        "copy",
        "node",
        "read_only",
        "value",
        "version",
        "write",
        "write_entries",
        *FUNCTIONS,
    },
    Compiled: {"layout", "mapped", "remade"},
}


def api_page() -> str:
    """What `import agrad.engine as ag` gives, with docstrings: the functions, then the classes."""
    public = {name: getattr(ag, name) for name in sorted(ag.__all__)}
    functions = {name: found for name, found in public.items() if not inspect.isclass(found)}
    classes = {f"ag.{name}": found for name, found in public.items() if inspect.isclass(found)}
    classes |= {"The result of ag.compile": Compiled, "The result of ag.check": Report}
    lines = [_API, "## Functions\n"]
    for name, function in functions.items():
        lines.append(f"### ag.{functions_doc.escaped(name)}\n\n```text\nag.{name}{_signature(function)}\n```\n")
        lines.append(f"{_described(function)}\n")
    for title, described in classes.items():
        lines.append(f"## {title}\n\n{_described(described)}\n")
        lines += [*_members(described), ""]
    return "\n".join(lines).rstrip("\n") + "\n"


def _members(described: type) -> Iterator[str]:
    """The public attributes and methods of a class, a line each, but for functions of the language."""
    for name, member in sorted(vars(described).items()):
        if name.startswith("_") or name in _INTERNAL.get(described, ()) or not inspect.getdoc(member):
            continue
        if not (callable(member) or isinstance(member, property)):
            continue
        called = _signature(member, first=1) if callable(member) else ""
        first, _, _ = (inspect.getdoc(member) or "").partition("\n\n")
        yield f"* `{name}{called}`: {functions_doc.prose(' '.join(first.split()))}"


def _signature(function: Callable[..., Any], first: int = 0) -> str:
    """How a function is called, without types, from one of its parameters on."""
    found = inspect.signature(function)
    bare = [each.replace(annotation=each.empty) for each in found.parameters.values()][first:]
    return str(found.replace(parameters=bare, return_annotation=found.empty))


def _described(documented: object) -> str:
    """A docstring, with its lists."""
    return re.sub(r"^\\\* ", "* ", functions_doc.prose(inspect.getdoc(documented) or ""), flags=re.MULTILINE)


_SAVED = """\
# What operations save

Made by `make docs` from the table of operations. A backward pass reads values: the derivative of `x*y` with respect to
x reads y. A node saves what the derivatives with respect to those operands read that require a gradient, and no more:
of `k*x`, where k is a constant, it saves k alone. [semantics.md](semantics.md#what-is-saved) shows it in a session;
`graph y` shows what each node has saved, and `y.grad_fn._saved_self` gives it, by PyTorch's name.

"the result" is the value of the operation itself; "nothing" needs no value; "no derivative" is said of operands for
which no gradient is computed. Functions that are not here are computed by several operations, which `graph` shows.
"""


def saved_page() -> str:
    """What each operation that users can call saves for its derivatives, family by family."""
    lines = [_SAVED]
    for family, entries in functions_doc.families():
        rows = [f"| {_saved_row(entry)} |" for entry in entries if isinstance(entry, Op)]
        if rows:
            lines += [f"## {family}\n", "| operation | node | saves |", "|---|---|---|", *rows, ""]
    return "\n".join(lines).rstrip("\n") + "\n"


def _saved_row(op: Op) -> str:
    """A row of the table: how an operation is called, its node, and what the derivative by each operand reads."""
    names = ["the operands"] if op.variadic else op.signature.operands
    read = [_read(rule, reads, names) for rule, reads in zip(op.rules, op.reads, strict=True)]
    if len(set(read)) == 1:
        text = read[0]
    else:
        text = "; ".join(f"for {name}: {each}" for name, each in zip(names, read, strict=True))
    return f"`{op.signature.usage}` | {op.title}Backward | {functions_doc.escaped(text)}"


def _read(rule: object, reads: str, names: Sequence[str]) -> str:
    """What a derivative reads, in words."""
    if rule is None:
        return "no derivative"
    words = [("the result" if word == "out" else word) for word in sorted(reads.split(), key="out".__eq__)]
    words = [names[0] if len(names) == 1 and word not in ("the result", *names) else word for word in words]
    return ", ".join(words) or "nothing"


PAGES: dict[str, Callable[[], str]] = {
    "cli/package/README.md": package_page,
    "docs/api.md": api_page,
    "docs/errors.md": errors_doc.markdown,
    "docs/functions.md": functions_doc.markdown,
    "docs/learn.md": lesson.markdown,
    "docs/language.md": language_doc.markdown,
    "docs/pytorch.md": pytorch_doc.markdown,
    "docs/saved.md": saved_page,
    "docs/vscode/syntaxes/agrad.tmLanguage.json": textmate.as_json,
}

if __name__ == "__main__":
    os.chdir(ROOT)  # programs in the pages read examples/
    for path, made in PAGES.items():
        (ROOT / path).write_text(made(), encoding="utf-8")
