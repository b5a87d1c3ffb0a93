# d2l: softmax regression from scratch and concise.
import torch
from torch import nn

X = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
print(X.sum(0, keepdims=True), X.sum(1, keepdims=True))


def softmax(X):
    X_exp = torch.exp(X)
    partition = X_exp.sum(1, keepdims=True)
    return X_exp / partition


torch.manual_seed(0)
X = torch.rand((2, 5))
X_prob = softmax(X)
print(X_prob, X_prob.sum(1))
y = torch.tensor([0, 2])
y_hat = torch.tensor([[0.1, 0.3, 0.6], [0.3, 0.2, 0.5]])
print(y_hat[[0, 1], y])


def cross_entropy(y_hat, y):
    return -torch.log(y_hat[range(len(y_hat)), y])


print(cross_entropy(y_hat, y))


def accuracy(y_hat, y):
    if len(y_hat.shape) > 1 and y_hat.shape[1] > 1:
        y_hat = y_hat.argmax(axis=1)
    cmp = y_hat.type(y.dtype) == y
    return float(cmp.type(y.dtype).sum())


print(accuracy(y_hat, y) / len(y))


class Accumulator:
    def __init__(self, n):
        self.data = [0.0] * n

    def add(self, *args):
        self.data = [a + float(b) for a, b in zip(self.data, args)]

    def reset(self):
        self.data = [0.0] * len(self.data)

    def __getitem__(self, idx):
        return self.data[idx]


num_inputs, num_outputs = 9, 3
images = torch.randn(48, 1, 3, 3)
labels = images.reshape(48, 9)[:, :3].argmax(1)
train_iter = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(images, labels), batch_size=12, shuffle=True)
W = torch.normal(0, 0.01, size=(num_inputs, num_outputs), requires_grad=True)
b = torch.zeros(num_outputs, requires_grad=True)


def net(X):
    return softmax(torch.matmul(X.reshape((-1, W.shape[0])), W) + b)


for epoch in range(2):
    metric = Accumulator(3)
    for X, y in train_iter:
        y_hat = net(X)
        l = cross_entropy(y_hat, y)
        l.sum().backward()
        with torch.no_grad():
            for param in (W, b):
                param -= 0.1 * param.grad / X.shape[0]
                param.grad.zero_()
        metric.add(float(l.sum()), accuracy(y_hat, y), y.numel())
    print(f"{metric[0] / metric[2]:.5f} {metric[1] / metric[2]:.4f}")
net = nn.Sequential(nn.Flatten(), nn.Linear(9, 3))


def init_weights(m):
    if type(m) == nn.Linear:
        nn.init.normal_(m.weight, std=0.01)


net.apply(init_weights)
print(net)
loss = nn.CrossEntropyLoss(reduction="none")
trainer = torch.optim.SGD(net.parameters(), lr=0.1)
for epoch in range(2):
    for X, y in train_iter:
        l = loss(net(X), y)
        trainer.zero_grad()
        l.mean().backward()
        trainer.step()
    print(f"{l.sum().item():.5f}")
