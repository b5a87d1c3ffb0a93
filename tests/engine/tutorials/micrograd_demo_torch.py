# micrograd's demo, its moons and hinge loss in torch: max(input, other), slices, no_grad.
import math
import torch

torch.manual_seed(1337)
n = 12
t = torch.linspace(0, math.pi, n)
outer = torch.stack([torch.cos(t), torch.sin(t)], 1)
inner = torch.stack([1 - torch.cos(t), 1 - torch.sin(t) - 0.5], 1)
X = torch.cat([outer, inner]) + 0.1 * torch.randn(2 * n, 2)
y = torch.cat([torch.ones(n), -torch.ones(n)])
W1 = torch.randn(2, 8, requires_grad=True)
b1 = torch.zeros(8, requires_grad=True)
W2 = torch.randn(8, 1, requires_grad=True)
b2 = torch.zeros(1, requires_grad=True)
params = [W1, b1, W2, b2]
for k in range(30):
    scores = (torch.relu(X @ W1 + b1) @ W2 + b2).squeeze(1)
    losses = torch.max(1 - y * scores, torch.tensor(0.0))
    total_loss = losses.mean() + 1e-4 * sum((p * p).sum() for p in params)
    for p in params:
        p.grad = None
    total_loss.backward()
    with torch.no_grad():
        for p in params:
            p -= (1.0 - 0.9 * k / 100) * 0.3 * p.grad
    if k % 6 == 5:
        acc = ((y > 0) == (scores > 0)).double().mean()
        print(f"step {k} loss {total_loss.item():.5f}, accuracy {acc.item()*100:.1f}%")
h = 0.5
xx, yy = torch.meshgrid(torch.arange(-1, 2.1, h), torch.arange(-1, 1.6, h), indexing="ij")
grid = torch.stack([xx.flatten(), yy.flatten()], 1)
with torch.no_grad():
    Z = (torch.relu(grid @ W1 + b1) @ W2 + b2 > 0).view(xx.shape)
print(Z.int())
