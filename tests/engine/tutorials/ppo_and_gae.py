# PPO on a small walk: advantages by GAE, the clipped objective, entropy, several epochs.
import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.manual_seed(0)


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(2, 8), nn.Tanh())
        self.pi, self.v = nn.Linear(8, 3), nn.Linear(8, 1)

    def forward(self, s):
        h = self.body(s)
        return Categorical(logits=self.pi(h)), self.v(h).squeeze(-1)


def rollout(model, n=12):
    s, rows = torch.zeros(2), []
    for t in range(n):
        with torch.no_grad():
            dist, v = model(s)
            a = dist.sample()
            lp = dist.log_prob(a)
        move = (a.item() - 1) * 0.5
        s2 = s + torch.tensor([move, 0.1])
        r = 1.0 - (s2[0] - 1.0).abs().item()
        rows.append((s, a, lp, v, r))
        s = s2
    s, a, lp, v, r = zip(*rows)
    return torch.stack(s), torch.stack(a), torch.stack(lp), torch.stack(v), torch.tensor(r)


def gae(r, v, gamma=0.99, lam=0.95):
    adv, last = torch.zeros_like(r), 0.0
    for t in reversed(range(len(r))):
        nxt = v[t + 1] if t + 1 < len(r) else torch.tensor(0.0)
        delta = r[t] + gamma * nxt - v[t]
        last = delta + gamma * lam * last
        adv[t] = last
    return adv, adv + v


model = ActorCritic()
opt = torch.optim.Adam(model.parameters(), lr=0.02, eps=1e-5)
for it in range(4):
    s, a, lp, v, r = rollout(model)
    adv, ret = gae(r, v)
    adv = (adv - adv.mean()) / (adv.std() + 1e-8)
    for epoch in range(3):
        dist, value = model(s)
        ratio = (dist.log_prob(a) - lp).exp()
        clip = torch.clamp(ratio, 0.8, 1.2) * adv
        policy = -torch.min(ratio * adv, clip).mean()
        loss = policy + 0.5 * (value - ret).pow(2).mean() - 0.01 * dist.entropy().mean()
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        opt.step()
    print(it, f"{r.mean().item():.4f} {loss.item():.4f} {(ratio - 1).abs().max().item():.4f}")
