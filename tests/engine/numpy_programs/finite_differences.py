# Finite differences beside formulas: gradients, Hessians, a check of relative errors.
import numpy as np


def f(x):
    return np.sum(x**2 * np.sin(x)) + np.exp(x[0] * x[1])


def grad(x):
    g = 2 * x * np.sin(x) + x**2 * np.cos(x)
    e = np.exp(x[0] * x[1])
    g[0] += x[1] * e
    g[1] += x[0] * e
    return g


def numeric(f, x, h=1e-5):
    g = np.zeros_like(x)
    for i in range(len(x)):
        step = np.zeros_like(x)
        step[i] = h
        g[i] = (f(x + step) - f(x - step)) / (2 * h)
    return g


x = np.array([0.5, -0.3, 1.2])
print(grad(x), np.allclose(grad(x), numeric(f, x), atol=1e-8))
H = np.array([numeric(lambda v, i=i: grad(v)[i], x) for i in range(3)])
print(np.allclose(H, H.T, atol=1e-6), H.round(4))
t = np.linspace(0, 2 * np.pi, 9)
print(np.gradient(np.sin(t), t).round(4))
print(np.diff([1, 4, 9, 16]), np.diff([1, 4, 9, 16], n=2), np.trapezoid(np.sin(t), t).round(6))
hs = 10.0 ** -np.arange(1, 9)
print([f"{abs((np.sin(1 + h) - np.sin(1)) / h - np.cos(1)):.1e}" for h in hs[:4]])
