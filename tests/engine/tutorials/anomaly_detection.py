# Anomaly detection, nan in backward, detaching, stopping gradients, freezing.
import torch


class MyFunc(torch.autograd.Function):
    @staticmethod
    def forward(ctx, inp):
        return inp.clone()

    @staticmethod
    def backward(ctx, gO):
        raise RuntimeError("Some error in backward")


def run_fn(a):
    out = MyFunc.apply(a)
    return out.sum()


inp = torch.rand(2, 2, requires_grad=True)
out = run_fn(inp)
try:
    out.backward()
except RuntimeError as error:
    print(error)
with torch.autograd.detect_anomaly():
    x = torch.tensor([0.0, 4.0], requires_grad=True)
    y = (x.sqrt() * 0).sum()
    try:
        y.backward()
    except RuntimeError as error:
        print("nan" in str(error))
x = torch.tensor([0.0, 4.0], requires_grad=True)
(x.sqrt() * 0).sum().backward()
print(x.grad)
x.grad = None
safe = torch.where(x > 0, x, torch.ones_like(x))
torch.where(x > 0, safe.sqrt(), torch.zeros_like(x)).sum().backward()
print(x.grad)
enc = torch.nn.Linear(2, 2)
head = torch.nn.Linear(2, 1)
enc.requires_grad_(False)
head(enc(torch.ones(1, 2))).sum().backward()
print(enc.weight.grad, head.weight.grad is not None)
with torch.no_grad():
    feature = enc(torch.ones(1, 2))
print(feature.requires_grad, head(feature).requires_grad)
