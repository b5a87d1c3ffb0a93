# Reverse mode by hand over numpy: a tape of closures.
import numpy as np


class Var:
    def __init__(self, value, parents=()):
        self.value = np.asarray(value, dtype=float)
        self.parents = parents
        self.grad = np.zeros_like(self.value)

    def __add__(self, other):
        return Var(self.value + other.value, ((self, lambda g: g), (other, lambda g: g)))

    def __mul__(self, other):
        return Var(self.value * other.value, ((self, lambda g: g * other.value), (other, lambda g: g * self.value)))

    def __matmul__(self, other):
        return Var(self.value @ other.value, ((self, lambda g: g @ other.value.T), (other, lambda g: self.value.T @ g)))

    def tanh(self):
        t = np.tanh(self.value)
        return Var(t, ((self, lambda g: g * (1 - t**2)),))

    def sum(self):
        return Var(self.value.sum(), ((self, lambda g: g * np.ones_like(self.value)),))

    def backward(self):
        order, seen = [], set()

        def visit(v):
            if id(v) not in seen:
                seen.add(id(v))
                for p, _ in v.parents:
                    visit(p)
                order.append(v)
        visit(self)
        self.grad = np.ones_like(self.value)
        for v in reversed(order):
            for p, rule in v.parents:
                p.grad = p.grad + rule(v.grad)


W = Var([[0.5, -0.2], [0.1, 0.8]])
x = Var([[1.0], [2.0]])
loss = ((W @ x).tanh() * (W @ x).tanh()).sum()
loss.backward()
print(loss.value, W.grad, x.grad)
for step in range(3):
    W = Var(W.value - 0.1 * W.grad)
    loss = ((W @ x).tanh() * (W @ x).tanh()).sum()
    loss.backward()
    print(loss.value.round(6))
