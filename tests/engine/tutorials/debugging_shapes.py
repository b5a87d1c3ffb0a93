# What goes wrong, as forums have it: errors of shapes, types, devices, leaves; each is of PyTorch's kind.
import torch
import torch.nn as nn

x = torch.ones(2, 3, requires_grad=True)


def tried(name, f):
    try:
        f()
        print(name, "fine")
    except Exception as error:
        kinds = (IndexError, NotImplementedError, ValueError, TypeError, AttributeError, StopIteration, RuntimeError)
        print(name, next(kind.__name__ for kind in kinds if isinstance(error, kind)))


tried("matmul", lambda: x @ x)
tried("add", lambda: x + torch.ones(2))
tried("linear", lambda: nn.Linear(4, 1)(x))
tried("cat", lambda: torch.cat([x, torch.ones(2, 4)], 0))
tried("view", lambda: x.view(5))
tried("item", lambda: x.item())
tried("backward", lambda: (x * 2).backward())
tried("no grad", lambda: torch.ones(2).sum().backward())
tried("numpy", lambda: x.numpy())
tried("leaf", lambda: x.add_(1))
tried("requires", lambda: torch.tensor([1, 2], requires_grad=True))
tried("index", lambda: x[5])
tried("bool", lambda: bool(x > 0))
tried("target", lambda: nn.CrossEntropyLoss()(x, torch.tensor([0, 7])))
tried("attribute", lambda: x.foo)
tried("module", lambda: nn.Linear)
tried("embedding", lambda: nn.Embedding(2, 2)(torch.tensor([3])))
tried("state", lambda: nn.Linear(1, 1).load_state_dict({}))
tried("loss", lambda: nn.BCELoss()(torch.tensor([2.0]), torch.tensor([1.0])))
tried("stack", lambda: torch.stack([x, torch.ones(3)]))
tried("unpack", lambda: torch.zeros(3).reshape(2, 2))
tried("dim", lambda: x.sum(5))
tried("grad shape", lambda: (x * 1).backward(torch.ones(3)))
tried("squeeze", lambda: x.squeeze(7))
tried("optim", lambda: torch.optim.SGD([], lr=0.1))
tried("lr", lambda: torch.optim.SGD([x], lr=-1))
tried("nonleaf", lambda: torch.optim.SGD([x * 2], lr=0.1))
tried("cholesky", lambda: torch.linalg.cholesky(-torch.eye(2)))
tried("inverse", lambda: torch.linalg.inv(torch.zeros(2, 2)))
tried("set", lambda: setattr(nn.Linear(1, 1), "weight", torch.ones(1)))
tried("forward", lambda: nn.Module()(x))
tried("abstract", lambda: nn.Module().parameters().__next__())
tried("long", lambda: torch.tensor([1, 2]).mean())
tried("data", lambda: torch.tensor(["a"]))
tried("iter", lambda: list(torch.tensor(3.0)))
tried("len", lambda: len(torch.tensor(3.0)))
tried("expand", lambda: x.expand(3, 3))
tried("gather", lambda: x.gather(1, torch.tensor([[9]])))
tried("detach", lambda: torch.autograd.grad(x.detach().sum(), x))
