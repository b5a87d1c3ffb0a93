# d2l: optimisation algorithms from scratch: GD, Newton, SGD, momentum, Adagrad, RMSprop, Adadelta, Adam, schedules.
import math
import torch


def f(x):
    return x ** 2


def f_grad(x):
    return 2 * x


def gd(eta, f_grad):
    x = 10.0
    results = [x]
    for i in range(10):
        x -= eta * f_grad(x)
        results.append(float(x))
    print(f"epoch 10, x: {x:f}")
    return results


results = gd(0.2, f_grad)
c = torch.tensor(0.5)


def f(x):
    return torch.cosh(c * x)


def newton(eta=1):
    x = torch.tensor(10.0, requires_grad=True)
    for i in range(10):
        g, = torch.autograd.grad(f(x), x, create_graph=True)
        h, = torch.autograd.grad(g, x)
        with torch.no_grad():
            x -= eta * g / h
    print("epoch 10, x:", x)


newton()
torch.manual_seed(0)
features = torch.randn(40, 5)
labels = features @ torch.tensor([1.0, -2.0, 0.5, 3.0, 0.0]) + 0.05 * torch.randn(40)


def init_states(kind):
    if kind == "adam":
        return [(torch.zeros((5, 1)), torch.zeros((5, 1))), (torch.zeros(1), torch.zeros(1))]
    if kind == "adadelta":
        return [(torch.zeros((5, 1)), torch.zeros((5, 1))), (torch.zeros(1), torch.zeros(1))]
    return [torch.zeros((5, 1)), torch.zeros(1)]


def sgd(params, states, hp):
    for p in params:
        p.data.sub_(hp["lr"] * p.grad)
        p.grad.data.zero_()


def momentum(params, states, hp):
    for p, v in zip(params, states):
        with torch.no_grad():
            v[:] = hp["momentum"] * v + p.grad
            p[:] -= hp["lr"] * v
        p.grad.data.zero_()


def adagrad(params, states, hp):
    eps = 1e-6
    for p, s in zip(params, states):
        with torch.no_grad():
            s[:] += torch.square(p.grad)
            p[:] -= hp["lr"] * p.grad / torch.sqrt(s + eps)
        p.grad.data.zero_()


def rmsprop(params, states, hp):
    gamma, eps = hp["gamma"], 1e-6
    for p, s in zip(params, states):
        with torch.no_grad():
            s[:] = gamma * s + (1 - gamma) * torch.square(p.grad)
            p[:] -= hp["lr"] * p.grad / torch.sqrt(s + eps)
        p.grad.data.zero_()


def adadelta(params, states, hp):
    rho, eps = hp["rho"], 1e-5
    for p, (s, delta) in zip(params, states):
        with torch.no_grad():
            s[:] = rho * s + (1 - rho) * torch.square(p.grad)
            g = (torch.sqrt(delta + eps) / torch.sqrt(s + eps)) * p.grad
            p[:] -= g
            delta[:] = rho * delta + (1 - rho) * g * g
        p.grad.data.zero_()


def adam(params, states, hp):
    beta1, beta2, eps = 0.9, 0.999, 1e-6
    for p, (v, s) in zip(params, states):
        with torch.no_grad():
            v[:] = beta1 * v + (1 - beta1) * p.grad
            s[:] = beta2 * s + (1 - beta2) * torch.square(p.grad)
            v_bias_corr = v / (1 - beta1 ** hp["t"])
            s_bias_corr = s / (1 - beta2 ** hp["t"])
            p[:] -= hp["lr"] * v_bias_corr / (torch.sqrt(s_bias_corr) + eps)
        p.grad.data.zero_()
    hp["t"] += 1


for trainer, hp, kind in ((sgd, {"lr": 0.1}, ""), (momentum, {"lr": 0.02, "momentum": 0.5}, ""), (adagrad, {"lr": 0.3}, ""),
                          (rmsprop, {"lr": 0.05, "gamma": 0.9}, ""), (adadelta, {"rho": 0.9}, "adadelta"), (adam, {"lr": 0.1, "t": 1}, "adam")):
    w = torch.full((5, 1), 0.01, requires_grad=True)
    b = torch.zeros(1, requires_grad=True)
    states = init_states(kind)
    for epoch in range(2):
        for i in range(0, 40, 10):
            X, y = features[i:i + 10], labels[i:i + 10]
            l = ((X @ w + b - y.reshape(-1, 1)) ** 2 / 2).mean()
            l.backward()
            trainer([w, b], states, hp)
    print(trainer.__name__, f"{l.item():.5f}", w.detach().flatten())


class SquareRootScheduler:
    def __init__(self, lr=0.1):
        self.lr = lr

    def __call__(self, num_update):
        return self.lr * pow(num_update + 1.0, -0.5)


print([round(SquareRootScheduler(lr=0.1)(t), 4) for t in range(4)])


class CosineScheduler:
    def __init__(self, max_update, base_lr=0.01, final_lr=0, warmup_steps=0, warmup_begin_lr=0):
        self.base_lr_orig = base_lr
        self.max_update = max_update
        self.final_lr = final_lr
        self.warmup_steps = warmup_steps
        self.warmup_begin_lr = warmup_begin_lr
        self.max_steps = self.max_update - self.warmup_steps

    def get_warmup_lr(self, epoch):
        increase = (self.base_lr_orig - self.warmup_begin_lr) * float(epoch) / float(self.warmup_steps)
        return self.warmup_begin_lr + increase

    def __call__(self, epoch):
        if epoch < self.warmup_steps:
            return self.get_warmup_lr(epoch)
        if epoch <= self.max_update:
            self.base_lr = self.final_lr + (self.base_lr_orig - self.final_lr) * (1 + math.cos(
                math.pi * (epoch - self.warmup_steps) / self.max_steps)) / 2
        return self.base_lr


scheduler = CosineScheduler(20, warmup_steps=5, base_lr=0.3, final_lr=0.01)
print([round(scheduler(t), 4) for t in range(0, 24, 4)])
net = torch.nn.Linear(2, 1)
trainer = torch.optim.SGD(net.parameters(), lr=0.5)
scheduler = torch.optim.lr_scheduler.MultiStepLR(trainer, milestones=[3, 6], gamma=0.5)
rates = []
for t in range(8):
    trainer.step()
    scheduler.step()
    rates.append(trainer.param_groups[0]["lr"])
print(rates)
