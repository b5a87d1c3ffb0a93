# Shapes: reshape, ravel, transpose, stack, split, squeeze, swapaxes, meshgrid.
import numpy as np

a = np.arange(24).reshape(2, 3, 4)
print(a.T.shape, a.transpose(1, 0, 2).shape, a.swapaxes(0, 2).shape, a.ravel()[:5], a.flatten().shape, a.reshape(-1, 4).shape)
print(np.expand_dims(a, 0).shape, np.squeeze(np.ones((1, 3, 1))).shape, np.moveaxis(a, 0, -1).shape, np.atleast_2d([1, 2]).shape)
x, y = np.array([1, 2, 3]), np.array([4, 5, 6])
print(np.concatenate([x, y]), np.stack([x, y]), np.stack([x, y], axis=1), np.hstack([x, y]), np.vstack([x, y]), np.column_stack([x, y]))
print(np.split(np.arange(6), 3), np.array_split(np.arange(5), 2), np.hsplit(np.arange(8).reshape(2, 4), 2))
X, Y = np.meshgrid([0, 1, 2], [0, 1])
print(X, Y, X + Y)
print(np.append(x, 4), np.delete(x, 1), np.insert(x, 1, 9), np.flip(x), np.roll(x, 1))
b = a[0]
b[0, 0] = 100
print(a[0, 0, 0], a[0, :2, :2], a.sum(axis=(0, 2)), a.max(axis=2).shape)
print(a.reshape(6, 4)[::2].shape, a.astype(float).dtype, (a / 2).dtype, (a // 2).dtype, (a > 2).dtype)
print(np.zeros_like(x), np.full((2, 2), 7), np.identity(2), np.eye(2, 3, k=1), np.empty((0, 3)).shape)
