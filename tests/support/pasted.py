"""Snippets that a learner of PyTorch pastes, nearly half of them with a mistake, and what torch makes of them.

`python tests/support/pasted.py`, where torch is installed, prints tests/grammar/values/pasted.txt: the numbers that each
snippet leaves in `out`, or that torch refuses it. None draws random numbers.
"""

import sys

HEAD = "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n"

# By topic. `out` is a list of numbers.
SNIPPETS = {
    "a gradient": "x = torch.tensor(3.0, requires_grad=True)\ny = x**2 + 2*x\ny.backward()\nout = [x.grad.item()]",
    "gradients add up": """
x = torch.tensor(2.0, requires_grad=True)
for _ in range(3):
    y = x**3
    y.backward()
out = [x.grad.item()]""",
    "gradients are cleared": """
x = torch.tensor(2.0, requires_grad=True)
for _ in range(3):
    if x.grad is not None:
        x.grad.zero_()
    (x**3).backward()
out = [x.grad.item()]""",
    "a vector with a seed": """
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
y = x*x
y.backward(torch.tensor([1.0, 0.1, 0.01]))
out = x.grad.tolist()""",
    "parameters in a list": """
w = torch.tensor([[1.0], [2.0]], requires_grad=True)
b = torch.tensor(0.5, requires_grad=True)
params = [w, b]
X = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
y = torch.tensor([[1.0], [2.0], [3.0]])
losses = []
for epoch in range(5):
    loss = ((X @ w + b - y)**2).mean()
    for p in params:
        p.grad = None
    loss.backward()
    with torch.no_grad():
        for p in params:
            p -= 0.01*p.grad
    losses += [loss.item()]
out = losses + [p.sum().item() for p in params]""",
    "a step by data": """
w = torch.tensor(5.0, requires_grad=True)
for step in range(4):
    loss = (w - 2)**2
    loss.backward()
    w.data -= 0.1*w.grad.data
    w.grad.zero_()
out = [w.item(), loss.item()]""",
    "momentum by hand": """
w = torch.tensor([1.0, -1.0], requires_grad=True)
velocity = [torch.zeros(2)]
for i in range(3):
    loss = (w**4).sum()
    loss.backward()
    with torch.no_grad():
        velocity[0] = 0.9*velocity[0] + w.grad
        w -= 0.01*velocity[0]
    w.grad = None
out = w.tolist()""",
    "a function and lambda": """
def mse(prediction, target):
    \"\"\"The mean of squares.\"\"\"
    return ((prediction - target)**2).mean()
f = lambda x, k=2: x*k
x = torch.tensor([1.0, 2.0], requires_grad=True)
loss = mse(f(x), torch.zeros(2))
loss.backward()
out = [loss.item(), x.grad[0].item(), x.grad[1].item()]""",
    "sum of a generator": """
ws = [torch.tensor(float(k), requires_grad=True) for k in range(1, 4)]
penalty = sum(w.pow(2).sum() for w in ws)
penalty.backward()
out = [penalty.item()] + [w.grad.item() for w in ws]""",
    "enumerate and zip": """
xs = [torch.tensor(1.0), torch.tensor(2.0)]
total = 0
for i, (x, k) in enumerate(zip(xs, [10.0, 20.0])):
    total = total + i*x*k
out = [total.item()]""",
    "torch.autograd.grad": """
x = torch.tensor(2.0, requires_grad=True)
y = x**3
first, = torch.autograd.grad(y, x, create_graph=True)
second, = torch.autograd.grad(first, [x])
out = [first.item(), second.item()]""",
    "retain_graph": """
x = torch.tensor(2.0, requires_grad=True)
y = x**2
y.backward(retain_graph=True)
y.backward()
out = [x.grad.item()]""",
    "retain_grad": """
x = torch.tensor(2.0, requires_grad=True)
h = x*3
h.retain_grad()
(h**2).backward()
out = [h.grad.item(), x.grad.item()]""",
    "detach": """
x = torch.tensor(3.0, requires_grad=True)
y = x*x.detach()
y.backward()
out = [x.grad.item()]""",
    "no_grad as a decorator": """
@torch.no_grad()
def update(ps, lr):
    for p in ps:
        p -= lr*p.grad
w = torch.tensor([1.0, 2.0], requires_grad=True)
(w**2).sum().backward()
update([w], 0.1)
out = w.tolist() + [float(w.requires_grad)]""",
    "enable_grad inside no_grad": """
x = torch.tensor(2.0, requires_grad=True)
with torch.no_grad():
    with torch.enable_grad():
        y = x**2
    z = x**2
y.backward()
out = [x.grad.item(), float(y.requires_grad), float(z.requires_grad)]""",
    "isinstance": """
x = torch.tensor(1.0)
out = [float(isinstance(x, torch.Tensor)), float(isinstance([x], list)), float(isinstance(2.5, torch.Tensor))]""",
    "writing in place": """
x = torch.zeros(3)
x[0] = 1
x[1:] += 2
x.add_(1).mul_(2)
out = x.tolist()""",
    "a list of losses": """
runs = []
for lr in [0.1, 0.2]:
    w = torch.tensor(1.0, requires_grad=True)
    for i in range(3):
        loss = w**2
        loss.backward()
        with torch.no_grad():
            w -= lr*w.grad
        w.grad = None
    runs.append((lr, loss.item()))
best = sorted(runs, key=lambda pair: pair[1])[0]
out = [best[0], best[1], float(len(runs))]""",
    "cross entropy": """
logits = torch.tensor([[2.0, 1.0, 0.1], [0.5, 2.5, 0.3]], requires_grad=True)
loss = F.cross_entropy(logits, torch.tensor([0, 1]))
loss.backward()
out = [loss.item()] + logits.grad.flatten().tolist()""",
    "masks and where": """
x = torch.tensor([-1.0, 2.0, -3.0], requires_grad=True)
y = torch.where(x > 0, x, 0.1*x).sum() + x[x < 0].sum()
y.backward()
out = [y.item()] + x.grad.tolist()""",
    "stacked outputs": """
ws = [torch.tensor(k, requires_grad=True) for k in (1.0, 2.0)]
outs = []
for w in ws:
    outs.append(w*torch.tensor([1.0, 2.0]))
y = torch.stack(outs).mean() + torch.cat(outs).max()
y.backward()
out = [y.item()] + [w.grad.item() for w in ws]""",
    # With a mistake
    "freed": "x = torch.tensor(2.0, requires_grad=True)\ny = x**2\ny.backward()\ny.backward()\nout = [x.grad.item()]",
    "no scalar": "x = torch.tensor([1.0, 2.0], requires_grad=True)\n(x**2).backward()\nout = x.grad.tolist()",
    "no requires_grad": "x = torch.tensor(2.0)\n(x**2).backward()\nout = [x.grad.item()]",
    "in place on a leaf": "w = torch.tensor(1.0, requires_grad=True)\nw -= 0.1\nout = [w.item()]",
    "the leaf is lost": """
w = torch.tensor(1.0, requires_grad=True)
(w**2).backward()
w = w - 0.1*w.grad
(w**2).backward()
out = [w.grad.item()]""",
    "no gradient yet": "w = torch.tensor(1.0, requires_grad=True)\nw.grad.zero_()\nout = [w.item()]",
    "shapes": "out = (torch.ones(2, 3) @ torch.ones(2, 3)).tolist()",
    "item of several": "out = [torch.ones(2).item()]",
    "truth of several": "x = torch.ones(2)\nif x > 0:\n    out = [1.0]",
    "written before backward": """
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x.exp()
y += 1
y.sum().backward()
out = x.grad.tolist()""",
    "a misspelt function": "out = [torch.simgoid(torch.tensor(1.0)).item()]",
    "a module that is not there": "out = [torch.foo.sin(torch.tensor(1.0)).item()]",
    "an argument that is not there": "x = torch.tensor(1.0, requires_grad=True)\n(x*2).backward(retain=True)\nout = [x.grad.item()]",
    "a text and a number": "out = ['loss ' + 3.0]",
    "an index too large": "xs = [torch.ones(1)]\nout = xs[1].tolist()",
    "detached": "x = torch.tensor(2.0, requires_grad=True)\ny = (x**2).detach()\ny.backward()\nout = [x.grad.item()]",
    "a name too early": "out = [losss]\nlosss = 1",
    "append of two": "xs = []\nxs.append(1, 2)\nout = xs",
    "requires_grad of a result": """
x = torch.tensor(2.0, requires_grad=True)
y = x*2
y.requires_grad = False
out = [y.item()]""",
    "a stale graph": """
x = torch.tensor(2.0, requires_grad=True)
w = torch.tensor(3.0, requires_grad=True)
y = w*x
with torch.no_grad():
    w += 1
y.backward()
out = [x.grad.item()]""",
    "the wrong shape of a gradient": "x = torch.ones(2, requires_grad=True)\nx.grad = torch.ones(3)\nout = x.grad.tolist()",
}


