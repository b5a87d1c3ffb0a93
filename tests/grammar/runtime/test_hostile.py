"""Whatever is typed ends in an answer or a clear message, within two seconds and 1 GB.

The inputs run one after the other in processes of their own, which have both limits; each says what it came to. Time is
that of the processor, so that other work on the machine does not count.
"""

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.long

SECONDS = 2.0
ENDLESS = 1.0  # after which what does not end is stopped
BYTES = 1e9
LONGEST = 20_000  # characters of an answer that are looked at

BIG = "x = ones(1e5)\n"
HUGE = "x = ones(1e6)\n"

# By its name what is typed, and how it ends: the kind of the error, or None for an answer.
ROWS = [
    line.split(" | ")
    for line in Path(__file__).with_name("hostile.txt").read_text("utf-8").splitlines()
    if " | " in line
]
HOSTILE = {name: (eval(text), None if kind == "-" else kind) for name, kind, text in ROWS}
# These depend on the machine: any end will do, as long as it is one.
ANY = {"a graph written over a device", "einsum over all", "deep tuples", "deep tuples by a loop"}


PROCESSES = 10  # so that tests in several processes do not all wait for all of them


@pytest.fixture(scope="module")
def ends(tmp_path_factory):
    """How an input ended, as the process that ran it and its neighbours says."""
    pytest.importorskip("resource")
    folder = tmp_path_factory.mktemp("hostile")
    files(folder)
    known = {}

    def end_of(name):
        if name not in known:
            known.update(run_apart(share(name), folder))
        return known[name]

    return end_of


def share(name):
    """The number of the process that runs an input."""
    return list(HOSTILE).index(name) * PROCESSES // len(HOSTILE)


def run_apart(number, folder):
    """How the inputs of a process ended, by their names."""
    command = [sys.executable, os.path.abspath(__file__), str(number)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=300)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, f"it ended after {found[-1] if found else 'nothing'}: {done.stderr[-2000:]}"
    return {end["name"]: end for end in found}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_input_ends_in_an_answer_or_a_clear_message(ends, name):
    end, kind = ends(name), HOSTILE[name][1]
    assert end["seconds"] < SECONDS
    assert end["bytes"] < BYTES
    assert end["kind"] == kind or name in ANY, end["said"]
    assert kind is None or len(end["said"]) < 2000
    unclear = r"Traceback|object at 0x|<class|numpy\.|_NEWLINE|LPAR|\bNoneType\b"
    assert not re.search(unclear, end["said"]), end["said"]


def test_there_are_enough_of_them():
    assert len(HOSTILE) >= 60


def files(folder):
    """What the inputs read."""
    import pickle

    import numpy as np

    class Call:
        def __reduce__(self):
            return os.system, ("touch unpickled",)

    (folder / "pickled.npy").write_bytes(pickle.dumps(Call()))
    header = np.lib.format.magic(1, 0) + b"v\x00" + b"{'descr': '<f8', 'fortran_order': False, 'shape': (9" + b"9" * 63
    (folder / "header.npy").write_bytes(header + b",), }\n")
    (folder / "large.csv").write_text("1.5,2.5,3.5\n" * 100_000)
    (folder / "line.csv").write_text("1," * 150_000 + "1\n")


def run_all(number):
    """In a child: its share of them, with limits, a line of JSON for each."""
    from agrad.cli.main import limit_memory
    from agrad.engine.errors import AgradError
    from agrad.grammar.diagnostics import render
    from agrad.grammar.session.session import Session

    limit_memory(4e8)
    for name, (text, kind) in HOSTILE.items():
        if share(name) != number:
            continue
        session, said = Session(), []
        session.watch.end_in(ENDLESS if kind == "limit" else 10.0)
        began = time.process_time()
        try:
            session.run(text, lambda result, said=said, session=session: said.append(result.text(session.settings)))
            kind = None
        except AgradError as error:
            kind, said = error.kind, [render(error)]
        seconds = time.process_time() - began
        text = "\n".join(said)[:LONGEST]
        end = {"name": name, "kind": kind, "seconds": seconds, "bytes": peak(), "said": text}
        sys.stdout.write(f"{json.dumps(end)}\n")
        sys.stdout.flush()


def peak():
    """The most bytes that this process has had so far.

    On Linux not as `getrusage` tells it, which counts what the process that started this one had by then.
    """
    import resource

    if os.path.exists("/proc/self/status"):
        with open("/proc/self/status") as status:
            return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


if __name__ == "__main__":
    run_all(int(sys.argv[1]))
