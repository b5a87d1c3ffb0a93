# Bayes by backprop: a linear layer with a distribution over its weights; KL of normals.
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Normal, kl_divergence

torch.manual_seed(0)


class BayesLinear(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.mu = nn.Parameter(torch.zeros(n_out, n_in))
        self.rho = nn.Parameter(torch.full((n_out, n_in), -3.0))
        self.register_buffer("prior_scale", torch.tensor(1.0))

    @property
    def posterior(self):
        return Normal(self.mu, F.softplus(self.rho))

    def forward(self, x):
        return x @ self.posterior.rsample().t()

    def kl(self):
        return kl_divergence(self.posterior, Normal(torch.zeros_like(self.mu), self.prior_scale)).sum()


x = torch.randn(20, 2)
y = x @ torch.tensor([[1.0], [-2.0]]) + 0.1 * torch.randn(20, 1)
layer = BayesLinear(2, 1)
opt = torch.optim.Adam(layer.parameters(), lr=0.05)
for step in range(40):
    opt.zero_grad()
    nll = -Normal(layer(x), 0.3).log_prob(y).sum()
    loss = nll + layer.kl()
    loss.backward()
    opt.step()
    if step % 10 == 9:
        print(step, f"{loss.item():.4f} {layer.kl().item():.4f}")
print(layer.mu, layer.posterior.scale.detach())
print(layer, dict(layer.named_buffers()))
