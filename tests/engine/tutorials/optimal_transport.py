# Sinkhorn's optimal transport, soft sorting, soft dynamic time warping, all differentiable.
import torch

torch.manual_seed(0)
x = torch.randn(5, 2, requires_grad=True)
y = torch.randn(4, 2)


def sinkhorn(x, y, eps=0.5, n=30):
    C = torch.cdist(x, y) ** 2
    a, b = torch.full((len(x),), 1 / len(x)), torch.full((len(y),), 1 / len(y))
    f, g = torch.zeros(len(x)), torch.zeros(len(y))
    for _ in range(n):
        f = -eps * torch.logsumexp((g - C) / eps + b.log(), dim=1)
        g = -eps * torch.logsumexp((f[:, None] - C) / eps + a.log()[:, None], dim=0)
    P = torch.exp((f[:, None] + g - C) / eps) * a[:, None] * b
    return (P * C).sum(), P


cost, P = sinkhorn(x, y)
cost.backward()
print(cost, P.sum(0), x.grad)


def soft_rank(s, tau=0.5):
    return 0.5 + torch.sigmoid((s[:, None] - s[None]) / tau).sum(1)


s = torch.tensor([0.3, -1.0, 2.0], requires_grad=True)
r = soft_rank(s)
r[0].backward()
print(r, s.grad)


def soft_dtw(a, b, gamma=0.5):
    n, m = len(a), len(b)
    inf = torch.tensor(1e10)
    R = [[inf] * (m + 1) for _ in range(n + 1)]
    R[0][0] = torch.tensor(0.0)
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            prev = torch.stack([R[i - 1][j], R[i][j - 1], R[i - 1][j - 1]])
            R[i][j] = (a[i - 1] - b[j - 1]) ** 2 - gamma * torch.logsumexp(-prev / gamma, 0)
    return R[n][m]


a = torch.tensor([0.0, 1.0, 2.0, 1.0], requires_grad=True)
d = soft_dtw(a, torch.tensor([0.0, 2.0, 1.0]))
d.backward()
print(d, a.grad)
