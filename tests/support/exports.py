"""Random expressions as source code in each language, and what their functions give."""

from __future__ import annotations

import ctypes
import json
import math
import random
import re
import subprocess
from pathlib import Path
from typing import Any

from agrad.engine.compile.export.languages import JavaScript
from agrad.engine.compile.export.special import SPECIAL
from agrad.engine.core.op import FUNCTIONS, Op
from agrad.engine.errors import AgradError
from agrad.grammar.session.formulas import exported
from agrad.grammar.session.session import Session

NAMES = ("x", "y", "z")
GCC = "cc -std=c99 -Wall -Wextra -Werror -pedantic -O1 -fsanitize=undefined -fno-sanitize-recover -shared -fPIC".split()


def functions(language: str) -> dict[str, int]:
    """The functions of one or two numbers that can be written in a language, with their numbers of operands."""
    found = {}
    for name, op in FUNCTIONS.items():
        if not isinstance(op, Op) or op.scalar is None or op.reach != "pointwise" or not name.isidentifier():
            continue
        count = len(op.signature.operands)
        if count > 2 or op.variadic or name in SPECIAL:
            continue
        try:
            exported(Session(), f"{name}({', '.join(NAMES[:count])})", (), 2, language, "f")
        except AgradError:
            continue
        found[name] = count
    return found


def expression(dice: random.Random, known: dict[str, int], depth: int = 3) -> str:
    """A random expression over NAMES."""
    if not depth or dice.random() < 0.1:
        return dice.choice((*NAMES, *NAMES, repr(round(dice.uniform(-2, 2), 2))))

    def part() -> str:
        return expression(dice, known, depth - 1)

    if dice.random() < 0.5:
        return f"({part()} {dice.choice('+-*/*+')} {part()})"
    if dice.random() < 0.2:
        return f"({part()})**{dice.choice(('2', '3', '-1', '0.5', '-2', '2.5'))}"
    if dice.random() < 0.1:
        return f"where({part()} {dice.choice('<>')} {part()}, {part()}, {part()})"
    name = dice.choice(sorted(known))
    return f"{name}({', '.join(part() for _ in range(known[name]))})"


def arguments(text: str) -> list[int]:
    """The places in NAMES of the arguments of the function that is written for an expression: as they appear in it."""
    seen = dict.fromkeys(re.findall(r"\b[xyz]\b", text))
    return [NAMES.index(name) for name in (*seen, *[name for name in NAMES if name not in seen])]


def flat(value: float, grad: Any, hess: Any) -> list[float]:
    """All numbers of a result."""
    return [value, *grad, *[x for row in hess for x in row]]


def by_python(texts: list[str], points: list[list[float]]) -> list[list[float]]:
    """What the functions in these texts give."""
    found = []
    for text, point in zip(texts, points, strict=True):
        names: dict[str, Any] = {}
        exec(compile(text, "<exported>", "exec"), names)
        found.append(flat(*names["f"](*point)))
    return found


def by_c(texts: list[str], points: list[list[float]], folder: Path) -> list[list[float]]:
    """The same, by a compiler of C; each text has a function `f` and a number."""
    # Each has its own copy of the special functions.
    texts = [re.sub(r"agrad_(?=\w+\()", f"agrad{number}_", one) for number, one in enumerate(texts)]
    (folder / "all.c").write_text("\n".join(texts), "utf-8")
    subprocess.run([*GCC, "all.c", "-o", "all.so", "-lm"], cwd=folder, check=True, timeout=300)
    library = ctypes.CDLL(str(folder / "all.so"))
    found = []
    for number, point in enumerate(points):
        function = getattr(library, f"f{number}")
        function.restype, function.argtypes = ctypes.c_double, [ctypes.c_double] * 3 + [ctypes.c_void_p] * 2
        grad, hess = (ctypes.c_double * 3)(), (ctypes.c_double * 9)()
        value = function(*point, grad, hess)
        found.append([value, *grad, *hess])
    return found


def by_node(texts: list[str], points: list[list[float]], folder: Path) -> list[list[float]]:
    """The same, by Node.js."""
    for number, text in enumerate(texts):
        (folder / f"f{number}.mjs").write_text(text, "utf-8")
    given = ", ".join(f"[{', '.join(map(JavaScript().number, point))}]" for point in points)
    (folder / "all.mjs").write_text(
        f"""const found = [];
const points = [{given}];
for (let i = 0; i < {len(texts)}; i++) {{
    const {{f}} = await import(`./f${{i}}.mjs`);
    const {{value, grad, hess}} = f(...points[i]);
    found.push([value, ...grad, ...hess.flat()].map((x) => (Object.is(x, -0) ? "-0" : String(x))));
}}
console.log(JSON.stringify(found));
""",
        "utf-8",
    )
    done = subprocess.run(["node", "all.mjs"], cwd=folder, check=True, capture_output=True, text=True, timeout=300)
    words = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
    return [[words[x] if x in words else float(x) for x in one] for one in json.loads(done.stdout)]
