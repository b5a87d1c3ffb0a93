"""How long a key takes at the prompt: 1,000 names, 100,000 lines of history, the live line on. python bench/prompt.py

The time is that from the key to the new screen, in this process: reading it, the bindings, colours, the live line, the
toolbar, and drawing.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

NAMES, LINES, LONG, KEYS = 1_000, 100_000, 5_000, 200
LIMITS = {
    "a key of a line": 5,
    "a key of a line with a live value": 5,
    f"a key of a line of {LONG} characters": 20,
    f"a key at the start of {LONG} characters": 20,
}


def main() -> int:
    """Print the median and the longest of each kind of key; the exit code is 1 where a limit does not hold."""
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        os.environ.update(HOME=folder, XDG_STATE_HOME=folder, XDG_CONFIG_HOME=folder, TERM="xterm-256color")
        history()
        typed = {
            "a key of a line": ("v# = ", "total + a_name_1*2"),
            "a key of a line with a live value": ("#*x*sin(x)", "**2 + x/3 - exp(x)"),
            f"a key of a line of {LONG} characters": ("#*x + " + "x + " * (LONG // 4), "sin(x)"),
            f"a key at the start of {LONG} characters": ("#*x + ‸" + "x + " * (LONG // 4) + "x", "sin(x)*"),
        }
        for name, (before, keys) in typed.items():
            taken = times(before, keys)
            median = statistics.median(taken)
            verdict = "holds" if median < LIMITS[name] else "does not hold"
            failed = failed or median >= LIMITS[name]
            print(
                f"{name:40} median {median:5.2f} ms, longest {max(taken):6.2f} ms; under {LIMITS[name]} ms: {verdict}"
            )
    return int(failed)


def history() -> None:
    """Write the lines of earlier sessions."""
    from agrad.cli.settings import state_folder

    path = Path(state_folder(), "history")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"\n# 2026-01-01 00:00:00\n+value_{n} = x**2 + {n}*y\n" for n in range(LINES)))


def times(before: str, keys: str) -> list[float]:
    """The milliseconds of each of some keys, behind a text that was typed before, in which # is a number.

    ‸ is where the keys are typed, else at the end.
    """
    from prompt_toolkit import PromptSession
    from prompt_toolkit.application import create_app_session
    from prompt_toolkit.data_structures import Size
    from prompt_toolkit.input import create_pipe_input
    from prompt_toolkit.key_binding.key_processor import KeyPress
    from prompt_toolkit.output.vt100 import Vt100_Output

    from agrad.cli.repl.prompt import prompted
    from agrad.grammar.session.session import Session

    session = Session()
    session.run("var x = 2; y = 3\n" + "".join(f"a_name_{n} = {n}\n" for n in range(NAMES)))
    written = StringIO()
    output = Vt100_Output(written, lambda: Size(rows=24, columns=80), term="xterm-256color")
    taken: list[float] = []

    def measure(prompt: PromptSession[str]) -> None:
        app, buffer = prompt.app, prompt.default_buffer
        app.renderer.report_absolute_cursor_row(1)  # as a terminal does; else no toolbar is drawn
        while len(taken) < KEYS:
            left, _, right = before.replace("#", str(len(taken))).partition("‸")
            buffer.text = left + right  # another each time, so that nothing is known already
            buffer.cursor_position = len(left)
            app._redraw()
            for key in keys:
                start = time.perf_counter()
                app.key_processor.feed(KeyPress(key, key))
                app.key_processor.process_keys()
                app._redraw()
                taken.append(1000 * (time.perf_counter() - start))
        app.exit(exception=EOFError)

    unchanged = PromptSession.prompt

    def prompt(self: PromptSession[str], *arguments: object, **options: object) -> str:
        self.app.pre_run_callables.append(lambda: self.app.create_background_task(after_history(self, measure)))
        return unchanged(self, *arguments, **options)

    PromptSession.prompt = prompt
    colours, sys.stdout.isatty = sys.stdout.isatty, lambda: True  # colours are part of the time
    try:
        with create_pipe_input() as keyboard, create_app_session(input=keyboard, output=output):
            list(prompted(session))
    finally:
        PromptSession.prompt, sys.stdout.isatty = unchanged, colours
    if before.startswith("#*x*sin") and "d/dx" not in written.getvalue():
        raise SystemExit("the live line was not drawn")
    return taken


async def after_history(prompt: Any, measure: Callable[[Any], None]) -> None:
    """Measure once all lines of the history are there."""
    while len(prompt.default_buffer._working_lines) <= LINES:
        await asyncio.sleep(0.05)
    measure(prompt)


if __name__ == "__main__":
    sys.exit(main())
