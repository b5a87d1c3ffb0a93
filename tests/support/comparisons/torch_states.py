"""Sessions of torch in Python's reading: statements that failed, or were undone, have left nothing.

Two sessions run the same program. In one of them other statements run between its own, which fail or are taken back:
both print the same.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from agrad.engine.errors import AgradError
from agrad.grammar.session.session import Session

from .python_scripts import ADDRESS
from .torch_programs import START
from .torch_programs import Script as Plain

MORE = """
import torch.nn as nn
import torch.nn.functional as F
torch.manual_seed(3)
net = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2), nn.Dropout(0.5), nn.Linear(2, 1))
lin = net[0]
opt = torch.optim.Adam(net.parameters(), lr=0.1)
sgd = torch.optim.SGD([{"params": [x, y]}, {"params": [m], "lr": 0.5}], lr=0.01, momentum=0.9)
sched = torch.optim.lr_scheduler.StepLR(opt, 2, gamma=0.5)
plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(sgd, patience=0)
gen = torch.Generator().manual_seed(5)
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.arange(8.)), batch_size=3, shuffle=True, generator=gen)
calls = []
kept = {}
class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, t):
        ctx.save_for_backward(t)
        return t**3
    @staticmethod
    def backward(ctx, g):
        calls.append(1)
        t, = ctx.saved_tensors
        return g*3*t**2
"""
END = """
for z in (x, y, s, m, a, b, c, d, k, n, v, w):
    print(z, z._version, z.requires_grad, z.is_leaf, z.retains_grad, z._base is None)
for z in (x, y, s, m, *net.parameters()):
    print(None if z.grad is None else z.grad.detach(), z.requires_grad)
print(net, net.training, net.state_dict())
print(opt.state_dict(), sgd.state_dict(), sched.last_epoch, sched.get_last_lr(), plateau.num_bad_epochs)
print(torch.rand(2), torch.rand(2, generator=gen), torch.initial_seed(), gen.initial_seed(), torch.is_grad_enabled())
print(torch.tensor(1.23456789), len(calls), sorted(kept))
try:
    (a.sum() + b.sum() + c.sum() + d.sum()).backward()
except RuntimeError:
    print("refused")
print(x.grad, y.grad, m.grad)
with torch.no_grad():
    x.add_(1)
    k.mul_(2)
    n.sub_(1)
print(a, b, c, d, v, w, x, k, n)
try:
    print(net(torch.ones(4, 3)).sum())
except RuntimeError:
    print("refused")
