# Sampling by gradients: Langevin dynamics and Hamiltonian Monte Carlo of a small posterior.
import torch

torch.manual_seed(0)


def log_prob(q):
    return -0.5 * (q[0] ** 2 + (q[1] - q[0] ** 2) ** 2 / 0.5)


def grad_log_prob(q):
    q = q.detach().requires_grad_(True)
    return torch.autograd.grad(log_prob(q), q)[0]


q = torch.zeros(2)
samples = []
for i in range(40):
    q = q + 0.05 * grad_log_prob(q) + (2 * 0.05) ** 0.5 * torch.randn(2)
    samples.append(q)
samples = torch.stack(samples)
print(samples.mean(0), samples.std(0))


def leapfrog(q, p, steps, eps):
    p = p + 0.5 * eps * grad_log_prob(q)
    for i in range(steps):
        q = q + eps * p
        if i != steps - 1:
            p = p + eps * grad_log_prob(q)
    return q, -(p + 0.5 * eps * grad_log_prob(q))


q, accepted, chain = torch.tensor([0.5, 0.5]), 0, []
for i in range(20):
    p = torch.randn(2)
    q_new, p_new = leapfrog(q, p, 8, 0.15)
    a = log_prob(q_new) - 0.5 * p_new @ p_new - log_prob(q) + 0.5 * p @ p
    if torch.rand(()).log() < a:
        q, accepted = q_new, accepted + 1
    chain.append(q.tolist())
print(accepted, torch.tensor(chain).mean(0))
