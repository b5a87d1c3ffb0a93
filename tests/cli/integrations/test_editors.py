"""What docs/ has for editors: an extension of VS Code, and the settings of others."""

import json
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[3] / "docs"
FOLDER = DOCS / "vscode"
PACKAGE = json.loads((FOLDER / "package.json").read_text("utf-8"))
NODE = Path(__file__).with_name("editors.js").read_text("utf-8")


def activated(path="agrad", fails=""):
    """What the extension does when it is started, restarted and ended."""
    asked = ["node", "-e", NODE, str(FOLDER / PACKAGE["main"]), path, fails]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    assert (done.stderr, done.returncode) == ("", 0)
    return json.loads(done.stdout)


needs_node = pytest.mark.skipif(not shutil.which("node"), reason="node is not installed")
CLIENT = ["client", "agrad", {"command": "agrad", "args": ["lsp"]}, {"documentSelector": [{"language": "agrad"}]}]


@needs_node
def test_the_extension_starts_and_ends_the_server():
    found = activated()
    assert found["said"] == [CLIENT, ["start"], ["stop"], CLIENT, ["start"], ["stop"]]
    assert found["commands"] == [one["command"] for one in PACKAGE["contributes"]["commands"]]
    assert found["kept"] == 2


@needs_node
def test_the_extension_takes_the_command_of_the_settings():
    (_, _, server, _), *_ = activated("~/x/agrad")["said"]
    assert server["command"] == str(Path.home() / "x" / "agrad")


@needs_node
def test_without_the_server_the_extension_says_so_and_goes_on():
    found = activated("nowhere", "spawn nowhere ENOENT")["said"]
    assert [one[0] for one in found] == ["client", "warning"] * 2
    assert found[1][1].startswith("agrad: nowhere lsp did not start: spawn nowhere ENOENT. ")


def test_the_files_that_the_extension_names_are_there():
    made = PACKAGE["contributes"]
    paths = [PACKAGE["main"], *(one["configuration"] for one in made["languages"]), *(one["path"] for one in made["grammars"])]  # fmt: skip
    assert [path for path in paths if not (FOLDER / path).is_file()] == []
    code = (FOLDER / PACKAGE["main"]).read_text("utf-8")
    assert {name.split("/")[0] for name in re.findall(r'require\("([^":]+)"\)', code)} - {"vscode"} == set(
        PACKAGE["dependencies"]
    )
    (setting,) = made["configuration"]["properties"]
    section, key = setting.split(".")
    assert f'getConfiguration("{section}").get("{key}")' in code
    assert made["configuration"]["properties"][setting]["default"] == "agrad"


def settings(language):
    """The settings in docs/editors.md that are written in a language."""
    return re.findall(rf"```{language}\n(.*?)```", (DOCS / "editors.md").read_text("utf-8"), re.DOTALL)


def test_the_settings_of_helix_can_be_read():
    (text,) = settings("toml")
    found = tomllib.loads(text)
    server = found["language-server"]["agrad"]
    (language,) = found["language"]
    assert ([server["command"], *server["args"]], language["file-types"]) == (["agrad", "lsp"], ["ag"])
    assert language["language-servers"] == list(found["language-server"])


def test_the_settings_of_vscode_can_be_read():
    (text,) = settings("json")
    assert json.loads(text).keys() == PACKAGE["contributes"]["configuration"]["properties"].keys()


@pytest.mark.skipif(not shutil.which("emacs"), reason="Emacs is not installed")
def test_emacs_takes_its_settings(tmp_path):
    (text,) = settings("lisp")
    (tmp_path / "init.el").write_text(f'{text}\n(require \'eglot)\n(find-file "x.ag")\n(princ major-mode)')
    done = subprocess.run(
        ["emacs", "--batch", "-l", "init.el"], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert (done.stdout, done.returncode) == ("agrad-mode", 0)
