# Walking the graph: grad_fn, next_functions, AccumulateGrad, names of nodes; torch.autograd.backward.
import torch

a = torch.tensor([2.0, 3.0], requires_grad=True)
b = torch.tensor([6.0, 4.0], requires_grad=True)
Q = 3 * a ** 3 - b ** 2


def walk(fn, depth=0):
    if fn is None:
        return
    print("  " * depth + fn.name().split("::")[-1] if hasattr(fn, "name") else type(fn).__name__)
    for child, index in fn.next_functions:
        walk(child, depth + 1)


walk(Q.grad_fn)
leaf = Q.grad_fn.next_functions[1][0].next_functions[0][0]
print(type(leaf).__name__, leaf.variable is b)
x = torch.ones(2, 2, requires_grad=True)
y = x.sum()
z = (x * 2).mean()
torch.autograd.backward([y, z])
print(x.grad)
x.grad = None
y, z = x.sum(), (x * x)
torch.autograd.backward([y, z], [None, torch.full((2, 2), 0.5)])
print(x.grad)
w = torch.ones(2, requires_grad=True)
v = torch.ones(2, requires_grad=True)
loss = (w * v * 3).sum()
torch.autograd.backward(loss, inputs=[w])
print(w.grad, v.grad)
s = x.split(1, 0)
print(type(s[0].grad_fn).__name__, [type(t.grad_fn).__name__ for t in (x[0], x.T, x @ x, x.mean(), x.exp(), x.view(4), x.max(), x.softmax(0), x.pow(2), x / 2, x - 1, -x, x.sum(0), x.clone(), x.unsqueeze(0))])
u, idx = x.max(dim=1)
print(type(u.grad_fn).__name__, u, idx)
