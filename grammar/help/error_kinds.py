"""The kinds of errors: what each is about, a program that causes one, and how it goes on."""

from __future__ import annotations

import re

from agrad.engine.struct import Struct


class ErrorKind(Struct):
    """What errors of a kind are about; statements of which the last one fails, and what to type then.

    `shell`: what to type in a shell before that; `missing`: the library without which the program fails.
    """

    meaning: str
    program: tuple[str, ...] = ()
    fix: tuple[str, ...] = ()
    shell: str = ""
    missing: str = ""


# The fields of each kind behind its name, on a line each; statements have `; ` between them.
_KINDS = """
syntax: the text is not valid; none of it has run
  y = 2*(3 + 4))
  y = 2*(3 + 4)
name: a name or an attribute does not exist
  x = 2; y = sine(x)
  y = sin(x)
arity: too many or too few arguments, or values for names
  y = atan2(1)
  y = atan2(1, 2)
type: a text, a tuple or a function where a number is needed,   and the like
  x = 2; y = x + sin
  y = x + sin(x)
shape: shapes do not fit together; an index or an axis is out of range
  x = [1, 2, 3]; y = x + [10, 20]
  y = x + [10, 20, 30]
domain: there is no result, as for the inverse of a singular matrix
  A = [[1, 2], [2, 4]]; inv(A)
  A[1, 1] = 5; inv(A)
freed: an earlier backward freed the graph
  var x = 2; y = x**2; backward y; backward y
  undo; backward y retain; backward y
stale: what a value was computed from has changed since
  var x = 2; y = x**2; set x = 3; backward y
  forward y; backward y
leaf: a leaf that requires grad is written to while recording
  var w = 2; backward w**2; w -= 0.1*w.grad
  no_grad: w -= 0.1*w.grad
grad: there is no gradient: no path leads to a leaf that requires grad
  x = 2; y = x**2; backward y
  var x = 2; y = x**2; backward y
guard: in a replay a guard, such as the condition of an `if`, has another outcome
  var x = 2; y = x**2 if x > 0 else -x; set x = -1; forward y
  y = x**2 if x > 0 else -x
limit: too much memory or time, too many nodes, or nested too deep
  limit memory="1 MB"; x = zeros(1000, 1000)
  limit memory="10 MB"; x = zeros(1000, 1000)
file: a file cannot be read or written
  x = load_csv("examples/chunk.csv")
  x = load_csv("examples/chunks.csv")
extra: a library that is needed is not installed, or does not load
  expm([[0, 1], [0, 0]])
  expm([[0, 1], [0, 0]])
  pip install "agrad[science]"
  scipy
assert: an assertion does not hold
  y = 0.1 + 0.2; assert y == 0.3
  assert y ~= 0.3
internal: an error in agrad itself; the statement is taken back
"""


def _kind(meaning: str, program: str = "", fix: str = "", shell: str = "", missing: str = "") -> ErrorKind:
    statements = [tuple(text.split("; ") if text else ()) for text in (program, fix)]
    return ErrorKind(meaning, statements[0], statements[1], shell, missing)


_ROWS = (kind.partition(": ") for kind in re.split(r"\n(?! )", _KINDS.strip()))
KINDS = {name: _kind(*fields.split("\n  ")) for name, _, fields in _ROWS}
