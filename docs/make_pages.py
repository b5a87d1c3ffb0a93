"""Makes the generated pages: python docs/make_pages.py"""

import inspect
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import editor_grammar
import manual
import reference
import stubs

import agrad.engine as ag
from agrad.engine.autodiff.gradcheck import Report
from agrad.engine.compile.function import Compiled
from agrad.engine.core.op import FUNCTIONS

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
        lines.append(f"### ag.{reference.escaped(name)}\n\n```text\nag.{name}{_signature(function)}\n```\n")
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
        yield f"* `{name}{called}`: {reference.prose(' '.join(first.split()))}"


def _signature(function: Callable[..., Any], first: int = 0) -> str:
    """How a function is called, without types, from one of its parameters on."""
    found = inspect.signature(function)
    bare = [each.replace(annotation=each.empty) for each in found.parameters.values()][first:]
    return str(found.replace(parameters=bare, return_annotation=found.empty))


def _described(documented: object) -> str:
    """A docstring, with its lists."""
    return re.sub(r"^\\\* ", "* ", reference.prose(inspect.getdoc(documented) or ""), flags=re.MULTILINE)


PAGES: dict[str, Callable[[], str]] = {
    "cli/package/README.md": package_page,
    "docs/agrad.1": lambda: "\n".join([*manual.page(), ""]),
    "docs/api.md": api_page,
    "docs/cli.md": lambda: "\n".join([*manual.markdown(), ""]),
    "docs/errors.md": reference.errors_page,
    "docs/functions.md": reference.functions_page,
    "docs/language.md": reference.language_page,
    "engine/core/methods.pyi": stubs.methods,
    "engine/functions.pyi": stubs.functions,
    "docs/vscode/syntaxes/agrad.tmLanguage.json": editor_grammar.as_json,
    "docs/vim/syntax/agrad.vim": editor_grammar.as_vim,
}

if __name__ == "__main__":
    os.chdir(ROOT)  # programs in the pages read examples/
    for path, made in PAGES.items():
        (ROOT / path).write_text(made(), encoding="utf-8")
