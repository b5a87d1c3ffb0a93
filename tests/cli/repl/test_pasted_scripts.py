"""Scripts of PyTorch that are pasted at the prompt, line by line, print what they print from a file."""

from pathlib import Path

import pytest
from transcript import sections

TOLD = "note: from here on this session reads Python; `calculator` goes back\n"
SCRIPTS = sections(Path(__file__).parents[2] / "grammar" / "runtime" / "tutorials.txt")


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_prints_at_a_piped_prompt_what_torch_prints(name, agrad):
    script, printed = SCRIPTS[name]
    assert agrad("repl", given=script) == (printed, TOLD, 0)


@pytest.mark.parametrize("name", ["own_function", "train_and_test"])
def test_a_script_prints_this_also_where_it_is_pasted_as_a_whole(name, typed):
    script, printed = SCRIPTS[name]
    out, err = typed(f"\x1b[200~{script}\x1b[201~\r\x04")
    assert err == TOLD
    assert printed.strip() in out
