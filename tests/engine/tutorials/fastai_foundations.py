# fast.ai, "from the foundations": a Learner with callbacks, hooks with partial, layers by a function.
from functools import partial
import re
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
_camel_re1 = re.compile('(.)([A-Z][a-z]+)')
_camel_re2 = re.compile('([a-z0-9])([A-Z])')


def camel2snake(name):
    s1 = re.sub(_camel_re1, r'\1_\2', name)
    return re.sub(_camel_re2, r'\1_\2', s1).lower()


def listify(o):
    if o is None:
        return []
    if isinstance(o, list):
        return o
    return [o]


class Callback():
    _order = 0

    def set_runner(self, run):
        self.run = run

    @property
    def name(self):
        name = re.sub(r'Callback$', '', self.__class__.__name__)
        return camel2snake(name or 'callback')

    def __call__(self, cb_name):
        f = getattr(self, cb_name, None)
        if f and f():
            return True
        return False


class CancelTrainException(Exception):
    pass


class TrainEvalCallback(Callback):
    def begin_fit(self):
        self.run.n_iter = 0

    def after_batch(self):
        if not self.run.in_train:
            return
        self.run.n_iter += 1

    def begin_epoch(self):
        self.run.model.train()
        self.run.in_train = True

    def begin_validate(self):
        self.run.model.eval()
        self.run.in_train = False


class Recorder(Callback):
    def begin_fit(self):
        self.losses = []

    def after_batch(self):
        if self.run.in_train:
            self.losses.append(round(self.run.loss.item(), 5))


class StopCallback(Callback):
    _order = 1

    def after_step(self):
        if self.run.n_iter >= 7:
            raise CancelTrainException()


class Runner():
    def __init__(self, cbs=None):
        self.in_train = False
        cbs = [TrainEvalCallback()] + listify(cbs)
        for cb in cbs:
            setattr(self, cb.name, cb)
        self.cbs = sorted(cbs, key=lambda x: x._order)

    def one_batch(self, xb, yb):
        self.xb, self.yb = xb, yb
        self.pred = self.model(self.xb)
        self.loss = self.loss_func(self.pred, self.yb)
        if not self.in_train:
            return
        self.loss.backward()
        self.opt.step()
        self('after_step')
        self.opt.zero_grad()

    def fit(self, epochs, model, opt, loss_func, batches):
        self.model, self.opt, self.loss_func = model, opt, loss_func
        try:
            for cb in self.cbs:
                cb.set_runner(self)
            self('begin_fit')
            for epoch in range(epochs):
                self('begin_epoch')
                for xb, yb in batches:
                    self.one_batch(xb, yb)
                    self('after_batch')
                with torch.no_grad():
                    self('begin_validate')
                    self.one_batch(*batches[0])
        except CancelTrainException:
            print("stopped")

    def __call__(self, cb_name):
        res = False
        for cb in self.cbs:
            res = cb(cb_name) and res
        return res


class Hook():
    def __init__(self, m, f):
        self.hook = m.register_forward_hook(partial(f, self))

    def remove(self):
        self.hook.remove()


def append_stats(hook, mod, inp, outp):
    if not hasattr(hook, 'stats'):
        hook.stats = ([], [])
    means, stds = hook.stats
    means.append(round(outp.data.mean().item(), 4))
    stds.append(round(outp.data.std().item(), 4))


class GeneralRelu(nn.Module):
    def __init__(self, leak=None, sub=None, maxv=None):
        super().__init__()
        self.leak, self.sub, self.maxv = leak, sub, maxv

    def forward(self, x):
        x = F.leaky_relu(x, self.leak) if self.leak is not None else F.relu(x)
        if self.sub is not None:
            x.sub_(self.sub)
        if self.maxv is not None:
            x.clamp_max_(self.maxv)
        return x


def layers(sizes, **kw):
    return [nn.Sequential(nn.Linear(a, b), GeneralRelu(**kw)) for a, b in zip(sizes, sizes[1:])]


x, y = torch.randn(24, 4), torch.randint(0, 3, (24,))
batches = [(x[i:i + 8], y[i:i + 8]) for i in range(0, 24, 8)]
model = nn.Sequential(*layers([4, 8, 8], leak=0.1, sub=0.4, maxv=6.), nn.Linear(8, 3))
for m in model.modules():
    if isinstance(m, nn.Linear):
        nn.init.kaiming_normal_(m.weight, a=0.1)
        m.bias.data.zero_()
hooks = [Hook(l, append_stats) for l in model[:2]]
run = Runner([Recorder(), StopCallback()])
run.fit(3, model, torch.optim.SGD(model.parameters(), lr=0.1), F.cross_entropy, batches)
print(run.recorder.losses, run.n_iter)
for h in hooks:
    print(h.stats)
    h.remove()
print(model)
