"""Arrays that end or begin at a page which nobody may touch, for loops over arrays: see `guarded`."""

import sys

import numpy as np
from compiled import gradient_of
from guarded import PAGE, fenced

import agrad.engine as ag
from agrad.engine.compile.llvm import memory as allocating
from agrad.engine.compile.llvm.loops import Loops
from agrad.engine.program.ir import optimised
from agrad.engine.program.trace import trace


class Fenced:
    """numpy, whose new arrays are fenced in."""

    def __init__(self):
        self.at_end = False
        self.memories = []

    def __getattr__(self, name):
        return getattr(np, name)

    def empty(self, shape):
        size = 8 * int(np.prod(shape))
        memory = fenced(max(2, -(-size // PAGE)))
        memory[:] = 0xA5
        self.memories.append((memory, size, self.at_end))
        return memory[len(memory) - size if self.at_end else 0 :][:size].view(np.float64).reshape(shape)

    def check(self):
        for memory, size, at_end in self.memories:
            around = memory[: len(memory) - size] if at_end else memory[size:]
            assert (around == 0xA5).all()


def main():
    rng = np.random.default_rng(1)
    for at_end in (False, True):
        for n in [*range(1, 20), 31, 32, 33, 64, 65, 100]:
            shim = allocating.np = Fenced()
            shim.at_end = at_end
            places = rng.integers(0, n, size=n)
            x, y = shim.empty((n,)), shim.empty((n, 7))
            x[:], y[:] = rng.normal(size=n), rng.normal(size=(n, 7))

            def f(x, y, places=places):
                z = ag.sin(x) * y[:, 3] + x[places] * x[::-1]
                small = (y[:3] @ y.T[:, :5]) * x[0] + y[:3] @ (y[:5] * 0.1).T  # products, of 7 columns in between
                several = ag.sum(ag.exp(0.1 * y[places]))  # whose gradients are added in the same places
                running = ag.cumsum(z[::-1]) * ag.cumprod(1.0 + 0.01 * ag.sin(x)) + ag.sum(ag.cumsum(y * 0.1, 1), 1)
                parts = ag.concat([ag.stack([x, z, running], 1), ag.sin(y[:, ::-1]), y[places, :2]], 1)
                last, seen = ag.scan(lambda s, row: (0.5 * ag.tanh(s + row[1]), s * row[0]), x[0], y[:, :2])
                regular = y[0, 0] * 0.1 * np.ones((9, 9)) + np.eye(9) * (5.0 + x[0] * x[0])
                right = ag.expand(x[:1], (9,)) + ag.reshape(y[:1, :3] * 0.1, (3, 1))[[0, 1, 2] * 3, 0]
                solved = ag.solve(regular, right) + ag.solve(regular.T, ag.stack([right, right * x[0]], 1))[:, 1]
                several = several + ag.sum(parts * parts) + last + ag.sum(seen) + ag.sum(solved)
                return (
                    ag.sum(ag.exp(z - ag.mean(z)))
                    + ag.sum(ag.sum(y * x[:, None], axis=0) ** 2)
                    + ag.sum(small * small)
                    + several
                )

            program = optimised(gradient_of(optimised(trace(f, (x, y)), again=True), (x, y), (0, 1)))
            loops = Loops(program)
            for _ in range(2):
                for found, expected in zip(loops.call(x, y), program.run(x, y), strict=True):
                    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12)
            shim.check()


if __name__ == "__main__":
    sys.exit(main())
