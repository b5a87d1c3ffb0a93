"""The kernel of Jupyter for the language: ipykernel speaks the protocol, a session of agrad runs the cells."""

from __future__ import annotations

import json
import shutil
import sys
from fnmatch import fnmatchcase
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

from ipykernel.kernelapp import IPKernelApp
from ipykernel.kernelbase import Kernel
from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel

from agrad.cli import __version__
from agrad.cli.integrations.jupyter.magic import Bundle, lines_of, show
from agrad.cli.integrations.lookup import asked_about, help_about
from agrad.cli.main import internal, limit_memory, limit_statements
from agrad.cli.repl.plain import answered
from agrad.cli.settings import find
from agrad.cli.terminal import handled, stop_once
from agrad.engine.errors import AgradError
from agrad.grammar.help.completion import completions
from agrad.grammar.results import Quit, Result
from agrad.grammar.session.log import DEPTH
from agrad.grammar.session.session import Session
from agrad.grammar.syntax.keywords import COMMAND_WORDS, NAMES_TOO, PYTHON, SOFT, saved
from agrad.grammar.syntax.lexer import Token, after_command
from agrad.grammar.syntax.parser import kind_of
from agrad.grammar.syntax.typed import can_be_read, needs_more


def new_session() -> Session:
    """A session for a notebook, in which `undo` and `history` work as at the prompt."""
    session = Session()
    session.settings.precision = find("precision")[0]
    session.record.on = True
    session.steps.depth = DEPTH
    session.by_entry = True  # a cell has one number
    session.shows = False, True
    return session


class AgradKernel(Kernel):  # type: ignore[misc, unused-ignore]
    """A session, and what a notebook asks of it."""

    implementation = "agrad"
    implementation_version = __version__
    language = "agrad"
    language_version = __version__
    banner = f"agrad {__version__}"
    language_info: ClassVar[dict[str, Any]] = {
        "name": "agrad",
        "version": __version__,
        "mimetype": "text/x-agrad",
        "file_extension": ".ag",
        "pygments_lexer": "agrad",
        "codemirror_mode": {"name": "agrad", "mime": "text/x-python"},  # Python's where `lab.js` is not installed
    }

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        if self.parent is not None:  # a process of its own, which else takes what the machine has for what cells keep
            limit_memory(None)
        self.cells: list[tuple[int, int, str]] = []  # with the number of a session, which is this one
        self.language_session = new_session()
        limit_statements(self.language_session)

    # Cells

    def do_execute(
        self,
        code: str,
        silent: bool,
        store_history: bool = True,
        user_expressions: Any = None,
        allow_stdin: bool = False,
        **other: Any,
    ) -> dict[str, Any]:
        """Run a cell. Each result is shown when it is there; after an error the rest of the cell does not run."""
        session = self.language_session
        if store_history:
            self.cells.append((0, self.execution_count, code))
        session.line = self.execution_count  # so that messages, and `_5`, count as the notebook does
        with handled(stop_once, "SIGINT"):
            try:
                session.run(
                    answered(code, session.names), lambda result: None if silent else self._show(result), "cell"
                )
            except Quit:
                return self._ok([{"source": "ask_exit", "keepkernel": False}])
            except AgradError as problem:
                return self._failed(f"error[{problem.kind}]", problem.message, lines_of(problem), silent)
            except KeyboardInterrupt as stop:
                message = str(stop) or "everything is as before this statement"
                return self._failed("interrupted", message, [f"interrupted: {message}"], silent)
            except Exception as error:  # an error in agrad itself does not end a session
                own = internal(error, "the statement is taken back, and the session goes on")
                return self._failed("error[internal]", own.message, lines_of(own), silent)
        return self._ok([])

    def _show(self, result: Result) -> None:
        """Send a result: a value as the answer of the cell, a printed line as output, a note on stderr."""

        def answer(made: Bundle) -> None:
            content = {"data": made, "metadata": {}, "execution_count": self.execution_count}
            self.send_response(self.iopub_socket, "execute_result", content)

        show(result, self.language_session.settings, self._stream, answer)

    def _stream(self, name: str, text: str) -> None:
        self.send_response(self.iopub_socket, "stream", {"name": name, "text": f"{text}\n"})

    def _ok(self, payload: list[dict[str, Any]]) -> dict[str, Any]:
        count = self.execution_count
        return {"status": "ok", "execution_count": count, "payload": payload, "user_expressions": {}}

    def _failed(self, name: str, message: str, lines: list[str], silent: bool) -> dict[str, Any]:
        """Send an error; the answer that says that the cell has failed."""
        content = {"ename": name, "evalue": message, "traceback": lines}
        if not silent:
            self.send_response(self.iopub_socket, "error", content)
        return {"status": "error", "execution_count": self.execution_count, **content}

    # What is typed

    def do_complete(self, code: str, cursor_pos: int) -> dict[str, Any]:
        """The completions of the prompt."""
        word, candidates = completions(code[:cursor_pos], self.language_session)
        start = cursor_pos - len(word)
        kinds = [
            {"start": start, "end": cursor_pos, "text": one.text, "type": one.meaning, "signature": one.usage}
            for one in candidates
        ]
        return {
            "status": "ok",
            "matches": [one.text for one in candidates],
            "cursor_start": start,
            "cursor_end": cursor_pos,
            "metadata": {"_jupyter_types_experimental": kinds},
        }

    def do_inspect(self, code: str, cursor_pos: int, detail_level: int = 0, omit_sections: Any = ()) -> dict[str, Any]:
        """Help on the word at the cursor, or on the function whose arguments are typed; `info` of a name."""
        path = asked_about(code, cursor_pos)
        told = help_about(path, self.language_session) if path else None
        data = {"text/plain": told} if told else {}
        return {"status": "ok", "found": bool(told), "data": data, "metadata": {}}

    def do_is_complete(self, code: str) -> dict[str, Any]:
        """Whether a console should run what was typed, or wait for another line."""
        if needs_more(code, self.language_session.reads_python):
            last = code.rstrip().rpartition("\n")[2]
            margin = last[: len(last) - len(last.lstrip())]
            return {"status": "incomplete", "indent": margin + "    " * code.rstrip().endswith(":")}
        is_whole = can_be_read(code, self.language_session.reads_python)
        return {"status": "complete" if is_whole else "invalid"}

    def do_history(self, hist_access_type: str, output: bool, raw: bool, **asked: Any) -> dict[str, Any]:
        """The cells of this session: the `n` latest, those from `start` to `stop`, or those that a pattern matches."""
        found, start, stop, n = self.cells, asked.get("start") or 0, asked.get("stop"), asked.get("n")
        if hist_access_type == "range":
            found = [cell for cell in found if start <= cell[1] and (stop is None or cell[1] < stop)]
        elif hist_access_type == "search":
            found = [cell for cell in found if fnmatchcase(cell[2], asked.get("pattern") or "*")]
        if asked.get("unique"):
            found = list({text: (0, number, text) for _, number, text in found}.values())
        if hist_access_type != "range":
            found = found[-n if n else 0 :]
        return {
            "status": "ok",
            "history": [(0, number, (text, None)) for _, number, text in found] if output else found,
        }

    def do_shutdown(self, restart: bool) -> dict[str, Any]:
        """Drop the names and their graphs."""
        self.language_session = new_session()
        return {"status": "ok", "restart": restart}


