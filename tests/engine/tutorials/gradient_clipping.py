# Clipping gradients by norm and value, accumulation over batches, parameters as one vector.
import torch
import torch.nn as nn
from torch.nn.utils import clip_grad_norm_, clip_grad_value_, parameters_to_vector, vector_to_parameters

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
x, y = torch.randn(6, 3), torch.randn(6, 1) * 10
loss = nn.functional.mse_loss(model(x), y)
loss.backward()
before = [p.grad.norm().item() for p in model.parameters()]
total = clip_grad_norm_(model.parameters(), max_norm=1.0)
print(total, [round(v, 4) for v in before])
print(sum(p.grad.norm() ** 2 for p in model.parameters()).sqrt())
print(clip_grad_norm_(model.parameters(), 0.5, norm_type=float("inf")))
clip_grad_value_(model.parameters(), 0.05)
print(max(p.grad.abs().max().item() for p in model.parameters()))
model.zero_grad()
accumulation = 3
for i in range(accumulation):
    chunk = nn.functional.mse_loss(model(x[2 * i:2 * i + 2]), y[2 * i:2 * i + 2])
    (chunk / accumulation).backward()
g = parameters_to_vector([p.grad for p in model.parameters()])
model.zero_grad()
nn.functional.mse_loss(model(x), y).backward()
h = parameters_to_vector([p.grad for p in model.parameters()])
print(torch.allclose(g, h), g.shape)
v = parameters_to_vector(model.parameters())
vector_to_parameters(torch.zeros_like(v), model.parameters())
print(model(x).flatten())
print(model[0].weight.grad is not None)
model.zero_grad(set_to_none=True)
print(model[0].weight.grad)
