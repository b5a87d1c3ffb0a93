"""The process: `agrad`, and `python -m agrad.cli`. Settings of the whole process are made here, not by the library."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any, NoReturn

# Modules that click, lark and prompt_toolkit import, and most runs never use: they are loaded when they are first used.
#
# An `import` of one of them finds it, but runs it only once something asks for one of its attributes. That is a sixth
# of the time of `agrad eval`. This is set up for the process of the command line alone, since a library has no business
# with what others import.

LAZY = frozenset(
    {
        # of the standard library
        *("ast", "getpass", "hashlib", "inspect", "linecache", "pickle", "pkgutil", "shutil", "tempfile", "textwrap"),
        *("tokenize", "traceback", "uuid"),
        # of the same, for the prompt
        *("asyncio.sslproto", "asyncio.staggered", "datetime", "secrets", "ssl"),
        # what reads grammars, and loads all kinds of parsers; the one that is used is imported from where it is
        "lark",
    }
)


class Waiting(ModuleType):
    """A module that is run when it is asked for what it does not have yet.

    That of `importlib.util.LazyLoader` is run already when it is imported a second time, which asks for its spec.
    """

    def __getattr__(self, name: str) -> Any:
        self.__class__ = ModuleType  # type: ignore[assignment]  # first, since what it imports may ask for it
        self.__loader__.exec_module(self)  # type: ignore[union-attr]
        return getattr(self, name)


class Finder:
    """Finds the modules in LAZY as Python does, and lets them wait."""

    def __init__(self, loader: Any) -> None:
        self.loader = loader
        self.create_module = loader.create_module

    @classmethod
    def find_spec(cls, name: str, path: Sequence[str] | None = None, target: object = None) -> ModuleSpec | None:
        """The module of that name; None if another finder is to look for it."""
        spec = PathFinder.find_spec(name, path) if name in LAZY else None
        if spec is not None and spec.loader is not None:
            spec.loader = cls(spec.loader)  # type: ignore[assignment]
        return spec

    def exec_module(self, module: Any) -> None:
        """Let a module wait, instead of running it."""
        module.__spec__.loader = module.__loader__ = self.loader
        module.__class__ = Waiting


def load_all() -> None:
    """Load those that have been imported: threads that begin to use one at the same time would find it incomplete."""
    for module in map(sys.modules.get, LAZY):
        if type(module) is Waiting:
            module.__getattr__("__name__")


def process() -> NoReturn:
    """Run the command line, and exit."""
    # Often enough to collect cycles, but not so often that it slows down a start, or a graph of a million nodes.
    gc.set_threshold(100_000, 50, 100)
    os.environ["PYTHONSAFEPATH"] = "1"  # no process that is started runs a `socket.py` of the current folder
    # `agrad run x | head -1` ends as any Unix tool does: silently.
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    streams = [stream for stream in (sys.stdout, sys.stderr) if stream]  # None where it was closed
    try:
        sys.meta_path.insert(0, Finder)
        from agrad.cli.main import main  # here, so that its imports also benefit
        from agrad.cli.terminal import stand_ins, stop_once, unraisable

        signal.signal(signal.SIGINT, stop_once)
        sys.unraisablehook = unraisable
        stand_ins(streams)  # a name with π must not fail in a locale without it
        main()
    except SystemExit as end:
        code = int(end.code or 0)
    except KeyboardInterrupt:
        code = 130  # which is `INTERRUPTED`, that may not be loaded yet
    for stream in streams:
        with suppress(OSError):
            if not stream.closed:  # as by a language server that has been told to end
                stream.flush()
    # The system takes memory back at once. Python would first free each module and each node of a graph: 10 ms
    # after the smallest calculation, a second after a million nodes.
    os._exit(code)


if __name__ == "__main__":
    process()
