# d2l: activation functions, the multilayer perceptron, dropout from scratch and concise.
import torch
from torch import nn

x = torch.arange(-2.0, 2.0, 0.5, requires_grad=True)
y = torch.relu(x)
print(y.detach())
y.backward(torch.ones_like(x), retain_graph=True)
print(x.grad)
for f in (torch.sigmoid, torch.tanh):
    y = f(x)
    x.grad.data.zero_()
    y.backward(torch.ones_like(x), retain_graph=True)
    print(y, x.grad)


def dropout_layer(X, dropout):
    assert 0 <= dropout <= 1
    if dropout == 1:
        return torch.zeros_like(X)
    if dropout == 0:
        return X
    mask = (torch.rand(X.shape) > dropout).float()
    return mask * X / (1.0 - dropout)


torch.manual_seed(1)
X = torch.arange(16, dtype=torch.float32).reshape((2, 8))
print(dropout_layer(X, 0.0))
print(dropout_layer(X, 0.5))
print(dropout_layer(X, 1.0))


class Net(nn.Module):
    def __init__(self, num_inputs, num_outputs, num_hiddens1, num_hiddens2, is_training=True):
        super(Net, self).__init__()
        self.num_inputs = num_inputs
        self.training = is_training
        self.lin1 = nn.Linear(num_inputs, num_hiddens1)
        self.lin2 = nn.Linear(num_hiddens1, num_hiddens2)
        self.lin3 = nn.Linear(num_hiddens2, num_outputs)
        self.relu = nn.ReLU()

    def forward(self, X):
        H1 = self.relu(self.lin1(X.reshape((-1, self.num_inputs))))
        if self.training == True:
            H1 = dropout_layer(H1, 0.2)
        H2 = self.relu(self.lin2(H1))
        if self.training == True:
            H2 = dropout_layer(H2, 0.5)
        return self.lin3(H2)


net = Net(8, 2, 6, 6)
print(net(X))
net.eval()
print(net(X))
net = nn.Sequential(nn.Flatten(), nn.Linear(8, 6), nn.ReLU(), nn.Dropout(0.2), nn.Linear(6, 6), nn.ReLU(), nn.Dropout(0.5), nn.Linear(6, 2))


def init_weights(m):
    if type(m) == nn.Linear:
        nn.init.normal_(m.weight, std=0.01)


net.apply(init_weights)
print(net(X))
print(net.eval()(X))
W1 = nn.Parameter(torch.randn(8, 4, requires_grad=True) * 0.1)
b1 = nn.Parameter(torch.zeros(4, requires_grad=True))
W2 = nn.Parameter(torch.randn(4, 2, requires_grad=True) * 0.1)
b2 = nn.Parameter(torch.zeros(2, requires_grad=True))
params = [W1, b1, W2, b2]


def relu(X):
    a = torch.zeros_like(X)
    return torch.max(X, a)


updater = torch.optim.SGD(params, lr=0.05)
loss = nn.CrossEntropyLoss()
for _ in range(5):
    l = loss(relu(X @ W1 + b1) @ W2 + b2, torch.tensor([0, 1]))
    updater.zero_grad()
    l.backward()
    updater.step()
    print(f"{l.item():.6f}")
