"""A script of Python prints the same in Python's reading as in CPython, byte for byte, and ends alike."""

from __future__ import annotations

import contextlib
import io
import random
import re
from collections.abc import Iterator

from agrad.engine.errors import AgradError
from agrad.grammar.results import Noted
from agrad.grammar.session.session import Session

START = """import math, itertools, functools, copy, re, string
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from dataclasses import dataclass, field
from typing import List, Optional
a, b, n = 3, -2, 7
x, y = 1.5, -0.25
s, w = "word", "a b, c"
xs, ys = [3, 1, 2], ["p", "q"]
d, e = {"k": 1, "m": [1, 2]}, {1: "one"}
u, t = {1, 2, 5}, (1, "u", 2.5)
Point = namedtuple("Point", "x y")
total = 0
def show(*values, **options):
    print(*values, *(f"{k}={v!r}" for k, v in sorted(options.items())))
def twice(f):
    @functools.wraps(f)
    def inner(*args, **options):
        return f(f(*args, **options))
    return inner
class Base:
    '''A doc.'''
    made = 0
    def __init__(self, v=1):
        self.v = v
        self.__hidden = v * 2
        type(self).made += 1
    def get(self): return self.v
    def secret(self): return self.__hidden
    @property
    def double(self): return self.v * 2
    @double.setter
    def double(self, value): self.v = value / 2
    @staticmethod
    def plain(q): return q, q
    @classmethod
    def make(cls, *args): return cls(*args)
    def __repr__(self): return f"{type(self).__name__}({self.v!r})"
    def __eq__(self, other): return isinstance(other, Base) and self.v == other.v
    def __hash__(self): return hash(self.v)
    def __add__(self, other): return type(self)(self.v + (other.v if isinstance(other, Base) else other))
    __radd__ = __add__
    def __iadd__(self, other):
        self.v += other
        return self
    def __lt__(self, other): return self.v < other.v
    def __getitem__(self, i): return (self.v, i)
    def __setitem__(self, i, q): self.v = (i, q)
    def __contains__(self, q): return q == self.v
    def __len__(self): return 3
    def __bool__(self): return self.v != 0
    def __iter__(self): yield from range(3)
    def __call__(self, *q): return (self.v, *q)
    def __enter__(self):
        print("enter", self.v)
        return self
    def __exit__(self, kind, error, tb):
        print("exit", kind and kind.__name__, error)
        return self.v == 1
class Mixin:
    def get(self): return ("mixed", super().get())
class Derived(Mixin, Base):
    def get(self): return ("derived", super().get())
@dataclass(order=True)
class Item:
    name: str
    price: float = 1.0
    tags: List[str] = field(default_factory=list)
    def cost(self, q: int = 2) -> float: return self.price * q
class Wrong(ValueError):
    def __init__(self, text, code=3):
        super().__init__(text)
        self.code = code
o, p, item = Base(1), Derived(4), Item("i", 2.5)
def numbers(k):
    try:
        for i in range(k):
            got = yield i * i
            if got: print("got", got)
    finally:
        print("closed")
def counter(k=0, *, kept=[]):
    def step(by=1):
        nonlocal k
        k += by
        kept.append(k)
        return k, len(kept)
    return step
count = counter()
def fib(k): return k if k < 2 else fib(k - 1) + fib(k - 2)
"""
ADDRESS = re.compile("0x[0-9a-f]{6,}")
ERRORS = (
    "ValueError",
    "TypeError",
    "ZeroDivisionError",
    "(KeyError, IndexError)",
    "LookupError",
    "Wrong",
    "AttributeError",
)


