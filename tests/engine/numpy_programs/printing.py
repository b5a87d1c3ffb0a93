# How arrays are printed: precision, suppression, wide and long arrays, nan and inf.
import numpy as np

print(np.array([1.0, 1.5, 2.25]), np.array([1e-10, 1.0]), np.array([1e10, 1.0]), np.array([123456.789, 0.001]))
print(np.arange(1001), np.arange(30) / 7)
print(np.array([np.nan, np.inf, -np.inf, 0.0, -0.0]))
print(np.array([[1, 100], [1000, 1]]), np.array([True, False]), np.array(3), np.array([]), np.array([[]]))
np.set_printoptions(precision=3, suppress=True)
print(np.array([1.23456, 1e-5, 1000.0]), np.pi, np.array([1e-10, 1.0]))
print(repr(np.array([0.1, 0.2])), str(np.array([0.123456])))
np.set_printoptions(precision=8, suppress=False)
print(np.array([1.23456, 1e-5]))
print(np.array([1.5, 2]).tolist(), np.float64(0.1) + np.float64(0.2), np.int64(7) // 2, np.sqrt(2), np.sum([1, 2]))
