# "PyTorch hooks": tensor hooks, module hooks, removing handles, gradient clipping by hooks.
import torch
import torch.nn as nn

a = torch.ones(5)
a.requires_grad = True
b = 2 * a
b.retain_grad()
b.register_hook(lambda x: print(x))
b.mean().backward()
print(a.grad, b.grad)
a = torch.tensor(2.0, requires_grad=True)
b = torch.tensor(3.0, requires_grad=True)
c = a * b


def c_hook(grad):
    print("c_hook", grad)
    return grad + 2


c.register_hook(c_hook)
c.register_hook(lambda grad: print("second", grad))
c.retain_grad()
d = torch.tensor(4.0, requires_grad=True)
d.register_hook(lambda grad: grad + 100)
e = c * d
e.retain_grad()
handle = e.register_hook(lambda grad: grad * 2)
handle.remove()
e.backward()
print(a.grad, b.grad, c.grad, d.grad, e.grad)


class Verbose(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model
        for name, layer in self.model.named_children():
            layer.__name__ = name
            layer.register_forward_hook(lambda layer, _, output: print(f"{layer.__name__}: {output.shape}"))

    def forward(self, x):
        return self.model(x)


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
verbose = Verbose(net)
_ = verbose(torch.ones(2, 3))
features = {}


def save_outputs(name):
    def hook(module, inputs, output):
        features[name] = output.detach()
    return hook


handles = [module.register_forward_hook(save_outputs(name)) for name, module in net.named_modules() if name]
pre = net[0].register_forward_pre_hook(lambda module, inputs: (inputs[0] * 2,))
net[2].register_full_backward_hook(lambda m, gi, go: print("backward", m, gi[0].shape, go[0].shape))
out = net(torch.ones(2, 3))
out.sum().backward()
print(sorted(features), features["1"].shape)
for h in handles:
    h.remove()
pre.remove()


def gradient_clipper(model, val):
    for parameter in model.parameters():
        parameter.register_hook(lambda grad: grad.clamp_(-val, val))
    return model


clipped = gradient_clipper(nn.Linear(2, 1), 0.01)
clipped(torch.rand(1, 2)).sum().backward()
print([p.grad for p in clipped.parameters()])
