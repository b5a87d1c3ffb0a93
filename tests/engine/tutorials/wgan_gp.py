# The gradient penalty of WGAN-GP: a derivative in the loss.
import torch
import torch.nn as nn

torch.manual_seed(0)
D = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
opt = torch.optim.RMSprop(D.parameters(), lr=0.01)


def compute_gradient_penalty(D, real_samples, fake_samples):
    alpha = torch.rand(real_samples.size(0), 1)
    interpolates = (alpha * real_samples + ((1 - alpha) * fake_samples)).requires_grad_(True)
    d_interpolates = D(interpolates)
    fake = torch.ones(real_samples.shape[0], 1)
    gradients = torch.autograd.grad(outputs=d_interpolates, inputs=interpolates, grad_outputs=fake,
                                    create_graph=True, retain_graph=True, only_inputs=True)[0]
    gradients = gradients.view(gradients.size(0), -1)
    return ((gradients.norm(2, dim=1) - 1) ** 2).mean()


for step in range(8):
    real = torch.randn(8, 2) + torch.tensor([2.0, 0.0])
    fake = torch.randn(8, 2)
    opt.zero_grad()
    gp = compute_gradient_penalty(D, real, fake)
    loss = -torch.mean(D(real)) + torch.mean(D(fake)) + 10 * gp
    loss.backward()
    opt.step()
    if step % 2:
        print(f"{loss.item():.5f} {gp.item():.5f}")
print(D[0].weight.grad[0], [p.grad is None for p in D.parameters()])
