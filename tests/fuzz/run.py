"""Looks for a text that breaks a claim of claims.py, guided by which code a text reaches.

    pip install atheris
    python tests/fuzz/run.py --minutes 60

Texts that reach new code gather in build/fuzz/corpus, those that break a claim in build/fuzz. See README.md.
"""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import random
import re
import resource
import sys
import traceback
from pathlib import Path

import atheris

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "support"))
ROOT = HERE.parents[1]
OUT = ROOT / "build" / "fuzz"
MEMORY = 4 << 30
# What lark, numpy and the standard library reach says nothing of agrad.
with atheris.instrument_imports(include=["agrad"]):
    import claims
    import sentences

    import agrad.grammar

    for folder in (agrad.grammar, agrad.engine):
        for module in pkgutil.walk_packages(folder.__path__, f"{folder.__name__}."):
            importlib.import_module(module.name)


def mutator(data: bytes, most: int, seed: int) -> bytes:
    """Another text; now and then plain bytes."""
    dice = random.Random(seed)
    if dice.random() < 0.05:
        return bytes(atheris.Mutate(data, most))
    return sentences.mutate(data.decode(errors="replace"), dice).encode(errors="replace")[:most]


class Hunt:
    """What has been run and found. A text that breaks a claim is kept, one for each place of the program."""

    def __init__(self) -> None:
        self.cases = 0
        self.found: set[str] = set()

    def judge(self, data: bytes) -> None:
        """Runs one text; the search goes on whatever comes of it."""
        text = data.decode(errors="replace")
        self.cases += 1
        try:
            claims.check(text)
        except Exception as problem:
            place = traceback.extract_tb(problem.__traceback__)[-1]
            what = re.sub(r"\W+|\d+", "-", str(problem))[:40]
            key = f"{type(problem).__name__}-{Path(place.filename).stem}-{place.lineno}-{what}"
            if key not in self.found:
                self.found.add(key)
                (OUT / f"{key}.txt").write_text(text, errors="replace")
                sys.stderr.write(f"FOUND {key} by {text!r}\n  {str(problem)[:2000]}\n")


def main() -> None:
    """Runs for the minutes asked for; libFuzzer prints what came of it."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--minutes", type=float, default=10)
    seconds = int(60 * options.parse_args().minutes)
    grown = OUT / "corpus"
    grown.mkdir(parents=True, exist_ok=True)
    for number, text in enumerate(sentences.STORE):
        (grown / f"seed-{number}").write_text(text, errors="replace")
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    # The time and memory of one text are the business of claims.py.
    flags = [f"-max_total_time={seconds}", "-max_len=600", "-timeout=3600", "-rss_limit_mb=0", "-print_final_stats=1"]
    atheris.Setup([sys.argv[0], *flags, str(grown)], Hunt().judge, custom_mutator=mutator)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
