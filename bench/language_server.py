"""How long the language server takes to answer on a script of 5,000 lines: python bench/language_server.py"""

import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

import pytest_lsp
from lsp_client import CONFIG, Editor
from lsprotocol import types

LIMIT = 50  # milliseconds
STEP = 130  # lines from one try to the next
BLOCK = """\
var w_1 = tensor([1, 2, 3])
def loss_1(x, k=1):
    s = 0
    for i in range(3):
        s += (x[i] - k)**2
    return s
y_1 = loss_1(w_1) + sin(sum(w_1))
backward y_1
print "loss", y_1, f"{y_1:.3f}", w_1.grad
zero_grad w_1
"""
SCRIPT = "".join(BLOCK.replace("_1", f"_{number}") for number in range(500))


async def main() -> None:
    """Print the median and the longest time of some tries of each request, and of the errors, after a key."""
    client = await CONFIG.start()
    await client.initialize_session(types.InitializeParams(pytest_lsp.client_capabilities("visual-studio-code")))
    with tempfile.TemporaryDirectory() as folder:
        editor = Editor(client, Path(folder))
        started = time.perf_counter()
        editor.open("a.ag", SCRIPT)
        await editor.errors("a.ag")
        print(f"the errors appear {1000 * (time.perf_counter() - started):.0f} ms after the script is opened")
        keys = Keys(editor)
        for name, request in {
            "completion": lambda line: editor.completions("a.ag", line, 6),
            "hover": lambda line: editor.hover("a.ag", line + 6, 5),
            "definition": lambda line: editor.definition("a.ag", line + 6, 8),
            "diagnostics": lambda line: editor.errors("a.ag", keys.version),
        }.items():
            await timed(keys, request, 0)  # what is loaded with the first one
            taken = [await timed(keys, request, line) for line in range(160, len(SCRIPT.split("\n")), STEP)]
            verdict = "holds" if statistics.median(taken) <= LIMIT else "does not hold"
            print(f"{name:12} median {statistics.median(taken):5.1f} ms, longest {max(taken):5.1f} ms: {verdict}")
    await client.shutdown_session()
    await client.stop()


class Keys:
    """Who types: at every key, the editor sends a new version of the script."""

    def __init__(self, editor: Editor) -> None:
        self.editor, self.version = editor, 1

    def typed(self, line: int, written: str) -> None:
        """Have a line of the script written so far."""
        self.version += 1
        lines = SCRIPT.split("\n")
        lines[line] = written
        self.editor.change("a.ag", "\n".join(lines), self.version)


async def timed(keys: Keys, request: Callable[[int], Awaitable[object]], line: int) -> float:
    """The milliseconds from a key, in the middle of a word, to an answer."""
    keys.typed(line, "y = lo")
    await keys.editor.errors("a.ag", keys.version)
    started = time.perf_counter()
    keys.typed(line, "y = los")
    await request(line)
    return 1000 * (time.perf_counter() - started)


if __name__ == "__main__":
    asyncio.run(main())
