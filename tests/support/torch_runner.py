"""Runs programs of torch, each as plain Python, and prints what they print: `torch_runner.py torch`, `… agrad` or
`… numpy`.

`torch_runner.py torch tests/engine/tutorials/*.py` writes what scripts print beside them, each in a text of its own.
Without files, it reads a list of texts in JSON from the standard input, and writes the list of what they print. A program ends with its
first error, of which the kind is printed.
"""

import contextlib
import io
import json
import re
import sys
import warnings
from pathlib import Path


def kind_of(error):
    """The first class of Python's own that an error is of."""
    return next(one.__name__ for one in type(error).__mro__ if one.__module__ == "builtins")


# What PyTorch is asked for in the place of narrower types, since agrad has none.
WIDE = (
    (r"torch\.(float32|float16|half|float)\b", "torch.float64"),
    (r"\.(float|half)\(\)", ".double()"),
    (r"\bFloatTensor\b", "DoubleTensor"),
    (r"torch\.(int32|int)\b", "torch.int64"),
    (r"\.int\(\)", ".long()"),
)


def run(text):
    for narrow, wide in WIDE if sys.argv[1] == "torch" else ():
        text = re.sub(narrow, wide, text)
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        try:
            exec(compile(text, "<program>", "exec"), {"__name__": "__main__"})
        except Exception as error:
            sys.stdout.write(f"raises {kind_of(error)}\n")
            if "-v" in sys.argv:
                import traceback

                traceback.print_exc(file=sys.stderr)
    return said.getvalue()


def main():
    if sys.argv[1] == "agrad":
        from agrad.torch.__main__ import stand_in

        stand_in()
    if sys.argv[1] != "numpy":
        import torch

        torch.set_default_dtype(torch.float64)
    warnings.simplefilter("ignore")
    for path in map(Path, sys.argv[2:]):
        if path.suffix == ".py":
            path.with_suffix(".txt").write_text(run(path.read_text("utf-8")), "utf-8")
    if not sys.argv[2:] or "-v" in sys.argv:
        json.dump([run(text) for text in json.load(sys.stdin)], sys.stdout)


if __name__ == "__main__":
    main()
