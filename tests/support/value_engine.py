"""An engine for derivatives of numbers in the manner of micrograd, and a network of it that separates two half moons.

The programs print the same in Python and in agrad.
"""

ENGINE = """
class Value:
    \"\"\"A number, the values it was computed from, and how its gradient goes on to them.\"\"\"

    def __init__(self, data, parents=(), op=""):
        self.data = data
        self.grad = 0.0
        self._parents = set(parents)
        self._op = op
        self._pass_on = lambda: None

    def __add__(self, other):
        other = other if isinstance(other, Value) else Value(other)
        out = Value(self.data + other.data, (self, other), "+")

        def pass_on():
            self.grad += out.grad
            other.grad += out.grad

        out._pass_on = pass_on
        return out

    def __mul__(self, other):
        other = other if isinstance(other, Value) else Value(other)
        out = Value(self.data * other.data, (self, other), "*")

        def pass_on():
            self.grad += other.data * out.grad
            other.grad += self.data * out.grad

        out._pass_on = pass_on
        return out

    def __pow__(self, exponent):
        assert isinstance(exponent, (int, float)), "a power is a number"
        out = Value(self.data ** exponent, (self,), f"**{exponent}")

        def pass_on():
            self.grad += exponent * self.data ** (exponent - 1) * out.grad

        out._pass_on = pass_on
        return out

    def relu(self):
        out = Value(self.data if self.data > 0 else 0.0, (self,), "relu")

        def pass_on():
            self.grad += (out.data > 0) * out.grad

        out._pass_on = pass_on
        return out

    def backward(self):
        order, seen = [], set()

        def visit(value):
            if value not in seen:
                seen.add(value)
                for parent in value._parents:
                    visit(parent)
                order.append(value)

        visit(self)
        self.grad = 1.0
        for value in reversed(order):
            value._pass_on()

    def __neg__(self): return self * -1
    def __radd__(self, other): return self + other
    def __sub__(self, other): return self + (-other)
    def __rsub__(self, other): return other + (-self)
    def __rmul__(self, other): return self * other
    def __truediv__(self, other): return self * other ** -1
    def __rtruediv__(self, other): return other * self ** -1
    def __repr__(self): return f"Value(data={self.data:.4f}, grad={self.grad:.4f})"


a = Value(-4.0)
b = Value(2.0)
c = a + b
d = a * b + b ** 3
c += c + 1
c += 1 + c + (-a)
d += d * 2 + (b + a).relu()
d += 3 * d + (b - a).relu()
e = c - d
f = e ** 2
g = f / 2.0
g += 10.0 / f
g.backward()
print(f"{g.data:.8f} {a.grad:.8f} {b.grad:.8f}")
print(a, [a, b])
"""

NETWORK = """
import math

class Module:
    def zero_grad(self):
        for p in self.parameters():
            p.grad = 0.0

    def parameters(self):
        return []

class Neuron(Module):
    def __init__(self, nin, seed, nonlin=True):
        self.w = [Value(math.sin(seed + 1.7 * i)) for i in range(nin)]
        self.b = Value(0.0)
        self.nonlin = nonlin

    def __call__(self, x):
        act = sum((wi * xi for wi, xi in zip(self.w, x)), self.b)
        return act.relu() if self.nonlin else act

    def parameters(self):
        return self.w + [self.b]

    def __repr__(self):
        return f"{'ReLU' if self.nonlin else 'Linear'}Neuron({len(self.w)})"

class Layer(Module):
    def __init__(self, nin, nout, **options):
        self.neurons = [Neuron(nin, 0.3 * k + nin, **options) for k in range(nout)]

    def __call__(self, x):
        out = [n(x) for n in self.neurons]
        return out[0] if len(out) == 1 else out

    def parameters(self):
        return [p for n in self.neurons for p in n.parameters()]

    def __repr__(self):
        return f"Layer of [{', '.join(str(n) for n in self.neurons)}]"

class MLP(Module):
    def __init__(self, nin, nouts):
        sz = [nin] + nouts
        self.layers = [Layer(sz[i], sz[i + 1], nonlin=i != len(nouts) - 1) for i in range(len(nouts))]

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x

    def parameters(self):
        return [p for layer in self.layers for p in layer.parameters()]

    def __repr__(self):
        return f"MLP of [{', '.join(str(layer) for layer in self.layers)}]"

model = MLP(2, [3, 1])
print(model)
print("number of parameters", len(model.parameters()))
points = [(math.cos(k), math.sin(k), 1.0) for k in (0.5, 1.5, 2.5)]
points += [(1 - math.cos(k), 0.5 - math.sin(k), -1.0) for k in (0.5, 1.5, 2.5)]
for step in range(3):
    scores = [model([x, y]) for x, y, _ in points]
    losses = [(1 + -label * score).relu() for (_, _, label), score in zip(points, scores)]
    data_loss = sum(losses) * (1.0 / len(losses))
    reg_loss = 1e-4 * sum((p * p for p in model.parameters()))
    total = data_loss + reg_loss
    right = [(label > 0) == (score.data > 0) for (_, _, label), score in zip(points, scores)]
    model.zero_grad()
    total.backward()
    rate = 1.0 - 0.9 * step / 100
    for p in model.parameters():
        p.data -= rate * p.grad
    print(f"step {step} loss {total.data:.10f}, accuracy {sum(right) / len(right) * 100:.1f}%")
"""
