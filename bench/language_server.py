"""How long the language server takes to answer on a script of 5,000 lines: python bench/language_server.py"""

import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from lsp_client import Editor

LIMIT = 50  # milliseconds
TRIES = 30
BLOCK = """\
var w = tensor([1, 2, 3])
def loss(x, k=2):
    s = 0
    for i in range(3):
        s += (x[i] - k)**2
    return s
y = loss(w) + sin(sum(w))
backward y
print "loss", y, f"{y:.3f}"
zero_grad w
"""
SCRIPT = BLOCK * 500


def main() -> None:
    """Print the median and the longest of some tries of each request, each after a key was typed."""
    with tempfile.TemporaryDirectory() as folder, Editor(Path(folder)) as editor:
        editor.open("a.ag", SCRIPT)
        editor.errors("a.ag")
        version = 1
        requests = {
            "completion": lambda line: editor.completions("a.ag", line, 10),
            "hover": lambda line: editor.hover("a.ag", line + 6, 5),
            "definition": lambda line: editor.definition("a.ag", line + 6, 5),
        }
        for name, request in requests.items():
            taken = []
            for number in range(TRIES):
                line = number * 160
                lines = SCRIPT.split("\n")
                lines[line : line + 1] = [f"y = 2*los{'s' * (number % 2)}"]
                version += 1
                started = time.perf_counter()
                editor.change("a.ag", "\n".join(lines), version)
                request(line)
                taken.append(1000 * (time.perf_counter() - started))
            verdict = "holds" if statistics.median(taken) <= LIMIT else "does not hold"
            print(f"{name:12} median {statistics.median(taken):5.1f} ms, longest {max(taken):5.1f} ms: {verdict}")
        taken = []
        for number in range(10):
            version += 1
            started = time.perf_counter()
            editor.change("a.ag", SCRIPT.replace("k=2", f"k={number}", 1), version)
            editor.errors("a.ag", version)
            taken.append(1000 * (time.perf_counter() - started))
        print(f"{'diagnostics':12} median {statistics.median(taken):5.1f} ms, longest {max(taken):5.1f} ms")


if __name__ == "__main__":
    main()
