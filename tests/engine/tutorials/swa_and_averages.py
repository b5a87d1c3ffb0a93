# Weight averaging: exponential means by hand, swa_utils.AveragedModel and SWALR.
import torch
import torch.nn as nn
from torch.optim.swa_utils import AveragedModel, SWALR, get_ema_multi_avg_fn

torch.manual_seed(0)
model = nn.Linear(2, 1)
swa_model = AveragedModel(model)
ema_model = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.9))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
swa_scheduler = SWALR(optimizer, swa_lr=0.05, anneal_epochs=3)
x, y = torch.randn(8, 2), torch.randn(8, 1)
for epoch in range(6):
    optimizer.zero_grad()
    nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()
    ema_model.update_parameters(model)
    if epoch >= 2:
        swa_model.update_parameters(model)
        swa_scheduler.step()
    print(epoch, round(optimizer.param_groups[0]["lr"], 5))
print(swa_model.module.weight.data, ema_model.module.weight.data, swa_model.n_averaged)
print(swa_model(x[:2]).detach())
