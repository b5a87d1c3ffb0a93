# Signals without fft: a DFT by a matrix of cosines, correlation, Gram-Schmidt, interpolation.
import numpy as np

n = 8
k = np.arange(n)
C = np.cos(2 * np.pi * np.outer(k, k) / n)
S = np.sin(2 * np.pi * np.outer(k, k) / n)
x = np.sin(2 * np.pi * k / n) + 0.5
print(np.round(C @ x, 6), np.round(S @ x, 6))
print(np.correlate([1, 2, 3], [0, 1, 0.5], mode="full"), np.interp([0.5, 1.5], [0, 1, 2], [0, 10, 0]))
V = np.array([[1.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 1.0]])
basis = []
for v in V:
    for b in basis:
        v = v - (v @ b) * b
    basis.append(v / np.linalg.norm(v))
E = np.array(basis)
print(E.round(6), np.allclose(E @ E.T, np.eye(3)))
print(np.geomspace(1, 1000, 4), np.logspace(0, 2, 3), np.floor([1.5, -1.5]), np.ceil([1.2]), np.rint([0.5, 1.5]), np.sign([-2, 0, 3]))
print(np.mod(-7, 3), np.fmod(-7, 3), np.gcd(12, 18), np.lcm(4, 6), np.hypot(3, 4), np.arctan2(1, -1), np.deg2rad(180))
print(np.log([1, np.e]), np.log2(8), np.log10(1000), np.log1p(1e-10), np.expm1(1e-10), np.cbrt(27), np.square(3), np.power(2, 10))
