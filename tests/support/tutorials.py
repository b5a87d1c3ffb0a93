"""Scripts for PyTorch on the subjects of its tutorials for beginners, each with what torch 2.13 prints in float64."""

SCRIPTS = {
    "polynomial_by_hand": (
        """
import math
import torch

x = torch.linspace(-math.pi, math.pi, 50)
y = torch.sin(x)
a, b, c, d = torch.tensor(0.1), torch.tensor(0.5), torch.tensor(-0.2), torch.tensor(0.05)
rate = 1e-5
for t in range(40):
    guess = a + b * x + c * x ** 2 + d * x ** 3
    loss = (guess - y).pow(2).sum().item()
    if t % 10 == 9:
        print(t, f"{loss:.6f}")
    slope = 2.0 * (guess - y)
    a -= rate * slope.sum()
    b -= rate * (slope * x).sum()
    c -= rate * (slope * x ** 2).sum()
    d -= rate * (slope * x ** 3).sum()
print(f"y = {a.item():.5f} + {b.item():.5f} x + {c.item():.5f} x^2 + {d.item():.5f} x^3")
""",
        """
9 31.146298
19 19.627434
29 14.017023
39 10.442206
y = 0.11504 + 0.49508 x + -0.09546 x^2 + -0.04284 x^3
""",
    ),
    "polynomial_by_autograd": (
        """
import torch
import math

x = torch.linspace(-math.pi, math.pi, 50)
y = torch.sin(x)
a = torch.tensor(0.1, requires_grad=True)
b = torch.tensor(0.5, requires_grad=True)
params = [a, b]
for t in range(30):
    guess = a * x + b * x ** 3 / 10
    loss = (guess - y).pow(2).sum()
    loss.backward()
    with torch.no_grad():
        for p in params:
            p -= 1e-3 * p.grad
            p.grad = None
print(f"{loss.item():.6f} {a.item():.6f} {b.item():.6f}")
""",
        """
8.212477 0.339118 -0.129012
""",
    ),
    "own_function": (
        """
import torch

class LegendrePolynomial3(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        return 0.5 * (5 * input ** 3 - 3 * input)

    @staticmethod
    def backward(ctx, grad_output):
        input, = ctx.saved_tensors
        return grad_output * 1.5 * (5 * input ** 2 - 1)

x = torch.linspace(-3, 3, 40)
y = torch.sin(x)
a = torch.full((), 0.0, requires_grad=True)
b = torch.full((), -1.0, requires_grad=True)
c = torch.full((), 0.0, requires_grad=True)
d = torch.full((), 0.3, requires_grad=True)
P3 = LegendrePolynomial3.apply
for t in range(50):
    y_pred = a + b * P3(c + d * x)
    loss = (y_pred - y).pow(2).sum()
    loss.backward()
    with torch.no_grad():
        a -= 5e-4 * a.grad
        b -= 5e-4 * b.grad
        c -= 5e-4 * c.grad
        d -= 5e-4 * d.grad
        a.grad = None
        b.grad = None
        c.grad = None
        d.grad = None
print(f"{loss.item():.6f}")
print(f"{b.item():.6f} {d.item():.6f}")
""",
        """
4.274863
-1.223097 0.245843
""",
    ),
    "sequential_model": (
        """
import torch
import math

x = torch.linspace(-math.pi, math.pi, 60)
y = torch.sin(x)
p = torch.tensor([1, 2, 3])
xx = x.unsqueeze(-1).pow(p)
model = torch.nn.Sequential(torch.nn.Linear(3, 1), torch.nn.Flatten(0, 1))
torch.nn.init.constant_(model[0].weight, 0.1)
torch.nn.init.zeros_(model[0].bias)
loss_fn = torch.nn.MSELoss(reduction='sum')
optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-2)
for t in range(100):
    y_pred = model(xx)
    loss = loss_fn(y_pred, y)
    if t % 25 == 24:
        print(t, f"{loss.item():.6f}")
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
linear_layer = model[0]
print(f"y = {linear_layer.bias.item():.4f} + {linear_layer.weight[:, 0].item():.4f} x")
""",
        """
24 7.208459
49 2.318615
74 0.833410
99 0.420228
y = -0.0000 + 0.7902 x
""",
    ),
    "own_module": (
        """
import torch
import math

class Polynomial3(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a = torch.nn.Parameter(torch.tensor(0.3))
        self.b = torch.nn.Parameter(torch.tensor(-0.1))
        self.c = torch.nn.Parameter(torch.tensor(0.2))

    def forward(self, x):
        return self.a + self.b * x + self.c * x ** 3

    def string(self):
        return f'y = {self.a.item():.4f} + {self.b.item():.4f} x + {self.c.item():.4f} x^3'

x = torch.linspace(-math.pi, math.pi, 60)
y = torch.sin(x)
model = Polynomial3()
criterion = torch.nn.MSELoss(reduction='sum')
optimizer = torch.optim.SGD(model.parameters(), lr=1e-5)
for t in range(60):
    y_pred = model(x)
    loss = criterion(y_pred, y)
    if t % 20 == 19:
        print(t, f"{loss.item():.6f}")
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f'Result: {model.string()}')
""",
        """
19 35.539004
39 34.442226
59 33.473054
Result: y = 0.2791 + -0.0852 x + 0.0372 x^3
""",
    ),
    "vector_and_frozen": (
        """
import torch
from torch import nn, optim

a = torch.tensor([2., 3.], requires_grad=True)
b = torch.tensor([6., 4.], requires_grad=True)
Q = 3*a**3 - b**2
external_grad = torch.tensor([1., 1.])
Q.backward(gradient=external_grad)
print(f"{(9*a**2 - a.grad).abs().sum().item():.0f} {(-2*b - b.grad).abs().sum().item():.0f}")

model = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))
for param in model.parameters():
    param.requires_grad = False
model[2] = nn.Linear(3, 1)
for name, p in model.named_parameters():
    if p.requires_grad:
        print(name)
optimizer = optim.SGD(model.parameters(), lr=1e-2, momentum=0.9)
loss = model(torch.ones(5, 4)).sum()
loss.backward()
optimizer.step()
print(f"{model[2].bias.grad.item():.0f}")
""",
        """
0 0
2.weight
2.bias
5
""",
    ),
    "train_and_test": (
        """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

n = 60
grid = torch.arange(n) / n
X = torch.stack([torch.sin(grid * 9), torch.cos(grid * 7), grid], dim=1).reshape(n, 1, 3)
labels = torch.arange(n) % 3
train_dataloader = DataLoader(TensorDataset(X[:40], labels[:40]), batch_size=16)
test_dataloader = DataLoader(TensorDataset(X[40:], labels[40:]), batch_size=16)

class NeuralNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.flatten = nn.Flatten()
        self.linear_relu_stack = nn.Sequential(
            nn.Linear(1*3, 8),
            nn.ReLU(),
            nn.Linear(8, 8),
            nn.ReLU(),
            nn.Linear(8, 3),
        )

    def forward(self, x):
        x = self.flatten(x)
        logits = self.linear_relu_stack(x)
        return logits

model = NeuralNetwork()
with torch.no_grad():
    for p in model.parameters():
        p.copy_(torch.cos(torch.arange(p.numel()) * 1.3).reshape(p.shape) * 0.5)
print(model)
learning_rate = 0.05
epochs = 3
loss_fn = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)

def train_loop(dataloader, model, loss_fn, optimizer):
    model.train()
    for X, y in dataloader:
        pred = model(X)
        loss = loss_fn(pred, y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    print(f"loss: {loss.item():>7f}")

def test_loop(dataloader, model, loss_fn):
    model.eval()
    size = 20
    num_batches = len(dataloader)
    test_loss, correct = 0, 0
    with torch.no_grad():
        for X, y in dataloader:
            pred = model(X)
            test_loss += loss_fn(pred, y).item()
            correct += (pred.argmax(1) == y).type(torch.float).sum().item()
    test_loss /= num_batches
    correct /= size
    print(f"Accuracy: {(100*correct):>0.1f}%, Avg loss: {test_loss:>8f}")

for t in range(epochs):
    print(f"Epoch {t+1}")
    train_loop(train_dataloader, model, loss_fn, optimizer)
    test_loop(test_dataloader, model, loss_fn)
print("Done!")
probabilities = nn.Softmax(dim=1)(model(X[:2]))
print(f"{probabilities.sum().item():.4f}")
""",
        """
NeuralNetwork(
  (flatten): Flatten(start_dim=1, end_dim=-1)
  (linear_relu_stack): Sequential(
    (0): Linear(in_features=3, out_features=8, bias=True)
    (1): ReLU()
    (2): Linear(in_features=8, out_features=8, bias=True)
    (3): ReLU()
    (4): Linear(in_features=8, out_features=3, bias=True)
  )
)
Epoch 1
loss: 1.354284
Accuracy: 30.0%, Avg loss: 1.424946
Epoch 2
loss: 1.290663
Accuracy: 30.0%, Avg loss: 1.365099
Epoch 3
loss: 1.247822
Accuracy: 30.0%, Avg loss: 1.320310
Done!
2.0000
""",
    ),
    "graph_and_hooks": (
        """
import torch

x = torch.ones(5)
y = torch.zeros(3)
w = torch.full((5, 3), 0.3, requires_grad=True)
b = torch.full((3,), -0.2, requires_grad=True)
z = torch.matmul(x, w) + b
z.retain_grad()
def double(g):
    return g * 2

handle = z.register_hook(double)
loss = torch.nn.functional.binary_cross_entropy_with_logits(z, y)
loss.backward()
handle.remove()
print(f"{loss.item():.6f} {w.grad[0, 0].item():.6f} {b.grad.sum().item():.6f} {z.grad[0].item():.6f}")
with torch.no_grad():
    z = torch.matmul(x, w) + b
print(f"{w._version:.0f}")
inp = torch.eye(4, 5, requires_grad=True)
out = (inp + 1).pow(2).t()
out.backward(torch.ones_like(out), retain_graph=True)
first = inp.grad.sum().item()
out.backward(torch.ones_like(out), retain_graph=True)
print(f"{first:.0f} {inp.grad.sum().item():.0f}")
inp.grad.zero_()
out.backward(torch.ones_like(out))
print(f"{inp.grad.sum().item():.0f}")
""",
        """
1.541008 0.523890 1.571670 0.523890
0
48 96
48
""",
    ),
    "moons": (
        """
import torch
import torch.nn as nn

class Layer(nn.Module):
    def __init__(self, nin, nout, nonlin=True):
        super().__init__()
        self.lin = nn.Linear(nin, nout)
        self.nonlin = nonlin

    def forward(self, x):
        out = self.lin(x)
        return out.relu() if self.nonlin else out

class MLP(nn.Module):
    def __init__(self, nin, nouts):
        super().__init__()
        self.layers = nn.ModuleList([Layer(nin, nouts[0])])
        for i in range(len(nouts) - 1):
            self.layers.append(Layer(nouts[i], nouts[i + 1], i != len(nouts) - 2))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x

t = torch.linspace(0, 3.14159, 20)
upper = torch.stack([torch.cos(t), torch.sin(t)], dim=1)
lower = torch.stack([1 - torch.cos(t), 0.5 - torch.sin(t)], dim=1)
X = torch.cat([upper, lower])
y = torch.cat([torch.ones(20), -torch.ones(20)])
model = MLP(2, [8, 8, 1])
with torch.no_grad():
    for p in model.parameters():
        p.copy_(torch.sin(torch.arange(p.numel()) * 2.1 + 0.7).reshape(p.shape))
print(sum(p.numel() for p in model.parameters()))
for k in range(30):
    scores = model(X).reshape(-1)
    losses = (1 - y * scores).relu()
    reg_loss = 1e-4 * sum((p * p).sum() for p in model.parameters())
    total_loss = losses.mean() + reg_loss
    accuracy = ((y > 0) == (scores > 0)).sum().item() / 40
    model.zero_grad()
    total_loss.backward()
    learning_rate = 1.0 - 0.9 * k / 100
    with torch.no_grad():
        for p in model.parameters():
            p -= 0.1 * learning_rate * p.grad
    if k % 10 == 9:
        print(f"step {k} loss {total_loss.item():.6f}, accuracy {accuracy * 100:.1f}%")
""",
        """
105
step 9 loss 0.630112, accuracy 60.0%
step 19 loss 0.587679, accuracy 65.0%
step 29 loss 0.557680, accuracy 70.0%
""",
    ),
}
