"""Four published texts on computational graphs, typed as they stand: what they print, and where they are wrong."""

import re
from pathlib import Path

import pytest

from agrad.engine.errors import AgradError
from agrad.grammar.session.session import Session

PARTS = re.split(r"^=== (.*)\n", (Path(__file__).parent / "texts_on_graphs.txt").read_text("utf-8"), flags=re.M)[1:]
SECTIONS = dict(zip(PARTS[::2], PARTS[1::2], strict=True))
TEXTS = ["toy graph", "determinants", "static graphs", "graphs"]


def printed(text, is_file):
    """What a program prints, with the error that it ends with."""
    session, shown = Session(), []
    try:
        session.run(text, lambda result: shown.append(result.text(session.settings)), "text.py", is_file=is_file)
    except AgradError as problem:
        shown.append(problem.message)
    return "\n".join(shown).rstrip()


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_typed_as_it_stands_prints_what_it_prints(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    wrong = []
    for section, program in SECTIONS.items():
        text, meant = program.split("--- prints\n")
        if section.startswith(f"{name}: "):
            found = printed(text, is_file=not text.startswith(">>> "))
            pattern = re.escape(meant.rstrip()).replace("…", ".*" if "\n…" not in meant else "(?s:.*)")
            if not re.fullmatch(pattern, found):
                wrong.append((section, found))
    assert wrong == []
    assert [path.name for path in tmp_path.iterdir()] == ["computational_graph.gv"] * (name == "graphs")
