"""Code to take away: the C that agrad and CasADi write for the same function, compiled by the same compiler with -O2.

Both are called from C, in a loop of its own, so that nothing but the two functions is timed.
"""

from __future__ import annotations

import ctypes
import math
import subprocess
import time
from collections.abc import Callable, Sequence
from typing import Any

from determinant import determinant, entries, minors, rows
from harness import SCRATCH, Case, Work, serve

WORKS = (
    Work("8x8 determinant, value and gradient, exported to C, cc -O2", "determinant", {"casadi": 1.1}),
    Work("6-axis arm, tool and its Jacobian, exported to C, cc -O2", "arm", {"casadi": 1.1}),
)
CALLS, LOOPS = 100, 400  # calls in a loop; of the loops the fastest counts, which nothing else has interrupted
# Of a calibrated arm with six axes, by Denavit and Hartenberg: the length, the twist, and the offset of each link.
LINKS = (
    (0.0012, 1.5713, 0.1625),
    (-0.425, 0.0008, 0.0021),
    (-0.3922, -0.0011, 0.0016),
    (0.0009, 1.5702, 0.1333),
    (0.0007, -1.5719, 0.0997),
    (0.05, 0.0005, 0.0996),
)
BASE = ((0.1, 0.2, 0.3), (0.36, 0.48, -0.8), (-0.8, 0.6, 0.1), (0.48, 0.64, 0.6))  # where it is mounted, and its axes
ANGLES = [0.3, -1.1, 0.8, -0.5, 0.9, 0.4]


def tool(sin: Callable[[Any], Any], cos: Callable[[Any], Any], angles: Sequence[Any]) -> list[Any]:
    """Where the tool of the arm is, and the direction that it points to: six numbers."""
    at, *axes = ([*row] for row in BASE)
    for angle, (length, twist, offset) in zip(angles, LINKS, strict=True):
        x, y, z = axes
        s, c, across, along = sin(angle), cos(angle), math.sin(twist), math.cos(twist)
        ahead = [c * a + s * b for a, b in zip(x, y, strict=True)]
        aside = [c * b - s * a for a, b in zip(x, y, strict=True)]
        at = [p + length * a + offset * b for p, a, b in zip(at, ahead, z, strict=True)]
        axes = [
            ahead,
            [along * a + across * b for a, b in zip(aside, z, strict=True)],
            [along * b - across * a for a, b in zip(aside, z, strict=True)],
        ]
    return [*at, *axes[2]]


def built(name: str, source: str, call: str, given: Sequence[float], results: int) -> Case:
    """A case: C, compiled, and called again and again from another file, with the first number a little changed."""
    SCRATCH.mkdir(parents=True, exist_ok=True)
    code, loop, library = (SCRATCH / f"{name}{ending}" for ending in (".c", "_loop.c", ".so"))
    code.write_text(source, "utf-8")
    declared, _, called = call.partition(";")
    loop.write_text(
        f"""{declared};
void loop(long count, double *x, double *r)
{{
    const double first = x[0];
    for (long i = 0; i < count; i++) {{
        x[0] = first + 1e-12 * (double)i;
        {called}
    }}
    x[0] = first;
    {called}
}}
""",
        "utf-8",
    )
    subprocess.run(["cc", "-std=c99", "-O2", "-shared", "-fPIC", code, loop, "-o", library, "-lm"], check=True)
    function = ctypes.CDLL(str(library)).loop
    function.argtypes, function.restype = [ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p], None
    x, r = (ctypes.c_double * len(given))(*given), (ctypes.c_double * results)()

    def run() -> float:
        taken = []
        for _ in range(LOOPS):
            began = time.perf_counter()
            function(CALLS, x, r)
            taken.append((time.perf_counter() - began) / CALLS)
        case.answer = list(r)
        return min(taken)

    case = Case(run)
    return case


def agrad() -> dict[str, Case]:
    """Functions of one array, traced and exported."""
    import numpy as np

    import agrad.engine as ag
    from agrad.engine.compile.export.derive import derived
    from agrad.engine.compile.export.languages import LANGUAGES
    from agrad.engine.program.trace import trace

    def written(function: Callable[..., Any], given: Sequence[float]) -> str:
        values = [np.array(given)]
        program = trace(lambda x: function([x[place] for place in range(len(given))]), values, ["x"])
        return LANGUAGES["c"](derived(program, values, [0], 1), "f", "a function of an array")

    def place(angles: Sequence[Any]) -> Any:
        return ag.stack(tool(ag.sin, ag.cos, angles))

    return {
        "determinant": built(
            "agrad_determinant",
            written(lambda flat: determinant(8, *flat), entries(8)),
            "double f(const double *x, double *grad); r[0] = f(x, r + 1);",
            entries(8),
            65,
        ),
        "arm": built(
            "agrad_arm",
            written(place, ANGLES),
            "void f(const double *x, double *value, double *grad); f(x, r, r + 6);",
            ANGLES,
            42,
        ),
    }


def casadi() -> dict[str, Case]:
    """SX functions of a vector, written by its own generator; equal parts are computed once."""
    import casadi as ca

    def written(name: str, function: Any) -> str:
        generator = ca.CodeGenerator(name, {"with_header": False})
        generator.add(function)
        return str(generator.dump())

    x, q = ca.SX.sym("x", 64), ca.SX.sym("q", 6)
    y = ca.cse(minors(rows(8, ca.vertsplit(x))))  # before the gradient: after it, 40 times as much is left
    place = ca.cse(ca.vertcat(*tool(ca.sin, ca.cos, ca.vertsplit(q))))
    both = ca.cse(ca.vertcat(place, ca.vec(ca.jacobian(place, q).T)))
    call = (
        "int {0}(const double **arg, double **res, long long *iw, double *w, int mem); "
        "{{ const double *arg[1] = {{x}}; double *res[2] = {{r, r + {1}}}; {0}(arg, res, 0, 0, 0); }}"
    )
    return {
        "determinant": built(
            "casadi_determinant",
            written("casadi_determinant", ca.Function("g", [x], [y, ca.gradient(y, x)])),
            call.format("g", 1),
            entries(8),
            65,
        ),
        "arm": built(
            "casadi_arm",
            written("casadi_arm", ca.Function("h", [q], [both[:6], both[6:]])),
            call.format("h", 6),
            ANGLES,
            42,
        ),
    }


if __name__ == "__main__":
    serve({"agrad": agrad, "casadi": casadi})
