# Newton's method for roots and systems; bisection; secant; fixed points.
import numpy as np


def newton(f, df, x, steps=20):
    for i in range(steps):
        step = f(x) / df(x)
        x = x - step
        if abs(step) < 1e-12:
            return x, i
    return x, steps


print(newton(lambda x: x**2 - 2, lambda x: 2 * x, 1.0))
print(newton(np.cos, lambda x: -np.sin(x), 1.0)[0].round(12))
a, b = 0.0, 2.0
while b - a > 1e-10:
    c = (a + b) / 2
    if np.sign(c**3 - c - 1) == np.sign(a**3 - a - 1):
        a = c
    else:
        b = c
print(round(a, 8))


def F(v):
    return np.array([v[0]**2 + v[1]**2 - 4, np.exp(v[0]) + v[1] - 1])


def J(v):
    return np.array([[2 * v[0], 2 * v[1]], [np.exp(v[0]), 1.0]])


v = np.array([1.0, -1.5])
for _ in range(8):
    v = v - np.linalg.solve(J(v), F(v))
print(v.round(8), np.abs(F(v)).max() < 1e-10)
x = 1.0
for _ in range(60):
    x = np.cos(x)
print(np.round(x, 8))
