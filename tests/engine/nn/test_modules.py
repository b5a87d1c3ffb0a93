"""Modules, losses and optimisers: what belongs to them, what a failed statement restores, and the numbers of definitions and of torch 2.13, which are in torch_numbers.json."""

import importlib.util
import json
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch_cases
from refused import refuses
from rows import each

import agrad.engine as ag
from agrad.engine import nn, optim
from agrad.engine.autodiff.optim import kept_of, step
from agrad.engine.core.context import UndoLog, scope
from agrad.engine.errors import AgradError
from agrad.engine.nn.utils.data import DataLoader, TensorDataset
from agrad.grammar.session.session import Session


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 3)
        self.shift = nn.Parameter(ag.zeros(3))
        self.register_buffer("mean", ag.tensor([1.0, 2.0]))
        self.rate = 0.5

    def forward(self, x):
        return self.fc(x - self.mean) + self.shift


def refused(kind, action, *texts):
    error = refuses(action)
    assert error.kind == kind
    assert [text for text in texts if text not in str(error)] == []


def test_parameters_are_listed_with_their_names_in_order():
    net, layer = Net(), nn.Linear(2, 2)
    assert [name for name, _ in net.named_parameters()] == ["shift", "fc.weight", "fc.bias"]
    assert [id(x) for x in net.parameters()] == [id(net.shift), id(net.fc.weight), id(net.fc.bias)]
    assert [name for name, _ in net.named_parameters(recurse=False)] == ["shift"]
    assert [name for name, _ in net.named_buffers()] == ["mean"]
    assert [name for name, _ in net.named_modules()] == ["", "fc"]
    assert list(net.children()) == [net.fc]
    assert net.fc.weight.name == "fc.weight"  # in messages
    assert len(list(nn.Sequential(layer, nn.ReLU(), layer).parameters())) == 2


def test_a_parameter_is_told_from_other_values_and_stays_one_when_it_is_frozen():
    assert not isinstance(ag.tensor([1.0], requires_grad=True), nn.Parameter)
    assert not isinstance(3, nn.Parameter)
    net = Net().requires_grad_(False)
    assert isinstance(net.shift, nn.Parameter)
    assert not any(x.requires_grad for x in net.parameters())
    net.requires_grad_(True)
    assert all(x.requires_grad for x in net.parameters())


def test_a_parameter_shares_the_data_of_a_tensor_and_copies_those_of_numpy():
    data = np.ones(2)
    made = nn.Parameter(data)
    data[0] = 5
    assert made.tolist() == [1, 1]
    source = ag.tensor([1.0, 2.0])
    shared = nn.Parameter(source)
    again = nn.Parameter(shared)
    with ag.no_grad():
        again += 1
    source *= 2
    assert (source.tolist(), shared.tolist()) == ([4, 6], [4, 6])
    ag.sum(shared * shared).backward()
    assert (shared.grad.tolist(), source.grad) == ([8, 12], None)
    assert (shared.requires_grad, nn.Parameter(shared, requires_grad=False).requires_grad) == (True, False)


def test_train_and_eval_reach_all_modules():
    net = nn.Sequential(nn.Dropout(0.5), nn.Sequential(nn.Dropout(0.5)))
    assert net.eval() is net
    assert [module.training for module in net.modules()] == [False] * 4
    x = ag.randn(20)
    assert net(x).tolist() == x.tolist()
    assert all(module.training for module in net.train().modules())


def test_dropout_drops_some_entries_and_enlarges_the_others():
    ag.manual_seed(0)
    x = ag.ones(10_000)
    kept = nn.Dropout(0.2)(x).numpy()
    assert set(np.unique(kept)) == {0.0, 1.25}
    assert abs((kept == 0).mean() - 0.2) < 0.02
    assert nn.Dropout(1.0)(x).numpy().max() == 0.0


def test_zero_grad_clears_or_makes_zeros():
    net = Net()
    net(ag.ones(4, 2)).sum().backward()
    net.zero_grad(set_to_none=False)
    assert net.shift.grad.tolist() == [0, 0, 0]
    net.zero_grad()
    assert net.shift.grad is None


