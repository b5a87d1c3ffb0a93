"""Work in several threads at once."""

import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier


def in_threads(count, work):
    """What a function gives for each of so many numbers, each in a thread of its own; the threads change often."""
    together, before = Barrier(count), sys.getswitchinterval()

    def begin(number):
        together.wait()
        return work(number)

    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(count) as pool:
            return list(pool.map(begin, range(count)))
    finally:
        sys.setswitchinterval(before)
