# Broadcasting: distances, outer tables, standardising, newaxis.
import numpy as np

a = np.array([0.0, 10.0, 20.0, 30.0])
b = np.array([1.0, 2.0, 3.0])
print(a[:, np.newaxis] + b)
points = np.array([[0.0, 0.0], [3.0, 4.0], [6.0, 8.0]])
d = np.sqrt(((points[:, None, :] - points[None, :, :]) ** 2).sum(-1))
print(d)
X = np.array([[1.0, 200.0], [2.0, 400.0], [3.0, 900.0]])
Z = (X - X.mean(axis=0)) / X.std(axis=0)
print(Z, Z.mean(0), Z.std(0))
print(np.arange(1, 4)[:, None] * np.arange(1, 4))
print(np.outer([1, 2], [3, 4]), np.add(1, 2))
try:
    np.ones(3) + np.ones(4)
except ValueError as error:
    print("ValueError")
g = np.array([111.0, 188.0])
codes = np.array([[102.0, 203.0], [132.0, 193.0], [45.0, 155.0]])
print(np.argmin(np.sqrt(np.sum((codes - g) ** 2, axis=-1))))
print(np.broadcast_to([1, 2], (2, 2)), np.tile([1, 2], 2), np.repeat([1, 2], 2))
print(np.maximum([1, 5, 2], 3), np.minimum([1, 5], [2, 2]))
