"""Calculations with modules, losses and optimisers, written once for torch and for agrad.

Each is a function of the library, and returns numbers. `python torch_cases.py > torch_numbers.json`, with torch
installed, writes what torch computes; a test compares agrad, and torch where it is installed, with that.
"""

import json
import sys

CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


def filled(torch, *shape, scale=1.0):
    """Numbers without any pattern that a mistake could keep."""
    count = 1
    for length in shape:
        count *= length
    return (torch.sin(torch.arange(count) * 1.7 + 0.3) * scale).reshape(shape)


def fill(torch, module):
    """The same parameters in both libraries."""
    with torch.no_grad():
        for number, p in enumerate(module.parameters()):
            p.copy_(filled(torch, *p.shape, scale=0.5) + 0.01 * number)
    return module


def gradients(module):
    return [p.grad.tolist() for p in module.parameters()]


def network(torch):
    nn = torch.nn
    return fill(torch, nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 4), nn.GELU(), nn.Linear(4, 2)))


@case
def linear_with_gradient(torch):
    layer = fill(torch, torch.nn.Linear(3, 2))
    x = filled(torch, 4, 3).requires_grad_()
    y = layer(x)
    (y * y).sum().backward()
    return [y.tolist(), x.grad.tolist(), *gradients(layer)]


@case
def linear_of_one_row(torch):
    layer = fill(torch, torch.nn.Linear(3, 2, bias=False))
    y = layer(filled(torch, 3))
    y.sum().backward()
    return [y.tolist(), *gradients(layer)]


@case
def activations(torch):
    nn = torch.nn
    found = []
    made = [nn.ReLU(), nn.Sigmoid(), nn.Tanh(), nn.GELU(), nn.SiLU(), nn.Softplus(), nn.LeakyReLU(), nn.ELU()]
    made += [nn.SELU(), nn.LogSigmoid(), nn.Hardtanh(), nn.Softmax(dim=1), nn.Softmax(dim=0), nn.LogSoftmax(dim=-1)]
    for module in [*made, nn.LeakyReLU(0.2), nn.Hardtanh(-0.5, 0.25), nn.Flatten(), nn.Flatten(0), nn.Identity()]:
        x = (filled(torch, 2, 3) * 2).requires_grad_()
        y = module(x)
        (y * filled(torch, *y.shape)).sum().backward()
        found += [y.tolist(), x.grad.tolist()]
    return found


@case
def layer_norm(torch):
    module = torch.nn.LayerNorm((2, 3), eps=1e-3)
    with torch.no_grad():
        module.weight.copy_(filled(torch, 2, 3))
        module.bias.copy_(filled(torch, 2, 3) * 0.1)
    x = filled(torch, 4, 2, 3).requires_grad_()
    y = module(x)
    (y * filled(torch, 4, 2, 3)).sum().backward()
    return [y.tolist(), x.grad.tolist(), *gradients(module)]


@case
def embedding(torch):
    module = fill(torch, torch.nn.Embedding(5, 3))
    y = module(torch.tensor([[1, 4, 1], [0, 1, 2]]))
    (y * filled(torch, 2, 3, 3)).sum().backward()
    return [y.tolist(), *gradients(module)]


@case
def embedding_with_padding(torch):
    layer = fill(torch, torch.nn.Embedding(4, 3, padding_idx=-4))
    y = layer(torch.tensor([[1, 0], [3, 1]]))
    (y * y).sum().backward()
    frozen = torch.nn.Embedding.from_pretrained(torch.ones(2, 3))
    first = torch.nn.Embedding(4, 3, padding_idx=2).weight[2]
    return [y.tolist(), *gradients(layer), float(frozen.weight.requires_grad), first.tolist(), repr(layer)]


