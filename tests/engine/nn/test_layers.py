"""Layers, losses, optimisers, schedulers and distributions beside torch 2.13: each row of `torch_layers`, with all gradients."""

import copy
import importlib.util
import json
import math
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch_layers
from refused import refuses
from rows import each

import agrad.engine as ag
from agrad.engine import nn
from agrad.engine.core.op import OPS
from agrad.engine.nn import optim
from agrad.engine.nn.utils import data, parameters_to_vector, vector_to_parameters
from agrad.torch import distributions

F = nn.functional
PINNED = json.loads(Path(__file__).with_name("torch_layers.json").read_text())


def apart(name, found, wanted):
    """How far numbers are from those that are wanted, at most, over these or 1; texts are equal."""
    if found == wanted:
        return 0.0
    pairs = [*zip(torch_layers.flat(found), torch_layers.flat(wanted), strict=True)]
    far = max(abs(a - b) / max(1.0, abs(b)) for a, b in pairs)
    return far * 1e-12 / torch_layers.ROUNDED.get(name, 1e-12)


@each("name", torch_layers.CASES)
def test_agrad_gives_what_torch_gave(name):
    assert PINNED.keys() == torch_layers.CASES.keys()
    function, row = torch_layers.CASES[name]
    found = {what: torch_layers.digest(value) for what, value in function(ag, row).items()}
    assert found.keys() == PINNED[name].keys()
    assert [what for what, value in found.items() if not apart(name, value, PINNED[name][what]) <= 1e-11] == []


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")
def test_torch_gives_the_same_entry_by_entry():
    torch = pytest.importorskip("torch")
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    wrong = []
    try:
        for name, (function, row) in torch_layers.CASES.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                theirs = json.loads(json.dumps(function(torch, row)))
            ours = json.loads(json.dumps(function(ag, row)))
            wrong += [f"{name}: {what}" for what in theirs if not apart(name, ours[what], theirs[what]) <= 1e-12]
    finally:
        torch.set_default_dtype(before)
    assert wrong == []


def test_windows_and_their_transpose_are_adjoint():
    for shape, sizes, steps, gaps in [
        ((7,), (3,), (2,), (1,)),
        ((2, 6, 5), (2, 3), (1, 2), (3, 1)),
        ((4, 4), (1, 4), (3, 1), (1, 1)),
    ]:
        x = ag.randn(*shape)
        seen = OPS["windows"].call(x, sizes, steps, gaps)
        y = ag.randn(*seen.shape)
        laid = OPS["overlaid"].call(y, shape, sizes, steps, gaps)
        assert float((seen * y).sum()) == pytest.approx(float((x * laid).sum()), rel=1e-12)
    refuses(lambda: OPS["windows"].call(ag.zeros(2), (3,), (1,), (1,)))


def test_convolution_and_pooling_have_second_derivatives():
    w = ag.randn(2, 1, 2, 2)
    for function, shape in [
        (lambda x: ag.sum(F.max_pool2d(F.conv2d(x, w, padding=1) ** 3, 2)), (1, 1, 4, 4)),
        (lambda x: ag.sum(F.conv_transpose2d(x, w, stride=2) ** 3), (1, 2, 2, 3)),
    ]:
        assert ag.check(lambda x, function=function: ag.sum(ag.grad(function)(x) ** 2), ag.randn(*shape)).ok


@each("make, inputs", [
    (lambda: nn.LSTM(2, 3, batch_first=True), (1, 4, 2)),
    (lambda: nn.GRU(2, 2, bidirectional=True), (3, 1, 2)),
    (lambda: nn.TransformerEncoderLayer(4, 2, 5, dropout=0.0, norm_first=True), (3, 1, 4)),
    (lambda: nn.Sequential(nn.GroupNorm(1, 2), nn.AvgPool1d(2), nn.Mish()), (1, 2, 4)),
])  # fmt: skip
def test_the_gradients_of_a_layer_are_those_of_its_value(make, inputs):
    ag.manual_seed(2)
    module = make()
    assert ag.check(lambda x: ag.sum(torch_layers.flat(module(x))[0] ** 2), ag.randn(*inputs)).ok


