"""What a script of Python's reading can reach, and what it can use: nothing outside, within limits."""

import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import CodeType, FrameType, ModuleType, TracebackType

import launch
import pytest
from rows import each

from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError
from agrad.grammar.session.session import Session

START = """class C:
    def f(self, *a): return 1
    def __enter__(self): return self
    def __exit__(self, *a): pass
def f(*a, **k): return 1
def g(): yield 1
"""


TEXT = (Path(__file__).parent / "escapes.txt").read_text("utf-8")
AUDITED = {"open", "os.system", "os.exec", "subprocess.Popen", "socket.connect", "os.listdir", "os.remove"}
# Where Python has its modules, and a text that it does not compile.
ROOT = Path(__file__).parents[3]
INSTALLED = tuple(
    f"{ask} {place}" for ask in ("open", "os.listdir") for place in (ROOT, sys.prefix, sys.base_prefix, "<agrad")
)
ASKED = []


@sys.addaudithook
def asked(name, given):
    if name in AUDITED and type(given[0]) is not int:  # the number of a file that is open: of a pipe of another test
        ASKED.append(f"{name} {given[0]}")


OUTSIDE = (CodeType, FrameType, ModuleType, TracebackType)


def rows():
    """The scripts of the file."""
    for chunk in TEXT.split("\n---\n"):
        lines = [line for line in chunk.splitlines() if line and not line.startswith("#")]
        if any(line.startswith(" ") for line in lines):
            yield "\n".join(lines)
        else:
            yield from lines


def run(text):
    """The error with which a script ends, and the names that it leaves."""
    session = Session()
    session.context.files.on = False
    with pytest.raises(AgradError) as raised:
        session.run(START + text + "\n", source="escape.py", is_file=True)
    return raised.value, session


@each("text", [*rows()])
def test_no_way_out_is_open(text):
    ASKED.clear()
    problem, session = run(text)
    asked, ASKED[:] = [*ASKED], []
    assert problem.message
    assert problem.labels
    assert [one for one in asked if not one.startswith(INSTALLED)] == []
    assert not [name for name, value in session.names.items() if isinstance(value, OUTSIDE)]


