"""The language server in the real Neovim, which the environment of `others` has, with the settings of docs/editors.md."""

import json
import re
from pathlib import Path

import others
import pytest

pytestmark = pytest.mark.long
SCRIPT = "var w = 2\ndef loss(x, k=1) = sum(x - k)\ny =loss(w,k=3) + sni(1)\n"


def test_neovim_shows_and_does_what_the_server_has(tmp_path):
    text = (others.ROOT / "docs/editors.md").read_text("utf-8")
    (tmp_path / "init.lua").write_text(re.search(r"```lua\n(.*?)```", text, re.DOTALL)[1])
    (tmp_path / "x.ag").write_text(SCRIPT)
    script = Path(__file__).with_name("neovim.lua")
    words = ["--headless", "-u", "init.lua", "x.ag", "-c", f"luafile {script}"]
    done = others.run("nvim", *words, cwd=tmp_path, env=others.environment(tmp_path), timeout=300)
    assert json.loads(done.stdout or done.stderr) == {
        "errors": [[2, "name"]],
        "actions": ["sin"],
        "references": 2,
        "highlights": 2,
        "symbols": ["w", "loss", "y"],
        "folds": 0,
        "signature": "def loss(x, k=1) = sum(x - k)",
        "colour": "macro",
        "refused": "w is used already",
        "text": "var w = 2\ndef shift(x, k=1) = sum(x - k)\ny = shift(w, k=3) + sin(1)",
    }
