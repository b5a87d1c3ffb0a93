# Pictures: convolution by loops and by strides, pooling, Sobel, thresholds.
import numpy as np

img = (np.arange(6)[:, None] + np.arange(6)).astype(float)
img[2:4, 2:4] = 20
k = np.array([[1, 0, -1], [2, 0, -2], [1, 0, -1]])


def conv(img, k):
    h, w = k.shape
    out = np.zeros((img.shape[0] - h + 1, img.shape[1] - w + 1))
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = np.sum(img[i:i + h, j:j + w] * k)
    return out


gx, gy = conv(img, k), conv(img, k.T)
print(gx)
print(np.hypot(gx, gy).round(2))
pool = img.reshape(3, 2, 3, 2).max(axis=(1, 3))
print(pool, (img > 10).sum(), np.rot90(pool), np.fliplr(pool), np.roll(pool, 1, axis=1))
print(np.pad(pool, 1), np.pad(pool, ((0, 0), (1, 2)), mode="edge"), np.convolve([1, 2, 3], [0, 1, 0.5]))
