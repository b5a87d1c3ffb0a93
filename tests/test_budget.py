"""The size of the project has limits: what is new names the lines that it removes.

`python tests/support/size.py` prints today's figures as they stand in MOST. A limit is lowered with the figure; where code
moves from one folder to another, so do the lines of the limit. It is raised for nothing else.
"""

from size import code_lines, figures

# Of each figure, as `size.figures` says what it counts.
MOST = {
    "lines of cli": 682,
    "lines of cli, grammar and engine": 51_735,
    "lines of cli/arguments": 479,
    "lines of cli/commands": 1_311,
    "lines of cli/data": 1_701,
    "lines of cli/integrations": 1_016,
    "lines of cli/lesson": 563,
    "lines of cli/output": 764,
    "lines of cli/package": 74,
    "lines of cli/repl": 1_182,
    "lines of cli/terminal": 377,
    "lines of engine": 810,
    "lines of engine/autodiff": 2_258,
    "lines of engine/compile": 6_464,
    "lines of engine/core": 2_609,
    "lines of engine/data": 1_280,
    "lines of engine/inspect": 2_960,
    "lines of engine/interop": 925,
    "lines of engine/nn": 1_047,
    "lines of engine/ops": 7_096,
    "lines of engine/program": 1_547,
    "lines of grammar": 476,
    "lines of grammar/commands": 2_270,
    "lines of grammar/help": 1_177,
    "lines of grammar/lint": 592,
    "lines of grammar/loops": 829,
    "lines of grammar/prompt": 640,
    "lines of grammar/pytorch": 646,
    "lines of grammar/run": 2_346,
    "lines of grammar/runtime": 2_177,
    "lines of grammar/session": 1_843,
    "lines of grammar/syntax": 2_920,
    "lines of grammar/values": 674,
    "lines of tests": 32_320,
    "files of Python": 313,
    "imports inside functions": 53,
    "modules in circles, with those of types": 0,
    "modules for an answer": 71,
    "facts of operations": 19,
    "words by hand": 21_277,
    "words of CHANGELOG.md": 1_159,
}


def test_neither_comments_nor_docstrings_nor_blank_lines_are_code():
    text = '"""Doc."""\n\n# why\nx = [\n    1,  # one\n]\n\n\ndef f():\n    """Doc,\n    more."""\n    return x\n'
    assert code_lines(text) == 5


def test_nothing_is_larger_than_its_limit():
    found = figures()
    assert {name: (count, MOST.get(name, 0)) for name, count in found.items() if count > MOST.get(name, 0)} == {}
    assert [name for name in MOST if name not in found] == []
