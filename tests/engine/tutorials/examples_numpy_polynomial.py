# "Learning PyTorch with examples": NumPy, then tensors.
import numpy as np
import math
import torch

x = np.linspace(-math.pi, math.pi, 200)
y = np.sin(x)
a, b, c, d = 0.1, -0.2, 0.3, 0.05
learning_rate = 1e-5
for t in range(100):
    y_pred = a + b * x + c * x ** 2 + d * x ** 3
    loss = np.square(y_pred - y).sum()
    if t % 20 == 19:
        print(t, round(loss, 6))
    grad_y_pred = 2.0 * (y_pred - y)
    grad_a = grad_y_pred.sum()
    grad_b = (grad_y_pred * x).sum()
    grad_c = (grad_y_pred * x ** 2).sum()
    grad_d = (grad_y_pred * x ** 3).sum()
    a -= learning_rate * grad_a
    b -= learning_rate * grad_b
    c -= learning_rate * grad_c
    d -= learning_rate * grad_d
print(f"Result: y = {a:.6f} + {b:.6f} x + {c:.6f} x^2 + {d:.6f} x^3")
dtype = torch.float
device = torch.device("cpu")
x = torch.linspace(-math.pi, math.pi, 200, device=device, dtype=dtype)
y = torch.sin(x)
torch.manual_seed(0)
a = torch.randn((), device=device, dtype=dtype)
b = torch.randn((), device=device, dtype=dtype)
c = torch.randn((), device=device, dtype=dtype)
d = torch.randn((), device=device, dtype=dtype)
for t in range(100):
    y_pred = a + b * x + c * x ** 2 + d * x ** 3
    loss = (y_pred - y).pow(2).sum().item()
    if t % 20 == 19:
        print(t, round(loss, 4))
    grad_y_pred = 2.0 * (y_pred - y)
    a -= 1e-6 * grad_y_pred.sum()
    b -= 1e-6 * (grad_y_pred * x).sum()
    c -= 1e-6 * (grad_y_pred * x ** 2).sum()
    d -= 1e-6 * (grad_y_pred * x ** 3).sum()
print(f"Result: y = {a.item():.6f} + {b.item():.6f} x + {c.item():.6f} x^2 + {d.item():.6f} x^3")
