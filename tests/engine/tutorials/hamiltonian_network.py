# A Hamiltonian neural network: derivatives by inputs inside of the loss, vmap over samples.
import torch
import torch.nn as nn
from torch.func import functional_call, grad, vmap

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
q = torch.linspace(-1, 1, 10)
p = torch.cos(2 * q)
z = torch.stack([q, p], 1)
dz = torch.stack([p, -q], 1)
opt = torch.optim.Adam(net.parameters(), lr=0.02)
for step in range(15):
    z.requires_grad_(True)
    H = net(z).sum()
    dH, = torch.autograd.grad(H, z, create_graph=True)
    pred = torch.stack([dH[:, 1], -dH[:, 0]], 1)
    loss = (pred - dz).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 5 == 4:
        print(step, f"{loss.item():.6f}")
params = dict(net.named_parameters())
energy = lambda x: functional_call(net, params, (x,)).squeeze()
rows = vmap(grad(energy))(z.detach())
print(torch.allclose(rows, torch.autograd.grad(net(z).sum(), z)[0]))
