"""Pygments and the editors colour a text as the prompt does."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from answers import answers
from editor_grammar import SCOPES, grammar
from hypothesis import given
from hypothesis import strategies as st
from rows import each
from textmate import Grammar

from agrad.cli.integrations.pygments_lexer import TYPES
from agrad.cli.output import COLOURS
from agrad.engine.core.op import FUNCTIONS
from agrad.engine.errors import AgradError
from agrad.grammar.commands import COMMANDS
from agrad.grammar.diagnostics import Source
from agrad.grammar.syntax import keywords
from agrad.grammar.syntax.parser import parse, tokens

ROOT = Path(__file__).parents[3]


def is_read(text):
    """Whether a text has no syntax error."""
    try:
        parse(Source("session", text))
    except AgradError:
        return False
    return True


SCRIPTS = [*ROOT.glob("examples/*.ag"), *ROOT.glob("docs/*.ag"), *ROOT.glob("tests/**/*.ag")]
SCRIPTS = sorted(path for path in SCRIPTS if is_read(path.read_text("utf-8")))
EXAMPLES = [*(entry.example for entry in FUNCTIONS.values()), *(command.usage for command in COMMANDS.values())]
# Where the same word is a command, an option, or a name; and what consists of several lines.
PROGRAMS = [*answers(Path(__file__).with_name("programs.txt"))]


def colours(text):
    """For each character of a text the kind that the prompt gives it; None for white space, in strings too."""
    found = [None] * len(text)
    for kind, start, end in tokens(text):
        found[start:end] = [kind] * (end - start)
    return blanked(found, text)


def blanked(kinds, text):
    return [None if character.isspace() else kind for kind, character in zip(kinds, text, strict=True)]


@pytest.fixture(scope="module")
def in_editor():
    kinds = {f"{scope}.agrad": name for name, scope in SCOPES.items()} | {None: None}
    editor = Grammar(grammar())
    return lambda text: blanked([kinds[scope] for scope in editor.scopes(text)], text)


def test_the_kinds_are_those_that_the_prompt_colours():
    assert COLOURS.keys() <= SCOPES.keys() == TYPES.keys()
    assert {kind for text in PROGRAMS for kind, _, _ in tokens(text)} | {"error"} == SCOPES.keys()


@each("text", [*filter(is_read, EXAMPLES), *PROGRAMS])
def test_an_editor_colours_a_program_as_the_prompt_does(text, in_editor):
    assert in_editor(text) == colours(text)


@each("path", SCRIPTS, short=4)
def test_an_editor_colours_a_script_as_the_prompt_does(path, in_editor):
    text = path.read_text("utf-8")
    assert in_editor(text) == colours(text)


WORDS = sorted(
    keywords.RESERVED
    | keywords.SOFT
    | {option for options in keywords.OPTIONS.values() for option in options}
    | {"x", "sgd", "dot", "freed", "2", "1.5e3", "'s'", "f'{x}'", "(x)", "[1, 2]", "=", ",", ":", ";", "-", "+ ", ".."}
)


@given(st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join))
def test_an_editor_colours_what_can_be_read_as_the_prompt_does(in_editor, text):
    if is_read(text):
        assert in_editor(text) == colours(text)


@each("text", [*PROGRAMS, "'open", "f'{x', '", 'f"{d["k"]}"', "x = $", "5a", "1..2", "[(1]", ""])
def test_pygments_colours_every_text_as_the_prompt_does(text):
    from pygments.lexers import get_lexer_by_name
    from pygments.token import Text

    pieces = list(get_lexer_by_name("agrad").get_tokens_unprocessed(text))
    assert "".join(piece for _, _, piece in pieces) == text
    found = [(start, start + len(piece), kind) for start, kind, piece in pieces if kind is not Text]
    assert found == [(start, end, TYPES[kind]) for kind, start, end in tokens(text)]


def test_pygments_finds_the_lexer_by_its_name_and_that_of_a_file():
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import get_lexer_by_name, get_lexer_for_filename

    assert get_lexer_for_filename("x.ag").name == get_lexer_by_name("agrad").name == "agrad"
    html = highlight("grad x  # 1", get_lexer_by_name("agrad"), HtmlFormatter(nowrap=True))
    assert html == '<span class="kr">grad</span> <span class="n">x</span>  <span class="c"># 1</span>\n'


def test_the_extension_of_an_editor_names_the_files_that_are_there():
    folder = ROOT / "docs" / "vscode"
    made = json.loads((folder / "package.json").read_text("utf-8"))["contributes"]
    (language,), (coloured,) = made["languages"], made["grammars"]
    found = json.loads((folder / coloured["path"]).read_text("utf-8"))
    assert (found["scopeName"], coloured["language"]) == (coloured["scopeName"], language["id"])
    assert [f".{end}" for end in found["fileTypes"]] == language["extensions"] == [".ag"]
    settings = json.loads((folder / language["configuration"]).read_text("utf-8"))
    assert dict(settings["brackets"]) == keywords.CLOSERS


DUMP = """
let lines = []
for l in range(1, line('$'))
  call add(lines, join(map(range(1, len(getline(l))), "synIDattr(synID(l, v:val, 1), 'name')[5:]"), ' '))
endfor
call writefile(lines, 'out.txt')
qa!
"""


@pytest.mark.skipif(not shutil.which("vim"), reason="Vim is not installed")
@pytest.mark.long
def test_vim_colours_the_examples_alike_but_in_fstrings(tmp_path):
    shutil.copytree(ROOT / "docs/vim", tmp_path / ".vim/pack/agrad/start/agrad")
    (tmp_path / "dump.vim").write_text(DUMP)
    words = "vim -es -N -i NONE -V1 -u".split()
    wrong, count = [], 0
    (tmp_path / "vimrc").write_text("filetype on\nsyntax on\n")
    for path in SCRIPTS:
        text = path.read_text("utf-8")
        if path.parent.name != "examples" or "import" in text or not text.isascii():
            continue
        command = [*words, "vimrc", str(path), "-S", "dump.vim"]
        done = subprocess.run(
            command, cwd=tmp_path, env=os.environ | {"HOME": str(tmp_path)}, capture_output=True, text=True
        )
        assert "E8" not in done.stderr, done.stderr
        shown = [line.split(" ") for line in (tmp_path / "out.txt").read_text().split("\n")]
        place, kinds = 0, colours(text)
        for number, line in enumerate(text.split("\n")):
            for column, kind in enumerate(kinds[place : place + len(line)]):
                if kind is not None and 'f"' not in line:
                    count += 1
                    wrong += [(path.name, line, kind)] * (kind.replace("name", "") != shown[number][column])
            place += len(line) + 1
    assert count > 2000
    assert wrong == []
