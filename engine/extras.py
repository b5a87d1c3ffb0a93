"""Optional libraries: imported where they are used, with an error if they are missing or broken."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from agrad.engine.errors import AgradError, Hint
from agrad.engine.values import LOADING, NotLoaded


def extra(module: str, what: str, library: str, group: str, otherwise: Sequence[str] = ()) -> Any:
    """A module of a library that `what` needs; `group`: the extra that installs it; `otherwise`: an alternative.

    Raises AgradError of kind `extra` where the library is missing, and where it is installed but does not load.
    """
    if module not in sys.modules and LOADING.refused:
        raise NotLoaded
    try:
        with LOADING:
            return import_module(module)
    except (MemoryError, AgradError):  # such as a limit of time
        raise
    except Exception as problem:  # a broken library raises anything
        top = module.partition(".")[0]
        is_missing = isinstance(problem, ModuleNotFoundError) and (problem.name or "").partition(".")[0] == top
        fixes = [Hint(f'pip install "agrad[{group}]"'), *otherwise]
        if is_missing:
            raise AgradError("extra", f"{what} needs {library}, which is not installed", fixes=fixes) from None
        reason = f"{type(problem).__name__}: {next(iter(str(problem).splitlines()), '')}".rstrip(": ")
        fixes[0] = Hint(f'pip install --force-reinstall "agrad[{group}]"')
        message = f"{what} needs {library}, which is installed but does not load"
        raise AgradError("extra", message, notes=[reason], fixes=fixes) from None
