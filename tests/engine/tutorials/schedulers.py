# torch.optim.lr_scheduler: the rates of all that lessons use.
import torch
from torch.optim import SGD
from torch.optim import lr_scheduler as S


def rates(make, n=8, metrics=None):
    p = torch.zeros(1, requires_grad=True)
    opt = SGD([p], lr=0.1, momentum=0.9)
    sched = make(opt)
    out = []
    for i in range(n):
        opt.step()
        out.append(round(opt.param_groups[0]["lr"], 6))
        sched.step(metrics[i]) if metrics else sched.step()
    return out


print(rates(lambda o: S.StepLR(o, step_size=3, gamma=0.1)))
print(rates(lambda o: S.MultiStepLR(o, [2, 5], gamma=0.5)))
print(rates(lambda o: S.ExponentialLR(o, 0.9)))
print(rates(lambda o: S.LambdaLR(o, lambda epoch: 0.95 ** epoch)))
print(rates(lambda o: S.MultiplicativeLR(o, lambda epoch: 0.9)))
print(rates(lambda o: S.CosineAnnealingLR(o, T_max=6, eta_min=0.01)))
print(rates(lambda o: S.CosineAnnealingWarmRestarts(o, T_0=3)))
print(rates(lambda o: S.LinearLR(o, start_factor=0.5, total_iters=4)))
print(rates(lambda o: S.ConstantLR(o, factor=0.5, total_iters=3)))
print(rates(lambda o: S.PolynomialLR(o, total_iters=6, power=2.0)))
print(rates(lambda o: S.OneCycleLR(o, max_lr=0.5, total_steps=8)))
print(rates(lambda o: S.CyclicLR(o, base_lr=0.01, max_lr=0.1, step_size_up=2)))
print(rates(lambda o: S.ReduceLROnPlateau(o, "min", factor=0.5, patience=1), metrics=[1.0, 0.9, 0.9, 0.9, 0.9, 0.8, 0.8, 0.8]))
print(rates(lambda o: S.SequentialLR(o, [S.ConstantLR(o, 0.1, total_iters=2), S.ExponentialLR(o, 0.9)], milestones=[3])))
print(rates(lambda o: S.ChainedScheduler([S.ConstantLR(o, 0.1, total_iters=2), S.ExponentialLR(o, 0.9)])))
p = torch.zeros(1, requires_grad=True)
opt = SGD([{"params": [p]}, {"params": [torch.ones(1, requires_grad=True)], "lr": 0.5}], lr=0.1)
sched = S.StepLR(opt, 2)
for _ in range(4):
    opt.step()
    sched.step()
print(sched.get_last_lr(), sched.state_dict()["last_epoch"])
