# Indexing: slices, negative steps, masks, lists of indices, writing, broadcasting of writes.
import numpy as np

a = np.arange(10)**3
print(a[2], a[2:5], a[::-1], a[-3:])
a[:6:2] = 1000
print(a)
b = np.arange(20).reshape(5, 4)
print(b[2, 3], b[0:5, 1], b[:, 1], b[1:3, :], b[-1], b[..., 0])
for row in b[:2]:
    print(row)
x = np.arange(12)**2
i = np.array([1, 1, 3, 8, 5])
print(x[i], x[np.array([[3, 4], [9, 7]])])
c = np.arange(12).reshape(3, 4)
print(c > 4, c[c > 4])
c[c > 4] = 0
print(c)
print(c[np.ix_([0, 2], [1, 3])], np.r_[1:4, 0, 4], np.c_[[1, 2], [3, 4]])
d = np.zeros((3, 3))
d[1] = [1, 2, 3]
d[:, 0] += 5
d[np.arange(3), np.arange(3)] = -1
print(d)
print(np.where(d > 0, d, 0), np.nonzero(d > 2), np.argwhere(d > 4).tolist())
v = d[1]
v[0] = 99
print(d[1, 0], d.copy()[1, 0])
print(np.take(x, [0, 2]), np.clip(x, 5, 50), np.unique([3, 1, 3]), np.flatnonzero(x > 50))
