# "Hooks for autograd saved tensors".
import torch


def f(x):
    return x * x


x = torch.ones(5, requires_grad=True)
y = f(x)
print(y.grad_fn._saved_self.equal(x), y.grad_fn._saved_other.equal(x))
packed = []


def pack_hook(x):
    packed.append(tuple(x.shape))
    return x.clone() * 10


def unpack_hook(x):
    return x / 10


a = torch.full((3,), 2.0, requires_grad=True)
b = torch.ones(3, requires_grad=True) * 2
with torch.autograd.graph.saved_tensors_hooks(pack_hook, unpack_hook):
    y = a * b
y.sum().backward()
print(packed, a.grad)


class SelfDeletingTempFile:
    count = 0

    def __init__(self, tensor):
        SelfDeletingTempFile.count += 1
        self.tensor = tensor


def pack_to_disk(tensor):
    return SelfDeletingTempFile(tensor)


def unpack(temp):
    return temp.tensor


class Model(torch.nn.Module):
    def forward(self, x):
        with torch.autograd.graph.saved_tensors_hooks(pack_to_disk, unpack):
            return (x.exp() * x).sum()


x = torch.tensor([0.5, 1.0], requires_grad=True)
Model()(x).backward()
print(x.grad, SelfDeletingTempFile.count)