def test_state_shares_the_data_and_is_written_into_another():
    first, second = Net(), Net()
    state = first.state_dict()
    assert list(state) == ["shift", "mean", "fc.weight", "fc.bias"]
    with ag.no_grad():
        first.shift += 1
    assert state["shift"].tolist() == [1, 1, 1]
    assert not state["shift"].requires_grad
    second.load_state_dict(state)
    assert second.fc.weight.tolist() == first.fc.weight.tolist()
    assert second.fc.weight.requires_grad


def test_a_state_that_does_not_fit_changes_nothing():
    net = Net()
    before = net.shift.tolist()
    refused(
        "shape",
        lambda: net.load_state_dict({"shift": [1, 2, 3], "foo": 1}),
        "the state does not fit Net",
        "missing: fc.weight",
        "not known: foo",
    )
    wrong = {**net.state_dict(), "shift": [1, 2]}
    refused("shape", lambda: net.load_state_dict(wrong), "shift has shape (3), and is given (2)")
    assert net.shift.tolist() == before
    net.load_state_dict({"shift": [1, 2, 3], "foo": 1}, strict=False)
    assert net.shift.tolist() == [1, 2, 3]


def test_a_module_that_is_not_initialised_says_so():
    class Late(nn.Module):
        def __init__(self):
            self.fc = nn.Linear(1, 1)

    refused("type", Late, "Late.fc is assigned before Late is initialised", "super().__init__()")


def test_initial_values_have_the_distributions_of_pytorch():
    weights = [ag.manual_seed(1) or nn.Linear(100, 400).weight.tolist() for _ in range(2)]
    assert weights[0] == weights[1]
    ag.manual_seed(1)
    layer = nn.Linear(100, 400)
    for values in (layer.weight.numpy(), layer.bias.numpy()):
        assert abs(values).max() <= 0.1
        assert values.std() == pytest.approx(0.1 / math.sqrt(3), rel=0.1)
    rows = nn.Embedding(200, 100).weight.numpy()
    assert rows.mean() == pytest.approx(0, abs=0.03)
    assert rows.std() == pytest.approx(1, rel=0.03)
    w, init = ag.zeros(300, 200), nn.init
    for fill, spread in [
        (init.xavier_uniform_, math.sqrt(2 / 500)),
        (init.xavier_normal_, math.sqrt(2 / 500)),
        (lambda w: init.kaiming_uniform_(w, nonlinearity="relu"), math.sqrt(2 / 200)),
        (lambda w: init.kaiming_normal_(w, mode="fan_out", nonlinearity="relu"), math.sqrt(2 / 300)),
        (lambda w: init.uniform_(w, -3, 3), math.sqrt(3)),
        (lambda w: init.normal_(w, 5, 0.1), 0.1),
    ]:
        assert fill(w) is w
        assert w.numpy().std() == pytest.approx(spread, rel=0.02)
    assert w.numpy().mean() == pytest.approx(5, rel=0.01)


def test_a_failed_statement_restores_attributes_parameters_and_optimisers():
    net = Net()
    opt = optim.Adam(net.parameters(), lr=0.1)
    net(ag.ones(4, 2)).sum().backward()
    opt.step()
    before = repr(net), net.shift.tolist(), dict(opt.state), opt.param_groups[0]["lr"], net.fc
    with scope(undo_log=UndoLog()) as running:
        net.fc, net.rate, net.new = nn.Linear(2, 5), 7, nn.Parameter([1.0])
        del net.shift
        opt.param_groups[0]["lr"] = 9
        net.train(False)
        opt.step()
        running.undo_log.roll_back()
    assert (repr(net), net.shift.tolist(), dict(opt.state), opt.param_groups[0]["lr"], net.fc) == before
    assert net.rate == 0.5
    assert net.training
    assert not hasattr(net, "new")


def test_shuffled_batches_have_every_row_once():
    ag.manual_seed(3)
    loader = DataLoader(TensorDataset(ag.arange(10), ag.arange(10) * 2), batch_size=4, shuffle=True)
    epochs = [
        [x for batch, twice in loader for x in zip(batch.tolist(), twice.tolist(), strict=True)] for _ in range(2)
    ]
    assert all(sorted(epoch) == [(x, 2.0 * x) for x in range(10)] for epoch in epochs)
    assert epochs[0] != epochs[1]


