# A convolutional autoencoder with ConvTranspose2d, Upsample, pooling and unpooling by interpolation.
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)


class Autoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(1, 3, 3, stride=2, padding=1), nn.ReLU(True), nn.Conv2d(3, 2, 3, stride=2, padding=1))
        self.decoder = nn.Sequential(nn.ConvTranspose2d(2, 3, 2, stride=2), nn.ReLU(True), nn.ConvTranspose2d(3, 1, 3, stride=2, padding=1, output_padding=1), nn.Tanh())

    def forward(self, x):
        return self.decoder(self.encoder(x))


model = Autoencoder()
print(model)
x = torch.rand(4, 1, 8, 8)
opt = torch.optim.Adam(model.parameters(), lr=0.02)
for i in range(6):
    out = model(x)
    loss = nn.MSELoss()(out, x)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(out.shape, f"{loss.item():.6f}")
u = nn.Upsample(scale_factor=2, mode="nearest")(torch.arange(4.0).view(1, 1, 2, 2))
print(u)
print(F.interpolate(torch.arange(4.0).view(1, 1, 2, 2), scale_factor=2, mode="nearest").shape, F.pad(torch.ones(1, 2), (1, 2), value=5.0))
print(nn.Unfold(2)(torch.arange(9.0).view(1, 1, 3, 3)))
print(F.fold(torch.ones(1, 4, 4), (3, 3), 2))
print(nn.PixelShuffle(2)(torch.arange(4.0).view(1, 4, 1, 1)), nn.ZeroPad2d(1)(torch.ones(1, 1, 1, 1)))
print(nn.GroupNorm(1, 2)(torch.arange(8.0).view(1, 2, 2, 2)).shape, nn.InstanceNorm2d(2)(torch.arange(8.0).view(1, 2, 2, 2)))
conv = nn.Conv2d(2, 4, 3, groups=2, dilation=2, padding=2, bias=False)
print(conv(torch.rand(1, 2, 5, 5)).shape, conv)
print(nn.Conv1d(1, 1, 3)(torch.arange(6.0).view(1, 1, 6)).shape, nn.MaxPool1d(2)(torch.arange(6.0).view(1, 1, 6)))