@case
def batch_norm(torch):
    nn, found = torch.nn, []
    flat, several, images = filled(torch, 5, 3), filled(torch, 2, 3, 4), filled(torch, 2, 3, 2, 2)
    for module, x in [
        (nn.BatchNorm1d(3), flat),
        (nn.BatchNorm1d(3, momentum=None), several),
        (nn.BatchNorm1d(3, eps=0.1, momentum=0.5, affine=False), flat),
        (nn.BatchNorm1d(3, track_running_stats=False), flat),
        (nn.BatchNorm2d(3), images),
    ]:
        leaf = (x * 2 + 1).requires_grad_()
        y = fill(torch, module)(leaf)
        (y * filled(torch, *y.shape)).sum().backward()
        again = module(leaf.detach() * 1.5)
        buffers = [b.tolist() for b in module.buffers()]
        found += [y.tolist(), leaf.grad.tolist(), again.sum().item(), buffers, [*module.state_dict()], repr(module)]
        found += [module.eval()(leaf).tolist()]
    return found


@case
def clipped_gradients(torch):
    found = []
    for most, order in ((0.5, 2.0), (100.0, 2.0), (0.3, 1.0), (0.2, float("inf"))):
        layer = fill(torch, torch.nn.Linear(3, 2))
        (layer(filled(torch, 4, 3)) ** 2).sum().backward()
        norm = torch.nn.utils.clip_grad_norm_(layer.parameters(), most, norm_type=order)
        found += [norm.item(), *gradients(layer)]
        torch.nn.utils.clip_grad_value_(layer.parameters(), 0.05)
        found += gradients(layer)
    return found


@case
def in_place(torch):
    nn, found = torch.nn, []
    for module in (nn.ReLU(inplace=True), nn.LeakyReLU(0.2, True), nn.ELU(inplace=True), nn.Dropout(0.0, inplace=True)):
        x = filled(torch, 2, 3).requires_grad_()
        h = x * 3
        y = module(h)
        (y * filled(torch, 2, 3)).sum().backward()
        data = filled(torch, 3)
        module(data)
        found += [h.tolist(), y.tolist(), x.grad.tolist(), data.tolist(), repr(module)]
    return found


@case
def modules_by_names(torch):
    nn = torch.nn
    modules = nn.ModuleDict({"fc": nn.Linear(2, 3), "act": nn.Tanh()})
    modules["out"] = nn.Linear(3, 1)
    modules.update([["act", nn.Sigmoid()]])
    fill(torch, modules)
    y = filled(torch, 4, 2)
    for module in modules.values():
        y = module(y)
    y.sum().backward()
    told = [repr(modules), [*modules], [name for name, _ in modules.items()], [*modules.state_dict()]]
    modules.pop("act")
    return [y.tolist(), *gradients(modules), *told, [*modules.keys()], len(modules), float("fc" in modules)]


@case
def losses(torch):
    nn = torch.nn
    found = []
    for reduction in ("mean", "sum", "none"):
        for loss, squeeze in (
            (nn.MSELoss, 1),
            (nn.L1Loss, 1),
            (nn.HuberLoss, 1),
            (nn.BCELoss, 0.4),
            (nn.BCEWithLogitsLoss, 2),
        ):
            x = (filled(torch, 2, 3) * squeeze + (0.5 if loss is nn.BCELoss else 0)).requires_grad_()
            y = torch.cos(filled(torch, 2, 3)) * 0.5 + 0.3
            value = loss(reduction=reduction)(x, y)
            value.sum().backward()
            found += [value.tolist(), x.grad.tolist()]
    x = (filled(torch, 2, 3) * 4).requires_grad_()
    value = nn.HuberLoss(delta=0.7)(x, filled(torch, 2, 3))
    value.backward()
    return [*found, value.tolist(), x.grad.tolist()]


