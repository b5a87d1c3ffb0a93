"""agrad.torch: programs print what PyTorch prints, names that are not there are named, scripts run in its place."""

import importlib
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import agrad.torch as torch
from agrad.engine.ops.creation import manual_seed
from agrad.grammar.reach import PACKAGES, names_in

HERE = Path(__file__).parent
RUNNER = HERE.parent / "support" / "torch_runner.py"
PARTS = re.split(r"^=== (.*)\n", (HERE / "torch_programs.txt").read_text("utf-8"), flags=re.M)[1:]
PROGRAMS = {name: text.split("--- prints\n") for name, text in zip(PARTS[::2], PARTS[1::2], strict=True)}
ROWS = re.split(r"^=== (.*)\n", (HERE / "torch_lines.txt").read_text("utf-8"), flags=re.M)[2:]
LINES = {line: (f"{ROWS[0]}print({line})\n", meant) for line, meant in zip(ROWS[1::2], ROWS[2::2], strict=True)}


def wrong(module, programs):
    """The programs that print something else with a module than what is written there."""
    texts = json.dumps([text for text, _ in programs.values()])
    done = subprocess.run(
        [sys.executable, str(RUNNER), module], input=texts, capture_output=True, text=True, check=True
    )
    return {
        name: found
        for (name, (_, meant)), found in zip(programs.items(), json.loads(done.stdout), strict=True)
        if found.rstrip() != meant.rstrip()
    }


def test_programs_in_the_style_of_tutorials_print_what_pytorch_prints():
    assert len(PROGRAMS) >= 50
    assert wrong("agrad", PROGRAMS) == {}


def test_what_lessons_use_gives_what_pytorch_gives():
    assert len(LINES) >= 170
    assert wrong("agrad", LINES) == {}


def test_what_is_written_there_is_what_pytorch_prints():
    pytest.importorskip("torch")
    assert wrong("torch", PROGRAMS | LINES) == {}


def test_no_module_has_names_that_pytorch_or_numpy_has_not():
    pytest.importorskip("torch")
    real = {name: importlib.import_module(name) for name in PACKAGES}
    more = [f"{name}.{one}" for name in PACKAGES for one in names_in(name) if not hasattr(real[name], one)]
    # torch.nn has the one, whose layers these are, and the other can be imported there
    assert sorted(more) == ["torch.nn.modules.Parameter", "torch.optim.optimizer"]


@pytest.mark.parametrize(("code", "kind", "near"), [
    ("torch.expp", AttributeError, "exp"),
    ("torch.nn.Liner", AttributeError, "Linear"),
    ("torch.nn.functional.reluu", AttributeError, "relu"),
    ("torch.ones(2).summ", AttributeError, "sum"),
    ("from agrad.torch import sinn", ImportError, "sin"),
    ("from agrad.torch.nn import Liner", ImportError, "Linear"),
    ("from agrad.torch.optim import SDG", ImportError, "SGD"),
    ("import agrad.torch.nothing", ImportError, "agrad.torch"),
    ("from agrad.torch import os", ImportError, "'os'"),
    ("from agrad.torch.optim.lr_scheduler import StepRL", ImportError, "StepLR"),
    ("from agrad.torch.distributions import Norml", ImportError, "Normal"),
    ("from agrad.torch.func import jacrevv", ImportError, "jacrev"),
    ("from agrad.torch.nn.functional import crossentropy", ImportError, "cross_entropy"),
    ("from agrad.torch.utils.data import DataLoadr", ImportError, "DataLoader"),
])  # fmt: skip
def test_a_name_that_is_not_there_is_an_error_that_names_the_nearest(code, kind, near):
    with pytest.raises(kind, match=near):
        exec(code, {"torch": torch})


def test_a_script_runs_with_agrad_in_the_place_of_torch(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(
        "import sys\nimport torch\nx = torch.ones(2, requires_grad=True)\ny = (x * x).sum()\ny.backward()\nprint(x.grad, sys.argv[1:])\ny.backward()\n"
    )
    done = subprocess.run([sys.executable, "-m", "agrad.torch", str(script), "a"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "tensor([2., 2.]) ['a']\n")
    told = done.stderr
    assert "line 7" in told and "freed by line 5 of train.py" in told and "retain_graph=True" in told
    assert "agrad/" not in told and "engine/torch" not in told


def test_what_float64_does_not_hold_is_refused():
    with pytest.raises(RuntimeError, match=r"2\*\*53"):
        torch.tensor(2**53) * 2 + 2
    with pytest.raises(RuntimeError, match="device"):
        torch.zeros(2, device="cuda")


@pytest.mark.parametrize(("call", "name"), [
    (lambda: torch.zeros(2, device="cuda"), "AssertionError"),
    (lambda: torch.ones(2)[5], "IndexError"),
    (lambda: torch.nn.Linear(2), "TypeError"),
])  # fmt: skip
def test_an_error_has_the_name_that_it_has_in_pytorch(call, name):
    with pytest.raises((AssertionError, IndexError, TypeError), match=r"\w") as caught:
        call()
    assert type(caught.value).__name__ == name


def test_each_call_of_a_function_that_is_mapped_takes_its_own_branch():
    """PyTorch refuses these: its calls are one."""
    x, vmap, grad = torch.tensor([1.0, -2.0, 3.0]), torch.func.vmap, torch.func.grad
    for f, expected in {
        lambda a: a * 2 if a > 0 else a * 3: [2.0, -6.0, 6.0],
        lambda a: a * a.item(): [1.0, 4.0, 9.0],
        lambda a: torch.zeros(()) + len(range(abs(int(a)))): [1.0, 2.0, 3.0],
        grad(lambda a: a * a if a > 0 else a): [2.0, 1.0, 6.0],
        lambda a: max(a, torch.tensor(0.0)): [1.0, 0.0, 3.0],
    }.items():
        assert vmap(f)(x).tolist() == expected
    with pytest.raises(RuntimeError, match=r"vmap: .*not mapped over(?s:.*)fix: a result"):
        vmap(lambda a: x.add_(a))(x)
    with pytest.raises(RuntimeError, match=r"random(?s:.*)fix: vmap\(f, randomness='different'\)"):
        vmap(lambda a: a + torch.rand(()))(x)
    with pytest.raises(RuntimeError, match=r"shapes \(1\) and \(2\)"):
        vmap(lambda a: torch.zeros(abs(int(a))))(x)


def test_a_state_of_random_numbers_goes_back_where_they_are_those_of_the_calculator():
    manual_seed(3)
    with torch.random.fork_rng():
        torch.manual_seed(1)
    state, drawn = torch.get_rng_state(), torch.rand(2)
    for begin in (manual_seed, torch.manual_seed):
        begin(5)
        torch.set_rng_state(state)
        assert torch.equal(torch.rand(2), drawn)
    seed = torch.initial_seed()
    with pytest.raises(ValueError, match="0 to 624"):
        torch.set_rng_state(({"state": {"key": state[0]["state"]["key"], "pos": 700}}, None, 9))
    assert torch.initial_seed() == seed


def test_replaying_a_graph_is_there_too():
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    y = (a * a).sum()
    for _ in range(2):
        a.data = a.data * 2
        y.forward()
        y.backward(retain_graph=True)
    assert y.item() == 80.0
    assert a.grad.tolist() == [12.0, 24.0]
