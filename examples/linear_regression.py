# A line fitted to the points of a file, in PyTorch. In the folder of linear_regression.csv:
# python linear_regression.py, or agrad run linear_regression.py.
import numpy as np
import torch
from torch import nn, optim

data = torch.tensor(np.loadtxt("linear_regression.csv", delimiter=",", skiprows=1), dtype=torch.float64)
x, y = data[:, :1], data[:, 1:]

model = nn.Linear(1, 1).double()
nn.init.zeros_(model.weight)
nn.init.zeros_(model.bias)
loss_function = nn.MSELoss()
optimizer = optim.SGD(model.parameters(), lr=0.05, momentum=0.9)

for epoch in range(100):
    optimizer.zero_grad()
    loss = loss_function(model(x), y)
    loss.backward()
    optimizer.step()
    if epoch % 20 == 0:
        print(f"epoch {epoch}, loss {loss.item():.6f}")

print(f"y = {model.weight.item():.4f}*x + {model.bias.item():.4f}")