class Script:
    """Random statements."""

    def __init__(self, dice: random.Random) -> None:
        self.dice, self.fresh, self.loops, self.defs = dice, 0, 0, 0

    def pick(self, *choices: str) -> str:
        """One of some texts."""
        return self.dice.choice(choices)

    # Expressions

    def number(self, d: int = 2) -> str:
        """An expression that is a number."""
        if d <= 0 or self.dice.random() < 0.2:
            return self.pick("a", "b", "n", "x", "y", "0", "1", "2", "5", "-3", "0.5", "10", "1e3", "True", "len(xs)")
        n, c, dice = self.number, d - 1, self.dice
        forms = (
            lambda: f"({n(c)} {self.pick('+', '-', '*', '/', '//', '%')} {n(c)})",
            lambda: f"({self.whole(c)} {self.pick('&', '|', '^', '<<', '>>')} {self.pick('1', '2', 'abs(a)')})",
            lambda: f"{n(c)}**{self.pick('2', '3', '-1', '0.5', '0')}",
            lambda: f"{self.pick('abs', 'float', 'int', 'round', 'bool', '-', '+', 'math.floor', 'math.sqrt')}({n(c)})",
            lambda: f"({n(c)} if {self.truth(c)} else {n(c)})",
            lambda: f"{self.pick('min', 'max')}({n(c)}, {n(c)})",
            lambda: f"sum({self.numbers(c)})",
            lambda: f"len({self.any(c)})",
            lambda: f"xs[{self.pick('0', '-1', '1', 'a', '5')}]",
            lambda: self.pick("t[0]", "d['k']", "d.get('z', 4)", "p.v", "o.v", "item.price", "item.cost()", "p.double"),
            lambda: self.pick(
                "total", "fib(6)", "Base.made", "s.count('o')", "w.find('c')", "xs.index(1)", "divmod(7, 2)[1]"
            ),
            lambda: f"functools.reduce(lambda q, r: q + r, {self.numbers(c)}, 0)",
            lambda: f"(lambda q, r=2: q * r)({n(c)})",
            lambda: (
                f"math.{self.pick('gcd(12, 8)', 'hypot(3, 4)', 'factorial(5)', 'comb(5, 2)', 'pi', 'prod([2, 3])')}"
            ),
            lambda: f"~{self.whole(c)}",
            lambda: f"pow({self.whole(c)}, {self.pick('2', '3')}, 7)",
            lambda: f"(q{self.name()} := {n(c)})",
            lambda: f"complex({n(c)}, 1).real",
        )
        return dice.choice(forms)()

    def name(self) -> str:
        """A number for a new name."""
        self.fresh += 1
        return str(self.fresh % 5)

    def whole(self, d: int) -> str:
        """An expression that is a whole number."""
        return self.pick("a", "b", "n", "6", f"int({self.number(d)})", "len(s)", "-1", "sum(u)", "hash(3)")

    def truth(self, d: int = 1) -> str:
        """A condition."""
        n, c = self.number, d - 1
        return self.pick(
            f"{n(c)} {self.pick('<', '<=', '>', '==', '!=')} {n(c)}",
            f"{n(c)} < {n(c)} <= {n(c)}",
            f"{n(0)} in {self.pick('xs', 'u', 't', 'd', 'range(4)', 'p')}",
            f"not {self.pick('xs', 'd', 's', 'a', 'o', 'None')}",
            f"isinstance({self.any(0)}, {self.pick('int', 'float', 'str', 'list', '(int, str)', 'Base', 'dict', 'type', 'range')})",
            f"{self.pick('a', 'x', 's')} and {n(c)}",
            f"{self.pick('b', 'None', 'd')} is {self.pick('not ', '')}None",
            f"{self.pick('all', 'any')}(q > 1 for q in {self.numbers(c)})",
            f"s.{self.pick('isalpha()', 'startswith(chr(119))', 'endswith(str(1))', 'isdigit()')}",
            "callable(fib)", "o == p", "hasattr(o, 'v')", "hasattr(o, 'zork')", "{1} <= u", "'a' < s", "xs < [2, 3]",
        )  # fmt: skip

    def numbers(self, d: int = 1) -> str:
        """An expression that gives numbers."""
        n, c = self.number, d - 1
        return self.pick(
            "xs", "u", "range(4)", "xs[1:]", "xs[::-1]", "t[:1]", "numbers(3)", "map(abs, xs)", "list(o)",
            f"[{n(c)}, {n(0)}, *xs]", f"[q * {n(0)} for q in xs]", f"(q for q in range(5) if q % 2 == {self.pick('0', '1')})",
            "filter(None, xs)", f"sorted(xs, key=lambda q: -q, reverse={self.pick('True', 'False')})",
            "itertools.accumulate(xs)", "itertools.chain(xs, u)", "itertools.islice(itertools.count(2), 3)", "e.keys()",
            f"[i * j for i in range(3) for j in range(i) if {self.pick('i != j', 'i', 'True')}]", "{q % 3 for q in xs}",
            "[*range(2), *xs]", f"[{n(0)}] * {self.pick('2', '0', 'a')}", "xs + [1]", "xs.copy()", "deque(xs, maxlen=2)",
            "reversed(xs)", "tuple(xs)", "(1, 2)[:a]", "[q for q, _ in zip(xs, ys)]", "range(10, 0, -3)", "xs[a:]",
        )  # fmt: skip

    def text(self, d: int = 1) -> str:
        """An expression that is a text."""
        c, n = d - 1, self.number
        spec = self.pick("", ":>6", ":<4", ":^7", "!r", "!s:>8")
        return self.pick(
            "s", "w", "'q'", f"str({self.any(c)})", f"repr({self.any(c)})", "s[1:3]", "s[::-1]", "s * 2", "s + w", "ys[0]",
            f"f'{{{n(0)}:{self.pick('.3f', '8.2e', '+g', '>10', '<6', '', '_', '.1%')}}}|{{s{spec}}}'",
            f"'%s %r {self.pick('%d', '%5.1f', '%+.2e', '%x', '%s', '%%')}' % (s, w, {n(0)})",
            f"'{{}} {{:>{self.pick('5', '{}')}}} {{0}}'.format({n(0)}, s)", "'{0!r:>8} {q[1]} {r.v}'.format(s, q=xs, r=o)",
            "'-'.join(ys)", "s.upper()", "w.title()", "s.replace('o', '0')", "w.strip('a ')", "s.center(9, '*')", "s.zfill(6)",
            "'a\\tb'.expandtabs(4)", "s.ljust(6) + '|'", "','.join(sorted(s))", "w.partition(',')[2]", "s.capitalize()",
            f"f'{{xs}} {{d!r}} {{{n(c)}=}}'", "f'{x:{n}.{a}f}'", "f'{len(xs):0{n}d}'", "'abc' 'def'", "r'\\n'", "s[a]", "s[9:]",
            "chr(ord('a') + abs(a))", "hex(255) + bin(5) + oct(8)", "type(o).__name__", "Base.__doc__", "fib.__name__",
            "string.ascii_letters[:4]", "re.sub('[aeiou]', '_', w)", "re.sub('(o)', lambda m: m.group(1) * 2, s)",
            "s.encode().decode('ascii')", "'x'.join(map(str, xs))", "format(n, '>5')", "ascii('\\u00e9')", "s.translate({111: 'QQ'})",
        )  # fmt: skip

    def any(self, d: int = 1) -> str:
        """An expression of any kind."""
        c = d - 1
        if d < 0:
            return self.pick("xs", "s", "t", "d", "a", "x", "None", "u", "o")
        return self.pick(
            self.number(c), self.text(c), f"list({self.numbers(c)})", f"tuple({self.numbers(c)})", "d", "e", "t", "xs", "ys", "u",
            "{**d, 'z': 0}", "{k: v for k, v in enumerate(ys)}", f"sorted({self.numbers(c)})", "p", "o", "item", "Item('z', 1.0)",
            "Point(1, y=2)", "Point(1, 2)._replace(x=5)", "Counter(w).most_common(2)", "[xs, ys]", "list(zip(xs, ys))", "w.split()",
            "list(enumerate(ys, 1))", "dict(zip(ys, xs))", "None", "...", "p.get()", "o[1:2]", "o[1, 2]", "p(1, *xs)", "2j * a",
            "{*xs, 9} - u", "u | {8}", "u ^ {1, 9}", "frozenset(u)", "Base.plain(1)", "Derived.make(2)", "o + 2", "2 + o", "sum([o, p], 0)",
            "w.partition(' ')", "divmod(n, 2)", "[type(q) for q in (1, 's', None, xs, o)]", "min(ys, key=len)", "max(xs, default=0)",
            "slice(1, 2)", "range(3)", "list(map(lambda q, r: (q, r), xs, ys))", "copy.deepcopy(d)", "[[0] * 2 for _ in range(2)]",
            "list(itertools.product('ab', repeat=2))", "list(itertools.groupby('aab'))[0][0]", "w.splitlines()", "OrderedDict(k=1)",
            "[(k, list(g)) for k, g in itertools.groupby(sorted(xs), key=lambda q: q % 2)]", "re.findall('[a-z]', w)",
            "list(itertools.combinations(xs, 2))", "list(itertools.permutations('ab'))", "re.match('(w)(o)', s).groups()",
            "bytes and 1" if False else "b'ab'", "(1).bit_length()", "(2.5).as_integer_ratio()", "abs", "int", "ValueError('v')",
            "list(o)", "str.upper(s)", "list(map(str.upper, ys))", "dict.fromkeys(xs, 0)", "isinstance", "next(iter(xs))", "eval" ,
        ).replace("eval", "xs")  # fmt: skip

    # Statements

    def simple(self) -> str:
        """A statement of one line."""
        n, dice = self.number, self.dice
        name = self.pick("a", "b", "n")
        forms = (
            lambda: f"print({self.any(2)}, {self.any(1)})",
            lambda: f"print({self.text(2)}, sep='')",
            lambda: f"show({self.any(1)}, *{self.numbers(0)}, k={self.any(0)}, **{{'z': {n(0)}}})",
            lambda: f"{name} = int({n(2)}) % 11",
            lambda: f"{self.pick('x', 'y')} = {n(2)} * 1.0",
            lambda: f"{name} {self.pick('+=', '-=', '*=', '//=', '%=', '|=', '&=')} {self.pick('1', '2', 'a', 'len(xs)')}",
            lambda: "a, b = b, a",
            lambda: "(a, *ys), b = [n, 'p', 'q'], 2",
            lambda: self.pick("xs.append(4)", "xs.sort()", "xs.reverse()", "xs.extend(range(2))", "xs.insert(1, 9)", "xs.pop()"),
            lambda: self.pick("xs[0] = a", "xs[1:2] = [7, 8]", "del xs[0]", "xs += [1]", "xs *= 2", "xs = xs[:4]", "del xs[::2]"),
            lambda: self.pick("xs.remove(1)", "xs.clear()", "xs.sort(key=lambda q: (q % 2, q))", "xs = xs or [1, 2, 3]"),
            lambda: self.pick("d['k'] += 1", "d['z'] = xs", "d.update(q=1)", "d.setdefault('m', []).append(1)", "d.pop('z', None)"),
            lambda: self.pick("del d['q']", "d |= {'r': 2}", "e[len(e)] = s", "d = {'k': 1}", "k, v = d.popitem()", "e.clear()"),
            lambda: self.pick("u.add(a)", "u |= {3}", "u.discard(1)", "u &= {1, 2, 3, 5}", "u.remove(99)", "u -= {2}"),
            lambda: self.pick("o.v = a", "o.v += 1", "o.double = n", "o += 1", "o.z = s", "o[1] = 2", "del o.z", "p.v = [1]", "p.v += [2]"),
            lambda: self.pick("item.tags.append(s)", "item.price *= 2", "setattr(o, 'v', 3)", "Base.made = 0", "item.tags = [*ys]"),
            lambda: self.pick("s = w[:4]", "s += 'x'", "s, w = w, s[:6]", "s = s[:6] or 'word'", "t = (a, s, x)", "t += (1,)"),
            lambda: f"assert {self.truth()}, {self.text(0)}",
            lambda: f"print(getattr(o, {self.pick(chr(39) + 'v' + chr(39), repr('zork'))}, {n(0)}))",
            lambda: f"raise {self.pick('Wrong(s)', 'ValueError', 'KeyError(a)', 'TypeError(1, 2)', 'IndexError()')}"
            if dice.random() < 0.2 else "pass",
            lambda: "print(*xs, sep=', ', end='!\\n')",
            lambda: f"global_{name} = [{n(1)} for _ in range(2)]",
            lambda: "q = deque(xs); q.rotate(1); q.appendleft(0); print(q, q[0])",
            lambda: "c = Counter(s); c.update('oo'); print(sorted(c.items()), c['zz'])",
            lambda: "f = defaultdict(list); f[a].append(1); f[b]; print(f)",
            lambda: "print(twice(lambda q: q + 1)(a), twice(str)(a))",
            lambda: "it = iter(xs); print(next(it, None), list(it))",
            lambda: "gen = numbers(3); print(next(gen), gen.send(5)); gen.close()",
            lambda: "print([*map(lambda q: q ** 2, xs)], {**d, **e})",
            lambda: "(q := a); print(q)",
            lambda: self.pick("print(count(), count(2))", "count = counter(a)", "count.calls = count()", "fib.known = 1"),
            lambda: "xs[0], o.v = o.v, 1",
            lambda: "[first, *rest] = xs; print(first, rest)",
            lambda: "for o.v in range(2): pass",
            lambda: "h = lambda *q, k=a, **r: (q, k, r); print(h(1, k=2, z=3))",
            lambda: "print(sorted([o, p, Base(0)]), min(o, p))",
            lambda: "print(sorted(ys + [s], key=len), sorted(d), list(d.items()))",
        )  # fmt: skip
        return dice.choice(forms)()

    def block(self, depth: int, indent: str = "    ", least: int = 1) -> str:
        """An indented block."""
        lines = "\n".join(self.statement(depth - 1) for _ in range(self.dice.randint(least, 3)))
        return "\n".join(indent + line for line in lines.split("\n"))

    def function(self, depth: int) -> str:
        """A function that is defined and called."""
        self.defs += 1
        name, dice = f"f{self.defs}", self.dice
        head = dice.choice(("q, r=2", "q, *rest, r=1", "q, /, r=1, **more", "q=None, *, r=3"))
        body = self.pick(
            f"    xs, a, b, n, s, w, u, t, d, e, x, y, ys = [q, 1], 1, 2, 3, 'l', 'm n', {{1}}, (1, 'z'), {{'k': 1}}, {{}}, 1.0, 2.0, ['v']\n"
            f"{self.block(depth)}\n    return q, r",
            f"    global total\n    total += 1\n    return [q, {self.number()}]",
            "    k = 0\n    def inner(step=1):\n        nonlocal k\n        k += step\n        return k, q\n    inner()\n    return inner(2)",
            f"    if {self.truth()}:\n        return {self.any()}\n    return {self.any()}",
            f"    for i in range(3):\n        yield i, q\n    return {self.number()}",
            "    return (yield q), (yield from range(2))",
            f"    print(local)\n    local = {self.number()}",
            f"    try:\n        return {self.number(2)}\n    except {self.pick(*ERRORS)} as err:\n        return repr(err)\n    finally:\n        print('finally', q)",
            f"    return [lambda z=i: z + {self.number(0)} for i in range(2)][1]()",
        )
        decorator = self.pick("", "", "@functools.cache\n", "@twice\n", "@functools.lru_cache(maxsize=None)\n")
        call = f"{name}({self.pick('a', 'x', 's', '1', 'a, r=5', '')})"
        use = self.pick(f"print({call})", f"print(list({call}))", f"show({call})", f"for z in {call}: print(z)")
        return f"{decorator}def {name}({head}):\n{body}\n{use}"

    def klass(self) -> str:
        """A class, and a use of it."""
        self.defs += 1
        name = f"C{self.defs}"
        base = self.pick("", "(Base)", "(Derived)", "(Mixin, Base)", "(Wrong)", "(Exception)", "(Point)", "(Item)")
        parts = [
            f"    k = {self.number(0)}",
            "    ls = [q + 1 for q in range(2)]\n    def m(self): return self.k, self.ls",
            "    def __init__(self, *q):\n        super().__init__(*q)\n        self.extra = q",
            f"    def __str__(self): return 'str' + {self.text(0)}",
            "    def get(self): return [super().get()] if hasattr(super(), 'get') else None",
            "    @property\n    def prop(self): return self.k\n    @classmethod\n    def cm(cls): return cls.__name__",
            "    class Inner:\n        z = 1\n    def inner(self): return self.Inner.z",
            "    _private = 1\n    __mangled = 2\n    def look(self): return self._private, self.__mangled",
            "    def __format__(self, spec): return f'<{spec}>'",
        ]
        body = "\n".join(self.dice.sample(parts, self.dice.randint(1, 4)))
        uses = [
            f"print({name}({self.pick('', '1', '1, 2', 's')}))",
            f"c = {name}(); print(c.k, c.m())",
            f"print({name}.cm(), {name}().prop)",
        ]
        uses += [
            f"print(f'{{{name}():>4}}', str({name}()))",
            f"print({name}(2).get())",
            f"print(isinstance({name}(), Base), {name}.__name__)",
        ]
        uses += [
            f"print({name}().look(), {name}.Inner.z)",
            f"raise {name}('q')",
            f"{name}.k = 5; print({name}.k, {name}().k)",
        ]
        use = self.dice.choice(uses)
        return f"class {name}{base}:\n{body}\ntry:\n    {use}\nexcept Exception as err:\n    print(type(err).__name__, err)"

    def matched(self) -> str:
        """A `match`."""
        subject = self.pick("xs", "t", "d", "a", "s", "Point(1, a)", "o", "item", "[1, [2, 3]]", "(a, b)", "None", "x")
        patterns = [
            "[]", "[q]", "[q, *rest]", "[3, q, _]", "(1, str() as q, *_)", "{'k': q, **rest}", "{'m': [q, *_]}", "0 | 1 | 3", "'word'",
            "Point(x=1, y=q)", "Point(q, r)", "Base(v=q)", "Item(name=q, tags=[])", "int(q)", "float() as q", "None", "str()",
            "[1, [q, r]]", "(q, r) if q == r", "q if isinstance(q, int) and q > 2", "-2", "math.pi", "[Base(), *_]", "Item('i', q)",
        ]  # fmt: skip
        cases = "\n".join(
            f"    case {one}:\n        print({i}, {one!r})" for i, one in enumerate(self.dice.sample(patterns, 4))
        )
        return f"match {subject}:\n{cases}\n    case _:\n        print('none')"

    def statement(self, depth: int = 2) -> str:
        """A statement, most often of one line."""
        dice = self.dice
        if depth <= 0 or dice.random() < 0.4:
            return self.simple()
        self.loops += 1
        i = f"i{self.loops}"
        forms = (
            lambda: (
                f"if {self.truth(2)}:\n{self.block(depth)}\nelif {self.truth()}:\n{self.block(depth)}\nelse:\n{self.block(depth)}"
            ),
            lambda: (
                f"for {i} in {self.pick('range(3)', 'xs[:3]', 'sorted(u)[:3]', 'numbers(2)', 'ys[:2]')}:\n{self.block(depth)}\n    if {self.truth()}: {self.pick('break', 'continue')}\nelse:\n    print('else')"
            ),
            lambda: f"for {i}, (j, z) in enumerate(zip(xs[:2], ys)):\n{self.block(depth)}\n    print({i}, j, z)",
            lambda: f"{i} = 0\nwhile {i} < 3:\n    {i} += 1\n{self.block(depth)}",
            lambda: (
                f"try:\n{self.block(depth)}\nexcept {self.pick(*ERRORS)} as err:\n    print(type(err).__name__, err, err.args)\nelse:\n    print('fine')\nfinally:\n    print('end')"
            ),
            lambda: f"try:\n{self.block(depth)}\nexcept Exception as err:\n    print(repr(err))",
            lambda: f"try:\n{self.block(depth)}\nexcept:\n    print('any')",
            lambda: (
                f"try:\n    try:\n{self.block(depth, '        ')}\n        raise KeyError('k')\n    except KeyError as err:\n        raise Wrong('w') from err\nexcept Wrong as err:\n    print(err.code, err)"
            ),
            lambda: f"with {self.pick('o', 'p', 'Base(1)', 'Base(2) as m, Base(1)', 'xs')}:\n{self.block(depth)}",
            lambda: self.function(depth),
            lambda: self.function(depth),
            lambda: self.klass(),
            lambda: self.matched(),
        )
        return dice.choice(forms)()

    def program(self) -> str:
        """A whole script."""
        lines = [self.statement(3) for _ in range(self.dice.randint(2, 8))]
        wrapped = [
            line
            if self.dice.random() < 0.5
            else f"try:\n    {line.replace(chr(10), chr(10) + '    ')}\nexcept Exception as err:\n    print(type(err).__name__, err)"
            for line in lines
        ]
        return "\n".join([START, *wrapped, "print(a, b, n, x, y, s, w, xs, ys, d, e, u, t, o, p, item, total)", ""])


