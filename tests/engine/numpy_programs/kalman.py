# A Kalman filter, exponential smoothing, an autoregression by least squares.
import numpy as np

rng = np.random.default_rng(8)
F, H, Q, R = np.array([[1.0, 1.0], [0.0, 1.0]]), np.array([[1.0, 0.0]]), 0.01 * np.eye(2), np.array([[0.5]])
x, P = np.zeros((2, 1)), np.eye(2)
truth = np.cumsum(np.ones(20) * 0.5)
for z in truth + rng.normal(0, 0.7, 20):
    x, P = F @ x, F @ P @ F.T + Q
    S = H @ P @ H.T + R
    K = P @ H.T @ np.linalg.inv(S)
    x = x + K @ (z - H @ x)
    P = (np.eye(2) - K @ H) @ P
print(x.ravel().round(5), P.round(5))
s, out = 0.0, []
for v in [3, 5, 9, 20]:
    s = 0.5 * v + 0.5 * s
    out.append(s)
print(np.array(out))
series = np.zeros(60)
for t in range(2, 60):
    series[t] = 0.6 * series[t - 1] - 0.3 * series[t - 2] + rng.normal()
A = np.column_stack([series[1:-1], series[:-2]])
print(np.linalg.lstsq(A, series[2:], rcond=None)[0].round(4))
