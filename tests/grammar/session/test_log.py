"""`history`, `save`, `reset`, and running the record of a session again: what stands comes back, to the last bit."""

import os
import random
from contextlib import suppress
from pathlib import Path

import pytest
from answers import answers
from rows import each
from session_state import bits
from thinned import thinned

from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError
from agrad.grammar.diagnostics import render
from agrad.grammar.session.log import DEPTH, restore
from agrad.grammar.session.session import Session


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A folder of its own to start in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def opened(text=""):
    """A session as at a prompt, in which a text was typed line by line where lines are not indented."""
    made = Session()
    made.record.on = True
    made.steps.depth = DEPTH
    type_in(made, text)
    return made


def type_in(made, text):
    said = []
    pending = ""
    for line in [*text.strip().split("\n"), ""]:
        if pending and not line.startswith((" ", "else", "elif")):
            try:
                made.run(pending, lambda result: said.append(result.text(made.settings)))
            except AgradError as problem:
                said.append(render(problem))
            pending = ""
        pending += f"{line}\n" if line else ""
    return said


def said(made, text):
    return "\n".join(type_in(made, text))


def everything(made):
    """All that names stand for: values, gradients, versions and whether a graph is held; the last answer."""
    generator = made.context.random.generator
    return {
        "names": {name: plain(value) for name, value in made.names.items()},
        "answer": plain(made.answer),
        "random": None if generator is None else generator.bit_generator.state,
        "limits": (made.watch.memory, made.watch.time, made.watch.nodes),
    }


def plain(value):
    if isinstance(value, tuple):
        return tuple(map(plain, value))
    if not isinstance(value, Tensor):
        return value if isinstance(value, float | str | None) else str(value)
    node, grad = value.node, None if value.grad is None else bits(value.grad.value)
    operation = None if node.op is None else node.op.name
    return bits(value.value), value.version, grad, value.requires_grad, operation, node.freed is None, node.name


def again(entries):
    """Another session that has run the record of one."""
    other = opened()
    restore(other, entries)
    return other


def run_script(path):
    other = Session()
    with open(path, encoding="utf-8") as file:
        other.run(file.read(), source=str(path), is_file=True)
    return other


# What random sessions are made of. Some fail, depending on what stands before.
LINES = [*answers(Path(__file__).with_name("random_lines.txt")), "undo"]


def random_session(number, more=()):
    draw = random.Random(number)
    made = opened()
    for _ in range(25):
        type_in(made, draw.choice([*LINES, *more]))
    return made


@pytest.mark.parametrize("number", thinned(range(30), 3))
def test_a_saved_session_runs_clean_and_gives_the_same(number, folder):
    made = random_session(number)
    expected = everything(made)
    type_in(made, 'save "s.ag"')
    assert everything(made) == expected
    assert everything(run_script(folder / "s.ag")) == expected


@pytest.mark.parametrize("number", thinned(range(100, 130), 3))
def test_a_session_that_is_run_again_is_the_same_and_goes_on_the_same(number):
    made = random_session(number, ["reset"])
    entries, expected, line = list(made.record.entries), everything(made), made.line
    after = "undo\nvars\nvar c = 2; d = c**2; backward d; c.grad\nbackward d\nhistory"
    first, behind = opening_lines(said(made, after)), everything(made)
    other = again(entries)
    assert everything(other) == expected
    assert other.line <= line
    other.line = line
    assert opening_lines(said(other, after)) == first
    assert everything(other) == behind


def opening_lines(text):
    """What a session says, without the times that were measured."""
    return [line for line in text.split("\n") if not line.endswith("ms")]


# history


def test_a_script_that_asks_keeps_what_it_did():
    lines = []
    made = Session()
    made.run("x = 2\nif x: history\n", lambda result: lines.append(result.text(made.settings)))
    assert lines == ["1  x = 2"]
    assert not made.record.on and not made.record.entries


def test_a_script_that_does_not_ask_keeps_nothing():
    made = Session()
    made.run("x = 2\n")
    assert not made.record.entries


def test_only_the_script_that_is_run_can_ask(folder):
    (folder / "inner.ag").write_text("history\n")
    made = Session()
    with pytest.raises(AgradError) as caught:
        made.run('x = 2\nload "inner.ag"\n')
    assert caught.value.message == "history: a script keeps a log of its statements only if it contains history itself"


# reset


def test_reset_forgets_and_undo_brings_back():
    made = opened("limit time=7\nvar x = 2\ny = x**2\nbackward y retain\nr = rand(2)\n5")
    before = everything(made)
    assert said(made, "reset") == "forgot x, y, r"
    assert everything(made) == everything(Session())
    assert said(made, "vars") == "no names yet"
    assert said(made, "undo") == "took back: reset"
    assert everything(made) == before
    assert said(made, "backward y\nx.grad") == "8"


def test_a_statement_that_resets_and_fails_has_changed_nothing():
    made = opened("x = 2\ny = 3")
    before = everything(made)
    type_in(made, "if x:\n    x = 5\n    reset\n    y = 1\n    nowhere")
    assert everything(made) == before and list(made.names) == ["x", "y"]


# save


def saved(made, path="s.ag"):
    assert said(made, f'save "{path}"').startswith(f"wrote {path}: ")
    with open(path, encoding="utf-8") as file:
        return file.read().split("\n", 1)[1]


def test_random_numbers_come_again(folder):
    made = opened("k = 1\nr = rand(3)\ns = randn(2)")
    assert saved(made).startswith("k = 1\nmanual_seed(")
    assert everything(run_script("s.ag")) == everything(made)


