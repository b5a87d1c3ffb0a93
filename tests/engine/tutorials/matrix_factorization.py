# Matrix factorisation: embeddings with biases, and gradients by hand with a mask.
import torch
import torch.nn as nn

torch.manual_seed(0)
ratings = torch.tensor([[5., 3., 0., 1.], [4., 0., 0., 1.], [1., 1., 0., 5.], [0., 1., 5., 4.]])
users, items = ratings.nonzero(as_tuple=True)
values = ratings[users, items]
print(users, items, values)


class MatrixFactorization(nn.Module):
    def __init__(self, n_users, n_items, n_factors=3):
        super().__init__()
        self.user_factors = nn.Embedding(n_users, n_factors)
        self.item_factors = nn.Embedding(n_items, n_factors)
        self.user_biases = nn.Embedding(n_users, 1)
        self.item_biases = nn.Embedding(n_items, 1)
        nn.init.xavier_uniform_(self.user_factors.weight)
        nn.init.xavier_uniform_(self.item_factors.weight)
        self.user_biases.weight.data.fill_(0.)
        self.item_biases.weight.data.fill_(0.)

    def forward(self, user, item):
        pred = self.user_biases(user) + self.item_biases(item)
        pred += (self.user_factors(user) * self.item_factors(item)).sum(dim=1, keepdim=True)
        return pred.squeeze()


model = MatrixFactorization(4, 4)
loss_func = torch.nn.MSELoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, weight_decay=1e-3)
for epoch in range(4):
    total = 0.0
    for i in torch.randperm(len(users)):
        prediction = model(users[i].view(1), items[i].view(1))
        loss = loss_func(prediction, values[i])
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        total += loss.item()
    print(epoch, f"{total / len(users):.5f}")
print(model.user_factors.weight.grad is None)
A = torch.randn(4, 2, requires_grad=True)
B = torch.randn(4, 2, requires_grad=True)
mask = ratings > 0
for step in range(20):
    loss = ((A @ B.T - ratings)[mask] ** 2).sum() + 0.01 * (A.norm() + B.norm())
    gA, gB = torch.autograd.grad(loss, (A, B))
    A = (A - 0.02 * gA).detach().requires_grad_()
    B = (B - 0.02 * gB).detach().requires_grad_()
print(f"{loss.item():.4f}", (A @ B.T).detach())
