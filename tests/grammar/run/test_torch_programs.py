"""Scripts that import torch or numpy: what they print in Python's reading is what they print in plain Python."""

import random
import re
from pathlib import Path

import pytest
from comparisons import torch_states
from rows import each

from agrad.engine.errors import AgradError
from agrad.grammar.session.session import Session
from agrad.torch import printing

TEXT = (Path(__file__).parents[2] / "engine" / "torch_programs.txt").read_text("utf-8")
PARTS = re.split(r"^=== (.*)\n", TEXT, flags=re.M)[1:]
PROGRAMS = list(zip(PARTS[::2], PARTS[1::2], strict=True))


@pytest.fixture(autouse=True)
def usual():
    """How tensors are printed belongs to the process: each test begins as a new one does."""
    printing.OPTIONS.update(printing._DEFAULT)


def printed(text):
    """What a script prints in Python's reading, with the error that it ends with."""
    session, shown = Session(), []
    try:
        session.run(text, lambda result: shown.append(result.text(session.settings)), "x.py", is_file=True)
    except AgradError as problem:
        shown.append(problem.message)
    return "\n".join(shown)


@each("name, program", PROGRAMS)
def test_programs_of_torch_print_what_they_print_in_plain_python(name, program):
    text, meant = program.split("--- prints\n")
    assert printed(text).rstrip() == meant.rstrip()


@each("text, meant", [
    ("a = np.array([1, 2, 3]); print(a, a / 2, a.dtype, a.shape, a.sum(), a.mean(), a[1:], a[-1])",
     "[1 2 3] [0.5 1.  1.5] int64 (3,) 6 2.0 [2 3] 3"),
    ("a = np.arange(6.0).reshape(2, 3); print(a.sum(axis=0), a.max(axis=1), a.T.shape, a.std(), np.var(a, ddof=1))",
     "[3. 5. 7.] [2. 5.] (3, 2) 1.707825127659933 3.5"),
    ("a = np.zeros(3); b = a[1:]; b[0] = 5; a += 1; print(a, b, a > 1, np.where(a > 1, a, 0))",
     "[1. 6. 1.] [6. 1.] [False  True False] [0. 6. 0.]"),
    ("d = {}\nfor x in np.array([1, 2, 1]): d[x] = d.get(x, 0) + 1\nprint(len(d), sorted(int(k) for k in d))", "2 [1, 2]"),
    ("np.random.seed(0); print(np.random.rand(2), np.random.randint(0, 9, 3))", "[0.5488135  0.71518937] [3 3 7]"),
    ("print(np.linalg.norm([3, 4]), np.linalg.solve([[2.0, 0], [0, 4]], [2, 4]), np.dot([1, 2], [3, 4]))", "5.0 [1. 1.] 11"),
    ("print(np.concatenate([[1], [2.5]]), np.unique([3, 1, 3], return_counts=True)[1], np.pi, f'{np.sqrt(2):.3f}')",
     "[1.  2.5] [1 2] 3.141592653589793 1.414"),
    ("import torch\nt = torch.tensor(2.0, requires_grad=True)\ny = np.sin(np.array([t, t * 2])).sum()\ny.backward()\nprint(t.grad)",
     "tensor(-1.7234)"),
    ("import torch\nx = torch.from_numpy(np.array([1, 2])); print(x, x.numpy(), type(x.numpy()))",
     "tensor([1, 2]) [1 2] <class 'numpy.ndarray'>"),
])  # fmt: skip
def test_numpy_prints_what_numpy_prints(text, meant):
    assert printed(f"import numpy as np\n{text}\n") == meant


def test_what_is_set_for_all_statements_is_taken_back_with_the_statement_that_set_it():
    session = Session()
    session.steps.depth = 100
    for line in ("import torch", "torch.set_grad_enabled(False)", "torch.set_printoptions(precision=2)"):
        session.run(line + "\n", source="x.py", is_file=True)
    assert session.context.recording is False
    session.run("undo 2\n")
    assert session.context.recording is True
    assert printed("import torch\nprint(torch.tensor(1.23456))") == "tensor(1.2346)"


