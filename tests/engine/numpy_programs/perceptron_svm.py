# The perceptron, a hinge classifier by subgradients, ridge by gradient descent.
import numpy as np

X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
y = np.array([-1, -1, -1, 1])
w, b = np.zeros(2), 0
for epoch in range(10):
    errors = 0
    for xi, yi in zip(X, y):
        if yi * (xi @ w + b) <= 0:
            w = w + yi * xi
            b = b + yi
            errors += 1
    if errors == 0:
        print("epoch", epoch)
        break
print(w, b, np.sign(X @ w + b))
rng = np.random.default_rng(0)
P = np.concatenate([rng.normal(-1, 0.5, (10, 2)), rng.normal(1, 0.5, (10, 2))])
t = np.concatenate([-np.ones(10), np.ones(10)])
w, b = np.zeros(2), 0.0
for i in range(1, 101):
    margin = t * (P @ w + b)
    active = margin < 1
    w -= 1 / (i + 10) * (0.1 * w - (t[active, None] * P[active]).sum(0) / len(t))
    b += 1 / (i + 10) * t[active].sum() / len(t)
print(w.round(5), round(float(b), 5), (np.sign(P @ w + b) == t).mean())
