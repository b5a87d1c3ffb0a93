# Gradient descent by hand on a line and on a bowl; momentum; line search.
import numpy as np

np.random.seed(42)
X = 2 * np.random.rand(50, 1)
y = 4 + 3 * X + np.random.randn(50, 1)
X_b = np.c_[np.ones((50, 1)), X]
theta = np.random.randn(2, 1)
eta, m = 0.1, 50
for iteration in range(100):
    gradients = 2 / m * X_b.T.dot(X_b.dot(theta) - y)
    theta = theta - eta * gradients
print(theta.ravel())
theta = np.zeros((2, 1))
for epoch in range(5):
    for i in np.random.permutation(m):
        xi, yi = X_b[i:i + 1], y[i:i + 1]
        theta = theta - 0.02 * 2 * xi.T @ (xi @ theta - yi)
print(theta.ravel())


def f(v):
    return 0.5 * v @ np.array([[3.0, 1.0], [1.0, 2.0]]) @ v - np.array([1.0, -1.0]) @ v


def g(v):
    return np.array([[3.0, 1.0], [1.0, 2.0]]) @ v - np.array([1.0, -1.0])


v, velocity = np.zeros(2), np.zeros(2)
for k in range(50):
    velocity = 0.8 * velocity - 0.1 * g(v)
    v = v + velocity
print(v, f(v))
v = np.array([2.0, 2.0])
for k in range(15):
    step, d = 1.0, -g(v)
    while f(v + step * d) > f(v) - 0.5 * step * d @ d:
        step *= 0.5
    v = v + step * d
print(v.round(6), np.linalg.solve([[3, 1], [1, 2]], [1, -1]))
