"""The process: `agrad`, and `python -m agrad.cli`. Settings of the whole process are made here, not by the library."""

import gc
import os
import signal
import sys
from contextlib import suppress
from typing import NoReturn

from agrad.cli import lazy_imports
from agrad.cli.terminal.interrupt import INTERRUPTED, stop_once


def process() -> NoReturn:
    """Run the command line, and exit."""
    # Often enough to collect cycles, but not so often that it slows down a start, or a graph of a million nodes.
    gc.set_threshold(100_000, 50, 100)
    signal.signal(signal.SIGINT, stop_once)
    # `agrad run x | head -1` ends as any Unix tool does: silently.
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    streams = [stream for stream in (sys.stdout, sys.stderr) if stream]  # None where it was closed
    try:
        lazy_imports.install()
        from agrad.cli.main import main  # here, so that its imports also benefit
        from agrad.cli.terminal.terminal import stand_ins

        stand_ins(streams)  # a name with π must not fail in a locale without it
        main()
    except SystemExit as end:
        code = int(end.code or 0)
    except KeyboardInterrupt:
        code = INTERRUPTED
    for stream in streams:
        with suppress(OSError):
            if not stream.closed:  # as by a language server that has been told to end
                stream.flush()
    # The system takes memory back at once. Python would first free each module and each node of a graph: 10 ms
    # after the smallest calculation, a second after a million nodes.
    os._exit(code)


if __name__ == "__main__":
    process()
