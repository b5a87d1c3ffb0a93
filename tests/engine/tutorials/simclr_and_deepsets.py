# Contrastive learning (NT-Xent), deep sets, energy-based models by Langevin steps, a Hopfield net.
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
encoder = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 4))
opt = torch.optim.AdamW(encoder.parameters(), lr=0.01, weight_decay=1e-4)
data = torch.randn(6, 4)


def info_nce_loss(feats, temperature=0.2):
    cos_sim = F.cosine_similarity(feats[:, None, :], feats[None, :, :], dim=-1)
    self_mask = torch.eye(cos_sim.shape[0], dtype=torch.bool, device=cos_sim.device)
    cos_sim.masked_fill_(self_mask, -9e15)
    pos_mask = self_mask.roll(shifts=cos_sim.shape[0] // 2, dims=0)
    cos_sim = cos_sim / temperature
    nll = -cos_sim[pos_mask] + torch.logsumexp(cos_sim, dim=-1)
    comb_sim = torch.cat([cos_sim[pos_mask][:, None], cos_sim.masked_fill(pos_mask, -9e15)], dim=-1)
    sim_argsort = comb_sim.argsort(dim=-1, descending=True).argmin(dim=-1)
    return nll.mean(), (sim_argsort == 0).double().mean()


for step in range(6):
    views = torch.cat([data + 0.1 * torch.randn_like(data), data + 0.1 * torch.randn_like(data)])
    loss, acc = info_nce_loss(encoder(views))
    opt.zero_grad()
    loss.backward()
    opt.step()
print(f"{loss.item():.5f} {acc.item():.3f}")


class DeepSets(nn.Module):
    def __init__(self):
        super().__init__()
        self.phi, self.rho = nn.Linear(1, 6), nn.Linear(6, 1)

    def forward(self, x, mask):
        return self.rho((torch.tanh(self.phi(x)) * mask.unsqueeze(-1)).sum(1)).squeeze(1)


sets, mask = torch.rand(5, 4, 1), (torch.rand(5, 4) > 0.3).double()
net = DeepSets()
opt = torch.optim.Adam(net.parameters(), lr=0.05)
for step in range(10):
    loss = F.mse_loss(net(sets, mask), (sets.squeeze(-1) * mask).sum(1))
    opt.zero_grad()
    loss.backward()
    opt.step()
print(f"{loss.item():.6f}", torch.allclose(net(sets.flip(1), mask.flip(1)), net(sets, mask)))
energy = nn.Sequential(nn.Linear(2, 8), nn.SiLU(), nn.Linear(8, 1))
samples = torch.rand(5, 2) * 2 - 1
for p in energy.parameters():
    p.requires_grad = False
for _ in range(5):
    samples = samples.detach().requires_grad_()
    energy(samples).sum().backward()
    samples.grad.data.clamp_(-0.03, 0.03)
    samples.data.add_(-10 * samples.grad.data).clamp_(min=-1.0, max=1.0)
print(samples.data)
patterns = torch.sign(torch.randn(2, 6))
W = patterns.T @ patterns / 6
W.fill_diagonal_(0)
state = patterns[0].clone()
state[:2] *= -1
for _ in range(4):
    state = torch.sign(W @ state)
print(state, patterns[0])
