# Meta-learning with second orders: MAML on sine waves, and Reptile.
import math
import torch
import torch.nn.functional as F

torch.manual_seed(0)


def init():
    sizes = [1, 8, 8, 1]
    params = []
    for a, b in zip(sizes, sizes[1:]):
        params += [(torch.randn(b, a) / math.sqrt(a)).requires_grad_(), torch.zeros(b, requires_grad=True)]
    return params


def net(params, x):
    for i in range(0, len(params), 2):
        x = F.linear(x, params[i], params[i + 1])
        x = torch.tanh(x) if i < len(params) - 2 else x
    return x


def task():
    phase, amplitude = torch.rand(1) * math.pi, 0.5 + torch.rand(1)
    x = torch.rand(10, 1) * 4 - 2
    y = amplitude * torch.sin(x + phase)
    return x[:5], y[:5], x[5:], y[5:]


meta = init()
opt = torch.optim.Adam(meta, lr=1e-2)
for step in range(12):
    outer = 0.0
    for _ in range(2):
        xs, ys, xq, yq = task()
        fast = meta
        for inner in range(2):
            loss = F.mse_loss(net(fast, xs), ys)
            grads = torch.autograd.grad(loss, fast, create_graph=True)
            fast = [p - 0.1 * g for p, g in zip(fast, grads)]
        outer = outer + F.mse_loss(net(fast, xq), yq)
    opt.zero_grad()
    outer.backward()
    opt.step()
    if step % 4 == 3:
        print(step, f"{outer.item():.5f}")
theta = torch.tensor(1.0, requires_grad=True)
inner = (theta - 3) ** 2
g, = torch.autograd.grad(inner, theta, create_graph=True)
adapted = theta - 0.1 * g
outer = (adapted - 2.5) ** 2
outer.backward()
print(adapted, theta.grad)
first = torch.tensor(1.0, requires_grad=True)
g, = torch.autograd.grad((first - 3) ** 2, first)
((first - 0.1 * g - 2.5) ** 2).backward()
print(first.grad)
