# k nearest neighbours, k-means, confusion matrices.
import numpy as np

rng = np.random.default_rng(5)
A = rng.normal([0, 0], 0.6, (12, 2))
B = rng.normal([2, 2], 0.6, (12, 2))
X, y = np.vstack([A, B]), np.array([0] * 12 + [1] * 12)
T = rng.normal([1, 1], 1.2, (8, 2))
d = np.linalg.norm(T[:, None] - X[None], axis=2)
near = np.argsort(d, axis=1)[:, :3]
votes = y[near]
print(near[:3], (votes.mean(1) > 0.5).astype(int))
centers = X[[0, 12]]
for _ in range(5):
    label = np.argmin(((X[:, None] - centers[None])**2).sum(-1), axis=1)
    centers = np.array([X[label == k].mean(0) for k in range(2)])
print(centers.round(4), np.sum(label == y))
cm = np.zeros((2, 2), dtype=int)
for t, p in zip(y, label):
    cm[t, p] += 1
print(cm, cm.diagonal().sum() / cm.sum(), np.trace(cm))
onehot = np.eye(2)[y]
print(onehot[:2], onehot.sum(0), np.concatenate([y, label]).shape, np.stack([y, label]).shape)
