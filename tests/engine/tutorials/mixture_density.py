# A mixture density network with gumbel-softmax and logsumexp.
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
x = torch.linspace(-1, 1, 20).unsqueeze(1)
y = torch.sin(3 * x) + 0.1 * torch.randn(20, 1)


class MDN(nn.Module):
    def __init__(self, hidden, k):
        super().__init__()
        self.z_h = nn.Sequential(nn.Linear(1, hidden), nn.Tanh())
        self.z_pi = nn.Linear(hidden, k)
        self.z_mu = nn.Linear(hidden, k)
        self.z_sigma = nn.Linear(hidden, k)

    def forward(self, x):
        h = self.z_h(x)
        return F.softmax(self.z_pi(h), -1), self.z_mu(h), torch.exp(self.z_sigma(h))


def mdn_loss(y, mu, sigma, pi):
    m = torch.distributions.Normal(loc=mu, scale=sigma)
    loss = torch.exp(m.log_prob(y))
    loss = torch.sum(loss * pi, dim=1)
    loss = -torch.log(loss)
    return torch.mean(loss)


model = MDN(6, 3)
optimizer = torch.optim.Adam(model.parameters(), lr=0.03)
for epoch in range(20):
    optimizer.zero_grad()
    pi, mu, sigma = model(x)
    loss = mdn_loss(y, mu, sigma, pi)
    loss.backward()
    optimizer.step()
    if epoch % 5 == 4:
        print(epoch, f"{loss.item():.5f}")
logits = torch.tensor([[1.0, 2.0, 0.5]], requires_grad=True)
soft = F.gumbel_softmax(logits, tau=0.7)
hard = F.gumbel_softmax(logits, tau=0.7, hard=True)
print(soft, hard.detach())
(hard * torch.tensor([1.0, 2.0, 3.0])).sum().backward()
print(logits.grad)