@each("make, message", [
    (lambda: nn.Linear(-1, 2), "Linear: in_features must not be negative"),
    (lambda: nn.Linear(2.5, 2), "Linear: in_features must be a whole number"),
    (lambda: nn.Linear(2), "nn.Linear needs out_features: nn.Linear(in_features, out_features, bias=True)"),
    (lambda: nn.Conv2d(3, 4, 3, groups=2), "Conv2d: 2 groups of 3 and 4 channels"),
    (lambda: nn.Conv2d(1, 1, (3, 3, 3)), "Conv2d: kernel_size has 3 numbers, and there are 2 axes"),
    (lambda: nn.Conv2d(2, 1, 3)(ag.zeros(1, 3, 5, 5)), "conv2d: x of shape (1, 3, 5, 5) does not have 3 or 4 axes and 2 channels"),
    (lambda: nn.Conv1d(1, 1, 4)(ag.zeros(1, 1, 3)), "windows of size (4) do not fit into (3) entries"),
    (lambda: nn.MaxPool2d(2, padding=2)(ag.zeros(1, 1, 4, 4)), "max_pool2d: padding is at most half of the kernel size"),
    (lambda: nn.MaxPool2d(2, return_indices=True), "MaxPool2d gives the values alone, without their indices"),
    (lambda: F.pad(ag.zeros(2), (1, 1), mode="mirror"), 'pad: there is no mode the text "mirror"'),
    (lambda: nn.RNN(2, 3, nonlinearity="sin"), 'RNN: nonlinearity is "tanh" or "relu", not the text "sin"'),
    (lambda: nn.LSTM(2, 3)(ag.zeros(4, 1, 5)), "LSTM: x of shape (4, 1, 5) has not 2 or 3 axes, the last of 2 features"),
    (lambda: nn.GRU(2, 3)(ag.zeros(4, 1, 2), ag.zeros(1, 3)), "GRU: a state has shape (1, 1, 3), not (1, 3)"),
    (lambda: nn.MultiheadAttention(5, 2), "MultiheadAttention cannot share 5 features among 2 heads"),
    (lambda: nn.GroupNorm(3, 4), "GroupNorm: 3 groups of 4 channels"),
    (lambda: nn.BatchNorm1d(2)(ag.zeros(1, 2)), "BatchNorm1d: x of shape (1, 2) has one value a feature: no variance"),
    (lambda: nn.Dropout(1.5), "Dropout: p is a probability from 0 to 1, not 1.5"),
    (lambda: nn.NLLLoss()(ag.zeros(2, 3), ag.tensor([0, 3])), "nll_loss: there is no class 3: there are 3, from 0 on"),
    (lambda: optim.SGD([nn.Parameter([1.0])], momentum=-1), "SGD: momentum must not be negative"),
    (lambda: optim.Adagrad([nn.Parameter([1.0])], rate=1), "optim.Adagrad has no argument rate"),
    (lambda: optim.LBFGS([nn.Parameter([1.0])]).step(), "LBFGS.step needs a function"),
    (lambda: optim.lr_scheduler.OneCycleLR(optim.SGD([nn.Parameter([1.0])]), 1), "OneCycleLR needs total_steps, or epochs and steps_per_epoch"),
    (lambda: optim.lr_scheduler.StepLR(optim.SGD([nn.Parameter([1.0])]), 0), "StepLR: step_size must be at least 1"),
])  # fmt: skip
def test_what_does_not_fit_is_refused(make, message):
    assert refuses(make).message.startswith(message)


