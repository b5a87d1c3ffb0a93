# einsum: traces, transposes, products, batches.
import numpy as np

a = np.arange(25).reshape(5, 5)
b = np.arange(5)
c = np.arange(6).reshape(2, 3)
print(np.einsum('ii', a), np.einsum('ii->i', a), np.einsum('ij->i', a), np.einsum('ji', c))
print(np.einsum('ij,j', a, b), np.einsum('i,i', b, b), np.einsum('i,j', np.arange(2) + 1, b))
A = np.arange(60.).reshape(3, 4, 5)
B = np.arange(24.).reshape(4, 3, 2)
print(np.einsum('ijk,jil->kl', A, B))
print(np.tensordot(A, B, axes=([1, 0], [0, 1])))
q, k = np.ones((2, 3, 4)), np.arange(24.0).reshape(2, 3, 4)
print(np.einsum('bid,bjd->bij', q, k))
print(np.einsum('...ij->...', k), np.matmul(q, k.transpose(0, 2, 1)).shape, np.kron(np.eye(2), [1, 2]))
print(np.inner(b, b), np.vdot([1, 2], [3, 4]), np.cross([1, 0, 0], [0, 1, 0]), np.dot(c, c.T))