def test_a_data_set_of_ones_own_is_stacked():
    class Squares:
        def __len__(self):
            return 3

        def __getitem__(self, place):
            return ag.tensor(float(place)), ag.tensor([place, place**2])

    assert [[x.tolist() for x in batch] for batch in DataLoader(Squares(), batch_size=2)] == [
        [[0, 1], [[0, 0], [1, 1]]],
        [[2], [[2, 4]]],
    ]


def test_an_optimiser_skips_what_has_no_gradient_and_returns_the_loss_of_a_closure():
    a, b = nn.Parameter([1.0]), nn.Parameter([1.0])
    opt = optim.SGD([a, b], lr=0.5)

    def closure():
        opt.zero_grad()
        loss = (a * 2).sum()
        loss.backward()
        return loss

    assert opt.step(closure).item() == 2
    assert (a.tolist(), b.tolist()) == ([0], [1])
    assert repr(opt).splitlines()[:3] == ["SGD (", "Parameter Group 0", "    dampening: 0"]


def test_modules_are_loaded_when_they_are_asked_for():
    code = "import sys, agrad.engine as ag; print('agrad.engine.nn' in sys.modules); ag.nn; print('agrad.engine.nn' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).split() == ["False", "True"]


X = np.array([[2.0, 1.0, 0.1], [0.5, 2.5, 0.3], [0.3, -1.0, 1.5], [1.0, 1.0, 0.0]])


TARGET = np.array([0, 1, 2, 1])


def cross_entropy(x, target, reduction="mean", smoothing=0.0, weight=None, ignored=-100):
    """By the definition in PyTorch's documentation."""
    logs = x - np.log(np.exp(x).sum(1, keepdims=True))
    count = x.shape[1]
    weight = np.ones(count) if weight is None else weight
    if target.ndim == 2:
        shares = target * (1 - smoothing) + smoothing / count
        losses = -(shares * weight * logs).sum(1)
        number = len(x)
    else:
        kept = target != ignored
        place = np.where(kept, target, 0)
        losses = -(1 - smoothing) * weight[place] * logs[range(len(x)), place]
        losses = np.where(kept, losses - smoothing / count * (weight * logs).sum(1), 0.0)
        number = weight[place][kept].sum()
    return {"mean": losses.sum() / number, "sum": losses.sum(), "none": losses}[reduction]


CASES = [
    {"smoothing": 0.1},
    {"weight": np.array([0.2, 1.0, 3.0])},
    {"ignored": 1},
    {"smoothing": 0.3, "weight": np.array([0.2, 1.0, 3.0]), "ignored": 0},
]


@each("reduction", ["mean", "sum", "none"])
@each("case", CASES)
def test_the_options_of_cross_entropy(case, reduction):
    loss = ag.nn.CrossEntropyLoss(
        weight=case.get("weight"),
        reduction=reduction,
        ignore_index=case.get("ignored", -100),
        label_smoothing=case.get("smoothing", 0.0),
    )
    found = loss(ag.tensor(X), ag.tensor(TARGET))
    assert np.allclose(np.asarray(found.value), cross_entropy(X, TARGET, reduction, **case), rtol=1e-13)
    assert ag.check(lambda x: ag.sum(loss(x, ag.tensor(TARGET))), X).ok


def test_smoothing_and_weights_of_probabilities():
    target, weight = np.array([[0.2, 0.5, 0.3]] * 4), np.array([0.2, 1.0, 3.0])
    loss = ag.nn.CrossEntropyLoss(weight=weight, label_smoothing=0.2)
    assert loss.state_dict()["weight"].tolist() == list(weight)
    assert not list(ag.nn.CrossEntropyLoss().state_dict())
    found = loss(ag.tensor(X), ag.tensor(target))
    assert abs(found.item() - cross_entropy(X, target, smoothing=0.2, weight=weight)) < 1e-13