def test_initial_values_are_uniform_by_what_each_output_sums():
    ag.manual_seed(5)
    for module, fan in [(nn.Conv2d(4, 50, 5), 100), (nn.ConvTranspose1d(40, 20, 5), 100), (nn.LSTM(300, 64), 64)]:
        for value in module.parameters():
            assert abs(value.numpy()).max() <= 1 / math.sqrt(fan)
            assert value.numpy().std() == pytest.approx(1 / math.sqrt(3 * fan), rel=0.2)
    attention = nn.MultiheadAttention(64, 4)
    assert attention.in_proj_weight.numpy().std() == pytest.approx(math.sqrt(2 / 256), rel=0.05)
    assert not attention.in_proj_bias.numpy().any()


def test_dropout_of_channels_drops_them_whole():
    ag.manual_seed(1)
    found = nn.Dropout2d(0.5)(ag.ones(50, 20, 3, 3)).numpy()
    assert {*np.unique(found)} == {0.0, 2.0}
    assert (found == found[..., :1, :1]).all()
    module = nn.LSTM(2, 3, 2, dropout=0.9)
    x = ag.ones(4, 1, 2)
    assert module(x)[0].tolist() != module.eval()(x)[0].tolist() == module(x)[0].tolist()


def test_lists_and_dictionaries_of_parts():
    parts = nn.ModuleList([nn.Linear(1, 1), nn.Tanh()]).append(nn.ReLU())
    parts.insert(1, nn.Sigmoid())
    assert [type(part).__name__ for part in parts] == ["Linear", "Sigmoid", "Tanh", "ReLU"]
    assert type(parts.pop(-1)).__name__ == "ReLU"
    del parts[0]
    assert [name for name, _ in parts.named_children()] == ["0", "1"]
    longer = nn.Sequential(nn.Tanh())
    longer += [nn.ReLU()]
    assert len(longer) == 2
    net = nn.Module()
    net.weights = nn.ParameterList([ag.ones(2), nn.Parameter(ag.zeros(3, 1))])
    net.named = nn.ParameterDict({"a": ag.ones(1)})
    assert [name for name, _ in net.named_parameters()] == ["weights.0", "weights.1", "named.a"]
    assert repr(net.weights).splitlines()[2:3] == ["    (1): Parameter containing: [torch.float64 of size 3x1]"]
    assert [x.requires_grad for x in net.weights] == [True, True]
    net.weights[0] = ag.tensor([5.0])
    assert net.state_dict()["weights.0"].tolist() == [5]


def test_a_copy_of_a_module_has_parameters_of_its_own():
    first = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    second = copy.deepcopy(first)
    assert all(isinstance(x, nn.Parameter) for x in second.parameters())
    second[0].weight = nn.Parameter(ag.zeros(2, 2))
    assert first[0].weight.tolist() != second[0].weight.tolist()


def test_hooks_of_modules_see_arguments_values_and_gradients():
    net, seen = nn.Sequential(nn.Linear(2, 2), nn.Tanh()), []
    x = ag.tensor([[0.1, 0.2]], requires_grad=True)
    handles = [
        module.register_full_backward_hook(lambda m, before, after: seen.append((type(m).__name__, before, after)))
        for module in net
    ]
    net(x).sum().backward()
    assert [name for name, *_ in seen] == ["Tanh", "Linear"]
    assert seen[1][1][0].tolist() == x.grad.tolist()
    assert seen[0][1][0].tolist() == seen[1][2][0].tolist()
    for handle in handles:
        handle.remove()
    twice = net[0].register_full_backward_hook(lambda m, before, after: (before[0] * 2,))
    before = x.grad.numpy().copy()
    x.grad = None
    net(x).sum().backward()
    assert np.allclose(x.grad.numpy(), 2 * before)
    twice.remove()
    assert not net[0].has_hooks
    first = nn.Linear(1, 1).register_forward_pre_hook(lambda m, args: (args[0] * 0,))
    assert first._module(ag.ones(1)).item() == first._module.bias.item()


