# Device-agnostic code, seeds, dtype names, printing options, no-op utilities of published scripts.
import time
import random
import numpy as np
import torch
from torch import nn


def seed_everything(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    torch.cuda.manual_seed_all(seed)
    torch.backends.cudnn.deterministic = True
    torch.backends.cudnn.benchmark = False


seed_everything(7)
device = torch.device("cuda:0" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu")
print(device, torch.cuda.device_count(), device.type)
start = time.time()
model = nn.Linear(2, 2).to(device)
x = torch.randn(3, 2).to(device, non_blocking=True)
print(model(x).cpu().detach().numpy().shape, time.time() - start < 60)
print(x.device, x.is_cuda, next(model.parameters()).device)
a = torch.arange(3)
print(a.dtype, a.double().dtype, a.long().dtype, a.bool().dtype, (a > 1).dtype, a.type(torch.float64), a.to(torch.double))
torch.set_printoptions(precision=2, sci_mode=False)
print(torch.tensor([1.23456, 1000.5]))
torch.set_printoptions(profile="default")
print(torch.tensor([1.23456, 1000.5]))
x = x.requires_grad_()
with torch.autograd.set_detect_anomaly(False):
    (x ** 2).sum().backward()
print(x.grad.shape, torch.get_num_threads() > 0)
print(random.random(), np.random.rand())


def main():
    print("main ran", __name__)


if __name__ == "__main__":
    main()
