# Ordinary differential equations by Euler and Runge-Kutta: a pendulum, Lotka and Volterra.
import numpy as np


def pendulum(t, s):
    return np.array([s[1], -np.sin(s[0])])


def rk4(f, s, t, h):
    k1 = f(t, s)
    k2 = f(t + h / 2, s + h / 2 * k1)
    k3 = f(t + h / 2, s + h / 2 * k2)
    k4 = f(t + h, s + h * k3)
    return s + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


s, path = np.array([1.0, 0.0]), []
for i in range(100):
    path.append(s)
    s = rk4(pendulum, s, i * 0.05, 0.05)
path = np.array(path)
energy = 0.5 * path[:, 1]**2 - np.cos(path[:, 0])
print(path.shape, s.round(6), np.ptp(energy) < 1e-6)
e = np.array([1.0, 0.0])
for i in range(100):
    e = e + 0.05 * pendulum(0, e)
print(e.round(6))
lv = np.array([10.0, 5.0])
for i in range(200):
    lv = lv + 0.01 * np.array([lv[0] * (1.1 - 0.4 * lv[1]), lv[1] * (0.1 * lv[0] - 0.4)])
print(lv.round(5))
