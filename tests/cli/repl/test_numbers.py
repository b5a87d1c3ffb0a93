"""One number for what is entered: the prompt, messages, `history`, `_5` and `again 5` mean the same line."""

import json
import os
import random
import re
from pathlib import Path

import pytest
from answers import answers
from rows import each

from agrad.cli import settings
from agrad.cli.repl import plain
from agrad.cli.repl.crash_log import CrashLog, _numbered, _resumed
from agrad.engine.core.context import Context, enter
from agrad.engine.errors import AgradError
from agrad.grammar.diagnostics import render
from agrad.grammar.results import Shown
from agrad.grammar.session.log import DEPTH
from agrad.grammar.session.session import Session

LINES = [*answers(Path(__file__).with_name("random_lines.txt")), "", "undo", "redo"]


class Model:
    """A session as at a prompt, and what was typed and seen at each of its numbers."""

    def __init__(self, rounds, folder, monkeypatch):
        self.random = random.Random(rounds)
        self.typed, self.seen = {}, {}
        self.file = folder / "loaded.ag"
        self.file.write_text("x = x + 1\nx\n")
        self.session = self.opened()
        self.log = CrashLog(self.session.record)
        self.session.record.keeper = self.log

    def opened(self):
        session = enter(Context(), Session)
        session.record.on, session.by_entry, session.steps.depth = True, True, DEPTH
        return session

    def enter(self, text):
        """Type a text; what it shows as values, and its error."""
        number, values, problem = self.session.line, [], None
        results = []

        def hear(result):
            results.append(result)
            if type(result) is Shown:
                values.append(result.text(self.session.settings))

        try:
            self.session.run(text, hear)
        except AgradError as error:
            problem = render(error)
        if text.strip():
            assert self.session.line == number + 1
            self.typed[number] = text
            self.seen[number] = values
        else:
            assert self.session.line == number
        return number, values, problem

    def play(self, count):
        for _ in range(count):
            line = self.session.line
            back = max(line - self.random.randint(1, 6), 1)
            first = max(back - self.random.randint(0, 2), 1)
            n = self.random.randint(2, 9)
            text = self.random.choice(LINES).format(n=n, back=back, first=first, file=self.file)
            number, _, problem = self.enter(text)
            if problem is not None and "session line" in problem and "error[freed]" not in problem:
                lines = {int(found) for found in re.findall(r"session line (\d+)", problem)}
                assert number in lines, (text, problem)
            if text.startswith("again") and number in self.session.record.typed:
                self.typed[number] = self.session.record.typed[number]

    def history(self):
        """The numbers in `history`, each with the lines of its text."""
        found = []
        self.session.run("history", found.append)
        (table,) = found
        rows, last = {}, []
        for line in table.text(self.session.settings).split("\n"):
            if row := re.match(r" *(\d+)  (.*)", line):
                assert int(row[1]) not in rows
                last = rows[int(row[1])] = []
                line = row[2]
            last.append(line.strip())
        return rows

    def agree(self):
        """Every number means the same everywhere."""
        rows = self.history()
        assert rows.keys() <= self.typed.keys()
        for number, text in rows.items():
            assert text[0].split("; ")[0].strip() in self.typed[number]
        for number, text in self.typed.items():
            assert self.session.record.typed[number].rstrip("\n") == text.rstrip("\n")
        for number in range(1, self.session.line):
            _, values, problem = self.enter(f"_{number}")
            if problem is None:
                assert number in rows
                shown = self.seen[number]
                if shown and ";" not in self.typed[number]:
                    assert values == shown[-1:] if self.is_whole(number, rows[number]) else values[0] in shown
            else:
                assert f"_{number} is the result of line {number}," in problem

        self.agree_on_graph()

    def is_whole(self, number, row):
        """Whether the last statement of a line is in effect: `undo` takes back from the first that changed something."""
        typed = [line.strip() for line in self.typed[number].split("\n")]
        logged = [line for line in typed if not re.match(r"(undo|redo|history|vars)\b|#|$", line)]
        return row[-1] == logged[-1]

    def agree_on_graph(self):
        """What is told of a graph has the numbers of the lines that made it."""
        if "g" not in self.session.names:
            return
        told = []
        self.session.run("info g", told.append)
        (made,) = re.findall(r"computed by Mul at line (\d+)", told[0].text(self.session.settings))
        self.session.run("graph g as json", told.append)
        nodes = json.loads(told[1].text(self.session.settings))["nodes"]
        assert nodes[-1]["where"] == f"line {made}"
        for number in re.findall(r"line (\d+)", f"line {made} {nodes[-1]['freed_by']}"):
            assert number in map(str, self.typed)
        assert "g = v*" in self.typed[int(made)] or "again" in self.typed[int(made)]
        self.typed |= {number: self.session.record.typed[number] for number in range(*self.last_two())}

    def last_two(self):
        """The numbers of the two lines before the next."""
        return self.session.line - 2, self.session.line

    def close(self):
        """End the session as if it were killed."""
        os.close(self.log._file)
        self.log._file = None

    def resume(self):
        """Kill the session, and restore it."""
        rows, line, seen = self.history(), self.session.line, dict(self.seen)
        if not rows:  # nothing to restore
            return
        self.close()
        self.session = self.opened()
        crashed = _numbered(1)
        self.log, message, code = _resumed(self.session, crashed)
        assert message.startswith("restored") and not code
        self.session.record.keeper = self.log
        assert self.session.line == line  # the lines that failed, or only asked for something, are known too
        assert self.history().keys() == rows.keys()
        self.seen = seen


@each("number", range(1000), short=40)
def test_messages_history_results_and_again_agree(number, tmp_path, monkeypatch):
    folder = tmp_path / str(number)
    folder.mkdir()
    monkeypatch.setattr(settings, "state_folder", lambda: str(folder / "kept"))
    monkeypatch.chdir(folder)
    model = Model(number, folder, monkeypatch)
    model.play(25)
    model.agree()
    model.resume()
    model.play(10)
    model.agree()
    model.close()  # a process has some thousand files


TRANSCRIPTS = [
    "agrad> x = 2\nagrad> def f(y):\n  ...>     return x*y\n  ...>\nagrad> f(4)\n8\nagrad> f(5)\n",
    "agrad 1> x = 2\nagrad 2> def f(y):\n    ...>     return x*y\n    ...>\nagrad 3> f(4)\n8\nagrad 14> f(5)\n",
    ">>> x = 2\n>>> def f(y):\n...     return x*y\n...\n>>> f(4)\n8\n>>> f(5)\n",
]


@pytest.mark.parametrize("text", TRANSCRIPTS)
def test_transcripts_with_and_without_numbers_are_read(agrad, tmp_path, text):
    (tmp_path / "s.ag").write_text(text)
    assert agrad("repl", given=text) == ("8\n10\n", "", 0)
    assert agrad("run", "s.ag") == ("8\n10\n", "", 0)
    assert plain.pasted_statements(text).rstrip("\n").split("\n")[-1] == "f(5)"
