# Learning a learning rate by differentiating through the steps of gradient descent.
import torch

torch.manual_seed(0)
A = torch.diag(torch.tensor([1.0, 5.0]))
log_lr = torch.tensor(-3.0, requires_grad=True)
momentum = torch.tensor(0.5, requires_grad=True)
meta = torch.optim.Adam([log_lr, momentum], lr=0.1)
for outer in range(10):
    x = torch.tensor([2.0, 1.0], requires_grad=True)
    v = torch.zeros(2)
    for inner in range(6):
        f = 0.5 * x @ A @ x
        g, = torch.autograd.grad(f, x, create_graph=True)
        v = momentum * v - log_lr.exp() * g
        x = x + v
    loss = 0.5 * x @ A @ x
    meta.zero_grad()
    loss.backward()
    meta.step()
    if outer % 3 == 0:
        print(outer, f"{loss.item():.6f} {log_lr.exp().item():.5f} {momentum.item():.5f}")
