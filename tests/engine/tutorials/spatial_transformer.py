# "Spatial transformer networks": affine_grid and grid_sample.
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
x = torch.arange(16.0).view(1, 1, 4, 4)
theta = torch.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
grid = F.affine_grid(theta, x.size(), align_corners=False)
print(grid[0, 0])
print(F.grid_sample(x, grid, align_corners=False))
turn = torch.tensor([[[0.0, -1.0, 0.0], [1.0, 0.0, 0.0]]])
print(F.grid_sample(x, F.affine_grid(turn, (1, 1, 3, 3), align_corners=True), align_corners=True))


class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.localization = nn.Sequential(nn.Conv2d(1, 2, kernel_size=3), nn.MaxPool2d(2, stride=2), nn.ReLU(True))
        self.fc_loc = nn.Sequential(nn.Linear(2 * 3 * 3, 4), nn.ReLU(True), nn.Linear(4, 3 * 2))
        self.fc_loc[2].weight.data.zero_()
        self.fc_loc[2].bias.data.copy_(torch.tensor([1, 0, 0, 0, 1, 0], dtype=torch.float))
        self.fc = nn.Linear(64, 2)

    def stn(self, x):
        xs = self.localization(x)
        xs = xs.view(-1, 2 * 3 * 3)
        theta = self.fc_loc(xs)
        theta = theta.view(-1, 2, 3)
        grid = F.affine_grid(theta, x.size(), align_corners=False)
        return F.grid_sample(x, grid, align_corners=False)

    def forward(self, x):
        return F.log_softmax(self.fc(self.stn(x).flatten(1)), dim=1)


model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
data, target = torch.rand(4, 1, 8, 8), torch.tensor([0, 1, 0, 1])
for step in range(4):
    optimizer.zero_grad()
    loss = F.nll_loss(model(data), target)
    loss.backward()
    optimizer.step()
    print(f"{loss.item():.6f}")
print(model.fc_loc[2].bias.data)
