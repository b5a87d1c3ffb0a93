"""Every transcript, in tests/transcripts and in the documents, says exactly what agrad answers.

After a change that is meant: python tests/test_transcripts.py writes today's answers into tests/transcripts.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "support"))  # for Python; pytest adds it by itself
from rows import each
from transcript import blocks, replayed

HERE = Path(__file__).parent
FILES = sorted((HERE / "transcripts").glob("*.txt"))


@each("file", FILES)
def test_transcript(file):
    text = file.read_text(encoding="utf-8")
    assert replayed(text) == text


def test_transcripts_of_the_readme():
    found = blocks((HERE.parent / "README.md").read_text(encoding="utf-8"))
    assert found
    for block in found:
        assert replayed(block) == block


def main():
    for file in FILES:
        file.write_text(replayed(file.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
