"""Python's reading: what scripts print, where and how their errors are told, and agrad's commands in them."""

import io
import subprocess
import sys
from contextlib import redirect_stdout, suppress
from itertools import product

import launch
import pytest
from rows import each

from agrad.engine.errors import AgradError
from agrad.grammar.diagnostics import Source, render
from agrad.grammar.lint.lint import problems
from agrad.grammar.results import Quit
from agrad.grammar.session.log import restore
from agrad.grammar.session.session import Session


def run(text, session=None):
    """What a script prints."""
    session, shown = session or Session(), []
    session.run(text, lambda result: shown.append(result.text(session.settings)), "x.py", is_file=True)
    return "\n".join(shown)


def failing(text, session=None):
    """The report of the error that a script ends with."""
    with pytest.raises(AgradError) as raised:
        run(text, session)
    return render(raised.value)


# What a script means in Python, and meant something else as a script of the calculator's.
MEANT = {
    "tot = [3][0]\nhist = []\nfor x in [4, 3]:\n    tot += x\n    hist.append(tot)\nprint(hist)": "[7, 10]",
    "d = {}\nfor x in [1, 2, 1]: d[x] = d.get(x, 0) + 1\nprint(d)": "{1: 2, 2: 1}",
    "nin, nhid, depth, nout = 2, 16, 2, 1\nprint([nin] + [nhid]*depth + [nout])": "[2, 16, 16, 1]",
    "print([4]*3, ['a']*3, [3]+[4, 4, 1], [4, 8]+[1, 2])": "[4, 4, 4] ['a', 'a', 'a'] [3, 4, 4, 1] [4, 8, 1, 2]",
    "print([(i, j) for i in range(2) for j in range(2)])": "[(0, 0), (0, 1), (1, 0), (1, 1)]",
    "print(isinstance([1, 2], list), 7 // 2, 2 ^ 3, 1e3, 10**20)": "True 3 1 1000.0 100000000000000000000",
    "import torch\nx = torch.tensor(2.0, requires_grad=True)\ny = x*x\ny.backward()\nprint(x.grad.item())": "4.0",
    "from torch import tensor\nw = tensor([3.0, 4.0])\nw[0] = 1\nprint(w.tolist(), len(w))": "[1.0, 4.0] 2",
    "import torch.nn as nn\nclass N(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    "        self.a = nn.Linear(2, 1)\n    def forward(self, x): return self.a(x)\n"
    "print(len(list(N().parameters())), N()(nn.Linear(2, 2).weight).shape[0])": "2 2",
    "xs = [1]\nxs.append(xs)\nprint(xs, xs[1] is xs)": "[1, [...]] True",
    "a = [1]\nlazy = enumerate(a), zip(a, a), map(str, a), filter(None, a)\na.append(2)\nprint(*map(list, lazy))": (
        "[(0, 1), (1, 2)] [(1, 1), (2, 2)] ['1', '2'] [1, 2]"
    ),
    "import torch\nx = torch.tensor(2.0, requires_grad=True)\n(x*x).backward()\ng = x.grad\n(x*x).backward()\n"
    "print(g)": "tensor(8.)",
}


def test_a_script_means_what_it_means_in_python():
    for text, meant in MEANT.items():
        assert run(text) == meant, text


def test_a_name_that_a_function_binds_is_its_own():
    assert "UnboundLocalError" in failing("count = 0\ndef f():\n    count += 1\nf()")


