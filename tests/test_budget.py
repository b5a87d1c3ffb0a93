"""The size of the project has limits: what is new names the lines that it removes.

`python tests/support/size.py` prints today's figures as they stand in MOST. A limit is lowered with the figure; where code
moves from one folder to another, so do the lines of the limit. It is raised for nothing else.
"""

from size import code_lines, figures

# Of each figure, as `size.figures` says what it counts.
MOST = {
    "lines of cli": 662,
    "lines of cli, grammar and engine": 57_262,
    "lines of cli/arguments": 482,
    "lines of cli/commands": 1_176,
    "lines of cli/data": 1_534,
    "lines of cli/integrations": 911,
    "lines of cli/lesson": 556,
    "lines of cli/output": 719,
    "lines of cli/package": 74,
    "lines of cli/repl": 1_078,
    "lines of cli/terminal": 367,
    "lines of engine": 825,
    "lines of engine/autodiff": 2_251,
    "lines of engine/compile": 6_094,
    "lines of engine/core": 2_673,
    "lines of engine/data": 1_274,
    "lines of engine/inspect": 2_849,
    "lines of engine/interop": 853,
    "lines of engine/nn": 2_726,
    "lines of engine/numpy": 339,
    "lines of engine/ops": 7_256,
    "lines of engine/program": 1_548,
    "lines of engine/torch": 3_374,
    "lines of grammar": 480,
    "lines of grammar/commands": 2_169,
    "lines of grammar/help": 790,
    "lines of grammar/lint": 534,
    "lines of grammar/loops": 838,
    "lines of grammar/prompt": 440,
    "lines of grammar/pytorch": 611,
    "lines of grammar/run": 4_289,
    "lines of grammar/runtime": 2_172,
    "lines of grammar/session": 1_779,
    "lines of grammar/syntax": 2_868,
    "lines of grammar/values": 671,
    "lines of tests": 33_574,
    "files of Python": 328,
    "imports inside functions": 60,
    "modules in circles, with those of types": 0,
    "modules for an answer": 70,
    "facts of operations": 19,
    "words by hand": 21_546,
    "words of CHANGELOG.md": 1_849,
}


def test_neither_comments_nor_docstrings_nor_blank_lines_are_code():
    text = '"""Doc."""\n\n# why\nx = [\n    1,  # one\n]\n\n\ndef f():\n    """Doc,\n    more."""\n    return x\n'
    assert code_lines(text) == 5


def test_nothing_is_larger_than_its_limit():
    found = figures()
    assert {name: (count, MOST.get(name, 0)) for name, count in found.items() if count > MOST.get(name, 0)} == {}
    assert [name for name in MOST if name not in found] == []
