"""Every transcript, in tests/transcripts and in the documents, says exactly what agrad answers.

After a change that is meant: python tests/test_transcripts.py writes today's answers into tests/transcripts and the README.
"""

import os
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "support"))  # for Python; pytest adds it by itself
import pytest
from rows import each
from transcript import blocks, replayed, statements

HERE = Path(__file__).parent
README = HERE.parent / "README.md"
FILES = sorted((HERE / "transcripts").glob("*.txt"))


@each("file", FILES)
def test_transcript(file):
    text = file.read_text(encoding="utf-8")
    assert replayed(text) == text


def test_transcripts_of_the_readme():
    found = blocks(README.read_text(encoding="utf-8"))
    assert found
    for block in found:
        assert replayed(block, at_terminal=True) == block


@pytest.mark.skipif(os.name == "nt", reason="it needs a pseudo-terminal")
def test_a_terminal_shows_the_sessions_of_the_readme(tmp_path):
    """The real program, at a real prompt: the oracle of `replayed`."""
    from screens import Terminal

    home = {name: str(tmp_path) for name in ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME")}
    for block in blocks(README.read_text(encoding="utf-8")):
        with Terminal(os.environ | home | {"AGRAD_ECHO": "1", "TERM": "xterm"}, columns=120, rows=100) as one:
            one.wait("agrad>")
            for line in "\n".join(statements(block)).split("\n"):
                one.enter(line)
            shown = one.numbered()
            assert block.strip() in "\n".join(line.rstrip() for line in shown.split("\n"))


def main():
    for file in FILES:
        file.write_text(replayed(file.read_text(encoding="utf-8")), encoding="utf-8")
    text = README.read_text(encoding="utf-8")
    again = re.sub(r"(?ms)^```agrad\n(.*?)^```", lambda block: f"```agrad\n{replayed(block[1], True)}```", text)
    README.write_text(again, encoding="utf-8")


if __name__ == "__main__":
    main()