@each("text", ["import math\nprint(math.sqrt(2), f'{1/3:.3f}', 'ä' * 2)", "print('a', end=' '); print('b')", "print()",
              "for x in (1, 1.5, 'a', [1]):\n    try: x += {}\n    except TypeError as e: print(e)\n    try: x -= 'b'\n    except TypeError as e: print(e)",
               "def f(x: int = 2, *a: str) -> float:\n    '''Doc.'''\n    y: int\n    z: float = x\n    return z\nprint(f(), f.__doc__)",
               "x = 1; print(x) ; print(x)", "print(*range(3), sep='\\n')", "if 1:\n\tprint(2)", "print('''a\nb''')",
               "class B: pass\nb = B(); v = vars(b); v.update(c=2); v |= {'e': 4}; v['a'] = 1\nprint(v.pop('c'), v.pop('z', 9), v.setdefault('d', 3),"
               " v.popitem(), vars(b)); v.clear(); print(vars(b), hasattr(b, 'a'))",
               "from collections import namedtuple\nP = namedtuple('P', 'x y')\nprint(P(1, 2)._replace(x=5), P._fields, max(P(3, 4), key=lambda x: -x))",
               "def g():\n    try: yield 1\n    finally: print('closed')\nxs = [g()]\nnext(xs[0])\nxs.clear()\nprint('cleared')\nx = g()\nnext(x)\ndel x\nprint(2)",
               "for f in ''.join, print, max, range, [].append, {}.update, 'a'.zfill:\n    try: f(*1)\n    except TypeError as e: print(e)",
               "from dataclasses import dataclass\nfrom typing import ClassVar\n@dataclass\nclass A:\n    x: int\n    n: ClassVar[int] = 5\n    y: int = 2\n"
               "print(A(1, 3), A.n)",
               "for f in lambda x: x.sort(2), lambda x: x.sort(1, 2):\n    try: f([3, 1])\n    except TypeError as e: print(e)",
               "a = 3\ntry: a *= None\nexcept TypeError as e: print(e)\ntry: a **= 'x'\nexcept TypeError as e: print(e)\na = '%s'; a %= 2; b = [1]; b *= 2; print(a, b)",
               "import numpy as np\nx = np.mean([1, 2])\nprint(type(x) is np.float64, type(x).__name__, type(np.arange(2)[0]).__name__)",
               "import numpy as np\nfor x in np.arange(3), np.ones(2), np.array([True]): print(type(x[0]), [type(x[0])], x.dtype, [x.dtype], type(np.sum(x)) == np.int64, f'{type(x[0])}')\na = np.zeros(2, dtype=np.float64); b = np.array([1, 2], np.int64); print(a.dtype == np.float64, b.dtype != a.dtype, a.dtype is a.dtype, b.astype(a.dtype), np.ones(2, a.dtype), a.dtype == float, a.dtype == 'float64', b.dtype.name, str(a.dtype), f'{a.dtype}', np.finfo(a.dtype).eps, np.iinfo(b.dtype).max, isinstance(b[0], np.int64), isinstance(a[0], np.float64), np.float64(3), np.zeros(1, dtype='int64').dtype, np.array([True]).dtype)\nprint(np.float64, [np.int64, np.bool_], np.array([1.5], np.int64), np.asarray([1], a.dtype), np.full(2, 1, np.float64))",
               "import re\np = re.compile(r'(\\d+)(px)?')\nprint(p.sub(r'[\\1]', '5px 3'), p.subn(r'\\g<1>', '5px', count=1), p.search('a12px').expand(r'<\\1|\\2>'), p.sub(lambda m: m[1]*2, '7'))",
               "print(type(range(3)).__name__, range.__name__, type(type).__name__)",
               "for f in lambda: 'a'.center(), lambda: 'a'.zfill(), lambda: 'a'.replace('b'), lambda: 'a'.translate(nope=1), lambda: 'a'.ljust('b'):\n    try: f()\n    except TypeError as e: print(e)",
               "def f():\n    n = 1\n    class A:\n        nonlocal n\n        n = 2\n    return n\nprint(f())",
               "from typing import NamedTuple\nclass P(NamedTuple):\n    \"doc\"\n    x: int\n    y: float = 2.5\n    def norm(self): return self.x + self.y\np = P(1)\nprint(p, p.norm(), p == (1, 2.5), P._fields, P._make([3, 4]), P._field_defaults, p._replace(x=5), P.__doc__, isinstance(p, tuple))\nfor wrong in (lambda: P(), lambda: setattr(p, 'x', 2), lambda: P._make([1])):\n    try: wrong()\n    except (TypeError, AttributeError) as e: print(type(e).__name__)\nmatch p:\n    case P(a, b): print(a, b)\ntry:\n    class Q(NamedTuple):\n        a: int = 1\n        b: int\nexcept TypeError as e: print(e)",
               'from functools import cached_property\nclass A:\n    n = 0\n    @cached_property\n    def v(self):\n        self.n += 1\n        return [self.n]\n    w = cached_property(lambda self: self.n*10)\na = A(); print(a.v, a.v is a.v, a.w, a.n, vars(a)); del a.v; print(a.v); a.v = 9; print(a.v)',
               "from contextlib import contextmanager, suppress, nullcontext\n@contextmanager\ndef tag(name):\n    print('<', name)\n    try: yield name.upper()\n    except ValueError as e: print('caught', e)\n    finally: print('>', name)\nwith tag('a') as t, tag('b'): print(t)\nwith tag('e'): raise ValueError('v')\ndef f():\n    with tag('g'): return 5\nprint(f())\n@contextmanager\ndef none():\n    if 0: yield\n@contextmanager\ndef two(): yield 1; yield 2\n@contextmanager\ndef other():\n    try: yield\n    except ValueError as e: raise RuntimeError('other') from e\nfor g in (lambda: tag('f'), none, two, other):\n    for error in (None, KeyError('k'), ValueError('z')):\n        try:\n            with g():\n                if error: raise error\n        except Exception as e: print(type(e).__name__, e)\nfor error in (KeyError, IndexError, ZeroDivisionError):\n    try:\n        with suppress(LookupError): raise error\n    except Exception as e: print(type(e).__name__)\nwith nullcontext(5) as n: print(n)",
               "from functools import lru_cache, cache\nfor size in (None, 0, 2, 128):\n    @lru_cache(maxsize=size)\n    def h(x): print('h', x); return x*2\n    print([h(x) for x in (1, 2, 1, 3, 1, 2, 2)])\n@lru_cache\ndef fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)\nprint(fib(90))\nfor typed in (False, True):\n    @lru_cache(typed=typed)\n    def g(*x, **y): return str(x) + str(y)\n    print([g(1), g(1.0), g(True), g('a'), g(1, 2), g(1.0, 2), g(x=1), g(x=1.0)])",
               "from collections import defaultdict\nfrom re import compile, UNICODE, NOFLAG\nprint(defaultdict(list).default_factory, True.bit_count(), '{a}-{b[0]}'.format_map({'a': 1, 'b': [2]}), compile('a', UNICODE | NOFLAG).pattern)\nfor f in (lambda: '{!x}'.format(1), lambda: '{:{:{}}}'.format(1, 2, 3), lambda: '{a}'.format_map({})):\n    try: print(f())\n    except Exception as e: print(type(e).__name__, e)\nb = [3, 1, 2]\ntry: b.sort(key=lambda x: b.append(1) or x)\nexcept ValueError as e: print(e)\nfor f in (lambda: sorted([1], 5), lambda: round(), lambda: print(1, foo=2)):\n    try: f()\n    except TypeError as e: print('Builtins' in str(e))"])  # fmt: skip
