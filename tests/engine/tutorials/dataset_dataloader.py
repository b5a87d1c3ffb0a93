# "Datasets and DataLoaders": a dataset of one's own, transforms, collate, samplers, random_split.
import torch
from torch.utils.data import BatchSampler, ConcatDataset, DataLoader, Dataset, IterableDataset, RandomSampler, SequentialSampler, Subset, TensorDataset, random_split


class CustomDataset(Dataset):
    def __init__(self, n, transform=None, target_transform=None):
        self.data = torch.arange(n * 2.0).view(n, 2)
        self.labels = [i % 3 for i in range(n)]
        self.transform = transform
        self.target_transform = target_transform

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, idx):
        image = self.data[idx]
        label = self.labels[idx]
        if self.transform:
            image = self.transform(image)
        if self.target_transform:
            label = self.target_transform(label)
        return image, label


ds = CustomDataset(7, transform=lambda x: x / 10, target_transform=lambda y: torch.zeros(3).scatter_(0, torch.tensor(y), value=1))
print(len(ds), ds[1])
torch.manual_seed(0)
loader = DataLoader(ds, batch_size=3, shuffle=True)
train_features, train_labels = next(iter(loader))
print(f"Feature batch shape: {train_features.size()}")
print(f"Labels batch shape: {train_labels.size()}")
print(train_features, train_labels)
plain = CustomDataset(5)
for x, y in DataLoader(plain, batch_size=2):
    print(x.tolist(), y)
print(len(DataLoader(plain, batch_size=2)), len(DataLoader(plain, batch_size=2, drop_last=True)))


def collate(batch):
    xs, ys = zip(*batch)
    return torch.stack(xs).sum(1), torch.tensor(ys) * 10


print([b for b in DataLoader(plain, batch_size=3, collate_fn=collate)])
a, b = random_split(range(10), [7, 3], generator=torch.Generator().manual_seed(42))
print(list(a), list(b))
c, d = random_split(TensorDataset(torch.arange(10)), [0.5, 0.5])
print(len(c), len(d), [x.item() for x, in c])
print(list(BatchSampler(SequentialSampler(range(10)), batch_size=3, drop_last=False)))
print(list(RandomSampler(range(5))))
print(list(Subset(plain, [4, 0])))
both = ConcatDataset([plain, CustomDataset(2)])
print(len(both), both[6])


class Stream(IterableDataset):
    def __init__(self, start, end):
        super().__init__()
        self.start, self.end = start, end

    def __iter__(self):
        return iter(range(self.start, self.end))


print(list(DataLoader(Stream(3, 7))), list(DataLoader(Stream(3, 8), batch_size=2)))
dicts = [{"x": torch.tensor([i, i + 1]), "name": f"n{i}"} for i in range(3)]
print(next(iter(DataLoader(dicts, batch_size=2))))