"""
FORMS = (
    "opt.step()", "sgd.step()", "sched.step()", "plateau.step(1.0)", "plateau.step(2.0)", "opt.zero_grad()", "sgd.zero_grad(set_to_none=False)",
    "F.mse_loss(net(torch.ones(4, 3)*s.detach()), torch.zeros(4, 1)).backward()", "net(torch.randn(4, 3)).sum().backward()", "net.train()", "net.eval()", "lin.eval()",
    "lin.requires_grad_(False)", "lin.weight.requires_grad_(True)", "lin.weight.data.fill_(0.5)", "lin.weight.data = torch.ones(2, 3)", "lin.bias.data = lin.bias.data*2",
    "nn.init.zeros_(lin.weight)", "nn.init.xavier_uniform_(lin.weight)", "net[3] = nn.Linear(2, 1)", "net.append(nn.Tanh())", "net.add_module('more', nn.ReLU())",
    "net.load_state_dict({name: z*0 for name, z in net.state_dict().items()})", "net.load_state_dict({'a': 1})", "opt.load_state_dict(torch.optim.Adam(net.parameters(), lr=9.0).state_dict())",
    "opt.param_groups[0]['lr'] = 0.3", "sgd.add_param_group({'params': [s]})", "lin.register_buffer('buf', torch.ones(1))", "lin.extra = 3", "del net[3]", "lin.bias = None",
    "h = lin.register_forward_hook(lambda mod, i, o: o*2)", "h = lin.register_forward_pre_hook(lambda mod, i: (i[0] + 1,))", "h = lin.register_full_backward_hook(lambda mod, gi, go: None)", "h.remove()",
    "torch.manual_seed(7)", "gen.manual_seed(8)", "print(torch.rand(2))", "print(torch.randn(2, generator=gen))", "print([z.tolist() for z, in loader])", "print(torch.randperm(5))", "gen.set_state(gen.get_state())",
    "torch.set_printoptions(precision=2)", "torch.set_grad_enabled(False)", "torch.set_grad_enabled(True)", "torch.set_rng_state(torch.get_rng_state())",
    "h = x.register_hook(lambda g: calls.append(2))", "h = x.register_post_accumulate_grad_hook(lambda t: calls.append(3))", "h = a.register_hook(lambda g: g*3)",
    "x.data = y.data*2", "x.data = torch.tensor([9., 8., 7.])", "k.data = torch.ones(3)", "x.data.mul_(2)", "x.data[0] = 5", "x.detach()[1] = 4", "v.data.zero_()", "w.data += 1", "s.data.add_(1)", "s.data = torch.tensor(2.0)",
    "x.grad = torch.ones(3)", "x.grad.data.zero_()", "x.requires_grad_(False)", "y.requires_grad = False", "k.requires_grad_()", "a.retain_grad()", "b.detach_()", "k.uniform_()", "k.normal_(generator=gen)", "n[0].zero_()", "w[0, 0] = 3",
    "Cube.apply(x).sum().backward()", "a = Cube.apply(y)", "kept['a'] = a", "kept['v'] = x.view(3)", "x.grad, y.grad = y.grad, x.grad", "a, b = b, a", "torch.nn.utils.clip_grad_norm_(net.parameters(), 0.01)", "torch.nn.utils.vector_to_parameters(torch.ones(6), [lin.weight])",
    "x.grad.zero_()", "del a", "x = x.detach()", "x += 1", "a *= 2", "a[0] = 1", "c[0] = 0", "v += 1", "torch.autograd.backward([a.sum(), b.sum()])", "g, = torch.autograd.grad(a.sum(), x, create_graph=True)",
)  # fmt: skip
BROKEN = ("\n1/0", "\nx.nothing", "\ntorch.ones(2) + torch.ones(3)", "\n(x*1).sum().backward(); nowhere")


class Script(Plain):
    """Statements with modules and optimisers, too."""

    def statement(self) -> str:
        """One statement, or a few."""
        return self.dice.choice(FORMS) if self.dice.random() < 0.6 else super().statement()

    def between(self) -> str:
        """Statements that are taken back: many of them together in one, which may fail at its end."""
        dice = self.dice
        parts = [self.statement() for _ in range(dice.randint(1, 3))]
        text = "if True:\n" + "\n".join("    " + line for part in parts for line in part.splitlines())
        return text + (dice.choice(BROKEN).replace("\n", "\n    ") if dice.random() < 0.4 else "")


def run(session: Session, text: str) -> tuple[str, str]:
    """Run some statements; what they print, and their error."""
    printed: list[str] = []
    try:
        session.run(text, lambda result: printed.append(result.text(session.settings)), "cell.py", is_file=True)
    except AgradError as problem:
        return ADDRESS.sub("", "\n".join(printed)), problem.message
    return ADDRESS.sub("", "\n".join(printed)), ""


def differing(dice: random.Random, count: int = 8) -> str:
    """What a program says otherwise with statements between its own, and the program; empty where nothing."""
    script, sessions, history = Script(dice), [Session(), Session()], ""
    for session in sessions:
        session.steps.depth = 100
        run(session, START + MORE)
        session.steps.clear()
    for number in range(count + 1):
        between = script.between()
        depth = sessions[0].steps.units
        history += f"\n# taken back:\n{between}\n# kept:"
        _, error = run(sessions[0], between)
        history += f" (it failed: {error})" if error else ""
        if sessions[0].steps.units > depth:
            sessions[0].undo(sessions[0].steps.units - depth)
        text = script.statement() if number < count else END
        history += f"\n{text}" if number < count else "\n(the end)"
        there, here = (run(session, text) for session in (sessions[1], sessions[0]))
        if there != here:
            break
    run(sessions[0], "torch.set_printoptions(profile='default')")  # these are those of the process
    return "" if there == here else f"{history}\n--- says\n{here}\n--- not\n{there}"


def cases(dice: random.Random) -> Iterator[None]:
    """Two sessions for each case."""
    for _ in range(10):
        told = differing(dice)
        assert not told, told
        yield
