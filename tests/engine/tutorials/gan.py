# A GAN on one-dimensional data (the well-known gist), and DCGAN's way of two optimisers.
import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(0)
real_label, fake_label = 1.0, 0.0


class Generator(nn.Module):
    def __init__(self, nz):
        super().__init__()
        self.main = nn.Sequential(nn.Linear(nz, 8), nn.LeakyReLU(0.2, inplace=True), nn.Linear(8, 1))

    def forward(self, input):
        return self.main(input)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(nn.Linear(1, 8), nn.LeakyReLU(0.2, inplace=True), nn.Linear(8, 1), nn.Sigmoid())

    def forward(self, input):
        return self.main(input).view(-1, 1).squeeze(1)


def weights_init(m):
    classname = m.__class__.__name__
    if classname.find("Linear") != -1:
        nn.init.normal_(m.weight, 0.0, 0.2)
        nn.init.zeros_(m.bias)


netG, netD = Generator(2), Discriminator()
netG.apply(weights_init)
netD.apply(weights_init)
criterion = nn.BCELoss()
fixed_noise = torch.randn(4, 2)
optimizerD = optim.Adam(netD.parameters(), lr=0.02, betas=(0.5, 0.999))
optimizerG = optim.Adam(netG.parameters(), lr=0.02, betas=(0.5, 0.999))
for i in range(12):
    netD.zero_grad()
    real = 3 + 0.5 * torch.randn(16, 1)
    label = torch.full((16,), real_label)
    output = netD(real)
    errD_real = criterion(output, label)
    errD_real.backward()
    D_x = output.mean().item()
    noise = torch.randn(16, 2)
    fake = netG(noise)
    label.fill_(fake_label)
    output = netD(fake.detach())
    errD_fake = criterion(output, label)
    errD_fake.backward()
    errD = errD_real + errD_fake
    optimizerD.step()
    netG.zero_grad()
    label.fill_(real_label)
    output = netD(fake)
    errG = criterion(output, label)
    errG.backward()
    optimizerG.step()
    if i % 4 == 3:
        print('[%d] Loss_D: %.4f Loss_G: %.4f D(x): %.4f' % (i, errD.item(), errG.item(), D_x))
print(netG(fixed_noise).detach())
