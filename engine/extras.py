"""Optional libraries: imported where they are used, with an error if they are missing or broken."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import module_from_spec, spec_from_file_location
from os.path import exists, join
from typing import Any

from agrad.engine.errors import AgradError, Hint
from agrad.engine.values import LOADING, NotLoaded, np, require_room


def extra(module: str, what: str, library: str, group: str, otherwise: Sequence[str] = ()) -> Any:
    """A module of a library that `what` needs; `group`: the extra that installs it; `otherwise`: an alternative.

    Raises AgradError of kind `extra` where the library is missing, and where it is installed but does not load.
    """
    if module not in sys.modules and LOADING.refused:
        raise NotLoaded
    try:
        if module.startswith("scipy") and module not in sys.modules:
            require_room(_ROOM)
        found = LOADING.load(module)
        if module == "scipy.linalg":
            _begin(found.blas)
        return found
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
        if isinstance(problem, UnicodeDecodeError) and library == "matplotlib":  # it looks for one here, too
            fixes[0] = Hint("write the matplotlibrc that matplotlib reads in UTF-8, or give it another name")
        message = f"{what} needs {library}, which is installed but does not load"
        raise AgradError("extra", message, notes=[reason], fixes=fixes) from None


# SciPy's OpenBLAS takes its memory when it is loaded and when it is first used, and ends the process where there is
# none: so there is room for it, or it is not loaded.
_ROOM = 2**27


@cache
def _begin(blas: Any) -> None:
    blas.dgemm(1.0, np.ones((64, 64)), np.ones((64, 64)))


def matplotlib(part: str, what: str) -> Any:
    """A part of matplotlib, `figure`, that draws `what`. Raises AgradError of kind `extra` as `extra` does."""
    return extra(f"matplotlib.{part}", what, "matplotlib", "plot")


def look_of(what: str, settings: Mapping[str, Any]) -> AbstractContextManager[None]:
    """In it matplotlib has its own settings, and those given.

    Others are not read: a `matplotlibrc` in the current folder, which a script can write, could have it start LaTeX.
    Raises AgradError of kind `extra` as `extra` does.
    """
    library = extra("matplotlib", what, "matplotlib", "plot")
    own = {name: value for name, value in dict.items(library.rcParamsDefault) if name != "backend"}
    look: AbstractContextManager[None] = library.rc_context(own | dict(settings))
    return look


_PUBLIC = {"scipy.linalg._flapack": "scipy.linalg.lapack", "scipy.linalg._fblas": "scipy.linalg.blas"}


@cache
def compiled(module: str, what: str) -> Any:
    """A compiled module of SciPy that `what` needs, alone: its package takes 0.2 s to import, or 0.4 s.

    Raises AgradError of kind `extra` as `extra` does.
    """
    given = what, "SciPy", "science"
    scipy = extra("scipy", *given)
    _, *folders, name = module.split(".")
    roots = [] if module in sys.modules else scipy.__path__
    for path in [join(root, *folders, name + suffix) for root in roots for suffix in EXTENSION_SUFFIXES]:
        found = _loaded(module, path) if exists(path) else None
        if found is not None:
            if name == "_flapack":
                _begin(linear_algebra("_fblas"))
            return found
    return extra(_PUBLIC.get(module, module), *given)


def linear_algebra(library: str) -> Any:
    """SciPy's functions of LAPACK and BLAS, for Python (`_flapack`, `_fblas`) or machine code (`cython_lapack`, …).

    Raises AgradError of kind `extra` as `extra` does.
    """
    return compiled(f"scipy.linalg.{library}", "factorisations")


def _loaded(name: str, path: str) -> Any:
    """A compiled module, without the package around it, which takes 0.2 s to import; None where that fails."""
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        return None
    try:
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
    except ImportError:
        return None
    return module
