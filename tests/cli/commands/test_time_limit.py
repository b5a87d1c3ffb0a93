"""A process ends when its time is over, also inside a library that lets no other thread run."""

import os
import struct
import time

import pytest

from agrad.cli import limits

pytest.importorskip("scipy")
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no second process")

LATE = "error[limit]: the time limit was exceeded in the middle of a computation\n"
# This is one call of LAPACK, of half a minute: the process is killed. The limits leave time for what comes before it.
SLOW = "a = svd(sin(outer(arange(4000), arange(4000))))\n"
ENDS = {-9, 124}


@pytest.mark.long
def test_a_long_call_of_a_library_is_killed_at_the_timeout(agrad, tmp_path):
    (tmp_path / "slow.ag").write_text(SLOW)
    out, err, code = agrad("run", "--timeout", "8", "slow.ag")
    assert (out, err) == ("", LATE)
    assert code in ENDS


@pytest.mark.long
def test_it_is_killed_at_the_limit_of_a_statement(agrad, tmp_path):
    (tmp_path / "agrad").mkdir()
    (tmp_path / "agrad" / "config.toml").write_text("[limits]\ntime = 8\n")
    out, err, code = agrad("run", "-", given="1+1\n" + SLOW)
    assert (out, err) == ("2\n", LATE)
    assert code in ENDS


def heard(*messages, left=0.0):
    """Whether the process that listens would kill, if it heard these numbers of seconds, and then the end."""
    read, write = os.pipe()
    for seconds in messages:
        os.write(write, struct.pack("d", seconds))
    os.close(write)
    try:
        return limits._is_silent(read, left)
    finally:
        os.close(read)


def test_a_process_that_has_ended_is_not_killed():
    assert not heard()
    assert not heard(5.0, 3.0)
    assert not heard(-1.0)


def test_a_process_that_says_nothing_for_longer_than_it_had_is_killed(monkeypatch):
    monkeypatch.setattr(limits, "PATIENCE", 0.01)
    read, write = os.pipe()
    os.write(write, struct.pack("d", 0.02))
    began = time.monotonic()
    assert limits._is_silent(read, 60.0)
    assert time.monotonic() - began >= 0.03
    os.close(read)
    os.close(write)
