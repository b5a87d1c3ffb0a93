# Hessian-vector products without the Hessian; Newton steps by conjugate gradients; Hutchinson's trace.
import torch

torch.manual_seed(0)
W1, W2 = torch.randn(4, 3, requires_grad=True), torch.randn(1, 4, requires_grad=True)
X, y = torch.randn(10, 3), torch.randn(10)
params = [W1, W2]


def loss_fn():
    return ((torch.tanh(X @ W1.t()) @ W2.t()).squeeze() - y).pow(2).mean() + 0.1 * sum((p ** 2).sum() for p in params)


def hvp(vec):
    grads = torch.autograd.grad(loss_fn(), params, create_graph=True)
    flat = torch.cat([g.reshape(-1) for g in grads])
    prod = torch.autograd.grad(flat @ vec, params)
    return torch.cat([p.reshape(-1) for p in prod])


n = sum(p.numel() for p in params)
H = torch.stack([hvp(torch.eye(n)[i]) for i in range(n)])
print(torch.allclose(H, H.T), torch.trace(H))
v = torch.ones(n)
print(hvp(v)[:4])


def conjugate_gradient(A, b, iters=10):
    x = torch.zeros_like(b)
    r = b - A(x)
    p = r.clone()
    rs = r @ r
    for _ in range(iters):
        Ap = A(p)
        alpha = rs / (p @ Ap)
        x += alpha * p
        r -= alpha * Ap
        new = r @ r
        if new.sqrt() < 1e-10:
            break
        p = r + (new / rs) * p
        rs = new
    return x


damped = lambda u: hvp(u) + 3.0 * u
g = torch.cat([t.reshape(-1) for t in torch.autograd.grad(loss_fn(), params)])
step = conjugate_gradient(damped, g, 40)
print(torch.allclose(step, torch.linalg.solve(H + 3.0 * torch.eye(n), g), atol=1e-8))
z = (torch.randint(0, 2, (20, n)) * 2 - 1).double()
print((z * torch.stack([hvp(u) for u in z])).sum(1).mean())
