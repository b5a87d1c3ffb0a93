"""A Dask cluster for tests: python dask_cluster.py COUNT [none|old] prints its address, and ends with its input.

COUNT processes are its workers; or it has one in its own process, in which there is no agrad, or an old one.
"""

import os
import subprocess
import sys
from contextlib import contextmanager


@contextmanager
def cluster(count, kind="", cwd=None):
    """The address of a cluster."""
    words = [sys.executable, __file__, str(count), kind]
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(words, text=True, cwd=cwd, **streams) as process:
        try:
            yield process.stdout.readline().strip()
        finally:
            process.stdin.close()
            process.wait()


def main():
    from distributed import LocalCluster

    count, kind = int(sys.argv[1]), sys.argv[2]
    if kind == "none":
        sys.modules["agrad"] = None
    elif kind == "old":
        import agrad.cli

        agrad.cli.__version__ = "0.0.9"
    settings = {
        "processes": not kind,
        "protocol": "tcp://",
        "threads_per_worker": 1,
        "dashboard_address": "127.0.0.1:0",
    }
    with LocalCluster(n_workers=count, local_directory=os.getcwd(), **settings) as made:
        sys.stdout.write(f"{made.scheduler_address}\n")
        sys.stdout.flush()
        sys.stdin.read()


if __name__ == "__main__":
    main()
