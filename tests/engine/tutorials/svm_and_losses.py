# A support vector machine by the hinge; the losses of nn beside their formulas.
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
X = torch.randn(20, 2)
y = torch.where(X[:, 0] - X[:, 1] > 0, 1.0, -1.0)
w, b = torch.zeros(2, requires_grad=True), torch.zeros(1, requires_grad=True)
opt = torch.optim.SGD([w, b], lr=0.1)
for i in range(20):
    loss = torch.clamp(1 - y * (X @ w + b), min=0).mean() + 0.01 * w.dot(w)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(w.data, b.data, f"{loss.item():.5f}", (torch.sign(X @ w + b) == y).double().mean())
a, t = torch.randn(4, 3, requires_grad=True), torch.randn(4, 3)
labels = torch.tensor([0, 2, 1, 1])
probs = torch.sigmoid(a)
targets = (t > 0).double()
print(nn.L1Loss()(a, t), nn.MSELoss(reduction="none")(a, t).shape, nn.SmoothL1Loss(beta=0.5)(a, t), nn.HuberLoss(delta=0.7)(a, t))
print(nn.CrossEntropyLoss()(a, labels), F.nll_loss(F.log_softmax(a, 1), labels), nn.CrossEntropyLoss(label_smoothing=0.1)(a, labels))
print(nn.CrossEntropyLoss(weight=torch.tensor([1.0, 2.0, 0.5]), reduction="sum")(a, labels), nn.CrossEntropyLoss(ignore_index=1)(a, labels))
print(nn.CrossEntropyLoss()(a, F.softmax(t, 1)))
print(nn.BCELoss()(probs, targets), nn.BCEWithLogitsLoss(pos_weight=torch.tensor([1.0, 2.0, 3.0]))(a, targets))
print(nn.KLDivLoss(reduction="batchmean")(F.log_softmax(a, 1), F.softmax(t, 1)))
print(nn.HingeEmbeddingLoss()(a, targets * 2 - 1), nn.SoftMarginLoss()(a, targets * 2 - 1))
print(nn.MarginRankingLoss(margin=0.1)(a[:, 0], t[:, 0], torch.tensor([1.0, -1, 1, -1])))
print(nn.CosineEmbeddingLoss()(a, t, torch.tensor([1.0, -1, 1, -1])), nn.TripletMarginLoss()(a, t, t.flip(0)))
print(nn.MultiMarginLoss()(a, labels), nn.PoissonNLLLoss()(a, t.abs()), nn.GaussianNLLLoss()(a, t, torch.ones(4, 3)))
print(F.cosine_similarity(a, t), nn.PairwiseDistance()(a, t), torch.cdist(a, t)[0])
(nn.CrossEntropyLoss()(a, labels) + nn.HuberLoss()(a, t)).backward()
print(a.grad)
