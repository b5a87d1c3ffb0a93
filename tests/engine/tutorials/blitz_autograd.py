# "A 60 minute blitz": torch.autograd.
import torch

a = torch.tensor([2., 3.], requires_grad=True)
b = torch.tensor([6., 4.], requires_grad=True)
Q = 3*a**3 - b**2
external_grad = torch.tensor([1., 1.])
Q.backward(gradient=external_grad)
print(9*a**2 == a.grad)
print(-2*b == b.grad)
x = torch.tensor([[0.1, 0.2], [0.3, 0.4]])
y = torch.tensor([[0.5, 0.6], [0.7, 0.8]])
z = torch.rand((2, 2), requires_grad=True)
a = x + y
print(f"Does `a` require gradients?: {a.requires_grad}")
b = x + z
print(f"Does `b` require gradients?: {b.requires_grad}")
from torch import nn, optim
torch.manual_seed(1)
model = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))
for param in model.parameters():
    param.requires_grad = False
model[2] = nn.Linear(3, 4)
optimizer = optim.SGD([p for p in model.parameters() if p.requires_grad], lr=1e-2, momentum=0.9)
prediction = model(torch.rand(1, 4))
loss = (prediction - torch.rand(1, 4)).sum()
loss.backward()
optimizer.step()
for name, p in model.named_parameters():
    print(name, p.requires_grad, p.grad)
