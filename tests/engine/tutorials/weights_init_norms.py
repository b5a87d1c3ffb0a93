# nn.init, weight normalisation by hand, spectral norm by power iteration, normal and orthogonal starts.
import torch
import torch.nn as nn

torch.manual_seed(0)
w = torch.empty(3, 5)
print(nn.init.uniform_(w), nn.init.normal_(w), nn.init.constant_(w, 0.3), nn.init.ones_(w), nn.init.zeros_(w), nn.init.eye_(w))
print(nn.init.xavier_uniform_(w, gain=nn.init.calculate_gain('relu')), nn.init.xavier_normal_(w))
print(nn.init.kaiming_uniform_(w, mode='fan_in', nonlinearity='relu'), nn.init.kaiming_normal_(w, mode='fan_out', nonlinearity='relu'))
print(nn.init.trunc_normal_(w, std=0.5).abs().max() <= 2)
o = nn.init.orthogonal_(torch.empty(3, 3))
print(torch.allclose(o @ o.T, torch.eye(3)))
conv = nn.Conv2d(2, 3, 3)
print(nn.init.kaiming_normal_(conv.weight).shape, nn.init.xavier_uniform_(conv.weight).std() > 0)
print(nn.init.sparse_(torch.empty(4, 4), sparsity=0.5).eq(0).sum(), nn.init.dirac_(torch.empty(2, 2, 3))[0, 0])
g, v = torch.ones(3, 1, requires_grad=True), torch.randn(3, 4, requires_grad=True)
weight = g * v / v.norm(dim=1, keepdim=True)
weight.sum().backward()
print(g.grad.flatten(), (v.grad * v).sum(1))
W = torch.randn(4, 4)
u = torch.randn(4)
for _ in range(50):
    q = W.t() @ u
    q = q / q.norm()
    u = W @ q
    u = u / u.norm()
print(torch.isclose(u @ W @ q, torch.linalg.norm(W, 2), rtol=1e-3))
ln, bn = nn.LayerNorm(4), nn.BatchNorm1d(4)
x = torch.randn(5, 4)
print(ln(x).mean(1).abs().max() < 1e-6, bn(x).std(0, unbiased=False))
bn.eval()
print(bn(x)[0], bn.running_mean, bn.running_var, bn.num_batches_tracked)
print(ln, bn, nn.RMSNorm(4)(x)[0])
