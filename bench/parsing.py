"""How long a script of 20,000 lines takes to read, beside lexing it into tokens alone; and where the time goes.

python bench/parsing.py [lines]
"""

from __future__ import annotations

import cProfile
import gc
import io
import pstats
import sys
import time
from collections import deque
from collections.abc import Callable

from agrad.grammar.diagnostics import Source
from agrad.grammar.syntax import lexer, parser

ROUNDS = 5
LINES = """\
y = x**2 + 3*sin(x) - k/2
w -= lr*w.grad
loss = mean((A @ w + b - t)**2)
def f(x, y=2) = x**y + exp(-x)
for i in range(100):
    s = s + x[i, 1:]*values[-1]
    if s > 1e-3 and not done: break
print f"epoch {i}, loss {loss:.4f}"
assert y ~= 12 +- 1e-9, "too far"
backward loss retain
# a remark on what follows
x.grad.zero_(); q, r = qr(A)
"""


def seconds(action: Callable[[], object]) -> float:
    """The processor time of one run, on an empty heap."""
    gc.collect()
    start = time.process_time()
    action()
    return time.process_time() - start


def main() -> None:
    """Print both times and their ratio, and the functions that take most of the parsing."""
    lines = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    whole = LINES * (lines // LINES.count("\n") + 1)
    source = Source("bench", "".join(whole.splitlines(keepends=True)[:lines]))
    count = sum(1 for _ in lexer.read(source))
    times = [
        (seconds(lambda: deque(lexer.read(source), maxlen=0)), seconds(lambda: parser.parse(source)))
        for _ in range(ROUNDS)
    ]
    lexing, parsing = (min(column) for column in zip(*times, strict=True))
    print(f"{lines} lines, {count} tokens")
    print(f"lexing    {1000 * lexing:6.0f} ms {count / lexing:10.0f} tokens a second")
    print(f"parsing   {1000 * parsing:6.0f} ms {count / parsing:10.0f} tokens a second")
    print(f"ratio     {parsing / lexing:6.2f}")
    profile = cProfile.Profile()
    profile.runcall(parser.parse, source)
    report = io.StringIO()
    pstats.Stats(profile, stream=report).strip_dirs().sort_stats("tottime").print_stats(18)
    print(report.getvalue()[report.getvalue().index("   ncalls") :].rstrip())


if __name__ == "__main__":
    main()
