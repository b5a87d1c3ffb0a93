"""What is advised where a name, an option or a function is not what it was taken for: whole messages."""

import pytest

from agrad.engine.errors import AgradError
from agrad.grammar.session.session import Session

# What is advised can be typed.


@pytest.mark.parametrize(("written", "new"), [("w[0] = 7", "w.clone(); w2[0] = 7"), ("w += 1", "w + 1")])
def test_the_fixes_of_a_loaded_script_are_of_its_statement(tmp_path, written, new):
    path = tmp_path / "part.ag"
    path.write_text(f"{written}\n")
    with pytest.raises(AgradError) as caught:
        Session().run(f'var w = [1, 2]\nload "{path}"')
    assert caught.value.fixes == [f"no_grad: {written}   to update the leaf", f"w2 = {new}   to make a new value"]
