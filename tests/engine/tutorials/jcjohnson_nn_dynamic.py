# jcjohnson/pytorch-examples: nn, optim, a module, a dynamic net.
import random
import torch

torch.manual_seed(1)
random.seed(3)
N, D_in, H, D_out = 8, 10, 6, 3
x = torch.randn(N, D_in)
y = torch.randn(N, D_out)
model = torch.nn.Sequential(torch.nn.Linear(D_in, H), torch.nn.ReLU(), torch.nn.Linear(H, D_out))
loss_fn = torch.nn.MSELoss(reduction='sum')
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for t in range(20):
    y_pred = model(x)
    loss = loss_fn(y_pred, y)
    if t % 5 == 4:
        print(t, f"{loss.item():.5f}")
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


class DynamicNet(torch.nn.Module):
    def __init__(self, D_in, H, D_out):
        super(DynamicNet, self).__init__()
        self.input_linear = torch.nn.Linear(D_in, H)
        self.middle_linear = torch.nn.Linear(H, H)
        self.output_linear = torch.nn.Linear(H, D_out)

    def forward(self, x):
        h_relu = self.input_linear(x).clamp(min=0)
        for _ in range(random.randint(0, 3)):
            h_relu = self.middle_linear(h_relu).clamp(min=0)
        return self.output_linear(h_relu)


model = DynamicNet(D_in, H, D_out)
criterion = torch.nn.MSELoss(reduction='sum')
optimizer = torch.optim.SGD(model.parameters(), lr=1e-4, momentum=0.9)
for t in range(20):
    y_pred = model(x)
    loss = criterion(y_pred, y)
    if t % 5 == 4:
        print(t, f"{loss.item():.5f}")
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
