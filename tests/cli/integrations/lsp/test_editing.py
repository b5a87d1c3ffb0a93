"""What an editor changes in a script, or finds in it: renaming, the format, actions."""

import ast as python_ast
import random
import re
from pathlib import Path

import pytest
from rows import each

from agrad.cli.integrations.lsp.jobs import check
from agrad.cli.integrations.lsp.layout import formatted
from agrad.cli.integrations.lsp.names import Names
from agrad.engine.errors import AgradError
from agrad.grammar.diagnostics import Source
from agrad.grammar.session.session import Session
from agrad.grammar.syntax import ast, readings
from agrad.grammar.syntax.parser import lexed

ROOT = Path(__file__).parents[4]
SCRIPTS = sorted([*ROOT.glob("examples/*.ag"), *ROOT.glob("examples/*.py"), *ROOT.glob("docs/*.ag")])

# What an action makes of each mistake.
FIXED = """
alpha = 1; print alpa -> alpha = 1; print alpha
z = [1.].summ() -> z = [1.].sum()
y = (1 -> y = (1)
y = 1) + 2 -> y = 1 + 2
    y = 1) + 2  # indented -> y = 1 + 2  # indented
if y = 1: print 2 -> if y == 1: print 2
a = 1; b = 2; print a b -> a = 1; b = 2; print a*b | a = 1; b = 2; print a(b) | a = 1; b = 2; print a, b
y = sine(1) -> y = sin(1) | y = sinc(1) | y = sinh(1)
y = foo(1) ->
y = sni(1) + cso(1) -> y = sin(1) + cso(1) | y = sni(1) + cos(1)
"""


@each("line", FIXED.strip().split("\n"))
def test_what_the_actions_make_of_a_line(line):
    text, _, wanted = (line if line[0] == "y" or "indented" not in line else f"if 1:\n{line}").partition(" ->")
    text = text.replace("\\n", "\n")
    edits = [edit for found in check("uri", 1, "a.ag", text).found for edit in found.edits]
    made = [text[:start] + new + text[end:] for _, start, end, new in edits]
    assert [one.rpartition("\n")[2].strip() for one in made] == [
        one.strip() for one in wanted.split(" | ") if one.strip()
    ]
    first = check("uri", 1, "a.ag", text).found[0]
    for one in made if "|" not in wanted else ():
        assert first.message not in [found.message for found in check("uri", 2, "a.ag", one).found]


# Names in every place that binds one, in both readings. `x` is renamed in each scope in turn.
CALCULATOR = """\
x = 2
var y = x
def f(x, k=x):
    z = [x*x for x in 1..k if x > 1]
    return sum(z) + x
def g(y) = f(y, k=x) + f(k=y, x=1)
h = lambda x, y=x: x + y
print f(x), g(x), h(x), f'{x!r} {x:.3f} {h(x)}', integral(lambda x: x**2, 0, x)
for x in range(3):
    x += 1
if x > 1: y = x
w = (lambda k: k + x)(2)
print x, y, w, sum(x for x in [1, 2]), solve(x**2 == 2 for x from 1) if 0 else x
fit y2 ~ k*x2 over k from k=1
print k
""".replace(", solve(x**2 == 2 for x from 1) if 0 else x", "").replace("fit y2 ~ k*x2 over k from k=1\nprint k\n", "")  # fmt: skip
PYTHON = """\
import math as m
x, y = 2, [3]
def f(x, *rest, k=x, **more) -> int:
    global w
    w, z = 1, [x * a for a in y for x in rest if (n := x)]
    def inner(v):
        nonlocal z
        z = v + x
        return z
    return sum([inner(x), *rest]) + k + len(more)
class A:
    c = x + 1
    def __init__(self, x, b=x):
        self.x, self.b = x, b
    def g(self, y): return self.x + y + x
a = A(x=3, b=x)
try:
    print(f"{x!r} {a.x} {m.pi:{y[0]}.{x}f}", f(1, 2, k=x), a.g(y=1))
except ValueError as e:
    print(e)
match y:
    case [x, *more]: print(x, more)
    case {"k": v, **rest}: print(v, rest)
for i, x in enumerate(y): x += i
print([x for x in y], {x: y for x, y in [(1, 2)]}, (lambda x, *y: (x, y))(x, *y), f(x=1), w)
"""


def printed(text):
    """All that a text prints, or why it fails."""
    session, told = Session(), []
    try:
        session.run(text, lambda result: told.append(result.text(session.settings)), "a.ag", is_file=True)
    except AgradError as problem:
        told.append(f"{problem.kind}: {problem.message}")
    return told


