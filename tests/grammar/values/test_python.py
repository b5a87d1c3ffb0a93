"""Python as tutorials have it: operators of classes, dictionaries and sets, `in` and `is`, arguments with stars."""

import subprocess
import sys
from pathlib import Path

import pytest
from transcript import sections

from agrad.grammar.session.session import Session

((ENGINE,), (NETWORK,)) = sections(Path(__file__).with_name("value_engine.txt")).values()
VECTOR = """
class V:
    def __init__(self, x):
        self.x = x
    def __add__(self, other):
        return V(self.x + (other.x if isinstance(other, V) else other))
    def __radd__(self, other):
        return self + other
    def __eq__(self, other):
        return isinstance(other, V) and self.x == other.x
    def __lt__(self, other):
        return self.x < other.x
    def __neg__(self):
        return V(-self.x)
    def __abs__(self):
        return V(abs(self.x))
    def __len__(self):
        return 3
    def __getitem__(self, place):
        return self.x + place
    def __contains__(self, value):
        return value == self.x
    def __call__(self, factor=2):
        return factor*self.x
    def __repr__(self):
        return f"V({self.x})"
    @property
    def twice(self):
        return 2*self.x
a = V(1); b = V(-2)
"""

# What is printed is what Python prints. Whole numbers are written without a point in both.
PRINTED = {
    "operators": VECTOR + "print(a + b, a + 5, 5 + a, -a, abs(b), a == V(1), a != V(1), a == b, b < a, a > b)",
    "methods that Python calls": VECTOR + "print(len(a), a[4], a(), a(factor=7), a.twice, 1 in a, 3 in a, [a, b])",
    "sums and extremes": VECTOR + "print(sum([a, b, a]), sum((x for x in [a, b]), V(7)), max(a, b), min([a, b]))",
    "a key": "print(max([(1, 5), (2, 3)], key=lambda p: p[1]), min([3, -4, 1], key=lambda x: x*x))",
    "in place": VECTOR + "c = a\na += 2\nprint(a, c)\nxs = [a]\nxs[0] += 1\nprint(xs, a is c, a is not b)",
    "its own in place": """
class Total:
    def __init__(self):
        self.sum = 0
    def __iadd__(self, x):
        self.sum += x
        return self
t = Total(); u = t
t += 5
print(u.sum, t is u)""",
    "a class of a class": """
class Base:
    def name(self):
        return "base"
    def hello(self):
        return "hello " + self.name()
class Derived(Base):
    def __init__(self, n):
        self.n = n
    def name(self):
        return f"derived {self.n}"
d = Derived(3)
print(d.hello(), isinstance(d, Base), isinstance(d, Derived), isinstance(3, Base))""",
    "dictionaries": """
d = {"lr": 0.5, "n": 3}
d["n"] += 1
d["xs"] = [1.5]
d["xs"].append(2.5)
print(d["lr"], d["n"], d.get("no", 7), "lr" in d, "no" not in d, len(d))
for key, value in d.items():
    print(key, value)
del d["xs"]
print(d, d.pop("n"), d, {**d, "b": 2}, dict(c=1), {k: k*k for k in range(3)})""",
    "sets": """
s = set()
s.add(3); s.add(3); s.add(4)
print(len(s), 3 in s, 5 in s, {1, 1, 2}, len({x % 2 for x in range(9)}), set())""",
    "membership": 'print(3 in [1, 3], 2 not in (1, 3), "a" in "cat", "x" in ["x", "y"], 5 in range(3), None in [1, None])',
    "stars": """
def f(first, *rest, scale=1, **options):
    print(first, len(rest), scale, options)
f(1); f(1, 2, 3, scale=4); f(*[1, 2], **{"scale": 3, "name": "x"})
a, *b = (1, 2, 3); *c, d = [5, 6]
print(a, b, c, d, [*b, 9], (*c, 1))
print(*[1, 2, 3], sep=", ")""",
    "only by name": "def f(a, *, b=2): return a*b\nprint(f(3), f(3, b=4))",
    "annotations": "def f(x: float, n: int = 2) -> float:\n    y: float = x*n\n    return y\nprint(f(2), f(2, n=5))",
    "truths": "x = 3\nprint(x > 2, x == 2, not x, x > 2 and x < 9, True, [True, False], True + True, (x > 2)*5, f'{x < 1}')",
    "texts": 'print("%s has %d" % ("x", 3), "{} and {:.2f}".format("a", 2.5), "a" "b", f"{\'q\'!r:>4}", repr("t"))',
    "functions": "print(list(map(lambda x: x*2, [1, 2])), list(filter(lambda x: x > 1, [1, 2, 3])))",
    "attributes by name": 'class A:\n    pass\na = A()\na.x = 2\nprint(hasattr(a, "x"), hasattr(a, "y"), getattr(a, "x"), getattr(a, "y", 5))',
    "micrograd": ENGINE,
    "micrograd's network": f"{ENGINE}\n{NETWORK}",
}


PRINTED |= {
    "texts in lists": """print(["a", 1, True, None], ("b",), [["x", 2], ("it's", 'q"')], {"k": ["v"]}, "a b".split())
print(str(["a"]), f"{('b', 2)}", "x", ["x"][0])""",
    "print in a lambda": """f = lambda g, *more: print("g", g, *more, sep="-", end="!\\n")
f(1, 2, 3)
x = print("p")
print(x is None)
for show in (print, lambda *xs: print("again", *xs)):
    show("a", 2)
def each(f, xs):
    for x in xs:
        f(x)
each(print, [1, "b"])
3 > 2 and print("and")
y = [print(k) for k in range(2)]
print(y)
print("yes") if y else print("no")""",
    "lists that are no arrays": "a = [['y'], 'x', None]\nprint(a == [['y'], 'x', None], a != a, a == [1, 2], [1, 'b'] == [1, 'c'])\nassert a == [['y'], 'x', None]; assert a != ['x']",
}


def printed(text):
    said = []
    session = Session()
    session.run(text, lambda result: said.append(result.line) if hasattr(result, "line") else None)
    return "\n".join(said)


@pytest.mark.parametrize("name", PRINTED)
def test_it_prints_what_python_prints(name):
    theirs = subprocess.run([sys.executable, "-c", PRINTED[name]], capture_output=True, text=True, check=True).stdout
    assert printed(PRINTED[name]) == theirs.rstrip("\n")
