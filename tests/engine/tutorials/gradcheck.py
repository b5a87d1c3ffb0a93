# gradcheck and gradgradcheck: what passes, and what a wrong derivative says.
import torch
from torch.autograd import Function, gradcheck, gradgradcheck

torch.manual_seed(0)
inputs = (torch.randn(4, 3, requires_grad=True), torch.randn(2, 3, requires_grad=True), torch.randn(2, requires_grad=True))
print(gradcheck(torch.nn.functional.linear, inputs, eps=1e-6, atol=1e-4))
print(gradgradcheck(lambda a, b: (a.sin() * b.exp()).sum(), (torch.randn(3, requires_grad=True), torch.randn(3, requires_grad=True))))


class Wrong(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sin()

    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return g * x.sin()


x = torch.randn(2, requires_grad=True)
print(gradcheck(Wrong.apply, (x,), raise_exception=False))
try:
    gradcheck(Wrong.apply, (x,))
except RuntimeError as error:
    print(str(error).split(",")[0])
print(gradcheck(lambda x: (x.relu(), x ** 2), x + 3))