def test_what_is_printed_is_what_cpython_prints(text):
    out = io.StringIO()
    with redirect_stdout(out):
        exec(text, {})
    assert run(text) + "\n" == out.getvalue()


ERRORS = {
    "def half(x):\n    return 10/x\nfor i in range(3):\n    half(2 - i)": """\
x.py:2:12: error[domain]: ZeroDivisionError: division by zero
  2 |     return 10/x
    |            ^^^^ at i = 2
  4 |     half(2 - i)
    |     ^^^^^^^^^^^ called here""",
    "import maths": """\
x.py:1:1: error[name]: ModuleNotFoundError: No module named 'maths'
  1 | import maths
    | ^^^^^^^^^^^^
  note: a script can import math, random, copy, time, itertools, functools, collections, contextlib, dataclasses, typing, string, \
io, sys, matplotlib, torchviz, re, torch, numpy
  fix: import math""",
    "x = sqrt(2)": """\
x.py:1:5: error[name]: NameError: name 'sqrt' is not defined
  1 | x = sqrt(2)
    |     ^^^^
  fix: from math import sqrt
  fix: from torch import sqrt""",
    "total = 1\nprint(totl)": """\
x.py:2:7: error[name]: NameError: name 'totl' is not defined
  2 | print(totl)
    |       ^^^^
  fix: total""",
    "'é'; x = 'ä'.uper()": """\
x.py:1:10: error[name]: AttributeError: 'str' object has no attribute 'uper'
  1 | 'é'; x = 'ä'.uper()
    |          ^^^^^^^^
  fix: 'ä'.upper""",
    "from math import sqroot": """\
x.py:1:1: error[name]: ImportError: cannot import name 'sqroot' from 'math'. Did you mean: 'sqrt'?
  1 | from math import sqroot
    | ^^^^^^^^^^^^^^^^^^^^^^^""",
    "f = open('x')": """\
x.py:1:5: error[name]: NameError: name 'open' is not defined
  1 | f = open('x')
    |     ^^^^
  note: a script of Python's reading opens no files by itself""",
    "def f(x): return x\nf(1, 2)": """\
x.py:2:1: error[arity]: TypeError: f() takes 1 positional argument but 2 were given
  2 | f(1, 2)
    | ^^^^^^^""",
    "x = {}\ny = x['k']": """\
x.py:2:5: error[shape]: KeyError: 'k'
  2 | y = x['k']
    |     ^^^^^^""",
    "assert 1 > 2, 'no'": """\
x.py:1:8: error[assert]: AssertionError: no
  1 | assert 1 > 2, 'no'
    |        ^^^^^""",
    "class E(Exception): pass\ntry:\n    1/0\nexcept ZeroDivisionError as e:\n    raise E('boo') from e": """\
x.py:5:5: error[type]: E: boo
  5 |     raise E('boo') from e
    |     ^^^^^^^^^^^^^^^^^^^^^
  note: caused by ZeroDivisionError: division by zero""",
    "def f(n):\n    return f(n + 1)\nf(0)": """\
x.py:2:12: error[limit]: RecursionError: f: calls are nested too deeply
  2 |     return f(n + 1)
    |            ^^^^^^^^
  3 | f(0)
    | ^^^^ called here""",
    "print 'x'": """\
x.py:1:1: error[syntax]: SyntaxError: Missing parentheses in call to 'print'. Did you mean print(...)?
  1 | print 'x'
    | ^^^^^^^^^""",
    "if True:\nx = 1": """\
x.py:2:1: error[syntax]: IndentationError: expected an indented block after 'if' statement on line 1
  2 | x = 1
    | ^""",
    "x = 9**9**9": """\
x.py:1:5: error[limit]: MemoryError: a whole number of more than 4000000 bits
  1 | x = 9**9**9
    |     ^^^^^^^""",
    "async def f(): pass": """\
x.py:1:1: error[syntax]: async def is not read
  1 | async def f(): pass
    | ^^^^^^^^^^^^^^^^^^^""",
}


