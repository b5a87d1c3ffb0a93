# Adam, BFGS and Nelder-Mead-like search by hand on Rosenbrock's function.
import numpy as np


def f(x):
    return (1 - x[0])**2 + 100 * (x[1] - x[0]**2)**2


def g(x):
    return np.array([-2 * (1 - x[0]) - 400 * x[0] * (x[1] - x[0]**2), 200 * (x[1] - x[0]**2)])


x, m, v = np.array([-1.2, 1.0]), np.zeros(2), np.zeros(2)
for t in range(1, 201):
    d = g(x)
    m = 0.9 * m + 0.1 * d
    v = 0.999 * v + 0.001 * d**2
    x = x - 0.05 * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
print(x.round(5), f"{f(x):.6f}")
x, H = np.array([-1.2, 1.0]), np.eye(2)
for k in range(40):
    d = -H @ g(x)
    a = 1.0
    while f(x + a * d) > f(x) + 1e-4 * a * g(x) @ d:
        a *= 0.5
    s = a * d
    yv = g(x + s) - g(x)
    x = x + s
    if np.linalg.norm(g(x)) < 1e-8:
        break
    rho = 1 / (yv @ s)
    I = np.eye(2)
    H = (I - rho * np.outer(s, yv)) @ H @ (I - rho * np.outer(yv, s)) + rho * np.outer(s, s)
print(x.round(6), k < 40)
