# Ridge and Lasso by proximal steps, a Gaussian process, Bayesian linear regression, all with torch.linalg.
import torch

torch.manual_seed(0)
X = torch.randn(20, 3)
w_true = torch.tensor([1.0, 0.0, -2.0])
y = X @ w_true + 0.1 * torch.randn(20)
A = X.T @ X + 0.5 * torch.eye(3)
print(torch.linalg.solve(A, X.T @ y))
print(torch.linalg.lstsq(X, y.unsqueeze(1)).solution.squeeze())
L = torch.linalg.cholesky(A)
print(torch.cholesky_solve((X.T @ y).unsqueeze(1), L).squeeze(), torch.logdet(A), torch.linalg.slogdet(A))
w = torch.zeros(3, requires_grad=True)
for i in range(50):
    loss = 0.5 * ((X @ w - y) ** 2).mean()
    g, = torch.autograd.grad(loss, w)
    with torch.no_grad():
        u = w - 0.3 * g
        w.copy_(torch.sign(u) * torch.clamp(u.abs() - 0.3 * 0.1, min=0))
print(w)
xs = torch.linspace(0, 1, 6)
length = torch.tensor(0.3, requires_grad=True)
noise = torch.tensor(0.1, requires_grad=True)
ys = torch.sin(6 * xs)


def kernel(a, b):
    return torch.exp(-0.5 * (a[:, None] - b[None, :]) ** 2 / length ** 2)


opt = torch.optim.Adam([length, noise], lr=0.05)
for i in range(10):
    K = kernel(xs, xs) + noise ** 2 * torch.eye(6)
    Lk = torch.linalg.cholesky(K)
    alpha = torch.cholesky_solve(ys[:, None], Lk)
    nll = 0.5 * (ys[:, None] * alpha).sum() + Lk.diagonal().log().sum()
    opt.zero_grad()
    nll.backward()
    opt.step()
print(f"{nll.item():.5f} {length.item():.5f} {noise.item():.5f}")
with torch.no_grad():
    ks = kernel(torch.tensor([0.25, 0.5]), xs)
    print((ks @ alpha).squeeze(), (1 - (ks @ torch.linalg.solve(K, ks.T)).diagonal()))
U, S, Vh = torch.linalg.svd(X, full_matrices=False)
print(S, torch.dist(X, U @ torch.diag(S) @ Vh) < 1e-9)
evals, evecs = torch.linalg.eigh(A)
print(evals, torch.linalg.det(A), torch.trace(A), torch.linalg.matrix_norm(A), torch.linalg.cond(A))
M = torch.tensor([[2.0, 1.0], [1.0, 3.0]], requires_grad=True)
torch.linalg.eigvalsh(M)[0].backward()
print(M.grad, torch.linalg.inv(M).detach(), torch.linalg.pinv(torch.ones(2, 3)))
Q, R = torch.linalg.qr(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
print((Q @ R), torch.linalg.matrix_power(M.detach(), 3), torch.matrix_exp(torch.zeros(2, 2)))
