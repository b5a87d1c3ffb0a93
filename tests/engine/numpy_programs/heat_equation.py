# The heat equation by explicit and implicit steps; a Laplace problem by Jacobi's iteration.
import numpy as np

n, dt = 20, 0.4
u = np.zeros(n)
u[8:12] = 1.0
for step in range(50):
    u[1:-1] = u[1:-1] + dt * (u[2:] - 2 * u[1:-1] + u[:-2])
print(u.round(4), u.sum().round(4))
main = np.full(n, 1 + 2 * dt)
A = np.diag(main) + np.diag(np.full(n - 1, -dt), 1) + np.diag(np.full(n - 1, -dt), -1)
v = np.zeros(n)
v[8:12] = 1.0
for step in range(50):
    v = np.linalg.solve(A, v)
print(v.round(4))
grid = np.zeros((6, 6))
grid[0] = 1.0
for _ in range(100):
    new = grid.copy()
    new[1:-1, 1:-1] = 0.25 * (grid[:-2, 1:-1] + grid[2:, 1:-1] + grid[1:-1, :-2] + grid[1:-1, 2:])
    if np.abs(new - grid).max() < 1e-6:
        break
    grid = new
print(grid.round(3))
