# PyTorch's "Save and load the model" and "Saving and loading models": state_dict, checkpoints.
import io
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim


class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.fc1 = nn.Linear(3, 4)
        self.bn = nn.BatchNorm1d(4)
        self.fc2 = nn.Linear(4, 2)

    def forward(self, x):
        return self.fc2(F.relu(self.bn(self.fc1(x))))


torch.manual_seed(0)
net = Net()
optimizer = optim.SGD(net.parameters(), lr=0.001, momentum=0.9)
print("Model's state_dict:")
for param_tensor in net.state_dict():
    print(param_tensor, "\t", net.state_dict()[param_tensor].size())
print("Optimizer's state_dict:")
for var_name in optimizer.state_dict():
    print(var_name, "\t", optimizer.state_dict()[var_name])
net(torch.randn(6, 3)).sum().backward()
optimizer.step()
file = io.BytesIO()
torch.save({"epoch": 5, "model_state_dict": net.state_dict(), "optimizer_state_dict": optimizer.state_dict(), "loss": 0.4}, file)
file.seek(0)
model = Net()
optimizer2 = optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
checkpoint = torch.load(file, weights_only=True)
print(model.load_state_dict(checkpoint["model_state_dict"]))
optimizer2.load_state_dict(checkpoint["optimizer_state_dict"])
print(checkpoint["epoch"], checkpoint["loss"], optimizer2.param_groups[0]["lr"])
model.eval()
net.eval()
x = torch.randn(2, 3)
print(torch.equal(model(x), net(x)))
other = nn.Linear(3, 4)
try:
    model.load_state_dict(other.state_dict())
except RuntimeError:
    print("Error(s) in loading state_dict")
print(model.load_state_dict({"fc1.weight": torch.ones(4, 3), "extra": torch.ones(1)}, strict=False).unexpected_keys)
print(model.fc1.weight)
