# A denoising diffusion model (DDPM) on points of a circle, and score matching.
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
T = 10
betas = torch.linspace(1e-3, 0.2, T)
alphas = 1.0 - betas
alphas_cumprod = torch.cumprod(alphas, dim=0)
alphas_cumprod_prev = F.pad(alphas_cumprod[:-1], (1, 0), value=1.0)
posterior_variance = betas * (1.0 - alphas_cumprod_prev) / (1.0 - alphas_cumprod)


def extract(a, t, x_shape):
    batch_size = t.shape[0]
    out = a.gather(-1, t.cpu())
    return out.reshape(batch_size, *((1,) * (len(x_shape) - 1))).to(t.device)


def q_sample(x_start, t, noise=None):
    if noise is None:
        noise = torch.randn_like(x_start)
    return extract(alphas_cumprod.sqrt(), t, x_start.shape) * x_start + extract((1 - alphas_cumprod).sqrt(), t, x_start.shape) * noise


class SinusoidalPositionEmbeddings(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, time):
        half_dim = self.dim // 2
        embeddings = math.log(10000) / (half_dim - 1)
        embeddings = torch.exp(torch.arange(half_dim, device=time.device) * -embeddings)
        embeddings = time[:, None] * embeddings[None, :]
        return torch.cat((embeddings.sin(), embeddings.cos()), dim=-1)


class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.time = nn.Sequential(SinusoidalPositionEmbeddings(4), nn.Linear(4, 8), nn.SiLU())
        self.inp, self.out = nn.Linear(2, 8), nn.Linear(8, 2)

    def forward(self, x, t):
        return self.out(F.silu(self.inp(x) + self.time(t)))


model = Denoiser()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
angle = torch.rand(32) * 2 * math.pi
data = torch.stack([angle.cos(), angle.sin()], 1)
for step in range(20):
    t = torch.randint(0, T, (32,)).long()
    noise = torch.randn_like(data)
    loss = F.smooth_l1_loss(noise, model(q_sample(data, t, noise), t))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 5 == 4:
        print(step, f"{loss.item():.5f}")


@torch.no_grad()
def p_sample(x, t, t_index):
    betas_t = extract(betas, t, x.shape)
    mean = extract(torch.sqrt(1.0 / alphas), t, x.shape) * (x - betas_t * model(x, t) / extract((1 - alphas_cumprod).sqrt(), t, x.shape))
    if t_index == 0:
        return mean
    return mean + torch.sqrt(extract(posterior_variance, t, x.shape)) * torch.randn_like(x)


img = torch.randn(3, 2)
for i in reversed(range(0, T)):
    img = p_sample(img, torch.full((3,), i, dtype=torch.long), i)
print(img)
score = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 2))
x = data[:6].clone().requires_grad_()
s = score(x)
trace = sum(torch.autograd.grad(s[:, i].sum(), x, create_graph=True)[0][:, i] for i in range(2))
loss = (trace + 0.5 * s.pow(2).sum(1)).mean()
loss.backward()
print(f"{loss.item():.6f}", score[0].weight.grad.norm())