def test_what_does_not_match_a_state_is_told():
    net = nn.Sequential(nn.Linear(1, 1))
    assert repr(net.load_state_dict(net.state_dict())) == "<All keys matched successfully>"
    told = net.load_state_dict({"0.bias": [2.0], "other": 1}, strict=False)
    assert (told.missing_keys, told.unexpected_keys) == (["0.weight"], ["other"])
    assert net.get_parameter("0.bias").item() == 2
    assert net.get_submodule("0") is net[0]


def test_parameters_as_a_vector():
    net = nn.Linear(2, 1)
    vector = parameters_to_vector(net.parameters())
    (vector**2).sum().backward()
    assert net.bias.grad.item() == 2 * net.bias.item()
    vector_to_parameters(ag.tensor([1, 2, 3]), net.parameters())
    assert (net.weight.tolist(), net.bias.tolist()) == ([[1, 2]], [3])


def test_states_of_optimisers_and_schedulers_are_taken_up():
    def trained(parts):
        w = nn.Parameter([1.0, -2.0])
        opt = optim.NAdam([w], lr=0.1)
        plan = optim.lr_scheduler.SequentialLR(
            opt, [optim.lr_scheduler.ConstantLR(opt, 0.5, 2), optim.lr_scheduler.ExponentialLR(opt, 0.8)], [4]
        )
        for part in range(parts):
            if part:
                states = opt.state_dict(), plan.state_dict()
                opt = optim.NAdam([w], lr=9.0)
                plan = optim.lr_scheduler.SequentialLR(
                    opt, [optim.lr_scheduler.ConstantLR(opt), optim.lr_scheduler.ExponentialLR(opt, 0.1)], [1]
                )
                opt.load_state_dict(states[0])
                plan.load_state_dict(states[1])
            for _ in range(12 // parts):
                opt.zero_grad()
                (w**4).sum().backward()
                opt.step()
                plan.step()
        return w.tolist()

    assert trained(1) == trained(2) == trained(3)


def test_an_optimiser_of_ones_own():
    class Signs(optim.Optimizer):
        def __init__(self, params, lr=0.1):
            super().__init__(params, {"lr": lr})

        def step(self, closure=None):
            for group in self.param_groups:
                for p in group["params"]:
                    state = self.state[p]
                    state["steps"] = state.get("steps", 0) + 1
                    with ag.no_grad():
                        p -= group["lr"] * ag.sign(p.grad) / state["steps"]

    w = nn.Parameter([1.0, -1.0])
    opt = Signs([w])
    for _ in range(2):
        opt.zero_grad()
        (w**2).sum().backward()
        opt.step()
    assert np.allclose(w.numpy(), [0.85, -0.85])


# Data


def test_subsets_have_each_entry_once():
    entries = data.TensorDataset(ag.arange(10))
    for lengths, sizes in [([7, 3], [7, 3]), ([0.5, 0.25, 0.25], [6, 2, 2]), ([0.9, 0.1], [9, 1])]:
        parts = data.random_split(entries, lengths)
        assert [len(part) for part in parts] == sizes
        assert sorted(int(x) for part in parts for (x,) in part) == list(range(10))
    refuses(lambda: data.random_split(entries, [7, 4]))
    both = data.Subset(entries, [3, 1]) + data.TensorDataset(ag.tensor([20]))
    assert [int(both[place][0]) for place in (0, 1, 2, -1)] == [3, 1, 20, 20]
    refuses(lambda: both[3])


def test_samplers_say_the_order():
    assert [*data.BatchSampler(data.SequentialSampler(range(7)), 3, False)] == [[0, 1, 2], [3, 4, 5], [6]]
    assert [*data.BatchSampler(data.SequentialSampler(range(7)), 3, True)] == [[0, 1, 2], [3, 4, 5]]
    assert sorted(data.RandomSampler(range(5))) == list(range(5))
    assert {*data.RandomSampler(range(3), replacement=True, num_samples=50)} == {0, 1, 2}
    assert sorted(data.SubsetRandomSampler([4, 2, 8])) == [2, 4, 8]
    assert {*data.WeightedRandomSampler([0, 1, 0, 1], 40)} == {1, 3}
    loader = data.DataLoader(data.TensorDataset(ag.arange(4)), 2, sampler=[3, 1, 2])
    assert [x.tolist() for (x,) in loader] == [[3, 1], [2]]
    loader = data.DataLoader([1.0, 2.0, 3.0], batch_sampler=[[0, 2], [1]])
    assert [x.tolist() for x in loader] == [[1, 3], [2]]
    assert len(loader) == 2


def test_batches_are_put_together():
    entries = [
        {"x": ag.tensor([1.0, 2.0]), "name": "a", "y": (1, 2.0)},
        {"x": ag.tensor([3.0, 4.0]), "name": "b", "y": (3, 4.0)},
    ]
    batch = data.default_collate(entries)
    assert batch["x"].tolist() == [[1, 2], [3, 4]]
    assert batch["name"] == ["a", "b"]
    assert [part.tolist() for part in batch["y"]] == [[1, 3], [2, 4]]
    loader = data.DataLoader(entries, 2, collate_fn=lambda batch: [entry["name"] for entry in batch])
    assert [*loader] == [["a", "b"]]


# Distributions


@each("make, kind", [
    (lambda: distributions.Normal(0.0, -1.0), ValueError),
    (lambda: distributions.Bernoulli(1.5), ValueError),
    (lambda: distributions.Bernoulli(0.5).rsample(), NotImplementedError),
    (lambda: distributions.Categorical(), ValueError),
    (lambda: distributions.kl_divergence(distributions.Normal(0, 1), distributions.Uniform(0, 1)), NotImplementedError),
])  # fmt: skip
def test_what_is_no_distribution_is_refused(make, kind):
    with pytest.raises(kind):
        make()


@each("made", [
    distributions.Normal(1.0, 2.0),
    distributions.Uniform(-1.0, 3.0),
    distributions.Exponential(2.0),
    distributions.Bernoulli(0.3),
    distributions.Bernoulli(logits=-1.0),
])  # fmt: skip
def test_samples_have_the_mean_and_the_variance(made):
    ag.manual_seed(4)
    drawn = made.sample((20_000,))
    assert not drawn.requires_grad
    assert drawn.numpy().mean() == pytest.approx(float(made.mean), abs=0.05)
    assert drawn.numpy().var() == pytest.approx(float(made.variance), rel=0.05)


def test_samples_of_classes_and_vectors():
    ag.manual_seed(4)
    drawn = distributions.Categorical(ag.tensor([[1.0, 3.0, 0.0], [0.0, 1.0, 1.0]])).sample((4000,)).numpy()
    assert drawn.shape == (4000, 2)
    assert np.allclose([(drawn == k).mean(0) for k in range(3)], [[0.25, 0], [0.75, 0.5], [0, 0.5]], atol=0.03)
    covariance = np.array([[2.0, 0.5], [0.5, 1.0]])
    vectors = distributions.MultivariateNormal(ag.tensor([1.0, -1.0]), ag.tensor(covariance)).sample((20_000,)).numpy()
    assert np.allclose(vectors.mean(0), [1, -1], atol=0.05)
    assert np.allclose(np.cov(vectors.T), covariance, atol=0.06)


def test_samples_are_differentiable_by_the_parameters():
    mean, spread = ag.tensor([1.0, 2.0], requires_grad=True), ag.tensor(0.5, requires_grad=True)
    drawn = distributions.Normal(mean, spread).rsample((3,))
    drawn.sum().backward()
    assert mean.grad.tolist() == [3, 3]
    assert spread.grad.item() == pytest.approx(((drawn.detach() - mean.detach()) / 0.5).sum().item())
    assert repr(distributions.Normal(0.0, 1.0)) == "Normal(loc: 0.0, scale: 1.0)"
    assert repr(distributions.Normal(ag.zeros(2), 1.0)) == "Normal(loc: torch.Size([2]), scale: torch.Size([2]))"
