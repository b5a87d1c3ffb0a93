# "Forward-mode automatic differentiation".
import torch
import torch.autograd.forward_ad as fwAD
import torch.nn as nn
import torch.func as ft

torch.manual_seed(0)
primal = torch.randn(3, 3)
tangent = torch.randn(3, 3)


def fn(x, y):
    return x ** 2 + y ** 2


with fwAD.dual_level():
    dual_input = fwAD.make_dual(primal, tangent)
    assert fwAD.unpack_dual(dual_input).tangent is not None
    plain_tensor = torch.randn(3, 3)
    dual_output = fn(dual_input, plain_tensor)
    jvp = fwAD.unpack_dual(dual_output).tangent
    print(torch.allclose(jvp, 2 * primal * tangent))
print(fwAD.unpack_dual(dual_output).tangent is None)
model = nn.Linear(2, 2)
inp = torch.randn(1, 2)
params = {name: p for name, p in model.named_parameters()}
tangents = {name: torch.rand_like(p) for name, p in params.items()}
with fwAD.dual_level():
    for name, p in params.items():
        delattr(model, name)
        setattr(model, name, fwAD.make_dual(p, tangents[name]))
    out = model(inp)
    jvp = fwAD.unpack_dual(out).tangent
print(jvp.detach())


class Fn(torch.autograd.Function):
    @staticmethod
    def forward(ctx, foo):
        result = torch.exp(foo)
        ctx.result = result
        return result

    @staticmethod
    def jvp(ctx, gI):
        gO = gI * ctx.result
        del ctx.result
        return gO


fn = Fn.apply
primal = torch.randn(3, 3, requires_grad=True)
tangent = torch.randn(3, 3)
with fwAD.dual_level():
    dual_input = fwAD.make_dual(primal, tangent)
    dual_output = fn(dual_input)
    jvp = fwAD.unpack_dual(dual_output).tangent
print(torch.allclose(jvp, primal.exp() * tangent))
primal0 = torch.randn(2)
tangent0 = torch.randn(2)
primal1 = torch.randn(2)
tangent1 = torch.randn(2)


def fn(x, y):
    return x ** 2 + y ** 2


primal_out, tangent_out = ft.jvp(fn, (primal0, primal1), (tangent0, tangent1))
print(primal_out, tangent_out)
params = {name: p for name, p in nn.Linear(2, 1).named_parameters()}
model = nn.Linear(2, 1)


def fn(params, inputs):
    return ft.functional_call(model, params, (inputs,))


tangents = {k: torch.ones_like(v) for k, v in params.items()}
print(ft.jvp(lambda p: fn(p, inp), (params,), (tangents,))[1].detach())