@each(
    "options, message",
    [
        ({"label_smoothing": 2}, "cross_entropy: label_smoothing is from 0 to 1, not 2"),
        ({"weight": [1.0, 2.0]}, "cross_entropy: weight has shape (2), and there are 3 classes"),
        (
            {"weight": ag.tensor([1.0, 2.0, 3.0], requires_grad=True)},
            "cross_entropy has no derivative wrt weight here",
        ),
    ],
)
def test_an_option_that_does_not_fit(options, message):
    assert refuses(lambda: ag.nn.CrossEntropyLoss(**options)(ag.tensor(X), ag.tensor(TARGET))).message == message


@each("decay", [0.0, 0.1])
def test_amsgrad_divides_by_the_largest_mean_so_far(decay):
    w = ag.tensor([1.0, -2.0], requires_grad=True)
    optimizer = ag.nn.optim.Adam([w], lr=0.1, weight_decay=decay, amsgrad=True)
    x, m, v, top = np.array([1.0, -2.0]), 0.0, 0.0, np.zeros(2)
    for count in range(1, 8):
        optimizer.zero_grad()
        ag.sum(w**4 / count**3).backward()
        optimizer.step()
        g = 4 * x**3 / count**3 + decay * x
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        top = np.maximum(top, v)
        x = x - 0.1 / (1 - 0.9**count) * m / (np.sqrt(top) / np.sqrt(1 - 0.999**count) + 1e-8)
        assert np.allclose(w.value, x, rtol=1e-13)


NUMBERS = json.loads(Path(__file__).with_name("torch_numbers.json").read_text())


def differences(found, wanted, path=""):
    """Where two nested lists differ."""
    if isinstance(wanted, str):
        return [] if found == wanted else [f"{path}: {found} is not {wanted}"]
    if isinstance(wanted, dict):
        return [
            x for key in wanted.keys() | found.keys() for x in differences(found[key], wanted[key], f"{path}.{key}")
        ]
    if isinstance(wanted, list):
        if len(found) != len(wanted):
            return [f"{path}: {len(found)} entries, not {len(wanted)}"]
        return [
            x for at, (a, b) in enumerate(zip(found, wanted, strict=True)) for x in differences(a, b, f"{path}[{at}]")
        ]
    return [] if abs(found - wanted) <= 1e-12 * max(1, abs(wanted)) else [f"{path}: {found} is not {wanted}"]


@each("name", torch_cases.CASES)
def test_agrad_gives_the_numbers_of_torch(name):
    assert NUMBERS.keys() == torch_cases.CASES.keys()
    assert differences([1.0, [2.0]], [1.0, [2.1]]) == ["[1][0]: 2.0 is not 2.1"]
    assert differences(torch_cases.CASES[name](ag), NUMBERS[name]) == []


@pytest.mark.long
@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")
def test_torch_gives_these_numbers():
    torch = pytest.importorskip("torch")
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        for name, function in torch_cases.CASES.items():
            assert differences(function(torch), NUMBERS[name]) == [], name
    finally:
        torch.set_default_dtype(before)


@each("options", [{"beta1": 1.0}, {"beta2": -0.1}, {"eps": 0.0}])
def test_what_adam_cannot_divide_by_is_refused_before_anything_changes(options):
    w = ag.tensor(2.0, requires_grad=True)
    (w**2).backward()
    refuses(lambda: step("adam", [w], **options))
    assert (w.item(), w.version, kept_of(w.node)) == (2.0, 0, ())


def test_a_step_that_is_taken_back_never_was():
    """A failing statement, and undo, give back the means too: the path goes on as if nothing had been."""
    paths = []
    for disturbed in (False, True):
        session = Session()
        session.steps.depth = 5
        session.run("var w = [1, 2]\nfor i in range(3):\n    zero_grad; backward sum(w**2); step adam w lr=0.1")
        if disturbed:
            session.run("step adam w lr=0.1")
            session.run("undo")
            with pytest.raises(AgradError):
                session.run("for i in range(2):\n    step adam w lr=0.1\n    nowhere")
        session.run("step adam w lr=0.1")
        paths.append(session.names["w"].tolist())
    assert paths[0] == paths[1]


def test_options_that_a_method_lacks_are_named():
    session = Session()
    session.run("var w = 1; backward w**2")
    refuses(lambda: session.run("step sgd w beta1=0.5"), "step sgd has no option beta1; its options are lr, momentum")
