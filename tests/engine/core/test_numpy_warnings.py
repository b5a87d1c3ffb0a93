"""numpy warns by thread, and so it is by thread that its warnings are turned off."""

import warnings

import numpy as np
import pytest
from parallel import in_threads

import agrad.engine as ag
from agrad.engine.core.context import current
from agrad.engine.core.numpy_warnings import quiet

WILD = np.array([np.inf, 1.0, 2.0])


@pytest.mark.parametrize("backend", ["python", "auto"])
def test_compiled_functions_of_arrays_do_not_warn_in_any_thread(backend):
    functions = [
        ag.compile(lambda x, k=k: ag.sum((x * 0 + x) * (k + 1.0)) / ag.sum(x * 0), np.ones(3), backend=backend)
        for k in range(6)
    ]
    expected = [f.value_and_grad(WILD) for f in functions]

    def work(number):
        for _ in range(300):
            found = functions[number].value_and_grad(WILD)
            assert repr(found) == repr(expected[number])
        return np.geterr()

    before = np.geterr()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert in_threads(6, work) == [before] * 6
    assert np.geterr() == before


def test_columns_do_not_warn_in_any_thread():
    f = ag.compile(lambda x, y: x + 0 * y, 1.0, 1.0, backend="python")
    f.map(WILD, WILD)

    def work(_):
        return [f.map(WILD, WILD)[0].tolist() for _ in range(200)]

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        in_threads(4, work)


def is_off():
    silence = current().silence
    return silence is not None and silence.before is not None


def test_what_one_thread_turns_off_is_on_in_another():
    def look(_):
        before = np.geterr()["invalid"], is_off()
        with quiet():
            return before, np.geterr()["invalid"], is_off()

    with quiet():
        assert is_off()
        assert in_threads(2, look) == [(("warn", False), "ignore", True)] * 2
        assert is_off() and np.geterr()["invalid"] == "ignore"
    assert not is_off()
