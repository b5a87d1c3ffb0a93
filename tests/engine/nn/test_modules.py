"""Modules: what belongs to them, what they refuse, and what a failed statement restores."""

import math
import subprocess
import sys

import numpy as np
import pytest

import agrad.engine as ag
from agrad.engine import nn, optim
from agrad.engine.core.context import UndoLog, scope
from agrad.engine.errors import AgradError
from agrad.engine.nn.utils.data import DataLoader, TensorDataset


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
    with pytest.raises(AgradError) as error:
        action()
    assert error.value.kind == kind
    assert [text for text in texts if text not in str(error.value)] == []


def test_parameters_are_listed_with_their_names_in_order():
    net = Net()
    assert [name for name, _ in net.named_parameters()] == ["shift", "fc.weight", "fc.bias"]
    assert [id(x) for x in net.parameters()] == [id(net.shift), id(net.fc.weight), id(net.fc.bias)]
    assert [name for name, _ in net.named_parameters(recurse=False)] == ["shift"]
    assert [name for name, _ in net.named_buffers()] == ["mean"]
    assert [name for name, _ in net.named_modules()] == ["", "fc"]
    assert list(net.children()) == [net.fc]


def test_a_parameter_is_called_by_its_place_in_messages():
    assert Net().fc.weight.name == "fc.weight"


def test_a_module_that_is_used_twice_is_listed_once():
    layer = nn.Linear(2, 2)
    assert len(list(nn.Sequential(layer, nn.ReLU(), layer).parameters())) == 2


def test_isinstance_tells_parameters_from_other_values():
    assert isinstance(Net().shift, nn.Parameter)
    assert not isinstance(ag.tensor([1.0], requires_grad=True), nn.Parameter)
    assert not isinstance(3, nn.Parameter)


def test_a_parameter_stays_one_when_it_is_frozen():
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
    with ag.no_grad():
        shared += 1
    source *= 2
    assert (source.tolist(), shared.tolist()) == ([4, 6], [4, 6])
    ag.sum(shared * shared).backward()
    assert (shared.grad.tolist(), source.grad) == ([8, 12], None)


def test_a_parameter_made_from_a_parameter_shares_its_data():
    first = nn.Parameter(ag.tensor(2.0))
    second = nn.Parameter(first)
    with ag.no_grad():
        second += 1
    assert (first.item(), first.requires_grad, nn.Parameter(first, requires_grad=False).requires_grad) == (
        3,
        True,
        False,
    )


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


def test_the_same_seed_gives_the_same_modules():
    ag.manual_seed(7)
    first = nn.Linear(3, 4).weight.tolist()
    ag.manual_seed(7)
    assert nn.Linear(3, 4).weight.tolist() == first


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


def test_an_optimiser_is_printed_as_pytorch_prints_it():
    made = repr(optim.SGD(Net().parameters(), lr=0.1))
    assert made.splitlines()[:3] == ["SGD (", "Parameter Group 0", "    dampening: 0"]


def test_modules_are_loaded_when_they_are_asked_for():
    code = "import sys, agrad.engine as ag; print('agrad.engine.nn' in sys.modules); ag.nn; print('agrad.engine.nn' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).split() == ["False", "True"]
