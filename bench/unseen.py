"""Programs that nobody tuned the compiler to: drawn by a grammar and by size, new ones each week.

One whose value or slope has no digits to compare, since it grows what is rounded, is drawn again.

The week is the seed (WEEK=2026-48 gives those of another one), so that a surprise can be looked at again:
`python bench/unseen.py` prints the programs. Each is called as often before it is timed as its peer, and agrad chooses
by itself when it makes machine code.
"""

from __future__ import annotations

import math
import os
import random
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import count
from typing import Any

from harness import Case, Work, repeated, serve

WEEK = os.environ.get("WEEK") or "{}-{:02}".format(*datetime.now(UTC).isocalendar()[:2])
SIZES = (3, 12, 60, 300)  # entries of a vector; a matrix has so many rows
LENGTHS = (6, 18, 40)  # statements
WARM = 20  # calls before the first that is timed
CHANGE, TINY = 1e-13, 1e-20
GROWTH = 1e4  # of a change: of a program that grows it more, eight digits are not to be had
# What a statement computes: S, V and M stand for a number, a vector and a matrix that there are, n for their length.
RULES = {
    "V": """
        np.sin(V); np.tanh(V) + V; V * V - V; V - S; S * V; np.exp(-V * V); V[::-1] * V; np.cumsum(V) / n; M @ V / n
        np.where(V > V, V, 0.5 * V); np.sum(M * V, axis=1) / n; np.maximum(V, 0.1); V / (1.0 + V * V); M[0] + V
        np.concatenate((V[1:], V[:1])); np.linalg.solve(n * np.eye(n) + M, V)
    """,
    "S": "np.sum(V * V) / n; np.max(V); V @ V / n; np.log(np.sum(np.exp(V))); S * S; np.sin(S) + V[0]; np.mean(M)",
    "M": "M @ M / n; np.exp(-M * M); M.T + M; V[:, None] * V; np.tanh(M - V); S * M; np.stack([V, *M[1:]])",
}
LOOPS = """
    V1 = V1 + 0.1 * np.sin(M @ V1 / n); V1 = np.tanh(V1 * V + S); S1 = 0.5 * S1 + np.sin(S1 * S)
    M1 = np.tanh(M1 @ M / n)
"""


def drawn(name: str, size: int, length: int) -> str:
    """The text of a function `f(a, v, m)` of a number, a vector and a matrix, whose results can be compared."""
    texts = (_drawn(f"{name} {attempt}" if attempt else name, size, length) for attempt in count())
    return next(text for text in texts if _growth(text, size) <= GROWTH)


def _growth(text: str, size: int) -> float:
    """How many times larger a small relative change of all arguments is in the value, or in its slope.

    The slope is exact, by a step in the imaginary direction.
    """
    import numpy

    space, found = dict[str, Any](np=numpy), list[Any]()
    exec(text, space)
    directions = numpy.random.default_rng(1)
    given = [(x, directions.normal(size=numpy.shape(x))) for x in examples(size)]
    with numpy.errstate(all="ignore"):
        for scale in (1.0, 1.0 + CHANGE):
            y = space["f"](*[x * scale + TINY * 1j * direction for x, direction in given])
            found.append(numpy.array([y.real, y.imag / TINY]))
    grown = numpy.abs(found[1] - found[0]) / numpy.maximum(1.0, numpy.abs(found[0]))
    return float(grown.max()) / CHANGE if numpy.isfinite(grown).all() else math.inf


def examples(size: int) -> tuple[float, Any, Any]:
    """The arguments."""
    import numpy

    rng = numpy.random.default_rng(size)
    return 0.3, rng.normal(size=size), rng.normal(size=(size, size))


def _drawn(name: str, size: int, length: int) -> str:
    dice = random.Random(name)
    known = {"S": ["a"], "V": ["v"], "M": ["m"]}

    def filled(rule: str) -> str:
        text = ""
        for place, sign in enumerate(rule):
            is_kind = sign in known and not (rule[place - 1].isalnum() and place) and rule[place + 1 : place + 2] != "1"
            text += dice.choice(known[sign][-4:]) if is_kind else sign
        return text.replace("n *", f"{size} *").replace("/ n", f"/ {size}").replace("(n)", f"({size})")

    lines = []
    for number in range(length):
        if number % 10 == 7:
            loop = dice.choice([one for one in _split(LOOPS) if size < 100 or not one.startswith("M1")])
            kind, new = loop[0], f"x{number}"
            lines += [f"{new} = {dice.choice(known[kind])}", f"for _ in range({dice.choice((5, 20, 50))}):"]
            lines.append("    " + filled(loop).replace(f"{kind}1", new))
        else:
            kind = dice.choices(("V", "S", "M"), (5, 2, 2))[0]
            new, rule = f"x{number}", dice.choice(_split(RULES[kind]))
            lines.append(f"{new} = {filled(rule)}")
        known[kind].append(new)
    parts = [f"np.sum(np.tanh({x}))" for kind in ("V", "M") for x in known[kind][-2:]]
    lines.append(f"return {' + '.join([*parts, known['S'][-1]])}")
    return "\n".join(["def f(a, v, m):", *[f"    {line}" for line in lines]])


def _split(rules: str) -> list[str]:
    return [rule.strip() for line in rules.strip().splitlines() for rule in line.split(";") if rule.strip()]


PROGRAMS = {f"{WEEK} {size} {length}": (size, length) for size in SIZES for length in LENGTHS}
WORKS = tuple(
    Work(
        f"a program of week {WEEK}: {length} statements, {size} entries", key, {"jax": 1.1}, 7, threads=1, mean="unseen"
    )
    for key, (size, length) in PROGRAMS.items()
)


def cases(np: Any, made: Callable[[Callable[..., Any], tuple[Any, ...]], Callable[[], Any]]) -> dict[str, Case]:
    """Value and gradients of each program, over a module of array functions."""
    import numpy

    def case(key: str, size: int, length: int) -> Case:
        space, known, given = dict[str, Any](np=np), list[Callable[[], Any]](), examples(size)
        exec(drawn(key, size, length), space)

        def call() -> Any:
            if not known:
                known.append(made(space["f"], given))
                for _ in range(WARM):
                    known[0]()
            return known[0]()

        return repeated(call, lambda found: [found[0], *[float(numpy.sum(numpy.asarray(x) ** 2)) for x in found[1]]])

    return {key: case(key, *one) for key, one in PROGRAMS.items()}


def agrad() -> dict[str, Case]:
    """Compiled, with NumPy's names: its functions work on agrad's values."""
    import numpy

    import agrad.engine as ag

    def made(f: Callable[..., Any], given: tuple[Any, ...]) -> Callable[[], Any]:
        compiled = ag.compile(f, *given)
        compiled.value_and_grad(*[x * 1.1 for x in given])  # at other values, it is held against the function once
        return lambda: compiled.value_and_grad(*given)

    return cases(numpy, made)


def jax() -> dict[str, Case]:
    """jit of value_and_grad."""
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)

    def made(f: Callable[..., Any], given: tuple[Any, ...]) -> Callable[[], Any]:
        run, held = jax.jit(jax.value_and_grad(f, (0, 1, 2))), tuple(map(jnp.asarray, given))
        return lambda: jax.block_until_ready(run(*held))

    return cases(jnp, made)


if __name__ == "__main__":
    if sys.argv[1:]:
        serve({"agrad": agrad, "jax": jax})
    else:
        print("\n\n".join([f"# {key}\n{drawn(key, *one)}" for key, one in PROGRAMS.items()]))
