# Siamese networks with a triplet loss, and knowledge distillation.
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
embed = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
anchor, positive, negative = torch.randn(6, 4), torch.randn(6, 4), torch.randn(6, 4) + 1
triplet = nn.TripletMarginLoss(margin=1.0, p=2)
opt = torch.optim.Adam(embed.parameters(), lr=0.02)
for i in range(8):
    loss = triplet(F.normalize(embed(anchor)), F.normalize(embed(positive)), F.normalize(embed(negative)))
    opt.zero_grad()
    loss.backward()
    opt.step()
print(f"{loss.item():.5f}")
teacher, student = nn.Linear(4, 3), nn.Linear(4, 3)
T, soft_weight = 2.0, 0.25
optimizer = torch.optim.Adam(student.parameters(), lr=0.05)
teacher.eval()
student.train()
labels = torch.tensor([0, 1, 2, 0, 1, 2])
for i in range(8):
    optimizer.zero_grad()
    with torch.no_grad():
        teacher_logits = teacher(anchor)
    student_logits = student(anchor)
    soft_targets = nn.functional.softmax(teacher_logits / T, dim=-1)
    soft_prob = nn.functional.log_softmax(student_logits / T, dim=-1)
    soft_targets_loss = torch.sum(soft_targets * (soft_targets.log() - soft_prob)) / soft_prob.size()[0] * (T**2)
    label_loss = F.cross_entropy(student_logits, labels)
    loss = soft_weight * soft_targets_loss + (1 - soft_weight) * label_loss
    loss.backward()
    optimizer.step()
print(f"{loss.item():.5f}", student.weight.grad.norm())


class Contrastive(nn.Module):
    def __init__(self, margin=2.0):
        super().__init__()
        self.margin = margin

    def forward(self, x0, x1, y):
        diff = x0 - x1
        dist_sq = torch.sum(torch.pow(diff, 2), 1)
        dist = torch.sqrt(dist_sq)
        mdist = self.margin - dist
        dist = torch.clamp(mdist, min=0.0)
        loss = y * dist_sq + (1 - y) * torch.pow(dist, 2)
        return torch.sum(loss) / 2.0 / x0.size()[0]


print(Contrastive()(anchor, positive, torch.tensor([1.0, 0, 1, 0, 1, 0])))
sim = F.normalize(anchor) @ F.normalize(positive).t() / 0.5
print(F.cross_entropy(sim, torch.arange(6)))
