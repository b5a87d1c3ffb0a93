"""What SECURITY.md says that a script can reach, and cannot."""

import json
import os
import pickle
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import launch
import numpy as np
import pytest
from rows import divided, each

from agrad.cli.integrations.lsp.document import Document, definition
from agrad.engine.core.op import FUNCTIONS
from agrad.engine.errors import AgradError
from agrad.grammar.session.session import Session

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "SECURITY.md").read_text("utf-8")
ROWS = {cells[1].strip(): cells[2] for cells in (line.split("|") for line in TEXT.splitlines()) if len(cells) > 4}
READ, WRITE = [re.findall(r"`([^`]+)`", ROWS[row]) for row in ROWS if "file" in row]
START = "def f(x) = x**2\nvar x = 2\ny = f(x)\n"
# Where the program has its own files, Python has its modules, and the system says how much memory there is.
INSTALLED = tuple(f"open {place}/" for place in {ROOT, sys.prefix, sys.base_prefix, "/proc", "/sys"})


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a file for each statement that reads one."""
    monkeypatch.chdir(tmp_path)
    Path("lib.ag").write_text("k = 1\n")
    Path("data.csv").write_text("a,b\n1,2\n3,4\n")
    Path("data.txt").write_text("1 2\n3 4\n")
    np.save("data.npy", np.ones(3))
    Session().run('import torch\ntorch.save({"weight": torch.ones(3)}, "model.pt")')
    return tmp_path


@each("statement", [*READ, *WRITE])
def test_a_statement_that_reads_or_writes_does_so_only_where_files_are_on(statement, folder):
    before = set(os.listdir())
    session = Session()
    session.record.on = True
    session.run(START)
    if statement.startswith(("np.", "torch.")):
        session.run("import numpy as np, torch")
    session.context.files.on = False
    with pytest.raises(AgradError, match="file access is switched off"):
        session.run(statement)
    assert set(os.listdir()) == before
    session.context.files.on = True
    if "svg" not in statement or statement.startswith("graph"):  # a plot takes half a second of matplotlib
        session.run(statement)
        assert (set(os.listdir()) > before) is (statement in WRITE)


def everything():
    """Calls of every function with the name of a file, and what else names one."""
    names = sorted({*filter(str.isidentifier, FUNCTIONS)})
    given = ['"secret.csv"', '"secret.npy", 2', 'x, "secret.npz"']
    calls = [f"{name}({arguments})" for name in names for arguments in given]
    commands = [statement.replace("data.", "secret.") for statement in (*READ, *WRITE)]
    return START + "\n".join([*commands, "import secret", 'plt.plot([1, 2]); plt.savefig("secret.png")', *calls]) + "\n"


def used(folder, *options):
    """What a session asks the operating system for, besides its own files, when everything is typed into it."""
    for name in ("secret.csv", "secret.txt"):
        (folder / name).write_text("1,2\n", "utf-8")
    np.save(folder / "secret.npy", np.ones(2))
    command = [sys.executable, "-B", ROOT / "tests" / "support" / "audited.py", "report", "--no-init", "repl", *options]
    alone = {"cwd": folder, "env": os.environ | {"HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}}
    text = f'{everything()}print "all was run"\n'
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=500, **alone)
    assert done.stdout.endswith("all was run\n")
    lines = (folder / "report").read_text("utf-8").splitlines()
    return [line for line in lines if not line.startswith(INSTALLED)]


@pytest.mark.long
def test_without_files_no_function_opens_one_and_none_reaches_a_process_or_the_network(tmp_path):
    assert used(tmp_path, "--no-files") == []


@pytest.mark.long
def test_with_files_there_is_still_no_network_and_no_process_but_that_of_matplotlib(tmp_path):
    found = used(tmp_path)
    assert {"open secret.csv", "open secret.npy"} <= set(found)
    assert "fc-list" in TEXT
    processes = [line for line in found if re.match(r"os\.(system|exec|posix_spawn|fork)|subprocess", line)]
    assert [line for line in processes if "fc-list" not in line] == []
    assert [line for line in found if re.match(r"socket|urllib|http", line)] == []


@each("text", divided("""
    eval("1 + 1"); exec("x = 1"); compile("1", "", "eval"); __import__("os"); open("/etc/passwd"); input(); globals()
    (1).__class__; [].__class__.__base__; "a".__class__; sin.__globals__; f.__globals__; f.__code__
    "{0.__globals__}".format(f); f"{f.__globals__}"; getattr(f, "__globals__"); os.environ; subprocess.run("ls"); sys.modules; time.sleep(1)
    np.load("d.npy", allow_pickle=True); load_csv("http://localhost/data.csv")
