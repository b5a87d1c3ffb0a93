# numpy.linalg: solve, inv, det, norms, qr, cholesky, svd, cond, lstsq, pinv.
import numpy as np

A = np.array([[3.0, 1.0], [1.0, 2.0]])
b = np.array([9.0, 8.0])
print(np.linalg.solve(A, b), np.linalg.inv(A), np.linalg.det(A).round(10))
print(np.linalg.norm(b), np.linalg.norm(A), np.linalg.norm(A, 1), np.linalg.norm(A, np.inf), np.linalg.norm(b, ord=1))
L = np.linalg.cholesky(A)
print(L, np.allclose(L @ L.T, A))
Q, R = np.linalg.qr(A)
print(np.allclose(Q @ R, A), np.allclose(Q.T @ Q, np.eye(2)))
U, s, Vt = np.linalg.svd(np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))
print(U.shape, s, Vt.shape)
print(np.linalg.cond(A).round(6), np.linalg.matrix_rank(np.ones((3, 3))), np.linalg.pinv(np.array([[1.0, 2.0]])))
w, v = np.linalg.eigh(A)
print(w, np.allclose(A @ v, v * w), np.linalg.slogdet(A))
try:
    np.linalg.inv(np.zeros((2, 2)))
except np.linalg.LinAlgError as error:
    print("singular:", error)
print(np.linalg.multi_dot([A, A, b]), np.trace(A), np.diag(A), np.diag([1, 2]), np.triu(A), np.tril(A, -1))
