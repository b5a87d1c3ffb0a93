"""A notebook in the kernel: all that its cells show."""

import subprocess

import pytest
from notebooks import LOOPING, PYTHON, homes, ran

pytestmark = pytest.mark.long

# Cells, each with what it shows; from … on, anything.
BEFORE = [
    ("var w = [0.5, -1]\nx = [[1, 2], [3, 4], [5, 6]]", []),
    ("x", ["(text/html)", "[[1, 2], [3, 4], [5, 6]]"]),
    ("w", ["(text/html)", "[0.5, -1]"]),
    ("3", ["3"]),
    ("1; 2", ["2"]),
    ("x = x;", []),
    ("def f(v):\n    return sum((x @ v)**2)", []),
    ("loss = f(w)\nloss", ["20.75"]),
    ('print f"loss {loss:.2f}"', ["stdout: loss 20.75"]),
    (
        "graph loss",
        [
            "(image/svg+xml)",
            "graph of loss: 5 nodes, 1 leaf, held",
            "  %1  w                       leaf      (2)     requires grad   grad none",
            "  %2  x                       constant  (3, 2)",
            "  %3  (x @ v)                 Matmul    (3)     saves %2",
            "  %4  (x @ v)**2              Pow       (3)     saves %3",
            "  %5  loss = sum((x @ v)**2)  Sum       ()      = 20.75",
        ],
    ),
    (
        "graph loss as tree",
        [
            "stdout: graph of loss: 5 nodes, 1 leaf, held",
            "stdout:   %5  loss = sum((x @ v)**2)  Sum       ()      = 20.75",
            "stdout:   └─ %4  (x @ v)**2           Pow       (3)     saves %3",
            "stdout:      └─ %3  (x @ v)           Matmul    (3)     saves %2",
            "stdout:         ├─ %2  x              constant  (3, 2)",
            "stdout:         └─ %1  w              leaf      (2)     requires grad   grad none",
        ],
    ),
    ("graph loss as page", ["(text/html)", "a graph"]),
    ("backward loss\nw.grad", ["(text/html)", "[-53, -68]"]),
    (
        "backward loss",
        [
            "error[freed]!",
            "error[freed]: loss cannot be differentiated: part of its graph was freed",
            "   session line 7 |     return sum((x @ v)**2)",
            "                  |                ^^^^^^^^^^ PowBackward lost its saved values",
            "  session line 13 | backward loss",
            "                  | ^^^^^^^^^^^^^ … here",
            "  fix: backward loss retain   at line 13, or call f again",
            "  fix: undo   brings it back; then backward loss retain",
        ],
    ),
    (
        "y = lo",
        [
            "error[name]!",
            "error[name]: lo has no value",
            "  session line 15 | y = lo",
            "                  |     ^^",
            "  fix: give it one: lo = 1",
        ],
    ),
    (
        "x = (1",
        [
            "error[syntax]!",
            "error[syntax]: this `(` is never closed",
            "  session line 16 | x = (1",
            "                  |     ^",
            "  fix: add a )",
        ],
    ),
    (
        "z = 1\nz = unknown + 1",
        [
            "error[name]!",
            "error[name]: unknown has no value",
            "  session line 17 | z = unknown + 1",
            "                  |     ^^^^^^^",
            "  fix: give it one: unknown = 1",
        ],
    ),
    ("z", ["1"]),
    ("plot sin(t) for t in 0..3", ["(image/svg+xml)", "…"]),
    ("check sum(sin(w)) wrt w", ["(text/html)", "…"]),
    (
        "fit [1, 2.1, 2.9] ~ a*[1, 2, 3] over a from a=1",
        ["(text/html)", "a = 0.993 ± 0.026", "", "s = 0.0982, R2 = 0.989403, 2 degrees of freedom"],
    ),
    (
        "log(-1)",
        [
            "nan",
            "stderr: note: log(-1) is nan",
            "stderr:   session line 22 | log(-1)",
            "stderr:                   | ^^^^^^^",
        ],
    ),
    ("1/0", ["inf"]),
    (
        "count = 1\nprint 'looping'\nwhile 1: count += 1",
        ["stdout: looping", "interrupted!", "interrupted: everything is as before this statement"],
    ),
    ("count", ["1"]),
    ("_4 + 1", ["4"]),
    ("undo", ["stdout: took back: count = 1"]),
    (
        "history 3",
        ["stdout: 21  fit [1, 2.1, 2.9] ~ a*[1, 2, 3] over a from a=1", "stdout: 22  log(-1)", "stdout: 23  1/0"],
    ),
    (
        "info w",
        [
            "stdout: w        leaf that requires grad",
            "stdout: shape    (2), 2 entries",
            "stdout: value    [0.5, -1]",
            "stdout: version  0, never written in place",
            "stdout: grad     [-53, -68]",
            "stdout: grad_fn  none",
            "stdout: memory   16 bytes, its own",
            "stdout: kept by  w and loss",
        ],
    ),
    (
        "help sin",
        [
            "stdout: sin(x)",
            "stdout:   The sine of an angle in radians.",
            "stdout:   derivative: cos(x)",
            "stdout:   example: sin(pi/6) ~= 0.5",
        ],
    ),
]
AFTER_A_RESTART = [
    (
        "w",
        [
            "error[name]!",
            "error[name]: w has no value",
            "  session line 1 | w",
            "                 | ^",
            "  fix: give it one: w = 1",
        ],
    ),
    ("var w = 2\nw**2", ["4"]),
    ("quit", []),
]


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    folder = tmp_path_factory.mktemp("jupyter")
    with homes(folder):
        made = subprocess.run(
            [*PYTHON, "kernel", "install", "--prefix", folder], capture_output=True, text=True, check=True
        )
    assert (made.stdout, made.stderr) == (f"installed in {folder}/share/jupyter/kernels/agrad\n", "")
    return folder


def test_a_notebook_with_an_error_an_interruption_and_a_restart(kernels):
    parts = [[code for code, _ in part] for part in (BEFORE, AFTER_A_RESTART)]
    assert sum(map(len, parts)) >= 30
    assert any(LOOPING in code for code in parts[0])
    outputs = ran("agrad", kernels, parts)
    for (code, expected), shown in zip([*BEFORE, *AFTER_A_RESTART], outputs, strict=True):
        if expected[-1:] == ["…"]:
            expected, shown = expected[:-1], [line for line, _ in zip(shown, expected[:-1], strict=False)]
        assert shown == expected, code