"""))  # fmt: skip
def test_what_cannot_be_reached(text):
    for start in (START, f"{START}import torch\nnet = torch.nn.Linear(2, 1)"):
        session = Session()
        session.run(start)
        if "import" in start and text in ("(1).__class__", '"a".__class__', '"{0.__class__}".format(1)'):
            continue  # which Python's reading has, and which lead no further
        with pytest.raises(AgradError):
            session.run(text)


def agrad(*words, given, folder):
    command = [*launch.agrad(), "--no-init", *words]
    return subprocess.run(command, input=given, capture_output=True, text=True, cwd=folder, timeout=60)


def test_a_script_cannot_lift_the_limits_of_time_and_memory(tmp_path):
    done = agrad("run", "--timeout", "0.5", "-", given="limit time=1000\nwhile 1 == 1: n = 1\n", folder=tmp_path)
    assert (done.stdout, done.returncode) == ("", 124)
    script = "limit memory=1e12\nx = zeros(20000, 20000)\n"
    done = agrad("run", "--max-memory", "300MB", "-", given=script, folder=tmp_path)
    assert "error[limit]" in done.stderr
    assert (done.stdout, done.returncode) == ("", 1)


def test_a_check_without_files_neither_reads_nor_runs(folder):
    done = agrad("run", "--check", "--no-files", "-", given='load "lib.ag"\nprint "ran"\n', folder=folder)
    assert "file access is switched off" in done.stderr
    assert done.stdout == ""


@each("language", ["c", "js", "py"])
def test_a_formula_cannot_end_the_comment_in_exported_code(language, tmp_path):
    formula = """x**2*len('*/ evil(); """ + '""" evil()' + """\\n evil()')"""
    done = agrad("export", formula, "--to", language, given="", folder=tmp_path)
    assert done.stderr == ""
    assert done.stdout.count("*/") == 1  # in C the end of the comment, elsewhere a part of it
    assert not [line for line in done.stdout.splitlines() if line.lstrip().startswith("evil")]
    if language == "py":
        compile(done.stdout, "exported", "exec")
        assert "evil" not in [name for code in done.stdout.splitlines() for name in code.split("#")[0].split()]


def test_the_commands_for_a_script_from_a_stranger(tmp_path):
    (tmp_path / "stranger.ag").write_text("x = 2\nprint x**2\n")
    (block,) = re.findall(r"^```sh\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
    said = [agrad(*line.split()[1:], given="", folder=tmp_path) for line in block.splitlines()]
    assert [(done.stdout, done.stderr, done.returncode) for done in said] == [("", "", 0), ("4\n", "", 0)]


def test_a_language_server_checks_a_script_and_does_not_run_it(tmp_path):
    script = {"uri": (tmp_path / "stranger.ag").as_uri(), "languageId": "agrad", "version": 1}
    text = 'var x = 2\ny = x**2\ngraph y to "made.dot"\nprint nosuch\n'
    for name in ("multiprocessing", "socket", "runpy"):  # which the process that checks it would import
        (tmp_path / f"{name}.py").write_text("open('made.dot', 'w')")
    command = [Path(sys.executable).with_name("agrad"), "lsp"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=tmp_path) as server:
        tell(server, "initialize", {"processId": None, "rootUri": None, "capabilities": {}}, id=1)
        tell(server, "initialized", {})
        tell(server, "textDocument/didOpen", {"textDocument": script | {"text": text}})
        said = iter(lambda: heard(server), None)
        found = next(told["params"]["diagnostics"] for told in said if "diagnostics" in told.get("params", {}))
        assert [one["range"]["start"]["line"] for one in found] == [3]
        server.kill()
    assert not (tmp_path / "made.dot").exists()


def tell(server, method, params, **more):
    """Write a message to a language server."""
    body = json.dumps({"jsonrpc": "2.0", "method": method, "params": params, **more}).encode()
    server.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
    server.stdin.flush()


def heard(server):
    """The next message of a language server."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        head += server.stdout.read(1) or pytest.fail("the server has ended")
    length = re.search(rb"Content-Length: (\d+)", head)[1]
    return json.loads(server.stdout.read(int(length)))


def test_no_file_of_the_folder_makes_a_picture_start_a_program(folder):
    """matplotlib reads `matplotlibrc` of the current folder, which may say that LaTeX writes all texts."""
    programs = folder / "programs"
    programs.mkdir()
    for name in ("latex", "dvipng", "dvips", "gs", "kpsewhich", "pdflatex", "xelatex"):
        (programs / name).write_text(f"#!/bin/sh\necho {name} >> {folder}/started\nexit 1\n")
        (programs / name).chmod(0o755)
    Path("matplotlibrc").write_text("text.usetex: True\nsvg.fonttype: none\nbackend: module://evil\n")
    Path("evil.py").write_text(f"open('{folder}/started', 'w')\n")
    Path("all.ag").write_text(
        "\n".join(
            [
                START,
                *(f'graph y to "g.{form}"\nplot f(x) for x in 0..1 to "p.{form}"' for form in ("svg", "png", "pdf")),
                "plot f(x) for x in 0..1",
                'save "s.html"',
                "set plots kitty",
                "plot f(x) for x in 0..1",
            ]
        )
    )
    environment = os.environ | {"PATH": f"{programs}:{os.environ['PATH']}", "PYTHONUTF8": "1"}
    command = [sys.executable, "-m", "agrad.cli", "--no-init", "--color", "always", "run", "all.ag"]
    ran = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert {"g.pdf", "p.svg", "s.html"} <= set(os.listdir())
    assert not Path("started").exists()


def test_no_statement_reads_what_the_system_tells_of_itself(tmp_path, monkeypatch):
    """The environment has passwords; `/proc/kmsg` does not end; a link leads there too."""
    monkeypatch.chdir(tmp_path)
    os.mkdir("folder")
    for name in ("a.csv", "a.ag", "a.npz", "folder/a.csv"):
        os.symlink("/proc/self/environ", name)
    paths = ["/proc/self/environ", "/proc/kmsg", "/sys/kernel/notes", "/proc/self/../self/cmdline", "a.csv"]
    statements = [f'{function}("{path}")' for function in ("load_csv", "load_npy", "np.loadtxt") for path in paths]
    statements += [f'load "{path}"' for path in ("a.ag", "/proc/self/environ", "/proc/kmsg", "/dev/tty")]
    statements += [f'load_csv("{path}")' for path in ("folder", "linked", "/proc/self", "/dev")]
    os.symlink("/proc/sys/kernel", "linked")
    for statement in [*statements, 'chunks("a.csv", 2)', 'torch.load("a.npz")', 'torch.load("a.csv", "cpu")']:
        session = Session()
        if statement.startswith(("np.", "torch.")):
            session.run("import torch, numpy as np")
        with pytest.raises(AgradError, match=r"it belongs to the system|it is not a regular file"):
            session.run(statement)
    with pytest.raises(AgradError, match="save did not write it"):
        Session().run('save "/proc/kmsg"')  # which is not read to know that, since it does not end
    assert definition(Document("x.ag", 'load "/proc/kmsg"'), 8) is None


class Evil:
    def __reduce__(self):
        return os.mkdir, ("made",)


# What sets an attribute of a class of agrad's own, for all sessions of the process.
CHANGING = b"cagrad.torch.types\nSize\nN}Vnumel\nccollections\nOrderedDict\ns\x86b."


@each("given", ["", ', "cpu"', ', None, ""', ", None, 0", ', weights_only=""', ", weights_only=None"])
def test_a_file_of_weights_neither_runs_code_nor_changes_what_is_there(given, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("code.pt").write_bytes(pickle.dumps(Evil()))
    Path("changing.pt").write_bytes(CHANGING)
    Path("text.pt").write_text("no weights")
    session = Session()
    session.run("import torch")
    for name in ("code.pt", "changing.pt", "text.pt"):
        with pytest.raises(AgradError, match=r"weights alone|Weights only|has not written this"):
            session.run(f'torch.load("{name}"{given})')
    assert not os.path.exists("made")
    session.run("assert torch.ones(2, 3).shape.numel() == 6")


def test_a_script_does_not_read_the_keyboard_as_a_file_of_weights():
    session = Session()
    session.run("import torch")
    for given in ("0", '0, "cpu"', '0, map_location="cpu"'):
        with pytest.raises(AgradError, match="needs the name of a file"):
            session.run(f"torch.load({given})")


def test_no_command_reads_what_the_system_tells_of_itself_nor_waits_for_a_pipe_in_a_folder(tmp_path):
    """A link in a folder from a stranger leads to it. A pipe that the user names is read."""
    os.mkdir(tmp_path / "linked")
    for name in ("a.csv", "a.ag", "linked/a.csv"):
        os.symlink("/proc/self/environ", tmp_path / name)
    os.mkdir(tmp_path / "piped")
    os.mkfifo(tmp_path / "piped" / "a.csv")
    os.mkdir(tmp_path / "broken")
    os.symlink("nowhere", tmp_path / "broken" / "a.csv")
    paths = [
        "/proc/self/environ",
        "a.csv",
        "linked",
        "linked/*.csv",
        "/proc/self",
        "/sys/kernel/notes",
        "piped",
        "broken",
    ]
    lines = [["eval", "1 + sum(x)", f"x=@{path}:0"] for path in paths if path != "/proc/self"]
    lines += [["map", "1", path, "--keep", "all"] for path in paths]
    lines += [["map", "1", path, "-o", "out/"] for path in paths if "*" in path or "." not in path]
    lines += [["fit", "a*x", path, "--y", "y", "--over", "a=1"] for path in paths]
    lines += [[*words, "a.ag"] for words in (["run"], ["run", "--check"], ["eval", "-f"], ["repl"])]
    why = r"error\[file\]: .*(it belongs to the system|it is not a regular file|there is no file broken/a.csv)$"
    wrong = []
    for line in lines:
        done = agrad(*line, given="", folder=tmp_path)
        if done.stdout or not re.match(why, done.stderr.partition("\n")[0]):
            wrong.append((line, done.stdout, done.stderr))
    assert wrong == []
    assert agrad("map", "2*x", "/dev/stdin", given="x\n1\n", folder=tmp_path).stdout == "value\n2\n"
    assert agrad("run", "/dev/stdin", given="print 3", folder=tmp_path).stdout == "3\n"


@pytest.mark.skipif(not os.access("/dev/shm", os.W_OK), reason="no folder of files in memory")
def test_a_file_in_memory_is_read_as_any_other(monkeypatch):
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        monkeypatch.chdir(folder)
        Path("data.csv").write_text("x\n1\n2\n")
        assert Session().evaluate(f'load_csv("{folder}/data.csv").x[1]') == 2