SAMPLES = """import sys, matplotlib.pyplot, torchviz, math, random, copy, time, itertools, functools, collections, contextlib, dataclasses, typing, string, re, torch, numpy
import torch.nn.functional, torch.optim
class D(C):
    '''A class.'''
    @property
    def p(self): return 1
    @staticmethod
    def s(): return 1
    @classmethod
    def c(cls): return cls
class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2, 1)
class E(ValueError): pass
@dataclasses.dataclass
class I:
    x: int = 1
P = collections.namedtuple("P", "x y")
class N(typing.NamedTuple):
    x: int = 1
class K:
    @functools.cached_property
    def v(self): return 1
w = torch.tensor([1.0, 2.0], requires_grad=True)
found = [1, 2.5, 2j, True, None, ..., "a", b"a", [1], (1,), {1: 2}, {1}, frozenset(), range(3), range(10**9), slice(1)]
found += [f, g(), C(), C().f, D(), D().p, D.s, D.c, D, super(D, D()), M(), M().layer, E("x"), I(), P(1, 2), w, (w * 2).sum()]
found += [(w * 2).grad_fn, torch.optim.SGD([w], lr=0.1), {}.items(), [].append, "".format, re.match("a", "a"), re.compile("a")]
found += [functools.partial(f, 1), functools.cache(f), itertools.count(), itertools.groupby([]), collections.Counter("a")]
found += [collections.deque([1]), collections.defaultdict(list), collections.OrderedDict(), map(f, []), iter([]), zip([])]
found += [dataclasses.fields(I)[0], typing.List, property(f), staticmethod(f), torch.no_grad(), type(f), type(g()), lambda: 0]
found += [N(), N, typing.NamedTuple, K(), K.v, K().v, contextlib.contextmanager(g), contextlib.contextmanager(g)()]
found += [contextlib.suppress, contextlib.suppress(KeyError), contextlib.nullcontext(1), type(contextlib.contextmanager(g)())]
found += [KeyError("x"), StopIteration(1), enumerate([]), reversed([1]), iter({}), type, w.backward, w.sum, torch.sin]
found += [numpy.ones(2), numpy.arange(3)[0], numpy.float64, numpy.sin, numpy.random.RandomState(1), numpy.linalg, numpy.ones(2).dtype]
found += [torch.Generator(), torch.float64, torch.ones(2).max(0), torch.Size([1]), torch.device("cpu"), torch.enable_grad(), vars(D())]
found += [torch.nn.LSTM(1, 1), torch.distributions.Normal(0.0, 1.0), torch.optim.lr_scheduler.StepLR(torch.optim.SGD([w], lr=0.1), 1)]
import torch.nn.utils.rnn, torch.nn.utils.parametrize, torch.optim.swa_utils
l = torch.nn.LazyLinear(2)
found += [torch.distributions.Categorical(torch.ones(2)), torch.distributions.MultivariateNormal(torch.ones(2), torch.eye(2)), l]
found += [torch.distributions.Independent(torch.distributions.Normal(torch.ones(2), 1.0), 1), torch.nn.EmbeddingBag(2, 2)]
found += [torch.nn.PixelShuffle(2), torch.nn.ZeroPad2d(1), torch.nn.Bilinear(1, 1, 1), torch.finfo(), torch.iinfo(), torch.autocast()]
found += [torch.nn.utils.rnn.pack_sequence([torch.ones(2)]), torch.optim.swa_utils.AveragedModel(torch.nn.Linear(1, 1)), torch.svd]
found += [torch.nn.utils.parametrize.register_parametrization(torch.nn.Linear(2, 2), "weight", torch.nn.Tanh()).parametrizations]
found += [numpy.random.default_rng(1), numpy.c_, numpy.linalg.slogdet([[1.0]]), numpy.linalg.LinAlgError("x"), numpy.finfo(float)]
found += [torch.ones(2).svd if hasattr(torch.ones(2), "svd") else 1, torch.ones(2, 2).aminmax(), torch.autograd.set_detect_anomaly(False)]
found += [torch.optim.lr_scheduler.CyclicLR(torch.optim.SGD([w], lr=0.1, momentum=0.9), 0.1, 0.2), torch.backends.cudnn, (w * w).grad_fn]
found += [torch.utils.data.DataLoader([1.0]), torch.nn.Sequential(M()), M().state_dict(), w.register_hook(f), torch.nn.functional.relu]
"""
# What a script must not get, wherever it looks.
NEVER = {
    eval,
    exec,
    open,
    compile,
    __import__,
    type,
    globals,
    locals,
    vars,
    dir,
    input,
    getattr,
    setattr,
    delattr,
    super.__new__,
}


def names_of(value):
    """Every name that Python knows of a value, and some that others have."""
    known = {"__class__", "__dict__", "__globals__", "gi_frame", "f_back", "obj", "__func__", "__self__", "mro", "func"}
    for kind in (value, type(value)):
        try:
            known.update(object.__dir__(kind) if not isinstance(kind, type) else type.__dir__(kind))
        except Exception:
            continue
    return known


def test_nothing_that_can_be_reached_by_attributes_leads_outside():
    session = Session()
    session.context.files.on = False
    session.run(START + SAMPLES, source="samples.py", is_file=True)
    machine = session.python
    named = [value for name, value in machine.builtins.items() if name[0] not in "._"]
    waiting = [(value, "", 0) for value in [*session.names.pop("found"), *session.names.values(), *named]]
    seen, wrong = {}, []
    while waiting:
        value, path, depth = waiting.pop(0)
        kind = type(value)
        unsafe = isinstance(value, OUTSIDE) or (kind.__module__ == "numpy" and not issubclass(kind, Tensor))
        if unsafe or any(value is one for one in NEVER):
            wrong.append(f"{path} is {value!r}")
        key = (kind, path.rpartition(".")[2]) if depth else id(value)
        if depth == 4 or key in seen:
            continue
        seen[key] = value
        for name in names_of(value):
            try:
                found = machine.on_method(value, name)
            except (AttributeError, TypeError, ValueError, AgradError, RuntimeError):
                continue
            waiting.append((found, f"{path}.{name}" if path else f"({str(value)[:40]}).{name}", depth + 1))
    assert wrong == []
    assert len(seen) > 150


