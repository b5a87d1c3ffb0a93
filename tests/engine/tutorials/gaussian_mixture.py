# A Gaussian mixture by gradient descent on its log likelihood, and by EM.
import math
import torch
from torch.distributions import Normal

torch.manual_seed(0)
x = torch.cat([torch.randn(20) * 0.5 - 2, torch.randn(30) * 0.8 + 1.5])
mu = torch.tensor([-1.0, 0.5], requires_grad=True)
log_sigma = torch.zeros(2, requires_grad=True)
logits = torch.zeros(2, requires_grad=True)
opt = torch.optim.Adam([mu, log_sigma, logits], lr=0.1)


def log_likelihood(x):
    log_pi = torch.log_softmax(logits, 0)
    comp = Normal(mu, log_sigma.exp()).log_prob(x.unsqueeze(1))
    return torch.logsumexp(log_pi + comp, dim=1)


for i in range(60):
    loss = -log_likelihood(x).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if i % 20 == 19:
        print(i, f"{loss.item():.6f}")
print(mu.detach(), log_sigma.exp().detach(), torch.softmax(logits, 0).detach())
m, s, p = torch.tensor([-1.0, 0.5]), torch.ones(2), torch.full((2,), 0.5)
for i in range(15):
    density = p * torch.exp(-(x[:, None] - m) ** 2 / (2 * s ** 2)) / (s * math.sqrt(2 * math.pi))
    r = density / density.sum(1, keepdim=True)
    n = r.sum(0)
    m = (r * x[:, None]).sum(0) / n
    s = ((r * (x[:, None] - m) ** 2).sum(0) / n).sqrt()
    p = n / len(x)
print(m, s, p)