_FILL = """
def fill(m):
    with torch.no_grad():
        for n, p in enumerate(m.parameters()):
            p.copy_((torch.sin(torch.arange(p.numel())*1.7 + 0.3)*0.5 + 0.01*n).reshape(p.shape))
    return m
X = torch.sin(torch.arange(24)*0.7).reshape(8, 3)
"""

SNIPPETS |= {
    "data made normal": """
x = torch.tensor([[1.0, 5.0], [3.0, 4.0], [8.0, 1.0]])
x = (x - x.mean(0))/x.std(0)
out = x.flatten().tolist() + [x.var().item(), x.std(unbiased=False).item()]""",
    "the largest and its place": """
scores = torch.tensor([[0.1, 0.7], [0.9, 0.3]])
values, predicted = scores.max(1)
out = values.tolist() + predicted.tolist() + scores.max(0)[1].tolist() + scores.min(dim=1).values.tolist()""",
    "repeated as a whole": "out = torch.tensor([[1.0, 2.0]]).repeat(2, 2).flatten().tolist()",
    "modules by names": _FILL
    + """
parts = nn.ModuleDict({"fc": nn.Linear(3, 4), "act": nn.ReLU(inplace=True), "out": nn.Linear(4, 1)})
fill(parts)
y = X
for name, part in parts.items():
    y = part(y)
y.sum().backward()
out = y.flatten().tolist() + parts["fc"].weight.grad.flatten().tolist()""",
    "batch norm": _FILL
    + """
m = fill(nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2), nn.Tanh(), nn.Linear(2, 1)))
opt = torch.optim.SGD(m.parameters(), lr=0.05)
for _ in range(5):
    opt.zero_grad()
    loss = F.mse_loss(m(X), X[:, :1])
    loss.backward()
    opt.step()
m.eval()
out = [loss.item(), m[1].running_mean[0].item(), m[1].running_var[1].item()] + m(X[:2]).flatten().tolist()""",
    "words with padding": _FILL
    + """
embedding = fill(nn.Embedding(5, 2, padding_idx=0))
sentence = torch.tensor([[1, 3, 0, 0], [2, 2, 4, 0]])
mean = embedding(sentence).mean(dim=1)
mean.pow(2).sum().backward()
out = mean.flatten().tolist() + embedding.weight.grad.flatten().tolist()""",
    "clipped gradients": _FILL
    + """
m = fill(nn.Linear(3, 1))
opt = torch.optim.SGD(m.parameters(), lr=0.1, momentum=0.9)
for _ in range(10):
    opt.zero_grad()
    (m(X)*10 - 3).pow(2).mean().backward()
    norm = torch.nn.utils.clip_grad_norm_(m.parameters(), max_norm=0.5)
    opt.step()
out = [norm.item()] + m.weight.flatten().tolist()""",
    "a schedule": """
w = torch.ones(2, requires_grad=True)
opt = torch.optim.SGD([w], lr=1.0)
scheduler = torch.optim.lr_scheduler.StepLR(opt, step_size=2, gamma=0.1)
rates = []
for epoch in range(5):
    opt.zero_grad()
    (w**2).sum().backward()
    opt.step()
    scheduler.step()
    rates.append(scheduler.get_last_lr()[0])
out = rates + w.tolist()""",
    "batches": """
from torch.utils.data import TensorDataset, DataLoader
data = TensorDataset(torch.arange(7.0).reshape(7, 1), torch.arange(7.0)*2)
out = []
for epoch in range(2):
    for i, (xb, yb) in enumerate(DataLoader(data, batch_size=3, drop_last=epoch == 1)):
        out += [i, len(xb), (xb.squeeze(1)*yb).sum().item()]""",
    "a function of one's own": """
class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return 3*x**2*g
x = torch.tensor([1.0, -2.0], requires_grad=True)
Cube.apply(x).sum().backward()
out = x.grad.tolist() + [float(torch.autograd.gradcheck(Cube.apply, (x,)))]""",
    "hooks": _FILL
    + """
seen = []
m = fill(nn.Sequential(nn.Linear(3, 2), nn.ReLU()))
h = m[0].register_forward_hook(lambda module, args, y: seen.append(y.sum().item()))
x = X[:1].clone().requires_grad_()
k = x.register_hook(lambda g: g*10)
m(x).sum().backward()
h.remove()
k.remove()
m(x).sum().backward()
out = seen + x.grad.flatten().tolist()""",
    "masked attention": _FILL
    + """
q, k, v = X[:4], X[2:6], X[4:]
scores = q @ k.transpose(-2, -1)/3**0.5
scores = scores.masked_fill(torch.tril(torch.ones(4, 4)) == 0, float("-inf"))
out = (F.softmax(scores, dim=-1) @ v).flatten().tolist()""",
    "smoothed labels": _FILL
    + """
x = X.clone().requires_grad_()
loss = nn.CrossEntropyLoss(label_smoothing=0.1)(x, torch.arange(8) % 3)
loss.backward()
out = [loss.item()] + x.grad.flatten().tolist()""",
    "functions of functional": _FILL
    + """
x = X.clone().requires_grad_()
(F.smooth_l1_loss(x, x.detach()*3, beta=0.5) + F.normalize(x, dim=0)[0].sum()).backward()
out = F.one_hot(torch.tensor([[0, 2], [1, 1]]), num_classes=4).flatten().tolist() + F.normalize(x).flatten().tolist()
out += [F.smooth_l1_loss(x, x + 2, reduction="sum").item(), F.smooth_l1_loss(x, x*1.5, beta=0.0).item()]
out += x.grad.flatten().tolist() + x.gather(1, torch.tensor([[2, 0], [1, 1]])).flatten().tolist()""",
    "gradients through a choice": """
x = torch.tensor([-1.0, 0.0, 2.0], requires_grad=True)
a, b = torch.chunk(torch.cat([x, x*2]), 2)
(torch.where(x > 0, a, b) + F.leaky_relu(x, 0.1)).sum().backward()
out = x.grad.tolist()""",
    # and with a mistake in it
    "batch norm of one row": "out = nn.BatchNorm1d(3)(torch.ones(1, 3)).tolist()",
    "a leaf in place": "out = nn.ReLU(inplace=True)(torch.ones(2, requires_grad=True)).tolist()",
    "a word that is not there": "out = nn.Embedding(3, 2)(torch.tensor([3])).tolist()",
    "a base that is not called": """
class Net(nn.Module):
    def __init__(self):
        self.fc = nn.Linear(2, 1)
out = [p.sum().item() for p in Net().parameters()]""",
    "a forward that is missing": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 1)
