# Linear least squares: normal equations, lstsq, polyfit, residuals, R squared.
import numpy as np

x = np.array([0, 1, 2, 3])
y = np.array([-1, 0.2, 0.9, 2.1])
A = np.vstack([x, np.ones(len(x))]).T
print(A)
m, c = np.linalg.lstsq(A, y, rcond=None)[0]
print(round(m, 6), round(c, 6))
theta = np.linalg.inv(A.T @ A) @ A.T @ y
print(np.allclose(theta, [m, c]))
rng = np.random.default_rng(0)
t = np.linspace(0, 1, 20)
noisy = 1 + 2 * t - 3 * t**2 + 0.05 * rng.standard_normal(20)
p = np.polyfit(t, noisy, 2)
print(p.round(4), np.polyval(p, 0.5).round(4))
res = noisy - np.polyval(p, t)
r2 = 1 - (res**2).sum() / ((noisy - noisy.mean())**2).sum()
print(f"{r2:.6f}")
V = np.vander(t, 3)
coef, resid, rank, sv = np.linalg.lstsq(V, noisy, rcond=None)
print(np.allclose(coef, p), rank, sv.round(4))
