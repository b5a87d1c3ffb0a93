# Straight-through quantisation (VQ-VAE), a gradient reversal layer, LoRA, focal loss, mixup.
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class VectorQuantizer(nn.Module):
    def __init__(self, num_embeddings, embedding_dim, commitment_cost):
        super().__init__()
        self._embedding = nn.Embedding(num_embeddings, embedding_dim)
        self._embedding.weight.data.uniform_(-1 / num_embeddings, 1 / num_embeddings)
        self._num_embeddings, self._commitment_cost = num_embeddings, commitment_cost

    def forward(self, inputs):
        distances = (torch.sum(inputs**2, dim=1, keepdim=True) + torch.sum(self._embedding.weight**2, dim=1)
                     - 2 * torch.matmul(inputs, self._embedding.weight.t()))
        encoding_indices = torch.argmin(distances, dim=1).unsqueeze(1)
        encodings = torch.zeros(encoding_indices.shape[0], self._num_embeddings, device=inputs.device)
        encodings.scatter_(1, encoding_indices, 1)
        quantized = torch.matmul(encodings, self._embedding.weight).view(inputs.shape)
        e_latent_loss = F.mse_loss(quantized.detach(), inputs)
        q_latent_loss = F.mse_loss(quantized, inputs.detach())
        loss = q_latent_loss + self._commitment_cost * e_latent_loss
        quantized = inputs + (quantized - inputs).detach()
        avg_probs = torch.mean(encodings, dim=0)
        perplexity = torch.exp(-torch.sum(avg_probs * torch.log(avg_probs + 1e-10)))
        return loss, quantized, perplexity, encoding_indices


vq = VectorQuantizer(4, 2, 0.25)
z = torch.randn(5, 2, requires_grad=True)
loss, q, perplexity, idx = vq(z)
(q.sum() + loss).backward()
print(loss, perplexity, idx.flatten(), z.grad, vq._embedding.weight.grad)


class GradReverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, lambd):
        ctx.lambd = lambd
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.neg() * ctx.lambd, None


x = torch.ones(3, requires_grad=True)
(GradReverse.apply(x, 0.5) * torch.arange(3.0)).sum().backward()
print(x.grad)


class LoRALinear(nn.Module):
    def __init__(self, base, r=2, alpha=4):
        super().__init__()
        self.base = base
        for p in self.base.parameters():
            p.requires_grad = False
        self.lora_A = nn.Parameter(torch.randn(r, base.in_features) * 0.1)
        self.lora_B = nn.Parameter(torch.zeros(base.out_features, r))
        self.scale = alpha / r

    def forward(self, x):
        return self.base(x) + (x @ self.lora_A.T @ self.lora_B.T) * self.scale


layer = LoRALinear(nn.Linear(3, 2))
opt = torch.optim.Adam((p for p in layer.parameters() if p.requires_grad), lr=0.1)
for _ in range(3):
    opt.zero_grad()
    loss = layer(torch.ones(2, 3)).pow(2).sum()
    loss.backward()
    opt.step()
print(f"{loss.item():.5f}", sum(p.numel() for p in layer.parameters() if p.requires_grad), layer.base.weight.grad)


def focal_loss(inputs, targets, alpha=0.25, gamma=2):
    p = torch.sigmoid(inputs)
    ce_loss = F.binary_cross_entropy_with_logits(inputs, targets, reduction="none")
    p_t = p * targets + (1 - p) * (1 - targets)
    loss = ce_loss * ((1 - p_t) ** gamma)
    alpha_t = alpha * targets + (1 - alpha) * (1 - targets)
    return (alpha_t * loss).mean()


logits = torch.tensor([2.0, -1.0, 0.5], requires_grad=True)
fl = focal_loss(logits, torch.tensor([1.0, 0.0, 0.0]))
fl.backward()
print(fl, logits.grad)
lam = torch.distributions.Beta(torch.tensor(2.0), torch.tensor(2.0)).mean
perm = torch.randperm(3)
print(lam * torch.arange(3.0) + (1 - lam) * torch.arange(3.0)[perm])
