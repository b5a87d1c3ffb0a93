# Notes "Autograd mechanics": requires_grad, grad modes, in-place correctness.
import torch

x = torch.randn(5, requires_grad=True)
y = x.pow(2)
print(x.equal(y.grad_fn._saved_self))
print(x is y.grad_fn._saved_self)
y = x.exp()
print(y.equal(y.grad_fn._saved_result))
x = torch.ones(1, requires_grad=True)
print(x.is_leaf, (x + 1).is_leaf, x.detach().is_leaf)
with torch.no_grad():
    print(torch.is_grad_enabled(), (x * 2).requires_grad)
    with torch.enable_grad():
        print((x * 2).requires_grad)
with torch.inference_mode():
    z = x * 3
    print(z.requires_grad, torch.is_inference_mode_enabled())
torch.set_grad_enabled(False)
print((x * x).requires_grad)
torch.set_grad_enabled(True)
with torch.set_grad_enabled(False):
    print((x * x).requires_grad)


@torch.no_grad()
def doubler(v):
    return v * 2


print(doubler(x).requires_grad)
a = torch.tensor([1.0, 2.0], requires_grad=True)
b = a * 2
c = b ** 2
print(b._version)
b.add_(1)
print(b._version)
try:
    c.sum().backward()
except RuntimeError:
    print("RuntimeError: modified by an inplace operation")
try:
    a.add_(1)
except RuntimeError as error:
    print("RuntimeError:", "leaf" in str(error))
d = a.clone()
d.mul_(3)
d.sum().backward()
print(a.grad)
view = a.detach()[:1]
print(view._base is not None, view.is_leaf)
