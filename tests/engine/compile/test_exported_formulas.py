"""Functions exported to agrad's own language give what agrad gives; as LaTeX they are pinned."""

import random

import numpy as np
import pytest
from exports import NAMES, expression, functions
from rows import each

import agrad.engine as ag
from agrad.engine.errors import AgradError
from agrad.grammar.session.formulas import exported
from agrad.grammar.session.session import Session

TEX = r"""% x**2*sin(alpha*w)
\begin{align*}
    f\left(x, \alpha\right) &= x^{2} \sin\left(3 \alpha\right) \\
    \frac{\partial f}{\partial x} &= 2 x \sin\left(3 \alpha\right) \\
    \frac{\partial f}{\partial \alpha} &= 3 x^{2} \cos\left(3 \alpha\right) \\
    \frac{\partial^{2} f}{\partial x^{2}} &= 2 \sin\left(3 \alpha\right) \\
    \frac{\partial^{2} f}{\partial x \partial \alpha} &= 6 x \cos\left(3 \alpha\right) \\
    \frac{\partial^{2} f}{\partial \alpha^{2}} &= -9 x^{2} \sin\left(3 \alpha\right)
\end{align*}
"""


def test_equations():
    session = Session()
    session.run("w = 3")
    assert exported(session, "x**2*sin(alpha*w)", ["x", "alpha"], 2, "tex", "f") == TEX


def test_entries_of_arrays():
    session = Session()
    session.run("w = [0, 0]")
    text = exported(session, "sum(w**2)*x1", ["w", "x1"], 1, "ag", "loss")
    assert text.splitlines()[-1] == "    return x1*(w[0]**2 + w[1]**2), ([2*x1*w[0], 2*x1*w[1]], w[0]**2 + w[1]**2)"
    assert r"\frac{\partial f}{\partial w_{0}} &= 2 x_{1} w_{0}" in exported(
        session, "sum(w**2)*x1", ["w", "x1"], 1, "tex", "f"
    )


@each("seed", range(10), short=10)
def test_random_functions_in_agrad(seed):
    dice, known, compared = random.Random(seed), functions("py"), 0
    for _ in range(20):
        text, point = expression(dice, known), [dice.uniform(0.2, 2.0) for _ in NAMES]
        try:
            source = exported(Session(), text, NAMES, 2, "ag", "f")
        except AgradError as error:
            assert "no formula" in error.message or error.kind == "limit"
            continue
        given = ", ".join(f"{name}={x!r}" for name, x in zip(NAMES, point, strict=True))
        session = Session()
        session.run(f"{source}\nv, g, h = f({given})\ndef e({', '.join(NAMES)}) = {text}")
        eager = session.names["e"]
        wanted = [eager(*point), *ag.grad(eager, (0, 1, 2))(*point), *np.ravel(ag.hessian(eager, (0, 1, 2))(*point))]
        found = [session.names["v"], *session.names["g"], *np.ravel(session.names["h"].tolist())]
        wanted, found = [float(x) for x in wanted], [float(x) for x in found]
        if np.isfinite(wanted).all() and np.isfinite(found).all():
            compared += 1
            assert found == pytest.approx(wanted, rel=1e-8, abs=1e-8 * max(map(abs, wanted))), f"{text}\n{source}"
    assert compared > 8
