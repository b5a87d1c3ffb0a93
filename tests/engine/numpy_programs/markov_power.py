# Markov chains and power iteration, PageRank.
import numpy as np

P = np.array([[0.9, 0.075, 0.025], [0.15, 0.8, 0.05], [0.25, 0.25, 0.5]])
pi = np.ones(3) / 3
for _ in range(200):
    pi = pi @ P
print(pi.round(6), np.allclose(pi @ P, pi), np.linalg.matrix_power(P, 50)[0].round(6))
A = np.vstack([P.T - np.eye(3), np.ones(3)])
print(np.linalg.lstsq(A, np.array([0, 0, 0, 1.0]), rcond=None)[0].round(6))
L = np.array([[0, 0, 1, 0.5], [1 / 3, 0, 0, 0], [1 / 3, 0.5, 0, 0.5], [1 / 3, 0.5, 0, 0]])
r = np.full(4, 0.25)
for k in range(60):
    r = 0.85 * L @ r + 0.15 / 4
print(r.round(5), np.argsort(-r))
M = np.array([[2.0, 1.0], [1.0, 3.0]])
v = np.array([1.0, 0.0])
for _ in range(40):
    v = M @ v
    v /= np.linalg.norm(v)
print(v.round(6), (v @ M @ v).round(6), np.linalg.eigvalsh(M).round(6))
