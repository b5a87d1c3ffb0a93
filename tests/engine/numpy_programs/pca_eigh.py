# PCA by eigh and by svd, whitening, explained variance, reconstruction.
import numpy as np

rng = np.random.default_rng(3)
X = rng.standard_normal((30, 3)) @ np.array([[2.0, 0.3, 0.0], [0.0, 1.0, 0.5], [0.0, 0.0, 0.2]])
X = X - X.mean(axis=0)
C = X.T @ X / (len(X) - 1)
print(np.allclose(C, np.cov(X, rowvar=False)))
values, vectors = np.linalg.eigh(C)
order = np.argsort(values)[::-1]
values, vectors = values[order], vectors[:, order]
print(values.round(5), (values / values.sum()).round(4))
U, s, Vt = np.linalg.svd(X, full_matrices=False)
print(np.allclose(s**2 / (len(X) - 1), values), np.allclose(np.abs(Vt), np.abs(vectors.T)))
scores = X @ vectors[:, :2]
back = scores @ vectors[:, :2].T
print(round(float(((X - back)**2).sum() / (X**2).sum()), 6))
white = X @ vectors / np.sqrt(values)
print(np.allclose(np.cov(white.T), np.eye(3)))
print(np.linalg.matrix_rank(back), np.linalg.norm(C).round(6), np.linalg.det(C).round(6), np.trace(C).round(6))
