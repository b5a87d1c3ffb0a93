"""What is advised where a name, an option or a function is not what it was taken for: whole messages."""

import pytest
from rows import each

from agrad.engine.errors import AgradError
from agrad.grammar.elsewhere import MODULES
from agrad.grammar.session.session import Session

# What is advised can be typed.


@pytest.mark.parametrize(("written", "new"), [("w[0] = 7", "w.clone(); w2[0] = 7"), ("w += 1", "w + 1")])
def test_the_fixes_of_a_loaded_script_are_of_its_statement(tmp_path, written, new):
    path = tmp_path / "part.ag"
    path.write_text(f"{written}\n")
    with pytest.raises(AgradError) as caught:
        Session().run(f'var w = [1, 2]\nload "{path}"')
    assert caught.value.fixes == [f"no_grad: {written}   to update the leaf", f"w2 = {new}   to make a new value"]


@each("name, fix", MODULES.items())
def test_a_module_is_told_with_the_import_that_reads_python(name, fix):
    problem = refused(f"{name}.sin(2)")
    assert problem.message == f"{name} is a module of Python, which is read from an import on"
    assert problem.fixes == [fix]


@each(
    "text, fix",
    [
        ("sessions", "agrad sessions"),
        ("clear", "at its prompt in a terminal, clear"),
        ("copy", "clone("),
        ("help nosuchword", "help"),
    ],
)
def test_what_only_a_terminal_or_mathematics_has_is_not_given_a_value(text, fix):
    (found,) = refused(text).fixes
    assert fix in found and " = 1" not in found


def refused(text):
    with pytest.raises(AgradError) as caught:
        Session().run(text)
    return caught.value
