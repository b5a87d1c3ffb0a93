# A normalizing flow: planar layers, the log determinant by hand and by jacobian.
import torch
import torch.nn as nn
from torch.distributions import MultivariateNormal, Normal

torch.manual_seed(0)


class PlanarFlow(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.u = nn.Parameter(torch.randn(1, dim) * 0.5)
        self.w = nn.Parameter(torch.randn(1, dim) * 0.5)
        self.b = nn.Parameter(torch.zeros(()))

    def forward(self, z):
        linear = z @ self.w.t() + self.b
        f_z = z + self.u * torch.tanh(linear)
        psi = (1 - torch.tanh(linear) ** 2) * self.w
        det_grad = 1 + psi @ self.u.t()
        return f_z, torch.log(det_grad.abs() + 1e-12).squeeze(1)


flows = nn.ModuleList(PlanarFlow(2) for _ in range(3))
base = MultivariateNormal(torch.zeros(2), torch.eye(2))
opt = torch.optim.Adam(flows.parameters(), lr=0.02)


def target_log_prob(z):
    return Normal(torch.tensor([1.0, -1.0]), torch.tensor([0.5, 1.5])).log_prob(z).sum(1)


def run(z):
    total = 0.0
    for flow in flows:
        z, ld = flow(z)
        total = total + ld
    return z, total


for step in range(15):
    z0 = base.rsample((16,))
    zk, logdet = run(z0)
    loss = (base.log_prob(z0) - logdet - target_log_prob(zk)).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 5 == 4:
        print(step, f"{loss.item():.5f}")
z = torch.tensor([0.3, -0.2])
J = torch.autograd.functional.jacobian(lambda v: run(v.unsqueeze(0))[0].squeeze(0), z)
print(torch.allclose(torch.linalg.det(J).abs().log(), run(z.unsqueeze(0))[1][0]))
