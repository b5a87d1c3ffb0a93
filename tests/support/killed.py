"""A run of `agrad map … --on dask` in which a worker is killed at a random moment."""

import os
import random
import signal
import subprocess
import time
from pathlib import Path

PART = b'{"part":'  # the beginning of a line of the record, for a part that is done


def staged(out):
    """How many parts workers have written, which the process that keeps the record may not know yet."""
    try:
        return sum(name[0] != "." for name in os.listdir(Path(out, "_agrad")))
    except FileNotFoundError:
        return 0


def workers_of(process):
    """The processes of the workers that a process has started."""
    import psutil  # which Dask needs too

    try:
        children = psutil.Process(process).children()
        lines = [(child.pid, " ".join(child.cmdline())) for child in children]
    except (psutil.NoSuchProcess, psutil.ZombieProcess):
        return []
    return sorted(pid for pid, line in lines if "spawn_main" in line and "resource_tracker" not in line)


def run_with_a_kill(words, out, parts, seed, **settings):
    """Start a run, kill a worker with SIGKILL, and wait for the end: (exit code, stderr, how many parts were done).

    `parts`: how many there are in all. The moment is when a random number of them, up to half, is done, and up to a tenth
    of a second later; where all are done by then, nothing is killed. `out` is the folder with the results.
    """
    chance = random.Random(seed)
    when, later = chance.randrange(1, parts // 2), chance.uniform(0, 0.1)
    with subprocess.Popen([*map(str, words)], stderr=subprocess.PIPE, text=True, **settings) as run:
        try:
            while True:
                if run.poll() is not None:
                    raise AssertionError(f"it ended before a worker could be killed: {run.stderr.read()}")
                if staged(out) >= when and workers_of(run.pid):
                    break
                time.sleep(0.002)
            time.sleep(later)
            done, workers = staged(out), workers_of(run.pid)
            if done < parts and workers and run.poll() is None:
                os.kill(chance.choice(workers), signal.SIGKILL)
            else:
                done = parts
            _, complaints = run.communicate()
        except BaseException:
            run.kill()
            raise
    return run.returncode, complaints, done
