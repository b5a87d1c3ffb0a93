# "Learning PyTorch with examples": custom modules, control flow and weight sharing.
import random
import torch
import math


class Polynomial3(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a = torch.nn.Parameter(torch.randn(()))
        self.b = torch.nn.Parameter(torch.randn(()))
        self.c = torch.nn.Parameter(torch.randn(()))
        self.d = torch.nn.Parameter(torch.randn(()))

    def forward(self, x):
        return self.a + self.b * x + self.c * x ** 2 + self.d * x ** 3

    def string(self):
        return f"y = {self.a.item():.4f} + {self.b.item():.4f} x + {self.c.item():.4f} x^2 + {self.d.item():.4f} x^3"


class DynamicNet(Polynomial3):
    def __init__(self):
        super().__init__()
        self.e = torch.nn.Parameter(torch.randn(()))

    def forward(self, x):
        y = self.a + self.b * x + self.c * x ** 2 + self.d * x ** 3
        for exp in range(4, random.randint(4, 6)):
            y = y + self.e * x ** exp
        return y


torch.manual_seed(0)
random.seed(0)
x = torch.linspace(-math.pi, math.pi, 100)
y = torch.sin(x)
for model, rate, momentum in ((Polynomial3(), 1e-6, 0.0), (DynamicNet(), 1e-8, 0.9)):
    criterion = torch.nn.MSELoss(reduction="sum")
    optimizer = torch.optim.SGD(model.parameters(), lr=rate, momentum=momentum)
    for t in range(60):
        y_pred = model(x)
        loss = criterion(y_pred, y)
        if t % 20 == 19:
            print(t, f"{loss.item():.4f}")
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"Result: {model.string()}")