def test_attributes_are_read_without_asking_where_the_tables_let_them_be_read_alone():
    session = Session()
    made = "import torch\nx, l = torch.ones(2), [1]\nfor _ in (1, 2): x.sin(), x.shape, l.append(1), torch.exp(x)\n"
    session.run(f"{START}{made}class D(C): pass\nd = D()\nd.f()\n", source="known.py", is_file=True)
    known, names = session.python.readable, session.names
    assert known["sin"] >= {type(names["x"]), names["C"], names["D"]}
    assert type(names["torch"]) in known["exp"]
    assert {names["C"], names["D"]} <= known["f"]
    assert {kind.__module__ for name in ("shape", "append") for kind in known[name]} == {names["C"].__module__}


LIMITS = (Path(__file__).parent / "exhausting.txt").read_text("utf-8").replace("\nfor ", "\0for ").splitlines()


@pytest.mark.long
@pytest.mark.parametrize("text", [line.replace("\0", "\n") for line in LIMITS])
def test_what_would_use_all_memory_or_time_is_stopped(text, tmp_path):
    (tmp_path / "x.py").write_text(text + "\n", "utf-8")
    command = [*launch.agrad(), "run", "--max-memory", "400MB", "--timeout", "2", "x.py"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=60)
    assert done.returncode in (1, 124, -signal.SIGKILL)  # killed where its thread was too late
    assert "error[limit]" in done.stderr


def test_what_one_step_would_make_large_is_refused_at_once():
    for line in LIMITS[: LIMITS.index("x = list(range(10**12))")]:
        problem, _ = run(line.replace("\0", "\n"))
        assert problem.kind == "limit", line


ENDLESS = [
    "while True: pass",
    "x = [i for i in range(10**5) for j in range(10**5) for k in range(10**5)]",
    "f = lambda n: n if n < 2 else f(n - 1) + f(n - 2)\nf(60)",
    "def f(n): return n if n < 2 else f(n - 1) + f(n - 2)\nf(60)",
    "x = sum(range(10**12))",
    "x = [*map(abs, range(10**12))]",
    "import itertools\nx = sum(itertools.repeat(1))",
    "for x in map(list, [range(10**6)]*10**4): pass",
]


def test_what_a_map_makes_is_counted_as_long_as_it_is_there():
    session = Session()
    session.run('limit memory="20 MB"')
    session.run("import torch\nn = sum(map(len, map(list, [range(10**5)]*100)))\nassert n == 10**7")
    session.run("for xs in map(list, [range(10**5)]*100): n -= len(xs)\nassert n == 0")  # of which the loop has one
    for made in ("map(list, rows)", "map(set, rows)", "map(sorted, rows)", "map(tuple, map(list, rows))"):
        with pytest.raises(AgradError, match="memory"):
            session.run(f"rows = [range(10**5)]*100\nx = list({made})")
    session.run("assert isinstance(map(list, [[1]]), map) and list(map(list, [(1,)])) == [[1]]")


@pytest.mark.long
def test_in_a_thread_where_no_signal_comes_time_is_up_as_well():
    with ThreadPoolExecutor(1) as threads:
        for text in ENDLESS:
            session = Session()
            session.watch.time = 0.3
            done = threads.submit(session.run, text + "\n", source="x.py", is_file=True)
            assert "this took longer" in str(done.exception(timeout=30)), text