out = Net()(torch.ones(1, 2)).tolist()""",
    "an optimiser of nothing": "out = [len(torch.optim.SGD([], lr=0.1).param_groups)]",
    "a state of another model": """
m = nn.Linear(2, 1)
m.load_state_dict(nn.Linear(3, 1).state_dict())
out = m.weight.tolist()""",
    "a layer of another width": "out = nn.Linear(3, 1)(torch.ones(4, 2)).tolist()",
    "a class that is misspelt": "out = nn.Liner(3, 1)(torch.ones(4, 3)).tolist()",
    "a module that is not in the dictionary": 'out = nn.ModuleDict({"a": nn.ReLU()})["b"](torch.ones(1)).tolist()',
    "too few repetitions": "out = torch.ones(2, 2).repeat(2).tolist()",
    "a parameter that becomes a tensor": """
m = nn.Linear(2, 1)
m.weight = torch.ones(1, 2)
out = m.weight.tolist()""",
    "a function without its backward": """
class Half(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x/2
x = torch.ones(1, requires_grad=True)
Half.apply(x).backward()
out = x.grad.tolist()""",
    "an optimiser of results": """
w = torch.ones(2, requires_grad=True)
out = [len(torch.optim.SGD([w*2], lr=0.1).param_groups)]""",
}


def of_torch(text):
    """The numbers in `out`, or None where torch refuses the snippet."""
    import warnings

    import torch

    torch.set_default_dtype(torch.float64)
    names = {}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(compile(HEAD + text, "snippet", "exec"), names)
            return [float(number) for number in names["out"]]
    except Exception:
        return None


if __name__ == "__main__":
    for name, text in SNIPPETS.items():
        found = of_torch(text)
        sys.stdout.write(f"{name} | {'refused' if found is None else ' '.join(map(repr, found))}\n")
