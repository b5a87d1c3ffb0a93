"""Runs many cases of the comparisons of tests/support/comparisons, and prints what it found.

    python tests/fuzz/compare.py loops --cases 200000

Each finding is written to build/fuzz/comparisons with the seed that makes it again: `--seed SEED --cases 50`.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import sys
import time
import traceback
import warnings
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # a process that forks should have one thread
HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "support"))
from comparisons import NAMES, comparison  # noqa: E402

OUT = HERE.parents[1] / "build" / "fuzz" / "comparisons"

MOST = 20  # findings; more of them are hardly read


def run(name: str, cases: int, seconds: float, seed: int) -> tuple[int, int, dict[str, str]]:
    """So many cases from a seed on: (cases, seeds used, the findings by what they say)."""
    found: dict[str, str] = {}
    done = used = 0
    began = told = time.monotonic()
    while done < cases and time.monotonic() - began < seconds:
        try:
            for _ in comparison(name)(random.Random(seed + used)):
                done += 1
        except Exception as problem:
            done += 1
            place = traceback.extract_tb(problem.__traceback__)[-1]
            key = f"seed {seed + used}: {type(problem).__name__} at {Path(place.filename).name}:{place.lineno}"
            found[key] = str(problem)
            with (OUT / f"{name}-{seed + used}.txt").open("w", encoding="utf-8", errors="replace") as file:
                file.write(f"{key}\n{problem}\n\n{''.join(traceback.format_exception(problem))}")
            sys.stdout.write(f"FOUND {key}\n{str(problem)[:600]}\n\n")
            sys.stdout.flush()
        used += 1
        if len(found) == MOST:
            sys.stdout.write(f"{name}: stopped after {MOST} findings\n")
            break
        if time.monotonic() - told > 60:
            told = time.monotonic()
            sys.stdout.write(f"{name}: {done} cases, {told - began:.0f} s, {len(found)} findings\n")
            sys.stdout.flush()
    sys.stdout.write(
        f"{name}: {done} cases in {time.monotonic() - began:.0f} s, {len(found)} findings, seeds {seed}-{seed + used - 1}\n"
    )
    return done, used, found


def main() -> int:
    """Run what the command line asks for; 1 where something was found."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("names", nargs="*", choices=[*NAMES, []], help="the comparisons; all if none is named")
    options.add_argument("--cases", type=int, default=2000)
    options.add_argument("--seconds", type=float, default=math.inf, help="for each comparison at most")
    options.add_argument("--seed", type=int, default=None, help="the first; a random one if it is not given")
    given = options.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("error")
    seed = random.SystemRandom().randrange(10**9) if given.seed is None else given.seed
    found = [run(name, given.cases, given.seconds, seed)[2] for name in given.names or NAMES]
    return int(any(found))


if __name__ == "__main__":
    sys.exit(main())
