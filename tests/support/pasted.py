"""Snippets that a learner of PyTorch pastes, half of them with a mistake, and what torch makes of them.

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