def main() -> None:
    """Run a kernel, as Jupyter starts it: with the file that says how to reach the notebook."""
    sys.argv[0] = "agrad kernel"
    IPKernelApp.launch_instance(kernel_class=AgradKernel)


# Making the kernel known to Jupyter.

NAME = "agrad"
_LOGO = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64">
<rect width="64" height="64" rx="12" fill="#1a5f7a"/>
<text x="32" y="47" font-family="serif" font-style="italic" font-size="46" text-anchor="middle" fill="#fff">∂</text>
</svg>
"""


def install(prefix: str | None) -> str:
    """Install the kernel: for this user or, with a prefix, in an environment; the folder. Raises OSError."""
    spec = {
        "argv": [sys.executable, "-P", "-m", "agrad.cli.integrations.jupyter", "-f", "{connection_file}"],
        "display_name": "agrad",
        "language": "agrad",
        "interrupt_mode": "signal",
    }
    with TemporaryDirectory() as folder:
        Path(folder, "kernel.json").write_text(json.dumps(spec, indent=1), encoding="utf-8")
        Path(folder, "logo-svg.svg").write_text(_LOGO, encoding="utf-8")
        made = Path(KernelSpecManager().install_kernel_spec(folder, NAME, user=prefix is None, prefix=prefix))
    _colour(made.parents[1] / "labextensions" / NAME)
    return str(made)


def _colour(folder: Path) -> None:
    """Give the cells of JupyterLab the colours of the language."""
    signs = saved()["signs"]
    soft = SOFT | NAMES_TOO
    commands = {word: after_command(word) if word in soft else r"\b" for word in COMMAND_WORDS}
    words = {
        "commands": commands | {"print": r"(?!\()"},
        "keywords": sorted(PYTHON),
        "number": f"{signs['MEASURED']}|{signs['NUMBER']}",
        "operator": "|".join(sign for name, sign in signs.items() if kind_of(Token(name)) == "operator"),
    }
    entry = {"load": "static/remoteEntry.js", "extension": "./extension"}
    about = {"name": NAME, "version": __version__, "jupyterlab": {"extension": True, "_build": entry}}
    (folder / "static").mkdir(parents=True, exist_ok=True)
    (folder / "package.json").write_text(json.dumps(about, indent=1), encoding="utf-8")
    script = Path(__file__).with_name("lab.js").read_text("utf-8").replace("WORDS;", f"{json.dumps(words)};")
    (folder / "static" / "remoteEntry.js").write_text(script, encoding="utf-8")


def remove() -> str | None:
    """Remove the kernel; the folder that it was in, None where there is none. Raises OSError."""
    try:
        found = Path(KernelSpecManager().remove_kernel_spec(NAME))
    except (KeyError, NoSuchKernel):
        return None
    shutil.rmtree(found.parents[1] / "labextensions" / NAME, ignore_errors=True)
    return str(found)
