# Monte Carlo: pi, a random walk, bootstrap, buffon-like integrals.
import numpy as np

rng = np.random.default_rng(2024)
n = 2000
xy = rng.random((n, 2))
inside = (xy**2).sum(axis=1) <= 1
print(4 * inside.mean(), f"{4 * inside.std() / np.sqrt(n):.5f}")
steps = np.where(rng.random(200) < 0.5, -1, 1)
walk = np.cumsum(steps)
print(walk[-1], walk.min(), walk.max(), np.argmax(np.abs(walk) >= 5))
data = rng.normal(10, 2, 40)
boot = np.array([rng.choice(data, len(data)).mean() for _ in range(100)])
print(np.percentile(boot, [2.5, 97.5]).round(4), data.mean().round(4), data.std(ddof=1).round(4))
u = rng.uniform(0, np.pi, 5000)
print(round(float(np.pi * np.mean(np.sin(u))), 4))
hist, edges = np.histogram(data, bins=4)
print(hist, edges.round(3))
print(np.median(data).round(4), np.quantile(data, 0.25).round(4), np.bincount([0, 1, 1, 3]))