@case
def classes(torch):
    nn = torch.nn
    found = []
    target = torch.tensor([2, 0, 1])
    for reduction in ("mean", "sum", "none"):
        x = (filled(torch, 3, 4) * 3).requires_grad_()
        value = nn.CrossEntropyLoss(reduction=reduction)(x, target)
        again = nn.NLLLoss(reduction=reduction)(torch.log_softmax(x, dim=1), target)
        (value.sum() + again.sum() * 2).backward()
        found += [value.tolist(), again.tolist(), x.grad.tolist()]
    x = filled(torch, 3, 4).requires_grad_()
    nn.CrossEntropyLoss()(x, torch.softmax(filled(torch, 3, 4) * 2, dim=1)).backward()
    return [*found, x.grad.tolist()]


@case
def functional(torch):
    f = torch.nn.functional
    x = filled(torch, 2, 3).requires_grad_()
    y = f.linear(x, filled(torch, 4, 3), filled(torch, 4))
    y = f.softmax(f.gelu(f.layer_norm(y, (4,))), dim=-1) + f.dropout(y, 0.5, training=False)
    loss = f.binary_cross_entropy_with_logits(y, torch.sigmoid(filled(torch, 2, 4))) + f.nll_loss(
        y, torch.tensor([1, 3])
    )
    loss.backward()
    return [y.tolist(), loss.tolist(), x.grad.tolist()]


def trained(torch, optimizer, scheduler=None, steps=12):
    """The losses, the rates and the parameters of a training."""
    model = network(torch)
    opt = optimizer(model.parameters())
    plan = scheduler(opt) if scheduler else None
    x, y = filled(torch, 6, 3), torch.cos(filled(torch, 6, 2))
    found, rates = [], []
    for _ in range(steps):
        opt.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        opt.step()
        found.append(loss.item())
        rates.append(opt.param_groups[0]["lr"])
        if plan is not None:
            plan.step()
    return [found, rates, [p.tolist() for p in model.parameters()]]


OPTIMIZERS = {
    "sgd": lambda optim: lambda params: optim.SGD(params, lr=0.1),
    "sgd_default": lambda optim: lambda params: optim.SGD(params),
    "sgd_momentum": lambda optim: lambda params: optim.SGD(params, lr=0.05, momentum=0.9),
    "sgd_dampened": lambda optim: lambda params: optim.SGD(params, lr=0.05, momentum=0.9, dampening=0.3),
    "sgd_nesterov": lambda optim: lambda params: optim.SGD(params, 0.05, 0.9, nesterov=True, weight_decay=0.01),
    "adam": lambda optim: lambda params: optim.Adam(params, lr=0.02),
    "adam_decay": lambda optim: lambda params: optim.Adam(params, 0.02, (0.8, 0.95), 1e-6, 0.1),
    "adamw": lambda optim: lambda params: optim.AdamW(params, lr=0.02),
    "adamw_decay": lambda optim: lambda params: optim.AdamW(params, lr=0.02, weight_decay=0.3),
    "rmsprop": lambda optim: lambda params: optim.RMSprop(params),
    "rmsprop_momentum": lambda optim: lambda params: optim.RMSprop(params, 0.01, 0.9, momentum=0.8, weight_decay=0.02),
}
for _name, _made in OPTIMIZERS.items():
    CASES[f"trained_by_{_name}"] = lambda torch, made=_made: trained(torch, made(torch.optim))

SCHEDULERS = {
    "step": lambda plans: lambda opt: plans.StepLR(opt, step_size=3, gamma=0.5),
    "exponential": lambda plans: lambda opt: plans.ExponentialLR(opt, gamma=0.8),
    "cosine": lambda plans: lambda opt: plans.CosineAnnealingLR(opt, T_max=10, eta_min=0.01),
    "cosine_that_rises_again": lambda plans: lambda opt: plans.CosineAnnealingLR(opt, 4),
}
for _name, _made in SCHEDULERS.items():
    CASES[f"scheduled_by_{_name}"] = lambda torch, made=_made: trained(
        torch, OPTIMIZERS["sgd"](torch.optim), made(torch.optim.lr_scheduler)
    )


