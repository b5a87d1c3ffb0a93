# Gradients accumulate; zero_grad, detach, retain_grad, non-leaf gradients.
import torch
w = torch.tensor(2.0, requires_grad=True)
for step in range(3):
    loss = (w * 3 - 1) ** 2
    loss.backward()
    print(step, w.grad)
w.grad = None
h = w * 3
h.retain_grad()
out = h ** 2
out.backward()
print(h.grad, w.grad, h.is_leaf, h.retains_grad)
g = w.grad
h = w * 5
h.backward()
print(g, w.grad is g)
w.grad.zero_()
print(g)
print((w * 2).grad)
x = torch.arange(6.0).reshape(2, 3).requires_grad_()
loss = (x * torch.tensor([1.0, 2.0, 3.0])).sum(dim=0).prod()
(gx,) = torch.autograd.grad(loss, x, retain_graph=True)
print(gx, x.grad)
gx, = torch.autograd.grad(loss, [x])
try:
    torch.autograd.grad(loss, x)
except RuntimeError:
    print("freed")
unused = torch.ones(2, requires_grad=True)
print(torch.autograd.grad((x * 1).sum(), [x, unused], allow_unused=True))
print(torch.autograd.grad((x * 1).sum(), [x, unused], materialize_grads=True))
try:
    torch.autograd.grad((x * 1).sum(), [x, unused])
except RuntimeError:
    print("unused")
