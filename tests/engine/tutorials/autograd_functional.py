# torch.autograd.functional: jacobian, hessian, vjp, jvp, hvp, vhp; with tuples.
import torch
from torch.autograd.functional import hessian, hvp, jacobian, jvp, vhp, vjp


def exp_reducer(x):
    return x.exp().sum(dim=1)


inputs = torch.tensor([[0.1, 0.2], [0.3, 0.4]])
print(jacobian(exp_reducer, inputs))
print(jacobian(exp_reducer, inputs, create_graph=True).requires_grad)


def exp_adder(x, y):
    return 2 * x.exp() + 3 * y


inputs = (torch.tensor([0.5, 1.0]), torch.tensor([2.0, 3.0]))
print(jacobian(exp_adder, inputs))


def pow_reducer(x):
    return x.pow(3).sum()


x = torch.tensor([[0.5, 1.0], [-1.0, 2.0]])
print(hessian(pow_reducer, x))


def pow_adder_reducer(x, y):
    return (2 * x.pow(2) + 3 * y.pow(2)).sum()


print(hessian(pow_adder_reducer, inputs))
print(vjp(exp_reducer, x, torch.ones(2)))
print(jvp(exp_reducer, x, torch.ones(2, 2)))
print(hvp(pow_reducer, x, torch.ones(2, 2)))
print(vhp(pow_adder_reducer, inputs, (torch.ones(2), torch.zeros(2))))
print(jacobian(lambda x: (x.sum(), x * 2), torch.tensor([1.0, 2.0])))
print(jacobian(exp_reducer, x, vectorize=True, strategy="forward-mode"))
