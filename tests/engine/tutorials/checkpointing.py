# Activation checkpointing: gradients are those without.
import torch
import torch.nn as nn
from torch.utils.checkpoint import checkpoint, checkpoint_sequential


class Block(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n, 2 * n), nn.GELU(), nn.Linear(2 * n, n))

    def forward(self, x):
        return x + self.net(x)


torch.manual_seed(0)
blocks = nn.ModuleList([Block(4) for _ in range(3)])
x = torch.randn(2, 4, requires_grad=True)


def run(use):
    h = x
    for block in blocks:
        h = checkpoint(block, h, use_reentrant=False) if use else block(h)
    loss = h.pow(2).mean()
    blocks.zero_grad()
    x.grad = None
    loss.backward()
    return loss.item(), x.grad.clone(), blocks[0].net[0].weight.grad.clone()


l1, g1, w1 = run(False)
l2, g2, w2 = run(True)
print(round(l1, 6), l1 == l2, torch.equal(g1, g2), torch.allclose(w1, w2))
seq = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4), nn.ReLU())
out = checkpoint_sequential(seq, 2, x, use_reentrant=False)
print(out.shape, torch.allclose(out, seq(x)))
def f(a, b, scale=1):
    return (a * b).sin() * scale


a, b = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([0.5, 3.0])
y = checkpoint(f, a, b, scale=2, use_reentrant=False)
y.sum().backward()
print(a.grad)
