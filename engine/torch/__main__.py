"""`python -m agrad.torch train.py`: any script of Python, with this package where it imports torch.

The script is trusted: it is run as Python runs it, with all that Python may do.
"""

from __future__ import annotations

import importlib.util
import runpy
import sys
import traceback
from pathlib import Path

import agrad.torch
from agrad.torch.modules import Dot, Module

HERE = str(Path(agrad.torch.__file__).parents[1])


def stand_in() -> None:
    """Let `import torch`, and that of its modules, find this package."""
    for name, module in list(sys.modules.items()):
        if name == "agrad.torch" or (name.startswith("agrad.torch.") and not getattr(module, "__file__", None)):
            sys.modules[name.removeprefix("agrad.")] = module
    if importlib.util.find_spec("torchviz") is None:
        sys.modules["torchviz"] = Module("torchviz", "Graphs as pictures.", {"make_dot": Dot})


def explained(error: BaseException) -> str:
    """A traceback of the lines of the script alone, with agrad's message, places and fixes below."""
    told = traceback.TracebackException.from_exception(error)
    frames = [frame for frame in told.stack if not _is_inside(frame.filename)]
    told.stack = traceback.StackSummary.from_list(frames)
    return "".join(told.format(chain=False))


def _is_inside(filename: str) -> bool:
    return filename.startswith((HERE, "<frozen")) or filename.endswith("runpy.py")


def main() -> int:
    """Run the script that is named first, with the arguments after it."""
    if len(sys.argv) < 2:
        sys.stderr.write("usage: python -m agrad.torch SCRIPT [ARGUMENT …]\n")
        return 2
    script = sys.argv[1]
    sys.argv = sys.argv[1:]
    sys.path[0] = str(Path(script).resolve().parent)
    stand_in()
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit:
        raise
    except BaseException as error:
        sys.stderr.write(explained(error))
        return 130 if isinstance(error, KeyboardInterrupt) else 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
