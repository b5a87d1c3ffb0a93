# Game of life, prime sieve, magic squares, run lengths.
import numpy as np


def life(grid):
    n = sum(np.roll(np.roll(grid, i, 0), j, 1) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0))
    return ((n == 3) | ((grid == 1) & (n == 2))).astype(int)


g = np.zeros((6, 6), dtype=int)
g[1, 2] = g[2, 3] = g[3, 1] = g[3, 2] = g[3, 3] = 1
for _ in range(4):
    g = life(g)
for row in g:
    print("".join("#" if c else "." for c in row))
sieve = np.ones(50, dtype=bool)
sieve[:2] = False
for i in range(2, 8):
    if sieve[i]:
        sieve[i * i::i] = False
print(np.nonzero(sieve)[0])
m = np.array([[2, 7, 6], [9, 5, 1], [4, 3, 8]])
print(m.sum(0), m.sum(1), np.trace(m), np.fliplr(m).diagonal().sum())
s = np.array([1, 1, 2, 2, 2, 3])
ends = np.flatnonzero(np.diff(s)) + 1
print([len(p) for p in np.split(s, ends)], np.unique(s, return_counts=True))
x = np.arange(5)
print(x.tolist(), list(x), sum(x), max(x), 3 in x, len(x), x.any(), x.all(), int(x[2]), float(x.mean()))
print(f"{x[3]} {x.mean():.2f} {np.pi:.4f}", "%d" % x[1], str(x), [i for i in x if i % 2])
