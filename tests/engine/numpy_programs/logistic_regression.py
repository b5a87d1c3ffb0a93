# Logistic regression by hand, with Newton steps, and its accuracy.
import numpy as np


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


rng = np.random.default_rng(1)
X = rng.normal(size=(60, 2))
y = (X @ np.array([1.5, -2.0]) + 0.3 * rng.normal(size=60) > 0).astype(float)
w, b = np.zeros(2), 0.0
for epoch in range(100):
    p = sigmoid(X @ w + b)
    grad_w = X.T @ (p - y) / len(y)
    grad_b = np.mean(p - y)
    w -= 0.5 * grad_w
    b -= 0.5 * grad_b
loss = -np.mean(y * np.log(p) + (1 - y) * np.log(1 - p))
print(w.round(5), round(float(b), 5), f"{loss:.6f}", np.mean((p > 0.5) == y))
A = np.column_stack([np.ones(60), X])
beta = np.zeros(3)
for _ in range(6):
    p = sigmoid(A @ beta)
    H = A.T @ (A * (p * (1 - p))[:, None]) + 0.1 * np.eye(3)
    beta = beta - np.linalg.solve(H, A.T @ (p - y) + 0.1 * beta)
print(beta.round(6))
