"""Which of the mutants of tests/mutants.txt the tests notice: the measure of a suite, beside its time.

    python tests/support/mutant_trial.py -m "not long"    with the words of pytest that choose the tests (none: all)
    python tests/support/mutant_trial.py list             writes into the list what killed each
    python tests/support/mutant_trial.py choose 1         makes a new list, from a seed

It writes into the sources, and puts them back to the last commit: run it in a checkout of its own, with its environment.

All mutants are written in at once, as `(mutated if __mutant__(number) else expression)`; bytes of memory that all processes
share say which are on, and which were reached. The tests are collected once, and each run is a fork:

1. Three cases of each test without a mutant: which mutants they reach, and how long they take.
2. Each mutant alone, with those that reach it, up to SECONDS: first the quickest, and of its own folder.
3. All that live at once, with the other tests; where one fails, with each mutant alone that it reached.

A test kills a mutant if it fails with it, and passes without. Progress is in build/mutants.log; a run that is ended goes on
where it was, if neither the last commit nor the list has changed. Expressions that are computed at import are mutated later.
"""

import os
import pickle
import signal
import subprocess
import sys
import time
from ast import literal_eval
from collections import Counter, defaultdict
from contextlib import contextmanager, suppress
from mmap import mmap
from select import select

import launch
import psutil
import pytest
from _pytest.runner import runtestprotocol
from mutants import FLOORS, ROOT, SWITCH, choose, plant, read, say, standing, write

STATE = SWITCH.with_suffix(".pickle")
CASES = 1, 3, 9  # of a test that are tried first
SECONDS = 0.7  # of tests with one mutant
MEMORY = 4 << 30  # bytes of a run that grows without an end


class Trial:
    """Runs tests in forks of this process, and says which mutants live."""

    def __init__(self, mutants):
        head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, check=True).stdout
        self.mutants, self.key = mutants, (head, [mutant for mutant, *_ in mutants])
        self.ends = {}  # of a mutant: what killed it
        self.alone = set()  # mutants that were tried alone
        self.times, self.reached = {}, {}  # of a test without a mutant
        self.fit, self.unfit = set(), set()  # tests that pass, that fail, in a process of their own without a mutant
        self.passed = set()  # tests that were run with all mutants that live
        with suppress(OSError):
            key, kept = pickle.loads(STATE.read_bytes())
            vars(self).update(kept if key == self.key else {})

    def _keep(self):
        names = "ends", "alone", "times", "reached", "fit", "unfit", "passed"
        STATE.write_bytes(pickle.dumps((self.key, {name: getattr(self, name) for name in names})))

    def pytest_runtestloop(self, session):
        """All that is done, once the tests are collected."""
        self.shared = mmap(os.open(SWITCH, os.O_RDWR), 0)
        launch.agrad()  # one server for all forks
        [self.server], [self.path] = psutil.Process().children(), launch._SERVERS.values()
        quick, slow, sample, counts = [], [], [], Counter()
        for item in session.items:
            (slow if item.get_closest_marker("long") else quick).append(item)
            counts[_function(item)] += 1
            if counts[_function(item)] in CASES and item in quick[-1:]:
                sample.append(item)
        self._record([item for item in sample if item.nodeid not in self.times])
        for number in sorted(self._living() - self.alone):
            self._try(number, [item for item in sample if number in self.reached[item.nodeid]])
        for items in self._promising(quick, sample), slow:
            self._together([item for item in items if item.nodeid not in self.passed | self.unfit])
        return True

    def _promising(self, items, sample):
        """Tests, first those that reach mutants which few others reach, in little time."""
        reach, seconds = defaultdict(set), defaultdict(list)
        for item in sample:
            reach[_function(item)] |= self.reached[item.nodeid] & self._living()
            seconds[_function(item)].append(max(self.times[item.nodeid], 0.005))
        common = Counter(number for numbers in reach.values() for number in numbers)
        worth = {
            one: sum(1 / common[number] for number in reach[one]) / (sum(seconds[one]) / len(seconds[one]))
            for one in reach
        }
        return sorted(items, key=lambda item: -worth[_function(item)])

    def _living(self):
        return {number for number in range(len(self.mutants)) if number not in self.ends}

    def _marks(self):
        return {number for number, mark in enumerate(self.shared[::2]) if mark}

    def _record(self, items):
        while items:
            for done, (item, passed, seconds, marks) in enumerate(self._play(items, ()), 1):  # noqa: B007
                self.times[item.nodeid], self.reached[item.nodeid] = seconds, marks
                if not passed:
                    self.unfit.add(item.nodeid)
                    say("fails without a mutant:", item.nodeid)
            items = items[done:]
            self._keep()

    def _try(self, number, items):
        """Run a mutant alone."""
        mutant, path, _ = self.mutants[number]
        folder = f"tests/{path.parent.relative_to(ROOT)}/"
        items = [item for item in items if item.nodeid not in self.unfit]
        items.sort(key=lambda item: self.times[item.nodeid] * (1 if item.nodeid.startswith(folder) else 10))
        chosen, seconds = [], 0.0
        for item in items:
            if seconds < SECONDS:
                chosen.append(item)
                seconds += self.times[item.nodeid]
        while chosen and number not in self.ends:
            failed = self._first_failure(chosen, {number})
            chosen = chosen[chosen.index(failed) + 1 :] if failed else []
            if failed and self._passes(failed):
                self._killed(number, failed)
        if number not in self.ends:
            say(number, *mutant[:2], f"lives after {seconds:.1f} s of {len(items)} tests")
        self.alone.add(number)
        self._keep()

    def _together(self, items):
        """Run all mutants that live at once, and those alone that were reached where a test fails."""
        say(len(items), "tests,", len(self._living()), "mutants")
        while items and self._living():
            for done, (item, passed, *_) in enumerate(self._play(items, self._living()), 1):  # noqa: B007
                self.passed.add(item.nodeid)
            items, before = items[done:], len(self.ends)
            suspects = set() if passed else self._marks() & self._living()
            if suspects and self._passes(item):
                for number in suspects:
                    if self._first_failure([item], {number}):
                        self._killed(number, item)
            if len(self.ends) > before:
                items.insert(0, item)  # it may reach more now
            self._keep()

    def _killed(self, number, item):
        self.ends[number] = f"killed by {item.nodeid}"
        say(number, *self.mutants[number][0][:2], self.ends[number])

    def _first_failure(self, items, numbers):
        return next((item for item, passed, *_ in self._play(items, numbers) if not passed), None)

    def _passes(self, item):
        """Whether a test passes alone and without a mutant."""
        if item.nodeid not in self.fit | self.unfit:
            (self.unfit if self._first_failure([item], ()) else self.fit).add(item.nodeid)
        return item.nodeid in self.fit

    def _play(self, items, numbers):
        """Run tests in a fork up to the first that fails: (test, whether it passed, seconds, the mutants it reached)."""
        self.shared[:] = bytes(len(self.shared))
        for number in numbers:
            self.shared[2 * number + 1] = 1
        here, there = os.pipe()
        child = os.fork()
        if child == 0:
            launch._SERVERS[os.getpid()] = self.path
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.default_int_handler)  # it is ignored in the background
            os.close(here)
            with suppress(BaseException):
                _run(items, there, self.shared)
            os._exit(0)
        os.close(there)
        process, used = psutil.Process(child), 0.0
        with open(here, "rb", buffering=0) as results, _ending(process, self.server):
            for item in items:
                limit, since, is_late = self.times.get(item.nodeid, 60), time.monotonic(), False
                while not select([results], [], [], 1)[0] and not is_late:
                    with suppress(psutil.Error):
                        spent, waited = sum(process.cpu_times()[:4]) - used, time.monotonic() - since
                        is_late = spent > 5 + 10 * limit or waited > 120 + 10 * limit
                        is_late = is_late or process.memory_info().rss > MEMORY
                told = b"" if is_late else results.readline()  # nothing, if it has died
                passed, seconds, *marks = literal_eval(told.decode()) if told else (False, 0.0, *self._marks())
                used += seconds
                yield item, passed, seconds, set(marks)
                if not passed:
                    break