def test_an_exception_is_an_error_at_its_place_and_says_what_to_type():
    for text, meant in ERRORS.items():
        assert failing(text) == meant, text


@each("text", ["x = " + "(" * 150 + "1" + ")" * 150, "x = " + "-" * 2000 + "1", "x = " + "+".join("1" * 100_000),
               "x = " + "[" * 199 + "]" * 199, "x = a" + ".b" * 5000, "x = " + "f(" * 150 + ")" * 150])  # fmt: skip
def test_what_nests_deeply_runs_or_is_refused(text):
    limit = sys.getrecursionlimit()
    for calls in (limit, 200_000):  # as within a computation that nests deeply, and was interrupted
        sys.setrecursionlimit(calls)
        try:
            run("f = max\na = 1\n" + text)
        except AgradError as problem:
            assert problem.kind in ("limit", "syntax", "name", "arity")
        finally:
            sys.setrecursionlimit(limit)


# Calls that go through C's functions take its stack.
DEEP = """
def f(n): return sorted([n], key=lambda q: f(n + 1))
f(0)
---
def f(n): return max([n, 1], key=lambda q: f(n + 1))
f(0)
---
def f(n): return list(map(f, [n + 1]))
f(0)
---
def f(n): return [n, 2].sort(key=lambda q: f(n + 1))
f(0)
---
import re
def f(m): return re.sub('a', f, 'a')
f(0)
---
class A:
    def __add__(self, other): return self + other
A() + 1
---
class A:
    def __lt__(self, other): return sorted([A(), A()])
A() < 1
---
class A:
    def __repr__(self): return repr([self])
    __str__ = __repr__
print(A())
---
class A:
    @property
    def x(self): return self.x
A().x
---
class A:
    def __init__(self): A()
A()
---
class A:
    def __enter__(self):
        with A(): pass
    def __exit__(self, *a): pass
with A(): pass
---
class A:
    def __getitem__(self, i): return self[i]
    def __iter__(self): return iter([*self])
    def __eq__(self, other): return [self] == [A()]
[*A()]
---
class A:
    def __eq__(self, other): return [self] == [A()]
A() == 1
---
class A:
    def __hash__(self): return hash((self, 1))
{A()}
---
class A:
    def __format__(self, spec): return f"{self}"
f"{A()}"
---
import functools
f = functools.cache(lambda n: f(n + 1))
f(0)
---
import functools
def f(a, b): return functools.reduce(f, [a, b, 1])
f(0, 1)
---
def g():
    yield from g()
list(g())
---
a = []
for i in range(100000): a = [a]
print(a)
---
f = lambda *a: f(*a, 1)
f()
"""


