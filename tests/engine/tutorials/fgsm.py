# "Adversarial example generation": FGSM, and a saliency map.
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(42)
model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(2 * 9, 3), nn.LogSoftmax(dim=1))
data = torch.rand(12, 1, 5, 5)
labels = data[:, 0, 0, :3].argmax(1)
opt = torch.optim.Adam(model.parameters(), lr=0.05)
for _ in range(20):
    opt.zero_grad()
    F.nll_loss(model(data), labels).backward()
    opt.step()


def fgsm_attack(image, epsilon, data_grad):
    sign_data_grad = data_grad.sign()
    perturbed_image = image + epsilon*sign_data_grad
    perturbed_image = torch.clamp(perturbed_image, 0, 1)
    return perturbed_image


def test(model, epsilon):
    correct = 0
    for i in range(len(data)):
        image, target = data[i:i + 1].clone(), labels[i:i + 1]
        image.requires_grad = True
        output = model(image)
        init_pred = output.max(1, keepdim=True)[1]
        if init_pred.item() != target.item():
            continue
        loss = F.nll_loss(output, target)
        model.zero_grad()
        loss.backward()
        data_grad = image.grad.data
        perturbed_data = fgsm_attack(image, epsilon, data_grad)
        output = model(perturbed_data)
        final_pred = output.max(1, keepdim=True)[1]
        if final_pred.item() == target.item():
            correct += 1
    print(f"Epsilon: {epsilon}\tTest Accuracy = {correct} / {len(data)} = {correct/float(len(data)):.4f}")


for eps in [0, .05, .1, .3]:
    test(model, eps)
x = data[:1].clone().requires_grad_()
score, index = model(x).max(1)
score.backward()
saliency, _ = torch.max(x.grad.data.abs(), dim=1)
print(saliency.shape, saliency[0, 0])
