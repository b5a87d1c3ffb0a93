"""The size of the project has limits: what is new names the lines that it removes.

`python tests/support/size.py > tests/budget.txt` writes today's figures. A limit is lowered with the figure; where code
moves from one folder to another, so do the lines of the limit. It is raised for nothing else.
"""

from pathlib import Path

from size import code_lines, figures

# Of each figure, as `size.figures` says what it counts.
LINES = Path(__file__).with_name("budget.txt").read_text().splitlines()
MOST = {name: int(most) for name, most in (line.split(": ") for line in LINES)}


def test_neither_comments_nor_docstrings_nor_blank_lines_are_code():
    text = '"""Doc."""\n\n# why\nx = [\n    1,  # one\n]\n\n\ndef f():\n    """Doc,\n    more."""\n    return x\n'
    assert code_lines(text) == 5


def test_nothing_is_larger_than_its_limit():
    found = figures()
    assert {name: (count, MOST.get(name, 0)) for name, count in found.items() if count > MOST.get(name, 0)} == {}
    assert [name for name in MOST if name not in found] == []