def _function(item):
    return item.nodeid.partition("[")[0]


def _run(items, told, shared):
    """Run tests, and tell of each whether it passed, its processor time, and the mutants it reached."""
    for item, following in zip(items, [*items[1:], None], strict=True):
        shared[::2] = bytes(len(shared) // 2)
        since, before = time.monotonic(), sum(os.times()[:4])
        passed = not any(report.failed for report in runtestprotocol(item, nextitem=following, log=False))
        seconds = max(sum(os.times()[:4]) - before, (time.monotonic() - since) / 10)  # of the server it is not known
        marks = [number for number, mark in enumerate(shared[::2]) if mark]
        os.write(told, f"{(passed, seconds, *marks)}\n".encode())
        if not passed:
            item.session._setupstate.teardown_exact(None)
            return


@contextmanager
def _ending(process, server):
    """Nothing that a run has started outlives it."""
    try:
        yield
    finally:
        for above in process, server:
            with suppress(psutil.Error):
                for one in above.children(recursive=True):
                    one.kill()
        process.kill()
        os.waitpid(process.pid, 0)


def _report(trial, keeps):
    before = {mutant[:7]: mutant[7] for mutant in read()}
    kept = {mutant: end if end.startswith("equal") else "lives" for mutant, end in before.items()}
    ends = {mutant[:7]: trial.ends.get(number, kept[mutant[:7]]) for number, (mutant, *_) in enumerate(trial.mutants)}
    for mutant, end in ends.items():
        if end == "lives":
            say("lives, and was", f"{before[mutant]}:", *mutant)
    tried = [mutant for mutant in ends if before[mutant] not in ("spare", "untried")]
    was, now = (sum(end[mutant].startswith("killed") for mutant in tried) for end in (before, ends))
    say(len(trial.ends), "of", len(ends), "killed; of", len(tried), "with a result in the list", now, "for", was)
    say(len(trial.unfit), "tests fail without a mutant")
    if keeps:
        write([(*mutant, ends.get(mutant, end)) for mutant, end in before.items()])


def main(words):
    """Run the mutants on a clean checkout, and put its sources back."""
    if words[:1] == ["choose"]:
        return choose(words[1])
    keeps = words[:1] == ["list"]
    if subprocess.run(["git", "diff", "--quiet", "HEAD", "--", *FLOORS], cwd=ROOT, check=False).returncode:
        return "the sources differ from the last commit, to which they would be put back"
    trial = Trial(standing())
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # after the sources are put back
    try:
        plant(trial.mutants)
        options = "-q -p no:cacheprovider -p no:xdist -o faulthandler_timeout=0".split()
        if pytest.main([*options, *words[keeps:]], plugins=[trial]) == 0:
            _report(trial, keeps)
    finally:
        subprocess.run(["git", "checkout", "-q", "--", *FLOORS], cwd=ROOT, check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
