"""One answer as a whole process, and a session's first prompt."""

from __future__ import annotations

import os
import sys
import time

from harness import BIN, Case, Work, serve, whole

WORKS = (
    Work('`agrad eval "x**2*sin(x)" x=2 --wrt x`, whole process', "eval", {"import numpy": 1.0}, rounds=31),
    Work("`agrad repl` to its first prompt", "repl", {"import prompt_toolkit, numpy": None}),
)
PROMPT = b"agrad 1>"


def agrad() -> dict[str, Case]:
    """As it is installed."""
    answer = whole([BIN / "agrad", "eval", "x**2*sin(x)", "x=2", "--wrt", "x"])
    return {"eval": answer, "repl": Case(prompted)}


def prompted() -> float:
    """The seconds until a session, on a terminal of its own, shows its first prompt."""
    import pty
    import subprocess

    terminal, inside = pty.openpty()
    began = time.perf_counter()
    process = subprocess.Popen(
        [BIN / "agrad", "repl"], stdin=inside, stdout=inside, stderr=inside, env={**os.environ, "TERM": "xterm"}
    )
    os.close(inside)
    try:
        shown = b""
        while PROMPT not in shown:
            shown += os.read(terminal, 4096)
        return time.perf_counter() - began
    finally:
        process.kill()
        process.wait()
        os.close(terminal)


def numpy() -> dict[str, Case]:
    """What a calculator could not do without."""
    return {"eval": whole([sys.executable, "-c", "import numpy"])}


def terminal() -> dict[str, Case]:
    """What a session is made of."""
    return {"repl": whole([sys.executable, "-c", "import prompt_toolkit, numpy"])}


if __name__ == "__main__":
    serve({"agrad": agrad, "import numpy": numpy, "import prompt_toolkit, numpy": terminal})
