"""Special functions that the languages lack: in C as `special.c` has them, in JavaScript and Python made of that."""

from __future__ import annotations

import ast
import re
from typing import NamedTuple

from agrad.engine.text import beside


class Special(NamedTuple):
    """A function of C: its head, its parameters, and what is between the brackets."""

    head: str
    parameters: str
    body: str


_FUNCTION = re.compile(r"^(static double agrad_(\w+)\(([^)]*)\))\n\{\n(.*?)\n\}$", re.MULTILINE | re.DOTALL)
SPECIAL = {
    name: Special(head, given.replace("double ", ""), body)
    for head, name, given, body in _FUNCTION.findall(beside(__file__, "special.c"))
}
NAMED = frozenset(f"agrad_{name}" for name in SPECIAL)


def in_c(name: str) -> tuple[str, str]:
    """The declaration of a function, and the function."""
    head, _, body = SPECIAL[name]
    return f"{head};", f"{head}\n{{\n{body}\n}}"


def in_javascript(name: str, spelt: dict[str, str]) -> str:
    """The function, with functions and constants as they are spelt there."""
    _, parameters, body = SPECIAL[name]
    return f"const agrad_{name} = ({parameters}) => {{\n{_spelt(body.replace('double ', 'let '), spelt)}\n}};"


def in_python(name: str, spelt: dict[str, str]) -> str:
    """The function: the brackets around blocks go, and what may be divided by 0 is so by a helper."""
    _, parameters, body = SPECIAL[name]
    body = re.sub(r"\((.*)\) \{$", r"\1:", body, flags=re.MULTILINE)
    body = re.sub(r";$|double |\n *\}", "", body, flags=re.MULTILINE).replace("&&", "and").replace("||", "or")
    return ast.unparse(_Divided().visit(ast.parse(f"def agrad_{name}({parameters}):\n{_spelt(body, spelt)}")))


class _Divided(ast.NodeTransformer):
    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.op, ast.Div) and not isinstance(node.right, ast.Constant):
            return ast.Call(ast.Name("divide"), [node.left, node.right], [])
        return node


def _spelt(body: str, spelt: dict[str, str]) -> str:
    return re.sub(r"\b([a-z][a-z0-9]*(?=\()|NAN|INFINITY)", lambda found: spelt.get(found[1], found[1]), body)


def called(name: str) -> list[str]:
    """The functions of the C library, and those here, that a function calls, and the helper that divides in Python."""
    return [*re.findall(r"\b(?:agrad_)?(\w+)\(", SPECIAL[name].body), "divide"]
