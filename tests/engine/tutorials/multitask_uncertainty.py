# Two losses and shared layers: retain_graph, weights by uncertainty, gradients of each task, PCGrad.
import torch
import torch.nn as nn

torch.manual_seed(0)
shared, head1, head2 = nn.Linear(3, 4), nn.Linear(4, 1), nn.Linear(4, 2)
x, y1, y2 = torch.randn(8, 3), torch.randn(8, 1), torch.randint(0, 2, (8,))
log_vars = nn.Parameter(torch.zeros(2))
opt = torch.optim.SGD([*shared.parameters(), *head1.parameters(), *head2.parameters(), log_vars], lr=0.1)
for step in range(5):
    h = torch.relu(shared(x))
    loss1, loss2 = nn.functional.mse_loss(head1(h), y1), nn.functional.cross_entropy(head2(h), y2)
    loss = sum(torch.exp(-log_vars[i]) * l + log_vars[i] for i, l in enumerate((loss1, loss2)))
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, f"{loss.item():.5f}", log_vars.data)
h = torch.relu(shared(x))
loss1, loss2 = nn.functional.mse_loss(head1(h), y1), nn.functional.cross_entropy(head2(h), y2)
opt.zero_grad()
loss1.backward(retain_graph=True)
g1 = shared.weight.grad.clone()
opt.zero_grad()
loss2.backward()
g2 = shared.weight.grad.clone()
dot = (g1 * g2).sum()
proj = g1 - dot / (g2 * g2).sum() * g2 if dot < 0 else g1
print(dot, (proj * g2).sum().abs() < 1e-9 or dot >= 0)
try:
    loss1.backward()
except RuntimeError as error:
    print("second backward refused")
