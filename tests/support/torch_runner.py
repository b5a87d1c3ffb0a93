"""Runs programs of torch, each as plain Python, and prints what they print: `torch_runner.py torch`, `… agrad` or
`… numpy`.

Reads a list of texts in JSON from the standard input, and writes the list of what they print. A program ends with its
first error, of which the kind is printed.
"""

import contextlib
import io
import json
import sys
import warnings


def kind_of(error):
    """The first class of Python's own that an error is of."""
    return next(one.__name__ for one in type(error).__mro__ if one.__module__ == "builtins")


def run(text):
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
    json.dump([run(text) for text in json.load(sys.stdin)], sys.stdout)


if __name__ == "__main__":
    main()