@pytest.mark.long
def test_recursion_through_python_s_own_functions_is_an_error_and_no_crash(tmp_path):
    for text in DEEP.split("---"):
        (tmp_path / "x.py").write_text(text, "utf-8")
        command = [*launch.agrad(), "run", "--max-memory", "1GB", "--timeout", "20", "x.py"]
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=120)
        assert done.returncode in (1, 124), text
        assert "error[limit]" in done.stderr, text


COMMANDS = """var x = 2
y = x**2
backward y retain
print(x.grad.item())
if True:
    backward y retain   # adds to it
    var z = 3
print(x.grad.item(), z.item())
set x = 5
forward y
print(y.item())
for i in range(2):
    grad x; graphs
undo
"""


def test_commands_of_agrad_stand_beside_python_s_statements():
    said = run(COMMANDS).splitlines()
    assert [*said[:3], said[-1]] == ["4.0", "8.0 3.0", "25.0", "took back: for i in range(2): …"]
    assert "x.grad = 8   (4 + 4, 2 backward calls)" in said


@each("text", ["graph = 3\ngraph", "plot = print\nplot(1)", "step = 2\nstep -= 1\nprint(step)", "set = [1]\nset\nprint(set[0])",
               "load = 1\nif load: print(load)", "info = {}\ninfo['a'] = 1\nprint(info)", "fit = lambda x: x\nprint(fit(2))",
               "s = '''\ngraph y\nplot x\n'''\nprint(s)", "x = [\n1,\n2]\nprint(x)", "watch = 3\nwatch in [3]\nwatch is None",
               "vars = 2\nprint(vars)", "history = [1]\nhistory[0] += 1\nprint(history)", "check = 2; check\nprint(check)"])  # fmt: skip
def test_words_of_commands_are_names_where_python_reads_them(text):
    out = io.StringIO()
    with redirect_stdout(out):
        exec(text, {})
    assert run(text) == out.getvalue().removesuffix("\n")


def test_an_error_in_a_command_has_its_place_in_the_script():
    assert failing("y = 1\nif y:\n    graph y zork\n").startswith("x.py:3:")


def test_a_statement_that_fails_leaves_all_as_it_was():
    session = Session()
    run("xs = [1]\nd = {'a': xs}\nclass A: n = 0\na = A()", session)
    failing("for q in range(3):\n    xs.append(q); d[q] = 1; A.n += 1; a.z = q; new = 1\nelse:\n    1/0", session)
    assert run("print(xs, d, A.n, hasattr(a, 'z'), [q for q in d])", session) == "[1] {'a': [1]} 0 False ['a']"
    assert "new" not in session.names
    assert not [name for name in session.names if name[0] == "."]


def test_undo_and_redo_take_back_and_bring_back():
    session = Session()
    session.steps.depth = 100
    session.record.on = True
    run("xs = [1]", session)
    run("import random\nrandom.seed(1)\nxs.append(random.random())", session)
    first = run("print(xs)", session)
    session.undo(1)
    assert run("print(xs)", session) == "[1]"
    session.run("redo")
    assert run("print(xs)", session) == first


def test_what_a_statement_made_and_left_is_not_kept_by_the_log():
    run("def f():\n    for i in range(100000):\n        t = []\n        t.append(i)\nf()")


def test_exit_ends_a_script():
    with pytest.raises(Quit):
        run("try:\n    exit()\nexcept Exception:\n    pass\nprint(1)")


def test_a_check_finds_what_cannot_be_read():
    text = "def f(a): return a + totl\ntotal = f.__globals__\nfor (i, j) in zork: print(i, j, *args)\nimport maths\n"
    assert [
        (problem.message, problem.labels[0].origin.start)
        for problem in problems(Source("x.py", text, 1, True), ["args"])
    ] == [
        ("NameError: name 'totl' is not defined", 21),
        (".__globals__ cannot be reached", 34),
        ("NameError: name 'zork' is not defined", 62),
    ]
    assert [problem.kind for problem in problems(Source("x.py", "x = (1\n", 1, True))] == ["syntax"]
    assert problems(Source("x.py", "class A:\n    pass\nx = [*range(3)]\n", 1, True)) == []


