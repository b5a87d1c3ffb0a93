# NumPy's functions with derivatives: of tensors that require grad.
import numpy as np
import torch

x = torch.tensor([0.5, 1.0, 2.0], requires_grad=True)
y = (torch.sin(x) * torch.exp(x)).sum()
y.backward()
print(x.grad)
a = x.detach().numpy()
print(a, np.sin(a) * np.exp(a) + np.cos(a) * np.exp(a))
w = torch.from_numpy(np.array([[1.0, 2.0], [3.0, 4.0]])).requires_grad_()
loss = (w @ w.T).trace()
loss.backward()
print(w.grad, np.allclose(w.grad.numpy(), 2 * w.detach().numpy()))
print(torch.tensor(np.arange(3)), torch.as_tensor(np.eye(2)), np.asarray(torch.ones(2)))
print(np.float64(2.0) * torch.ones(2), np.mean(torch.arange(4.0).numpy()))
