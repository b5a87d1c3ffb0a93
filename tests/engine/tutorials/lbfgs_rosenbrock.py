# LBFGS, Adam and gradient descent on Rosenbrock's function.
import torch
from torch import optim


def rosenbrock(x):
    return (1 - x[0])**2 + 100 * (x[1] - x[0]**2)**2


x = torch.tensor([-1.5, 2.0], requires_grad=True)
optimizer = optim.LBFGS([x], max_iter=4, history_size=10, line_search_fn="strong_wolfe")
history = []


def closure():
    optimizer.zero_grad()
    loss = rosenbrock(x)
    loss.backward()
    return loss


for i in range(8):
    history.append(rosenbrock(x).item())
    optimizer.step(closure)
print([round(h, 6) for h in history])
print(x)
x = torch.tensor([-0.5, 0.5], requires_grad=True)
optimizer = optim.LBFGS([x], lr=0.1, max_iter=10)
for i in range(5):
    print(f"{optimizer.step(closure).item():.6f}")
x_gd = torch.tensor([-1.5, 2.0], requires_grad=True)
opt = optim.SGD([x_gd], lr=1e-4)
for i in range(20):
    opt.zero_grad()
    f = rosenbrock(x_gd)
    f.backward()
    opt.step()
print(x_gd, f)


def run(opt_class, **kw):
    p = torch.tensor([-1.5, 2.0], requires_grad=True)
    o = opt_class([p], **kw)
    for _ in range(15):
        o.zero_grad()
        v = rosenbrock(p)
        v.backward()
        o.step()
    print(opt_class.__name__, p.detach(), f"{v.item():.4f}")


run(optim.Adam, lr=0.1)
run(optim.AdamW, lr=0.1, weight_decay=0.1)
run(optim.Adagrad, lr=0.5)
run(optim.Adadelta, lr=1.0)
run(optim.RMSprop, lr=0.05, momentum=0.5)
run(optim.Adamax, lr=0.1)
run(optim.NAdam, lr=0.1)
run(optim.RAdam, lr=0.1)
run(optim.Rprop, lr=0.01)
run(optim.ASGD, lr=1e-4)
run(optim.SGD, lr=1e-4, momentum=0.9, nesterov=True)
H = torch.autograd.functional.hessian(rosenbrock, torch.tensor([1.0, 1.0]))
print(H, torch.linalg.eigvalsh(H))