def test_a_script_of_python_can_be_loaded(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lib.py").write_text("def area(r): return [r]*2\nxs = area(3)\n", "utf-8")
    session = Session()
    session.run('load "lib.py"')
    assert session.names["xs"] == [3, 3]


def typed(session, *lines):
    """What a session shows for lines that are typed."""
    shown = []
    for line in lines:
        session.run(line + "\n", lambda result: shown.append(result.text(session.settings)))
    return shown


def test_a_session_reads_python_from_its_first_import_on():
    session = Session()
    session.record.on, session.steps.depth = True, 100
    assert typed(session, "[4]*3", "import math\nprint([4]*3)", "print(7//2, math.pi > 3)") == [
        "[12]",
        "note: from here on this session reads Python; `calculator` goes back",
        "[4, 4, 4]",
        "3 True",
    ]
    assert typed(session, "xs = [1]", "xs.append(2)", "undo", "print(xs)") == ["took back: xs.append(2)", "[1]"]
    assert typed(session, "redo", "print(xs)", "again 8")[-1] == "[1, 2]"
    assert typed(session, "calculator", "[4]*3") == ["[12]"]


def test_a_statement_of_a_session_that_failed_is_no_import():
    session = Session()
    with pytest.raises(AgradError):
        session.run("import maths\n")
    assert typed(session, "[4]*3") == ["[12]"]


def test_a_session_that_read_python_is_restored():
    session, other = Session(), Session()
    session.record.on = other.record.on = True
    typed(session, "k = 2", "import math", "xs = [k]*3\ndef f(n):\n    return n + 1", "xs.append(f(1))")
    restore(other, session.record.entries)
    assert typed(other, "print(xs)") == ["[2.0, 2.0, 2.0, 2]"] == typed(session, "print(xs)")


def test_a_check_follows_a_script_of_python_that_is_loaded(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lib.py").write_text("def area(r): return [r]*2\nfor k in range(3): pass\n", "utf-8")
    assert problems(Source("x.ag", 'load "lib.py"\nprint k, area(2)\n', 1, True)) == []
    (found,) = problems(Source("x.ag", 'load "lib.py"\nprint k, zork\n', 1, True))
    assert "zork" in found.message


def test_an_import_of_a_nan_has_no_note(tmp_path):
    """`from math import *` binds one."""
    piped = {"capture_output": True, "text": True, "cwd": tmp_path}
    for module in ("math", "numpy"):
        done = subprocess.run([*launch.agrad(), "run", "-"], input=f"from {module} import *\n", **piped)
        assert (done.returncode, done.stderr) == (0, "")


USES = (
    """
a | print(a) | vars | info a | str(a) | f"{a}" | "%s" % a | [a] | {"k": a} | {a: 1} | a == 1 | a in [1] | sorted([a, a])
not a | len(a) | list(a) | graph a
""".replace("\n", " | ")
    .strip(" |")
    .split(" | ")
)


@each("name", ["repr", "str", "format", "bool", "len", "hash", "eq"])
def test_no_special_method_that_returns_what_it_should_not_is_a_fault_of_agrad(name):
    for base, value in product(["", "(nn.Module)"], ["3", "None", "lambda: 1", "self"]):
        session = Session()
        session.run(f"import torch.nn as nn\nclass A{base}:\n    def __{name}__(self, *xs): return {value}\na = A()")
        for text in USES:
            with suppress(AgradError):  # anything else fails
                session.run(text)


def test_the_quotient_of_very_long_numbers_is_right():
    for text in (
        "print((10**60000 // 3**50000) % 1000)",
        "a = 10**60000\nb = 3**50000\nprint(a // b % 1000)",
        "a = 10**60000\na //= 3**50000\nprint(a % 1000)",
        "print(divmod(10**60000, 3**50000)[0] % 1000)",
        "def f(n): return n // 3**50000\nprint(list(map(f, [10**60000]))[0] % 1000)",
        "import functools\nprint(functools.reduce(divmod, [10**60000, 3**50000])[0] % 1000)",
    ):
        assert run(text) == "339", text


def test_a_map_is_copied_and_refused_as_python_s():
    assert run("import copy\nprint(list(copy.copy(map(str, [1, 2]))))") == "['1', '2']"
    assert "TypeError: map() must have at least two arguments." in failing("import copy\nmap()")
    assert "TypeError: map() takes no keyword arguments" in failing("import copy\nmap(str, [1], x=3)")
