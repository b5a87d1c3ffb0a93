# An optimiser and a scheduler of one's own, parameter groups, state, EMA of weights, early stopping.
import copy
import torch
import torch.nn as nn
from torch.optim import Optimizer


class Lion(Optimizer):
    def __init__(self, params, lr=1e-2, betas=(0.9, 0.99), weight_decay=0.0):
        if lr <= 0.0:
            raise ValueError(f"Invalid learning rate: {lr}")
        defaults = dict(lr=lr, betas=betas, weight_decay=weight_decay)
        super().__init__(params, defaults)

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                p.data.mul_(1 - group["lr"] * group["weight_decay"])
                grad = p.grad
                state = self.state[p]
                if len(state) == 0:
                    state["exp_avg"] = torch.zeros_like(p)
                exp_avg = state["exp_avg"]
                beta1, beta2 = group["betas"]
                update = exp_avg * beta1 + grad * (1 - beta1)
                p.add_(update.sign_(), alpha=-group["lr"])
                exp_avg.mul_(beta2).add_(grad, alpha=1 - beta2)
        return loss


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
decay = [p for n, p in model.named_parameters() if n.endswith("weight")]
rest = [p for n, p in model.named_parameters() if not n.endswith("weight")]
opt = Lion([{"params": decay, "weight_decay": 0.1}, {"params": rest}], lr=0.02)
x, y = torch.randn(16, 3), torch.randn(16, 1)
ema = copy.deepcopy(model)
best, best_state, patience = float("inf"), None, 0
for epoch in range(20):
    def closure():
        opt.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        return loss
    loss = opt.step(closure)
    with torch.no_grad():
        for e, p in zip(ema.parameters(), model.parameters()):
            e.lerp_(p, 0.1)
    if loss.item() < best - 1e-4:
        best, best_state, patience = loss.item(), copy.deepcopy(model.state_dict()), 0
    else:
        patience += 1
        if patience == 3:
            print("stopped at", epoch)
            break
print(f"{best:.5f}", f"{nn.functional.mse_loss(ema(x), y).item():.5f}", len(opt.state), opt.param_groups[1]["weight_decay"])
model.load_state_dict(best_state)
print(model(x[:2]).flatten())
opt.add_param_group({"params": [torch.zeros(1, requires_grad=True)], "lr": 0.5})
print(len(opt.param_groups), opt.param_groups[2]["lr"])
try:
    Lion(model.parameters(), lr=-1.0)
except ValueError as error:
    print(error)
