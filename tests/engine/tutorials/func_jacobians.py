# "Jacobians, Hessians, hvp, vhp, and more" (torch.func).
import torch
import torch.nn.functional as F
from functools import partial
from torch.func import hessian, jacfwd, jacrev, jvp, vjp, vmap

torch.manual_seed(0)


def predict(weight, bias, x):
    return F.linear(x, weight, bias).tanh()


D = 4
weight = torch.randn(D, D)
bias = torch.randn(D)
x = torch.randn(D)


def compute_jac(xp):
    jacobian_rows = [torch.autograd.grad(predict(weight, bias, xp), xp, vec)[0] for vec in unit_vectors]
    return torch.stack(jacobian_rows)


xp = x.clone().requires_grad_()
unit_vectors = torch.eye(D)
jacobian = compute_jac(xp)
print(jacobian.shape)
print(jacobian[0])
_, vjp_fn = vjp(partial(predict, weight, bias), x)
ft_jacobian, = vmap(vjp_fn)(unit_vectors)
assert torch.allclose(ft_jacobian, jacobian)
ft_jacobian = jacrev(predict, argnums=2)(weight, bias, x)
print(torch.allclose(ft_jacobian, jacobian))
print(torch.allclose(jacfwd(predict, argnums=2)(weight, bias, x), jacobian))
ft_jac_weight, ft_jac_bias = jacrev(predict, argnums=(0, 1))(weight, bias, x)
print(ft_jac_weight.shape, ft_jac_bias.shape)
hess = hessian(predict, argnums=2)(weight, bias, x)
print(hess.shape, torch.allclose(hess, jacfwd(jacfwd(predict, argnums=2), argnums=2)(weight, bias, x)))
print(torch.allclose(hess, jacrev(jacrev(predict, argnums=2), argnums=2)(weight, bias, x)))
X = torch.randn(3, D)
compute_batch_jacobian = vmap(jacrev(predict, argnums=2), in_dims=(None, None, 0))
batch_jacobian0 = compute_batch_jacobian(weight, bias, X)
print(batch_jacobian0.shape)


def predict_with_output_summed(weight, bias, x):
    return predict(weight, bias, x).sum(0)


batch_jacobian1 = jacrev(predict_with_output_summed, argnums=2)(weight, bias, X).movedim(1, 0)
print(torch.allclose(batch_jacobian0, batch_jacobian1))
batch_hess = vmap(hessian(predict, argnums=2), in_dims=(None, None, 0))(weight, bias, X)
print(batch_hess.shape)


def hvp(f, primals, tangents):
    return jvp(torch.func.grad(f), primals, tangents)[1]


def f(x):
    return x.sin().sum()


tangent = torch.randn(D)
result = hvp(f, (x,), (tangent,))
print(torch.allclose(result, -x.sin() * tangent))