def of_python(text: str) -> tuple[str, str]:
    """What a script prints in CPython, and how it ends."""
    printed, ends = io.StringIO(), ""
    try:
        with contextlib.redirect_stdout(printed):
            exec(compile(text, "script.py", "exec"), {"__name__": "__main__"})
    except Exception as error:
        ends = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return ADDRESS.sub("0x", printed.getvalue()).removesuffix("\n"), ends


def of_agrad(text: str) -> tuple[str, str]:
    """The same in Python's reading."""
    here: list[str] = []
    session, ends = Session(), ""
    try:
        session.run(
            text,
            lambda result: None if isinstance(result, Noted) else here.append(f"{result.text(session.settings)}\n"),
            "script.py",
            is_file=True,
        )
    except AgradError as problem:
        ends = problem.message
    return ADDRESS.sub("0x", "".join(here)).removesuffix("\n"), ends


def cases(dice: random.Random) -> Iterator[None]:
    """Ten programs for each case."""
    for _ in range(10):
        text = Script(dice).program()
        try:
            compile(text, "script.py", "exec")
        except SyntaxError:  # a name that is global and is not, and the like
            continue
        meant, found = of_python(text), of_agrad(text)
        assert meant == found, f"{text}\nprints {found[0]!r}, {found[1]!r}\nnot {meant[0]!r}, {meant[1]!r}"
        yield
