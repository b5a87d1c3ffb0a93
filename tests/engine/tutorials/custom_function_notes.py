# Notes "Extending PyTorch": Linear, MulConstant, Exp with setup_context, mark_non_differentiable, needs_input_grad.
import torch
from torch.autograd import Function, gradcheck


class LinearFunction(Function):
    @staticmethod
    def forward(input, weight, bias):
        output = input.mm(weight.t())
        if bias is not None:
            output += bias.unsqueeze(0).expand_as(output)
        return output

    @staticmethod
    def setup_context(ctx, inputs, output):
        input, weight, bias = inputs
        ctx.save_for_backward(input, weight, bias)

    @staticmethod
    def backward(ctx, grad_output):
        input, weight, bias = ctx.saved_tensors
        grad_input = grad_weight = grad_bias = None
        if ctx.needs_input_grad[0]:
            grad_input = grad_output.mm(weight)
        if ctx.needs_input_grad[1]:
            grad_weight = grad_output.t().mm(input)
        if bias is not None and ctx.needs_input_grad[2]:
            grad_bias = grad_output.sum(0)
        return grad_input, grad_weight, grad_bias


linear = LinearFunction.apply
torch.manual_seed(0)
input = (torch.randn(5, 3, dtype=torch.double, requires_grad=True), torch.randn(2, 3, dtype=torch.double, requires_grad=True), None)
print(gradcheck(linear, input, eps=1e-6, atol=1e-4))
y = linear(*input[:2], torch.ones(2, requires_grad=True))
print(y)


class MulConstant(Function):
    @staticmethod
    def forward(tensor, constant):
        return tensor * constant

    @staticmethod
    def setup_context(ctx, inputs, output):
        tensor, constant = inputs
        ctx.constant = constant

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.constant, None


t = torch.ones(2, requires_grad=True)
MulConstant.apply(t, 3.0).sum().backward()
print(t.grad)


class Sort(Function):
    @staticmethod
    def forward(ctx, x):
        sorted, idx = x.sort()
        ctx.mark_non_differentiable(idx)
        ctx.save_for_backward(x, idx)
        return sorted, idx

    @staticmethod
    def backward(ctx, g1, g2):
        x, idx = ctx.saved_tensors
        grad_input = torch.zeros_like(x)
        grad_input.index_add_(0, idx, g1)
        return grad_input


x = torch.tensor([3.0, 1.0, 2.0], requires_grad=True)
s, i = Sort.apply(x)
print(s, i, i.requires_grad)
(s * torch.tensor([1.0, 10.0, 100.0])).sum().backward()
print(x.grad)


class MyLinear(torch.nn.Module):
    def __init__(self, input_features, output_features, bias=True):
        super().__init__()
        self.input_features = input_features
        self.output_features = output_features
        self.weight = torch.nn.Parameter(torch.empty(output_features, input_features))
        if bias:
            self.bias = torch.nn.Parameter(torch.empty(output_features))
        else:
            self.register_parameter("bias", None)
        torch.nn.init.uniform_(self.weight, -0.1, 0.1)
        if self.bias is not None:
            torch.nn.init.uniform_(self.bias, -0.1, 0.1)

    def forward(self, input):
        return LinearFunction.apply(input, self.weight, self.bias)

    def extra_repr(self):
        return f"input_features={self.input_features}, output_features={self.output_features}, bias={self.bias is not None}"


layer = MyLinear(3, 2)
print(layer, layer(torch.ones(1, 3)))


class StraightThrough(Function):
    @staticmethod
    def forward(ctx, x):
        return (x > 0).double()

    @staticmethod
    def backward(ctx, grad):
        return torch.nn.functional.hardtanh(grad)


x = torch.tensor([-1.0, 0.5], requires_grad=True)
(StraightThrough.apply(x) * torch.tensor([3.0, 0.25])).sum().backward()
print(x.grad)
