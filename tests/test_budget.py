"""The size of the project has limits: what is new names the lines that it removes.

`python tests/support/size.py` prints today's figures as they stand in MOST. A limit is lowered with the figure; where code
moves from one folder to another, so do the lines of the limit. It is raised for nothing else.
"""

from size import code_lines, figures

# Of each figure, as `size.figures` says what it counts.
MOST = {
    "lines of cli": 662,
    "lines of cli, grammar and engine": 49_883,
    "lines of cli/arguments": 482,
    "lines of cli/commands": 1_176,
    "lines of cli/data": 1_534,
    "lines of cli/integrations": 911,
    "lines of cli/lesson": 556,
    "lines of cli/output": 719,
    "lines of cli/package": 74,
    "lines of cli/repl": 1_078,
    "lines of cli/terminal": 367,
    "lines of engine": 824,
    "lines of engine/autodiff": 2_249,
    "lines of engine/compile": 6_094,
    "lines of engine/core": 2_657,
    "lines of engine/data": 1_274,
    "lines of engine/inspect": 2_849,
    "lines of engine/interop": 852,
    "lines of engine/nn": 1_036,
    "lines of engine/ops": 7_174,
    "lines of engine/program": 1_548,
    "lines of grammar": 480,
    "lines of grammar/commands": 2_169,
    "lines of grammar/help": 790,
    "lines of grammar/lint": 524,
    "lines of grammar/loops": 838,
    "lines of grammar/prompt": 440,
    "lines of grammar/pytorch": 647,
    "lines of grammar/run": 2_418,
    "lines of grammar/runtime": 2_170,
    "lines of grammar/session": 1_762,
    "lines of grammar/syntax": 2_858,
    "lines of grammar/values": 671,
    "lines of tests": 31_557,
    "files of Python": 300,
    "imports inside functions": 51,
    "modules in circles, with those of types": 0,
    "modules for an answer": 70,
    "facts of operations": 19,
    "words by hand": 20_848,
    "words of CHANGELOG.md": 1_715,
}


def test_neither_comments_nor_docstrings_nor_blank_lines_are_code():
    text = '"""Doc."""\n\n# why\nx = [\n    1,  # one\n]\n\n\ndef f():\n    """Doc,\n    more."""\n    return x\n'
    assert code_lines(text) == 5


def test_nothing_is_larger_than_its_limit():
    found = figures()
    assert {name: (count, MOST.get(name, 0)) for name, count in found.items() if count > MOST.get(name, 0)} == {}
    assert [name for name in MOST if name not in found] == []