@each("text", [CALCULATOR, PYTHON])
def test_a_script_prints_the_same_after_each_renaming(text):
    names, tried, refused = Names(Source("a.ag", text, 1, True)), set(), set()
    assert names.is_whole
    before = printed(text)
    assert len(before) > 2 and not re.match(r"\w+: ", before[-1])
    for use in names.uses.values():
        group = names.same(use)
        assert use in group
        key = frozenset(one.start for one in group)
        if names.refusal(group, "new_1"):
            refused.add(use.name)
        elif key not in tried:
            tried.add(key)
            made = text
            for one in reversed(group):
                made = made[: one.start] + "new_1" + made[one.start + len(one.name) :]
            assert [line.replace("new_1", use.name) for line in printed(made)] == before, made
            # And no other place has the name: each identifier of the new text is one of the old.
            again = Names(Source("a.ag", made, 1, True))
            assert len(again.same(again.uses[min(one.start for one in again.uses.values() if one.name == "new_1")])) == len(group)  # fmt: skip
    assert len(tried) > 10
    assert not {"x", "y", "k", "f"} & refused - {"x"}


@pytest.mark.parametrize(
    ("text", "name", "why"),
    [
        ("import math\nprint(math.pi)", "math", "is the name of what is imported"),
        ("def f(x): return x\ng = f\ng(x=1)", "x", "is given by name to g"),
        ("x = 1\ny = = 2", "x", "has a syntax error"),
        ("class A:\n    x = 1\nprint(A.x)", "x", "is an attribute of A"),
        ("x = 1\nclass A:\n    x = x\n", "x", "is an attribute of A"),
        ("print sin(1)", "sin", "gets no value in this script"),
    ],
)
def test_what_cannot_be_renamed_with_certainty_is_refused(text, name, why):
    names = Names(Source("a.ag", text, 1, True))
    use = next(one for _, one in sorted(names.uses.items()) if one.name == name)
    assert why in names.refusal(names.same(use), "new")


def meaning(text, path):
    """What a text says, without its spaces."""
    found = []
    for one in readings.parse(Source(path, text, 1, True)):
        if isinstance(one, ast.Python):
            found.append(python_ast.dump(one.tree))
            continue
        found += [[(token.type, str(token)) for token in lexed(one.span.text)], sum(1 for _ in ast.nodes(one))]
    return found


SPACES = [*CALCULATOR.split("\n"), *PYTHON.split("\n")]


def mangled(text, rng):
    """A text with other spaces around its signs and words, which may mean something else."""
    return re.sub(r"(?<=[^\s\"'#]) ?([,=+*/()\[\]<>:]) ?(?=[^\s\"'#])", lambda found: " " * rng.choice((0, 0, 1, 2)) + found[1] + " " * rng.choice((0, 0, 1, 2)), text)  # fmt: skip


@each("path", SCRIPTS)
def test_the_format_of_an_example_says_the_same_and_stays(path):
    text, rng = path.read_text("utf-8"), random.Random(path.name)
    for each_text in (text, *(mangled(text, rng) for _ in range(20))):
        try:
            wanted = meaning(each_text, str(path))
        except AgradError:
            assert formatted(Source(str(path), each_text, 1, True)) == each_text
            continue
        made = formatted(Source(str(path), each_text, 1, True))
        assert meaning(made, str(path)) == wanted
        assert re.sub(r"\s", "", made) == re.sub(r"\s", "", each_text)
        assert formatted(Source(str(path), made, 1, True)) == made


FORMATTED = {
    "x=[1,2 ]   # a\nyy = 2 # b": "x = [1, 2]  # a\nyy = 2      # b\n",
    "x = 1 ;y = f( x,2 )": "x = 1; y = f(x, 2)\n",
    "def f(x,k = 2):\n    return  x==k   ": "def f(x, k=2):\n    return x == k\n",
    "check -x; check - x": "check -x; check - x\n",
    "step sgd w lr=0.1; fit y ~ a*x over a,b from a=1": "step sgd w lr=0.1; fit y ~ a*x over a, b from a=1\n",
    "print f'{x=} {y :.3f}'": "print f'{x=} {y :.3f}'\n",
    "a<=b; x+=1; x= -1": "a <= b; x += 1; x = -1\n",
    "h=lambda q=1: q": "h = lambda q=1: q\n",
    's = """ab   \n  c  =1 """\n\n\n\n\n\ny=1': 's = """ab   \n  c  =1 """\n\n\ny = 1\n',
    "import math\ndef f(x:int=3,*,y = 2)->int: return {1:2 , 'a':b}": "import math\ndef f(x:int=3, *, y=2) -> int: return {1:2, 'a':b}\n",
    'import math\nz  = r"""\na  = 1\n"""; print( f( *a,**b ),x**2,not -1,(y:=3))': 'import math\nz = r"""\na  = 1\n"""; print(f(*a, **b), x**2, not -1, (y := 3))\n',
    "": "",
    "x = = 2 ,3": "x = = 2 ,3",
    ">>> x=1": ">>> x=1",
}  # fmt: skip


@each("text, wanted", FORMATTED.items())
def test_the_format(text, wanted):
    assert formatted(Source("a.ag", text, 1, True)) == wanted