@case
def parameter_groups(torch):
    model = network(torch)
    groups = [{"params": model[0].parameters()}, {"params": list(model[2].parameters()), "lr": 0.3}]
    opt = torch.optim.SGD(groups, lr=0.1, momentum=0.5)
    for _ in range(3):
        opt.zero_grad()
        model(filled(torch, 6, 3)).square().sum().backward()
        opt.step()
        opt.param_groups[0]["lr"] *= 0.5
    return [[p.tolist() for p in model.parameters()], [group["lr"] for group in opt.param_groups]]


@case
def state_of_an_optimizer(torch):
    """Training that is taken up again gives what an uninterrupted one gives."""
    model, x = network(torch), filled(torch, 6, 3)
    opt = torch.optim.Adam(model.parameters(), lr=0.05)
    for number in range(6):
        if number == 3:
            values, kept = model.state_dict(), opt.state_dict()
            model = network(torch)
            model.load_state_dict(values)
            opt = torch.optim.Adam(model.parameters(), lr=0.05)
            opt.load_state_dict(kept)
        opt.zero_grad()
        model(x).square().sum().backward()
        opt.step()
    return [p.tolist() for p in model.parameters()]


@case
def batches(torch):
    data = torch.utils.data
    x, y = filled(torch, 7, 2), filled(torch, 7)
    found = []
    for dropped in (False, True):
        loader = data.DataLoader(data.TensorDataset(x, y), batch_size=3, drop_last=dropped)
        found += [len(loader), *([a.tolist(), b.tolist()] for a, b in loader)]
    return found


@case
def a_model_of_ones_own(torch):
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.scale = nn.Parameter(torch.ones(width) * 0.7)
            self.layers = nn.ModuleList([nn.Linear(width, width) for _ in range(3)])

        def forward(self, x):
            for layer in self.layers:
                x = x + torch.tanh(layer(x)) * self.scale
            return x

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Linear(2, 4)
            self.block = Block(4)
            self.last = nn.Linear(4, 1)

        def forward(self, x):
            return self.last(self.block(self.first(x)))

    net = fill(torch, Net())
    net.block.layers[1].requires_grad_(False)
    opt = torch.optim.SGD(net.parameters(), lr=0.05)
    found = []
    for _ in range(5):
        net.zero_grad()
        loss = nn.MSELoss()(net(filled(torch, 5, 2)), filled(torch, 5, 1))
        loss.backward()
        opt.step()
        found.append(loss.item())
    return [found, {name: p.tolist() for name, p in net.state_dict().items()}]


@case
def initial_values(torch):
    """Bounds and gains, which do not depend on random numbers."""
    init = torch.nn.init
    w = torch.zeros(4, 9)
    gains = [init.calculate_gain(name) for name in ("linear", "sigmoid", "tanh", "relu", "selu", "leaky_relu")]
    return [gains, init.calculate_gain("leaky_relu", 0.3), init.eye_(w).tolist(), init.constant_(w, 3).tolist()]


@case
def printed(torch):
    nn = torch.nn
    made = [
        nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Sequential(nn.Dropout(0.2), nn.Linear(4, 1, bias=False))),
        nn.ModuleList([nn.Sigmoid(), nn.Flatten()]),
        nn.LayerNorm(5),
        nn.LayerNorm((2, 3), eps=1e-3, elementwise_affine=False),
        nn.Embedding(3, 2),
        nn.CrossEntropyLoss(),
        nn.HuberLoss(delta=2.0),
        nn.LeakyReLU(0.2),
        nn.ELU(),
        nn.Hardtanh(),
        nn.GELU(),
        nn.Softmax(dim=1),
        nn.Softmax(),
        nn.Identity(),
        nn.Sequential(),
    ]
    return [repr(module) for module in made]


if __name__ == "__main__":
    import torch as library

    library.set_default_dtype(library.float64)
    json.dump({name: function(library) for name, function in CASES.items()}, sys.stdout, indent=0)
