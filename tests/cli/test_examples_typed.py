"""Each example of a help, typed as it stands at the prompt of the real program, in one session."""

import re
import shutil
from pathlib import Path

import pytest

from agrad.grammar.help.help import KINDS
from agrad.grammar.runtime.builtins import FUNCTIONS

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.long
def test_each_example_holds_when_it_is_typed(agrad, tmp_path):
    pytest.importorskip("scipy")
    shutil.copytree(EXAMPLES, tmp_path / "examples")
    listed = re.findall(r"\b[a-z_]\w*", agrad("help", "everything")[0])
    told, _, _ = agrad("repl", given="".join(f"help {word}\n" for word in sorted({*FUNCTIONS, *listed} - {*KINDS})))
    examples = [line for line in re.findall("example: (.*)", told) if not re.search(r"^(quit|import )|\bclear\b", line)]
    assert len(examples) > 250
    typed = "".join(f'print "<{place}>"\nreset\n{line}\n' for place, line in enumerate(examples))
    out, err, _ = agrad("repl", given=typed)
    answers = re.split(r"<(\d+)>\n", out)[1:]
    assert len(answers) == 2 * len(examples)
    false = [examples[int(place)] for place, text in zip(answers[::2], answers[1::2], strict=True) if "False" in text]
    assert (re.findall("(?m)^(?:internal )?error.*", err), false) == ([], [])