def test_save_does_not_write_over_what_was_changed_by_hand(folder):
    made = opened("x = 2")
    saved(made)
    with open("s.ag", "a", encoding="utf-8") as file:
        file.write("y = 3\n")
    assert "s.ag has been changed since it was saved" in said(made, 'save "s.ag"')


def test_without_files_nothing_is_saved(folder):
    made = opened("x = 2")
    made.context.files.on = False
    assert "file access is switched off" in said(made, 'save "s.ag"')
    assert os.listdir(folder) == []


def test_paths_still_lead_to_their_files(folder, monkeypatch):
    (folder / "data").mkdir()
    (folder / "out").mkdir()
    (folder / "data" / "d.csv").write_text("1,2\n")
    (folder / "data" / "m.ag").write_text('m = load_csv(beside("d.csv"))\n')
    made = opened(
        'load "data/m.ag"\nd = load_csv("data/d.csv")\ne = load_csv(beside("data/d.csv"))\nfor c in chunks(\'data/d.csv\', 1): c;'
    )
    assert saved(made, "out/s.ag").split("\n")[:4] == [
        'load "../data/m.ag"',
        'd = load_csv(beside("../data/d.csv"))',
        'e = load_csv(beside("../data/d.csv"))',
        'for c in chunks(beside("../data/d.csv"), 1): c;',
    ]
    expected = everything(made)
    (folder / "elsewhere").mkdir()
    monkeypatch.chdir(folder / "elsewhere")
    assert everything(run_script("../out/s.ag")) == expected


def test_a_script_at_the_start_is_saved_with_its_paths(folder):
    (folder / "data").mkdir()
    (folder / "data" / "d.csv").write_text("1,2\n")
    made = opened()
    made.run('d = load_csv(beside("d.csv"))\n', source="data/start.ag", is_file=True)
    assert saved(made) == 'd = load_csv(beside("data/d.csv"))\n'


def test_absolute_paths_stay_and_computed_ones_are_told(folder):
    (folder / "d.csv").write_text("1,2\n")
    path = str(folder / "d.csv")
    made = opened(f'name = "d.csv"\nx = load_csv("{path}")\ny = load_csv(name)')
    assert saved(made).split("\n") == [
        "# A file name that is computed is relative to the folder in which agrad is started.",
        'name = "d.csv"',
        f'x = load_csv("{path}")',
        "y = load_csv(name)",
        "",
    ]


# Running a record again


def test_nothing_is_written_when_a_session_is_run_again(folder):
    made = opened(
        'var x = 2\ny = x**2\nif x > 1: graph y as text to "g.txt"\ngraph y to "h.json"\nif x > 1: save "s.ag"\nz = 3\n'
        'export y to "f.c"'
    )
    assert sorted(os.listdir(folder)) == ["f.c", "g.txt", "h.json", "s.ag"]
    for name in os.listdir(folder):
        (folder / name).unlink()
    assert everything(again(made.record.entries)) == everything(made)
    assert os.listdir(folder) == []


def test_what_fails_now_leaves_what_stands_before_it(folder):
    (folder / "d.csv").write_text("1,2\n")
    made = opened('x = 2\nd = load_csv("d.csv")\ny = 3')
    (folder / "d.csv").unlink()
    other = opened()
    with pytest.raises(AgradError, match="there is no file") as caught:
        restore(other, made.record.entries)
    assert "session line 2 | d = load_csv" in render(caught.value)
    assert list(other.names) == ["x"] and len(other.record.entries) == 1


def test_errors_point_into_what_was_typed_before():
    made = opened("var a = 2; b = a**2\nbackward b")
    assert said(again(made.record.entries), "backward b") == said(made, "backward b")


# Writing down as it happens


class Written:
    """A keeper that only remembers, in one list with what was shown."""

    def __init__(self, made):
        self.made = made
        self.events = []
        made.record.keeper = self

    def add(self, entry):
        self.events.append(f"kept {entry.span.text}")

    def typed(self, number, text):
        """A text without a statement in effect, of which nothing depends on the order."""

    def cut(self, count):
        self.events.append(f"cut to {count}")

    def after(self, text):
        self.events.clear()
        with suppress(AgradError, KeyboardInterrupt):
            self.made.run(text, lambda result: self.events.append(result.text(self.made.settings)))
        return self.events


@each(
    "text, events",
    [
        ("x = 2; x", ["kept x = 2", "kept x", "2"]),
        (
            "grad a b",
            [
                "kept grad a b",
                "a.grad = none: no backward has reached a yet",
                "b.grad = none: no backward has reached b yet",
            ],
        ),
        ("for i in range(2): i", ["0", "1", "kept for i in range(2): i"]),
        ("f()", ["1", "kept f()"]),
        ("undo", ["cut to 2", "took back: def f(): …"]),
        ("reset", ["kept reset", "forgot a, b, f"]),
        ("vars", [""]),
        ("grad a nowhere", []),
        ("print a, nowhere", []),
    ],
)
def test_what_is_shown_is_written_down_before_it_is_seen(text, events):
    written = Written(opened("var a = 1\nvar b = 2\ndef f():\n    print 1"))
    said = written.after(text)
    assert said == events or (events == [""] and not any(line.startswith("kept") for line in said))


def test_a_ctrl_c_while_it_is_written_down_leaves_everything_as_it_was():
    made = opened("x = 2")
    written = Written(made)

    def stop(entry):
        raise KeyboardInterrupt

    written.add = stop
    assert written.after("x = 3") == ["cut to 1"]
    assert made.names["x"] == 2 and len(made.record.entries) == 1