def test_statements_of_torch_that_fail_or_are_undone_leave_nothing():
    dice = random.Random(5)
    assert [told for told in (torch_states.differing(dice) for _ in range(12)) if told] == []


LINES = (Path(__file__).parents[2] / "engine" / "torch_lines.txt").read_text("utf-8")
ROWS = re.split(r"^=== (.*)\n", LINES, flags=re.M)[2:]


@each("line, meant", zip(ROWS[1::2], ROWS[2::2], strict=True))
def test_what_lessons_use_gives_in_pythons_reading_what_pytorch_gives(line, meant):
    assert printed(f"{ROWS[0]}print({line})\n").rstrip() == meant.rstrip()


# Lines of a session, how many of the last are taken back, and what is the same before these and after that.
TAKEN_BACK = """
torch.manual_seed(1); torch.randn(3) | 1 | torch.randn(3)
torch.manual_seed(1); torch.rand(2) | 2 | torch.initial_seed()
np.random.seed(1); np.random.rand() | 1 | np.random.rand(), np.random.randn()
r = np.random.default_rng(1); r.random() | 1 | r.random(), r.integers(9)
l = nn.LazyLinear(2); l(torch.ones(1, 3)) | 1 | type(l).__name__, len(list(l.parameters()))
m = nn.Linear(2, 2); pz.register_parametrization(m, 'weight', S()) | 1 | [n for n, p in m.named_parameters()], m.weight.tolist()
m = nn.Linear(2, 2); pz.register_parametrization(m, 'weight', S()); pz.remove_parametrizations(m, 'weight') | 1 | m.weight.tolist(), pz.is_parametrized(m)
x = 1; np.set_printoptions(precision=2) | 1 | np.array([1.23456])
x = 1; torch.set_printoptions(precision=2) | 1 | torch.tensor(1.23456)
x = 1; torch.backends.cudnn.deterministic = True | 1 | torch.backends.cudnn.deterministic
x = 1; torch.autograd.set_detect_anomaly(True) | 1 | torch.is_anomaly_enabled()
p = torch.ones(2, requires_grad=True); o = torch.optim.Adam([p], lr=0.1); (p * p).sum().backward(); o.step() | 2 | p, p.grad, o.state_dict()
p = torch.ones(2, requires_grad=True); o = torch.optim.SGD([p], lr=0.1); s = torch.optim.lr_scheduler.StepLR(o, 1); s.step() | 1 | o.param_groups[0]['lr'], s.last_epoch
d = torch.utils.data.DataLoader(range(4), shuffle=True); torch.manual_seed(0); [*d] | 1 | [*d]
b = nn.BatchNorm1d(2); b(torch.eye(2)) | 1 | b.running_mean, b.num_batches_tracked
n = torch.distributions.Normal(0.0, 1.0); torch.manual_seed(2); n.sample() | 1 | n.sample()
"""
BEGUN = "import torch\ntorch.manual_seed(0)\nimport numpy as np\nimport torch.nn as nn\nimport torch.nn.utils.parametrize as pz\n"
BEGUN += "class S(nn.Module):\n    def forward(self, X):\n        return X.triu()\n"


def shown_behind(lines, ask, taken_back=0):
    """What a line prints in a session behind others, the last of which are taken back."""
    session, told = Session(), []
    session.steps.depth = 100
    session.run(BEGUN, source="x.py", is_file=True)
    for line in lines:
        session.run(f"{line}\n", source="x.py", is_file=True)
    if taken_back:
        session.undo(taken_back)
    session.run(f"print({ask})\n", lambda result: told.append(result.text(session.settings)), "x.py", is_file=True)
    return told


@each("row", TAKEN_BACK.strip().splitlines())
def test_what_torch_and_numpy_change_is_taken_back(row):
    text, count, ask = row.split(" | ")
    lines, last = text.split("; "), int(count)
    assert shown_behind(lines, ask, last) == shown_behind(lines[:-last], ask)
