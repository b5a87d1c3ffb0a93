# A network that tells the points inside a ring from those around it, in PyTorch. In the folder of network.csv:
# python network.py, or agrad run network.py.
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

data = torch.tensor(np.loadtxt("network.csv", delimiter=",", skiprows=1), dtype=torch.float64)
points, labels = data[:, :2], data[:, 2:]


class Net(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.first = nn.Linear(2, hidden)
        self.second = nn.Linear(hidden, hidden)
        self.last = nn.Linear(hidden, 1)

    def forward(self, x):
        x = torch.tanh(self.first(x))
        x = F.relu(self.second(x))
        return self.last(x)


model = Net(hidden=8).double()
with torch.no_grad():  # the same initial values, since the random numbers differ
    for p in model.parameters():
        p.copy_(torch.sin(torch.arange(p.numel(), dtype=torch.float64) + 1).reshape(p.shape) * 0.6)

loader = DataLoader(TensorDataset(points, labels), batch_size=20)
loss_function = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=20, gamma=0.5)

for epoch in range(40):
    total = 0.0
    for batch, wanted in loader:
        optimizer.zero_grad()
        loss = loss_function(model(batch), wanted)
        loss.backward()
        optimizer.step()
        total += loss.item()
    scheduler.step()
    if epoch % 8 == 0:
        print(f"epoch {epoch}, loss {total / len(loader):.6f}")

model.eval()
with torch.no_grad():
    right = ((model(points) > 0) == (labels > 0.5)).sum().item()
print(f"{right:.0f} of {len(data)} points are told right")
