# d2l: LeNet, batch normalisation from scratch, and a residual block.
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
net = nn.Sequential(
    nn.Conv2d(1, 2, kernel_size=5, padding=2), nn.Sigmoid(), nn.AvgPool2d(kernel_size=2, stride=2),
    nn.Conv2d(2, 4, kernel_size=3), nn.Sigmoid(), nn.AvgPool2d(kernel_size=2, stride=2),
    nn.Flatten(), nn.Linear(4 * 2 * 2, 12), nn.Sigmoid(), nn.Linear(12, 3))
X = torch.rand(size=(2, 1, 12, 12))
for layer in net:
    X = layer(X)
    print(layer.__class__.__name__, "output shape: \t", X.shape)


def init_weights(m):
    if type(m) == nn.Linear or type(m) == nn.Conv2d:
        nn.init.xavier_uniform_(m.weight)


net.apply(init_weights)
X, y = torch.rand(6, 1, 12, 12), torch.tensor([0, 1, 2, 0, 1, 2])
optimizer = torch.optim.SGD(net.parameters(), lr=0.9)
for epoch in range(3):
    optimizer.zero_grad()
    l = nn.CrossEntropyLoss()(net(X), y)
    l.backward()
    optimizer.step()
    print(f"{l.item():.5f}")


def batch_norm(X, gamma, beta, moving_mean, moving_var, eps, momentum):
    if not torch.is_grad_enabled():
        X_hat = (X - moving_mean) / torch.sqrt(moving_var + eps)
    else:
        assert len(X.shape) in (2, 4)
        if len(X.shape) == 2:
            mean = X.mean(dim=0)
            var = ((X - mean) ** 2).mean(dim=0)
        else:
            mean = X.mean(dim=(0, 2, 3), keepdim=True)
            var = ((X - mean) ** 2).mean(dim=(0, 2, 3), keepdim=True)
        X_hat = (X - mean) / torch.sqrt(var + eps)
        moving_mean = momentum * moving_mean + (1.0 - momentum) * mean
        moving_var = momentum * moving_var + (1.0 - momentum) * var
    Y = gamma * X_hat + beta
    return Y, moving_mean.data, moving_var.data


class BatchNorm(nn.Module):
    def __init__(self, num_features, num_dims):
        super().__init__()
        if num_dims == 2:
            shape = (1, num_features)
        else:
            shape = (1, num_features, 1, 1)
        self.gamma = nn.Parameter(torch.ones(shape))
        self.beta = nn.Parameter(torch.zeros(shape))
        self.moving_mean = torch.zeros(shape)
        self.moving_var = torch.ones(shape)

    def forward(self, X):
        if self.moving_mean.device != X.device:
            self.moving_mean = self.moving_mean.to(X.device)
            self.moving_var = self.moving_var.to(X.device)
        Y, self.moving_mean, self.moving_var = batch_norm(
            X, self.gamma, self.beta, self.moving_mean, self.moving_var, eps=1e-5, momentum=0.9)
        return Y


net = nn.Sequential(nn.Conv2d(1, 2, kernel_size=5), BatchNorm(2, num_dims=4), nn.Sigmoid(), nn.AvgPool2d(2), nn.Flatten(),
                    nn.Linear(32, 4), BatchNorm(4, num_dims=2), nn.Sigmoid(), nn.Linear(4, 3))
optimizer = torch.optim.SGD(net.parameters(), lr=1.0)
for epoch in range(3):
    optimizer.zero_grad()
    l = F.cross_entropy(net(X), y)
    l.backward()
    optimizer.step()
    print(f"{l.item():.5f}")
print(net[1].gamma.reshape((-1,)), net[1].beta.reshape((-1,)))
with torch.no_grad():
    print(net(X[:1]))
bn = nn.BatchNorm2d(2)
h = bn(torch.rand(3, 2, 2, 2))
print(bn.running_mean, bn.running_var, bn.num_batches_tracked, h.mean().abs() < 1e-9)


class Residual(nn.Module):
    def __init__(self, input_channels, num_channels, use_1x1conv=False, strides=1):
        super().__init__()
        self.conv1 = nn.Conv2d(input_channels, num_channels, kernel_size=3, padding=1, stride=strides)
        self.conv2 = nn.Conv2d(num_channels, num_channels, kernel_size=3, padding=1)
        if use_1x1conv:
            self.conv3 = nn.Conv2d(input_channels, num_channels, kernel_size=1, stride=strides)
        else:
            self.conv3 = None
        self.bn1 = nn.BatchNorm2d(num_channels)
        self.bn2 = nn.BatchNorm2d(num_channels)

    def forward(self, X):
        Y = F.relu(self.bn1(self.conv1(X)))
        Y = self.bn2(self.conv2(Y))
        if self.conv3:
            X = self.conv3(X)
        Y += X
        return F.relu(Y)


blk = Residual(3, 3)
X = torch.rand(2, 3, 6, 6)
print(blk(X).shape, Residual(3, 6, use_1x1conv=True, strides=2)(X).shape)
blk(X).sum().backward()
print(blk.bn2.bias.grad)
