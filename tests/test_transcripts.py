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


SIZES = {"README.md": (120, 100), "docs/fits.md": (73, 24), "docs/errors.md": (120, 100)}  # plots are drawn to the size


@pytest.mark.skipif(os.name == "nt", reason="it needs a pseudo-terminal")
@pytest.mark.parametrize("page", ["README.md", "docs/fits.md", pytest.param("docs/errors.md", marks=pytest.mark.long)])
def test_a_terminal_shows_the_sessions_of_a_page(page, tmp_path):
    """The real program, at a real prompt: the oracle of `replayed`."""
    from screens import Terminal

    columns, rows = SIZES[page]
    home = {name: str(tmp_path) for name in ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME")} | {
        "COLUMNS": "",
        "LINES": "",
    }
    wrong = []
    for session in re.split(r"(?m)^(?=agrad 1>)", "".join(blocks((HERE.parent / page).read_text(encoding="utf-8"))))[
        1:
    ]:
        if "error[extra]" in session:
            continue  # what is missing there is installed here
        with Terminal(os.environ | home | {"AGRAD_ECHO": "1", "TERM": "xterm"}, columns=columns, rows=rows) as one:
            one.wait("agrad>")
            for piece in re.split(r"(?m)^(?=agrad \d+>)", session)[1:]:
                if "error[syntax]" in piece:
                    first, _, fix = piece.partition("error[syntax]: ")[2].partition("\n")
                    one.type(statements(piece)[0] + "\r")
                    one.wait(first, fix.strip().split("\n")[-1].strip())
                    break
                for line in statements(piece)[0].split("\n"):
                    one.enter(line)
                seen = "\n".join(line.rstrip() for line in one.numbered().split("\n"))
                if "\n".join(piece.strip().split("\n")[5 - rows :]) not in seen:
                    wrong.append(f"{piece}\nis\n\n{seen.strip()}")
    assert not wrong, "\n\n".join(wrong)


def main():
    for file in FILES:
        file.write_text(replayed(file.read_text(encoding="utf-8")), encoding="utf-8")
    text = README.read_text(encoding="utf-8")
    again = re.sub(r"(?ms)^```agrad\n(.*?)^```", lambda block: f"```agrad\n{replayed(block[1], True)}```", text)
    README.write_text(again, encoding="utf-8")


if __name__ == "__main__":
    main()
