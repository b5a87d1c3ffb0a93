"""A connection to a Dask cluster: what is refused, and that nothing is left behind."""

import os
import signal
import subprocess
import sys
import time

import pytest
from rows import each

from agrad.cli.arguments.options import On, where
from agrad.engine.errors import AgradError

pytest.importorskip("distributed")

HERE = {"agrad": "0.2.0", "Python": "3.11", "numpy": "2.1.0", "llvmlite": "", "pyarrow": "20.0.0"}


@pytest.fixture
def connection():
    from agrad.cli.data import cluster

    return cluster


def test_the_options_name_a_cluster():
    assert where(None, None) is None
    assert where("dask", 3) == On("", 3)
    assert where("dask=tls://10.0.0.1:8786", None) == On("tls://10.0.0.1:8786", None)


@each(
    "on, workers, message",
    [
        (None, 2, "--workers is for a Dask cluster on this machine"),
        ("dask=tcp://h:1", 2, "--workers is for a Dask cluster on this machine, and tcp://h:1 has its own workers"),
        ("dask=", None, "--on takes dask, or dask= and the address of a scheduler, and dask= is neither"),
        ("spark", None, "--on takes dask, or dask= and the address of a scheduler, and spark is neither"),
    ],
)
def test_options_that_name_no_cluster_are_refused(on, workers, message):
    import click

    with pytest.raises(click.UsageError, match=f"^{message.replace('.', '[.]')}$"):
        where(on, workers)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"agrad": "0.0.9"}, "the Dask worker at tcp://w:1 has agrad 0.0.9, and here is agrad 0.2.0"),
        ({"agrad": ""}, "the Dask worker at tcp://w:1 has no agrad, and here is agrad 0.2.0"),
        ({"Python": "3.12"}, "the Dask worker at tcp://w:1 has Python 3.12, and here is Python 3.11"),
        ({"numpy": "2.0.0"}, "the Dask worker at tcp://w:1 has numpy 2.0.0, and here is numpy 2.1.0"),
        ({"llvmlite": "0.45.0"}, "the Dask worker at tcp://w:1 has llvmlite 0.45.0, and here is none"),
        ({"pyarrow": ""}, "the Dask worker at tcp://w:1 has no pyarrow, and here is pyarrow 20.0.0"),
    ],
)
def test_a_worker_with_other_libraries_is_refused(connection, changed, message):
    with pytest.raises(AgradError) as caught:
        connection.require_worker("tcp://w:1", HERE, HERE | changed)
    assert (caught.value.kind, caught.value.message) == ("extra", message)
    assert caught.value.fixes


def test_another_version_of_what_only_reads_files_is_none_of_these(connection):
    connection.require_worker("tcp://w:1", HERE, HERE | {"pyarrow": "19.0.0"})
    connection.require_worker("tcp://w:1", HERE | {"pyarrow": ""}, HERE)


def test_versions_are_found_where_there_is_no_agrad(connection, tmp_path):
    import cloudpickle

    sent = tmp_path / "sent"
    sent.write_bytes(cloudpickle.dumps(connection.versions_of()))
    code = f"import sys, pickle; sys.modules['agrad'] = None; print(pickle.load(open({str(sent)!r}, 'rb'))(('agrad',)))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "'agrad': ''" in found.stdout
    assert f"'Python': '{sys.version_info[0]}.{sys.version_info[1]}'" in found.stdout


@pytest.mark.long
def test_a_scheduler_that_is_not_there_is_an_error(connection, monkeypatch):
    monkeypatch.setattr(connection, "_PATIENCE", 0.5)
    with pytest.raises(AgradError) as caught, connection.connect("tcp://127.0.0.1:1"):
        pass
    assert caught.value.message == "cannot reach a Dask scheduler at tcp://127.0.0.1:1"
    with pytest.raises(AgradError, match="cannot reach a Dask scheduler at a/b:c"), connection.connect("a/b:c"):
        pass


SLEEPER = """
import os, signal, sys, time
from agrad.cli.data.cluster import connect

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # what a shell runs in the background ignores it
    try:
        with connect(workers=2) as client:
            found = client.run(os.getpid)
            print(len(found), *found.values(), flush=True)
            client.submit(time.sleep, 1000).result()
    except KeyboardInterrupt:
        print("interrupted", flush=True)
"""


def is_alive(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.long
def test_control_c_ends_a_local_cluster_and_leaves_nothing(tmp_path):
    script = tmp_path / "sleeper.py"
    script.write_text(SLEEPER)
    started = {"env": os.environ | {"TMPDIR": str(tmp_path)}, "start_new_session": True}
    with subprocess.Popen(
        [sys.executable, script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **started
    ) as run:
        count, *processes = map(int, run.stdout.readline().split())
        os.killpg(run.pid, signal.SIGINT)  # as a terminal does: to every process that the command has started
        told, complaints = run.communicate()
    assert (count, len(processes), told, complaints, run.returncode) == (2, 2, "interrupted\n", "", 0)
    while any(map(is_alive, processes)):  # the system takes a moment for those that were killed
        time.sleep(0.01)
    assert [path.name for path in tmp_path.iterdir()] == ["sleeper.py"]
