# Implicit differentiation: a fixed point layer with backward hooks, and hypergradients of ridge regression.
import torch
import torch.nn as nn
from torch import autograd

torch.manual_seed(0)


class TanhFixedPointLayer(nn.Module):
    def __init__(self, out_features, tol=1e-10, max_iter=200):
        super().__init__()
        self.linear = nn.Linear(out_features, out_features, bias=False)
        self.tol = tol
        self.max_iter = max_iter

    def forward(self, x):
        with torch.no_grad():
            z = torch.zeros_like(x)
            self.iterations = 0
            while self.iterations < self.max_iter:
                z_next = torch.tanh(self.linear(z) + x)
                self.err = torch.norm(z - z_next)
                z = z_next
                self.iterations += 1
                if self.err < self.tol:
                    break
        z = torch.tanh(self.linear(z) + x)
        z0 = z.clone().detach()
        z0.requires_grad_()
        f0 = torch.tanh(self.linear(z0) + x)

        def backward_hook(grad):
            g = grad
            for _ in range(100):
                g_next = autograd.grad(f0, z0, g, retain_graph=True)[0] + grad
                if torch.norm(g_next - g) < 1e-12:
                    break
                g = g_next
            return g

        if z.requires_grad:
            z.register_hook(backward_hook)
        return z


layer = TanhFixedPointLayer(3)
layer.linear.weight.data.mul_(0.3)
x = torch.randn(2, 3, requires_grad=True)
z = layer(x)
z.sum().backward()
implicit = x.grad.clone()
x.grad = None
zz = torch.zeros(2, 3)
for _ in range(60):
    zz = torch.tanh(layer.linear(zz) + x)
zz.sum().backward()
print(layer.iterations < 60, torch.allclose(implicit, x.grad), z.detach())
A, b, Av, bv = torch.randn(8, 3), torch.randn(8), torch.randn(4, 3), torch.randn(4)
lam = torch.tensor(0.5, requires_grad=True)
w = torch.linalg.solve(A.T @ A + lam.exp() * torch.eye(3), A.T @ b)
val = ((Av @ w - bv) ** 2).mean()
hyper, = torch.autograd.grad(val, lam)
with torch.no_grad():
    H = A.T @ A + lam.exp() * torch.eye(3)
    gw = 2 * Av.T @ (Av @ w - bv) / 4
    print(hyper, -(gw @ torch.linalg.solve(H, lam.exp() * w)))
