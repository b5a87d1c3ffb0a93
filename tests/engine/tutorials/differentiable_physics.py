# Differentiable physics: a thrown ball to a target, a chain of springs, a learned force.
import torch

v0 = torch.tensor([2.0, 3.0], requires_grad=True)
g, dt = torch.tensor([0.0, -9.8]), 0.05
opt = torch.optim.Adam([v0], lr=0.3)
for it in range(12):
    p, v = torch.zeros(2), v0
    for step in range(10):
        v = v + dt * g
        p = p + dt * v
    loss = ((p - torch.tensor([2.0, 1.0])) ** 2).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 4 == 3:
        print(it, f"{loss.item():.6f}", v0.detach())
n = 5
k = torch.full((n - 1,), 20.0, requires_grad=True)
x = torch.stack([torch.arange(n) * 1.0, torch.zeros(n)], 1)
vel = torch.zeros(n, 2)
fixed = torch.ones(n, 1)
fixed[0] = 0
for step in range(12):
    d = x[1:] - x[:-1]
    length = d.norm(dim=1, keepdim=True)
    tension = k[:, None] * (length - 1.0) * d / length
    force = torch.zeros(n, 2).index_add(0, torch.arange(n - 1), tension) - torch.zeros(n, 2).index_add(0, torch.arange(1, n), tension)
    vel = (vel + 0.02 * (force + g)) * fixed
    x = x + 0.02 * vel
energy = 0.5 * (vel ** 2).sum()
energy.backward()
print(x.detach(), energy, k.grad)
theta = torch.zeros(2, requires_grad=True)
lbfgs = torch.optim.LBFGS([theta], lr=1, max_iter=20, line_search_fn="strong_wolfe")
times = torch.linspace(0, 2, 9)
target = torch.exp(-0.3 * times) * torch.cos(2 * times)


def closure():
    lbfgs.zero_grad()
    q, v, out = torch.tensor(1.0), torch.tensor(-0.3), []
    damping, stiffness = torch.nn.functional.softplus(theta)
    for i in range(len(times)):
        out.append(q)
        for _ in range(5):
            acc = -stiffness * q - damping * v
            v = v + 0.05 * acc
            q = q + 0.05 * v
    loss = (torch.stack(out) - target).pow(2).mean()
    loss.backward()
    return loss


first = closure().item()
lbfgs.step(closure)
print(f"{first:.5f} {closure().item():.7f}", torch.nn.functional.softplus(theta).detach())
