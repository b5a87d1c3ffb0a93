"""How deeply calls may be nested: a limit that all threads share."""

import sys
from threading import Event, Thread

from agrad.grammar.run.code import deeply


def test_the_limit_is_as_before_when_the_last_thread_has_ended_and_no_lower_while_one_needs_it() -> None:
    before, inside, done = sys.getrecursionlimit(), Event(), Event()

    def work() -> None:
        with deeply():
            inside.set()
            done.wait()

    thread = Thread(target=work)
    with deeply():
        raised = sys.getrecursionlimit()
        thread.start()
        inside.wait()
    assert sys.getrecursionlimit() == raised > before
    done.set()
    thread.join()
    assert sys.getrecursionlimit() == before
