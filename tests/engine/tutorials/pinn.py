# A physics-informed network for u'' = -u, u(0) = 0, u'(0) = 1.
import torch
import torch.nn as nn

torch.manual_seed(123)


class FCN(nn.Module):
    def __init__(self, N_INPUT, N_OUTPUT, N_HIDDEN, N_LAYERS):
        super().__init__()
        activation = nn.Tanh
        self.fcs = nn.Sequential(*[nn.Linear(N_INPUT, N_HIDDEN), activation()])
        self.fch = nn.Sequential(*[nn.Sequential(*[nn.Linear(N_HIDDEN, N_HIDDEN), activation()]) for _ in range(N_LAYERS-1)])
        self.fce = nn.Linear(N_HIDDEN, N_OUTPUT)

    def forward(self, x):
        x = self.fcs(x)
        x = self.fch(x)
        x = self.fce(x)
        return x


pinn = FCN(1, 1, 8, 2)
t_boundary = torch.tensor(0.).view(-1, 1).requires_grad_(True)
t_physics = torch.linspace(0, 2, 12).view(-1, 1).requires_grad_(True)
optimiser = torch.optim.Adam(pinn.parameters(), lr=1e-2)
for i in range(40):
    optimiser.zero_grad()
    lambda1, lambda2 = 1e-1, 1e-2
    u = pinn(t_boundary)
    loss1 = (torch.squeeze(u) - 0)**2
    dudt = torch.autograd.grad(u, t_boundary, torch.ones_like(u), create_graph=True)[0]
    loss2 = (torch.squeeze(dudt) - 1)**2
    u = pinn(t_physics)
    dudt = torch.autograd.grad(u, t_physics, torch.ones_like(u), create_graph=True)[0]
    d2udt2 = torch.autograd.grad(dudt, t_physics, torch.ones_like(dudt), create_graph=True)[0]
    loss3 = torch.mean((d2udt2 + u)**2)
    loss = loss1 + lambda1*loss2 + lambda2*loss3
    loss.backward()
    optimiser.step()
    if i % 10 == 9:
        print(i, f"{loss.item():.6f}")
print(pinn(torch.tensor([[1.0]])).detach())
