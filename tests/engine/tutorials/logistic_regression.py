# Logistic regression three ways: by hand, nn, Newton's method with the Hessian.
import torch
import torch.nn as nn

torch.manual_seed(0)
X = torch.randn(30, 2)
y = ((X @ torch.tensor([1.5, -2.0]) + 0.3 * torch.randn(30)) > 0).float()
w = torch.zeros(2, requires_grad=True)
b = torch.zeros(1, requires_grad=True)
for epoch in range(30):
    p = torch.sigmoid(X @ w + b)
    loss = -(y * torch.log(p) + (1 - y) * torch.log(1 - p)).mean()
    loss.backward()
    with torch.no_grad():
        w -= 0.5 * w.grad
        b -= 0.5 * b.grad
    w.grad.zero_()
    b.grad.zero_()
print(w, b, loss)


class LogisticRegression(nn.Module):
    def __init__(self, n_input_features):
        super(LogisticRegression, self).__init__()
        self.linear = nn.Linear(n_input_features, 1)

    def forward(self, x):
        y_predicted = torch.sigmoid(self.linear(x))
        return y_predicted


model = LogisticRegression(2)
criterion = nn.BCELoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(20):
    y_predicted = model(X)
    loss = criterion(y_predicted, y.view(-1, 1))
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    if (epoch+1) % 10 == 0:
        print(f'epoch: {epoch+1}, loss = {loss.item():.4f}')
with torch.no_grad():
    y_predicted_cls = model(X).round()
    acc = y_predicted_cls.eq(y.view(-1, 1)).sum() / float(y.shape[0])
    print(f'accuracy = {acc:.4f}')


def objective(t):
    z = X @ t
    return nn.functional.binary_cross_entropy_with_logits(z, y) + 0.05 * t.dot(t)


theta = torch.zeros(2)
for i in range(5):
    g = torch.func.grad(objective)(theta)
    H = torch.func.hessian(objective)(theta)
    theta = theta - torch.linalg.solve(H, g)
    print(i, theta, f"{g.norm().item():.8f}")
