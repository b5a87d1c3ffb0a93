# Views and in-place operations, as the notes on views and "In-place correctness checks" have them.
import torch

base = torch.arange(4.0)
t = base.view(2, 2)
t[0, 0] = 3.14
print(base[0], t._base is base)
b = torch.tensor([[0, 1], [2, 3]])
t = b.transpose(0, 1)
print(b.is_contiguous(), t.is_contiguous(), t.contiguous().is_contiguous(), t.stride(), t.storage_offset())
x = torch.zeros(3, requires_grad=True)
y = x.clone()
y[1] = 5.0
y[0] += 2 * x[2]
print(y)
y.sum().backward()
print(x.grad)
a = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
c = a * 2
v = c[1:]
v.mul_(10)
print(c, v)
c.sum().backward()
print(a.grad)
m = torch.zeros(2, 3)
w = torch.ones(3, requires_grad=True)
m[0] = w * 2
m[:, 2] += w[0]
print(m)
(m * m).sum().backward()
print(w.grad)
e = torch.ones(3, 1).expand(3, 4)
try:
    e.add_(1)
except RuntimeError as error:
    print("expanded:", "single memory location" in str(error))
p = torch.ones(2, requires_grad=True)
q = p.exp()
q += 1
try:
    q.sum().backward()
except RuntimeError:
    print("exp saved its result")
r = torch.ones(2, requires_grad=True)
s = r * 1
s += 1
s.sum().backward()
print(r.grad, s._version)
z = torch.arange(6).reshape(2, 3)
print(z.unfold(1, 2, 1), z.as_strided((2, 2), (3, 1)), z.narrow(1, 1, 2), z.movedim(0, 1).shape)
chunks = torch.arange(5.0).chunk(2)
chunks[0].zero_()
print(chunks)
f = torch.arange(4.0)
f[f > 1] = -1
f.masked_fill_(f < 0, 9)
f.index_add_(0, torch.tensor([0, 0]), torch.tensor([1.0, 2.0]))
f.scatter_(0, torch.tensor([3]), torch.tensor([7.0]))
print(f)
