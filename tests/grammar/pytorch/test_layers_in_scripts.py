"""Layers, optimisers and data sets of PyTorch in the language: a lesson as it is typed."""

from agrad.grammar.session.session import Session

LESSON = """
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim.lr_scheduler import OneCycleLR
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(0)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3, padding=1)
        self.pool = nn.MaxPool2d(2, 2)
        self.lstm = nn.LSTM(8, 6, batch_first=True)
        self.last = nn.Linear(6, 3)

    def forward(self, x):
        x = self.pool(F.relu(self.conv(x))).reshape(x.shape[0], 8, 8)
        out, (h, c) = self.lstm(x)
        return self.last(out[:, -1])

net = Net()
y = torch.arange(20) % 3
x = torch.randn(20, 1, 8, 8)*0.3 + y.reshape(20, 1, 1, 1)
train, test = random_split(TensorDataset(x, y), [15, 5])
loader = DataLoader(train, batch_size=5, shuffle=True)
opt = torch.optim.NAdam(net.parameters(), lr=0.05)
plan = OneCycleLR(opt, 0.05, epochs=8, steps_per_epoch=len(loader))
losses = []
for epoch in range(8):
    for xb, yb in loader:
        opt.zero_grad()
        loss = F.cross_entropy(net(xb), yb)
        loss.backward()
        opt.step()
        plan.step()
    losses.append(loss.item())
assert losses[7] < 0.7*losses[0]

told = net.load_state_dict({}, strict=False)
assert len(told.missing_keys) == 8
mask = torch.triu(torch.ones(3, 3), diagonal=1).bool()
q = torch.randn(1, 3, 4)
out, weights = nn.MultiheadAttention(4, 2, batch_first=True)(q, q, q, attn_mask=mask)
assert weights[0, 0].tolist() == [1, 0, 0]
w = torch.tensor([1.0, 2.0], requires_grad=True)
lbfgs = torch.optim.LBFGS([w], line_search_fn="strong_wolfe")
def closure():
    lbfgs.zero_grad()
    loss = (w**2).sum() + w[0]
    loss.backward()
    return loss
first = lbfgs.step(closure)
assert (w.data - torch.tensor([-0.5, 0])).abs().max() < 1e-9
assert torch.distributions.Normal(0, 1).log_prob(torch.tensor(0.0)) - -0.918938533204673 < 1e-9
"""


def test_a_lesson_with_a_network_of_several_layers_runs():
    session, told = Session(), []
    session.run(LESSON, told.append)
    session.run("print(net.pool, net.lstm)", told.append)
    shown = "MaxPool2d(kernel_size=2, stride=2, padding=0, dilation=1, ceil_mode=False) LSTM(8, 6, batch_first=True)"
    assert [result.line for result in told if hasattr(result, "line")] == [shown]
