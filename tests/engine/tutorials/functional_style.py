# JAX-like style: pytrees of parameters, grad with has_aux, vmap of several, jvp and vjp, linearize by hand.
import torch
from torch.func import functional_call, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, vjp, vmap

torch.manual_seed(0)


def init(sizes):
    return [{"w": torch.randn(m, n) / m ** 0.5, "b": torch.zeros(n)} for m, n in zip(sizes, sizes[1:])]


def mlp(params, x):
    for layer in params[:-1]:
        x = torch.tanh(x @ layer["w"] + layer["b"])
    return x @ params[-1]["w"] + params[-1]["b"]


def loss(params, x, y):
    pred = mlp(params, x)
    return ((pred - y) ** 2).mean(), pred


params = init([2, 5, 1])
x, y = torch.randn(12, 2), torch.randn(12, 1)
for step in range(10):
    grads, (value, pred) = grad_and_value(loss, has_aux=True)(params, x, y)
    params = [{k: p[k] - 0.2 * g[k] for k in p} for p, g in zip(params, grads)]
    if step % 4 == 0:
        print(step, f"{value.item():.6f}", pred.shape)
f = lambda v: (v ** 3).sum()
v = torch.tensor([1.0, 2.0])
print(grad(f)(v), grad(grad(lambda t: t.sin()))(torch.tensor(0.5)), hessian(f)(v))
print(vmap(torch.dot)(torch.arange(6.0).view(3, 2), torch.ones(3, 2)), vmap(lambda a, b: a * b, in_dims=(0, None))(v, torch.tensor(3.0)))
out, pull = vjp(lambda a, b: (a * b, a + b), v, v + 1)
print(out, pull((torch.ones(2), torch.zeros(2))))
print(jvp(lambda a: (a.exp(), a.sum()), (v,), (torch.ones(2),)))
print(jacrev(lambda a: a ** 2, argnums=0)(v), jacfwd(lambda a: torch.stack([a.sum(), a.prod()]))(v))
print(vmap(grad(lambda w, a: (w * a).sum() ** 2), in_dims=(None, 0))(v, torch.eye(2)))
print(vmap(vmap(lambda a: a * 2))(torch.ones(2, 2)), vmap(lambda a: a.sum(), in_dims=1)(torch.arange(6.0).view(2, 3)), vmap(lambda a: a, out_dims=1)(torch.arange(6.0).view(2, 3)))
