# A neural ODE by Euler steps and by Runge-Kutta; derivatives by parameters, start and end.
import torch
import torch.nn as nn

torch.manual_seed(0)


class ODEFunc(nn.Module):
    def __init__(self):
        super(ODEFunc, self).__init__()
        self.net = nn.Sequential(nn.Linear(2, 6), nn.Tanh(), nn.Linear(6, 2))
        for m in self.net.modules():
            if isinstance(m, nn.Linear):
                nn.init.normal_(m.weight, mean=0, std=0.1)
                nn.init.constant_(m.bias, val=0)

    def forward(self, t, y):
        return self.net(y**3)


def odeint(func, y0, t, method="euler"):
    y, ys = y0, [y0]
    for t0, t1 in zip(t[:-1], t[1:]):
        h = t1 - t0
        if method == "euler":
            y = y + h * func(t0, y)
        else:
            k1 = func(t0, y)
            k2 = func(t0 + h / 2, y + h * k1 / 2)
            k3 = func(t0 + h / 2, y + h * k2 / 2)
            k4 = func(t1, y + h * k3)
            y = y + h * (k1 + 2 * k2 + 2 * k3 + k4) / 6
        ys.append(y)
    return torch.stack(ys)


true_y0 = torch.tensor([[2., 0.]])
t = torch.linspace(0., 1., 6)
true_A = torch.tensor([[-0.1, 2.0], [-2.0, -0.1]])


class Lambda(nn.Module):
    def forward(self, t, y):
        return torch.mm(y**3, true_A)


with torch.no_grad():
    true_y = odeint(Lambda(), true_y0, t, method="rk4")
print(true_y.squeeze(1))
func = ODEFunc()
optimizer = torch.optim.RMSprop(func.parameters(), lr=1e-2)
for itr in range(1, 13):
    optimizer.zero_grad()
    pred_y = odeint(func, true_y0, t)
    loss = torch.mean(torch.abs(pred_y - true_y))
    loss.backward()
    optimizer.step()
    if itr % 4 == 0:
        print("Iter {:04d} | Total Loss {:.6f}".format(itr, loss.item()))
k = torch.tensor(0.5, requires_grad=True)
y0 = torch.tensor(2.0, requires_grad=True)
end = odeint(lambda t, y: -k * y, y0, torch.linspace(0, 1, 11), "rk4")[-1]
print(end, torch.autograd.grad(end, [k, y0]))
