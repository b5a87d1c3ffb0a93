"""Several processes, or several machines, through Dask: an extra, imported only where it is asked for.

`connection` starts a cluster, or finds one, checks its workers, and says in one line what is wrong with it.
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import signal
import sys
import threading
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from importlib import import_module, metadata
from multiprocessing import resource_tracker
from tempfile import TemporaryDirectory
from typing import Any

from agrad.cli import __version__
from agrad.cli.__main__ import load_all
from agrad.cli.arguments.options import On
from agrad.cli.data.job import Reading, Tally
from agrad.cli.data.parts import RECORD, Part, Record
from agrad.cli.data.work import MapBench, MapWork
from agrad.cli.terminal import handled
from agrad.engine.errors import AgradError, Hint
from agrad.engine.extras import extra

# A connection to a Dask cluster: one that is started here, or one with an address.
#
# The workers must have the same agrad, and the same libraries that compute. What Dask would say in many lines becomes
# an error of agrad.

_PATIENCE = 10.0  # seconds until a scheduler that does not answer counts as none
_LIBRARIES = ("numpy", "llvmlite", "pyarrow")  # in which results may differ by their versions, or which are needed
_FIXES = [
    Hint("start one: dask scheduler, and on each machine dask worker with its address"),
    Hint("--on dask: a cluster on this machine"),
]


@contextmanager
def connect(address: str = "", workers: int | None = None) -> Iterator[Any]:
    """A client of a Dask cluster, whose workers have been checked.

    `address`: of its scheduler; without one, `workers` processes of one thread each are started on this machine, as
    many as it has cores if that is None, and ended with the context. Inside, Ctrl-C reaches this thread alone. Raises
    AgradError of kind `extra` where Dask is missing here, or agrad on a worker, and of kind `file` for a scheduler that
    cannot be reached.
    """
    dask = extra("distributed", "--on dask", "Dask", "dask")
    load_all()  # what is loaded when it is used cannot be loaded by two threads at once
    with ExitStack() as stack:
        stack.enter_context(_silent())
        stack.enter_context(handled(signal.SIG_IGN, "SIGPIPE"))  # of a worker that has died: writing to it is an error
        if address:
            _require_scheduler(address)
        else:
            resource_tracker.ensure_running()  # it would let Ctrl-C through to the thread that starts it
        with _interrupts_held():
            at = address or stack.enter_context(_local(dask, workers or os.cpu_count() or 1))
            client = stack.enter_context(_client(dask, at))
        require_alike(client)
        yield client


@contextmanager
def _local(dask: Any, workers: int) -> Iterator[Any]:
    """A cluster of processes on this machine, and a folder for them that is removed with it."""
    from dask import config

    with (
        TemporaryDirectory(prefix="agrad-dask-", ignore_cleanup_errors=True) as folder,
        config.set({"temporary-directory": folder}),  # of the scheduler, which has no option for that
    ):
        cluster = dask.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address="127.0.0.1:0",  # where there is none, Dask takes port 8787, and warns if that is in use
            worker_dashboard_address="127.0.0.1:0",
            scheduler_kwargs={"dashboard": False},
            local_directory=folder,
            silence_logs=logging.CRITICAL,
            env={"DASK_LOGGING__DISTRIBUTED": "critical", "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False"},
        )
        try:
            yield cluster
        except BaseException:
            _kill(cluster)
            raise
        finally:
            with _interrupts_held(), suppress(TimeoutError):
                cluster.close()


def _kill(cluster: Any) -> None:
    """End the processes of a cluster at once: Dask would wait for what they are computing, which nobody needs."""
    for nanny in cluster.workers.values():
        nanny.auto_restart = False
        with suppress(AttributeError, ProcessLookupError, TypeError):  # it is just starting, or has ended
            os.kill(nanny.pid, signal.SIGKILL if hasattr(signal, "SIGKILL") else signal.SIGTERM)


@contextmanager
def _client(dask: Any, at: Any) -> Iterator[Any]:
    """A client of a cluster."""
    client = dask.Client(at, timeout=_PATIENCE, set_as_default=False)
    try:
        yield client
    finally:
        with _interrupts_held(), suppress(TimeoutError):
            client.close(_PATIENCE)


def _require_scheduler(address: str) -> None:
    """Refuse an address at which nobody speaks Dask's protocol: a client of it would never be closed.

    Raises AgradError of kind `file`.
    """
    from distributed.comm import connect as opened
    from distributed.comm import parse_address, parse_host_port
    from distributed.security import Security

    async def reached() -> None:
        parse_host_port(parse_address(address)[1], 0)  # so that a wrong address is refused at once
        found = await opened(address, timeout=_PATIENCE, **Security().get_connection_args("client"))
        await found.close()

    try:
        asyncio.run(reached())
    except Exception as problem:  # what answers may be anything, and so is what the answer leads to
        reason = next(iter(str(problem).splitlines()), "")
        message = f"cannot reach a Dask scheduler at {address}"
        raise AgradError("file", message, notes=[reason] if reason else [], fixes=_FIXES) from None


def require_alike(client: Any) -> None:
    """Refuse workers without agrad, or with another one, or with other libraries that compute.

    Raises AgradError of kind `file` where there are no workers within some seconds, else of kind `extra`.
    """
    try:
        client.wait_for_workers(1, timeout=_PATIENCE)
    except TimeoutError:
        at = client.scheduler.address
        fixes = [Hint(f"on each machine: dask worker {at}")]
        raise AgradError("file", f"the Dask scheduler at {at} has no workers", fixes=fixes) from None
    versions = versions_of()
    here = {"agrad": __version__, **versions()}
    for worker, there in sorted(client.run(versions, ("agrad",)).items()):
        require_worker(worker, here, there)
    client.run(_load)


def _load() -> None:
    """Import what computes: in all workers side by side, and not in each when it gets its first part."""
    import agrad.cli.data.work  # noqa: F401 - for the next import


def require_worker(worker: str, here: Mapping[str, str], there: Mapping[str, str]) -> None:
    """Refuse one worker. Raises AgradError of kind `extra`."""
    for library, mine in here.items():
        theirs = there[library]
        if mine == theirs or (library == "pyarrow" and theirs):
            continue
        has = f"{library} {theirs}" if theirs else f"no {library}"
        message = f"the Dask worker at {worker} has {has}, and here is {f'{library} {mine}' if mine else 'none'}"
        pip = f"pip install {library}=={mine}" if mine else f"pip uninstall {library}"
        why = [] if library == "agrad" else ["results would depend on where a row is computed"]
        raise AgradError("extra", message, notes=why, fixes=[Hint(f"in the environment of the worker: {pip}")])


def versions_of() -> Any:
    """A function that finds the versions of libraries; it is inside of this one so that a worker need not import it."""
    libraries = _LIBRARIES

    def versions(others: tuple[str, ...] = ()) -> dict[str, str]:

        found = {"Python": ".".join(map(str, sys.version_info[:2]))}
        for name in (*others, *libraries):
            try:
                version = getattr(import_module(f"{name}.cli" if name == "agrad" else name), "__version__", "")
                found[name] = version or metadata.version(name)
            except Exception:  # one that does not load, for any reason, is of no use
                found[name] = ""
        return found

    return versions


def failure(error: BaseException, what: str) -> AgradError:
    """The error for what a task raised; `what`: what it computed. Raises the error of Python where it is a fault."""
    if isinstance(error, AgradError):
        return error
    name = type(error).__name__
    if name == "KilledWorker":
        message = f"workers ended again and again while they computed {what}"
        notes = ["the system ends a process, for example, that takes more memory than there is"]
        return AgradError("limit", message, notes=notes, fixes=[Hint("--workers 1: fewer at the same time")])
    if isinstance(error, ModuleNotFoundError) and (error.name or "").partition(".")[0] == "agrad":
        fixes = [Hint("in the environment of the worker: pip install agrad")]
        return AgradError("extra", "a Dask worker that has joined has no agrad", fixes=fixes)
    if name in ("FutureCancelledError", "CancelledError", "FuturesCancelledError", "CommClosedError"):
        return AgradError("file", f"the Dask scheduler went away while {what} was computed", fixes=_FIXES[:1])
    raise error


@contextmanager
def _silent() -> Iterator[None]:
    """Without what Dask logs and warns of: what matters of it is told as an error."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module=r"dask|distributed")
            yield
    finally:
        logging.disable(before)


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Hold Ctrl-C back, and keep it from threads and processes that are begun inside, which Dask ends itself."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


# The parts of `agrad map` on a Dask cluster.
#
# What is to be done is sent once, as one object that all tasks share; a worker reads and compiles the expressions when
# it gets its first part. It writes the file of a part itself, whole or not at all, so that a worker that ends in the
# middle leaves nothing under that name, and Dask has another one do the part again.

_LOOK = 0.05  # seconds between two looks at what is done
_COUNT = 1.0  # seconds between two questions to the scheduler, how many workers it has
_SHARED = [Hint("let all workers see the files under the same names, on a disk that they share")]
_BENCHES = threading.local()  # in a worker: a bench for each of its threads, for the last run


def map_on_cluster(work: MapWork, record: Record, todo: Sequence[Part], on: On, line: Reading | None) -> None:
    """Compute parts on a cluster, and note those that are done. Raises AgradError: of the first part that fails."""
    if on.address:  # workers on other machines have other current folders
        work = replace(work, path=os.path.abspath(work.path), files=[*map(os.path.abspath, work.files)])
        todo = [replace(part, file=os.path.abspath(part.file)) for part in todo]
    with connect(*on) as client:
        by_client(client, work, record, todo, line)


def by_client(client: Any, work: MapWork, record: Record, todo: Sequence[Part], line: Reading | None) -> None:
    """The same by a client of Dask's."""
    run = f"agrad-part-{secrets.token_hex(8)}"
    folder = os.path.abspath(record.folder)
    # The work is a task and not a scattered object: if all workers that have it end, the scheduler makes it again. By
    # its key it is of another group than the tasks for the parts, so that these go to all workers, and not to the one
    # that has it.
    shared = client.submit(_same, work, key=f"agrad-work-{run}")
    tasks = [
        client.submit(compute, shared, run, folder, part, os.path.abspath(record.staged(part)), key=(run, place))
        for place, part in enumerate(todo)
    ]
    try:
        _collect(client, tasks, todo, record, line)
    finally:
        if line is not None:
            line.clear()
        client.cancel([shared, *tasks])


def _same(work: MapWork) -> MapWork:
    """What is to be done, as a task."""
    return work


def compute(work: MapWork, run: str, folder: str, part: Part, path: str) -> Tally:
    """Write the results of a part to a file, in a worker; what there is to tell.

    The bench of a thread is made and prepared for the first part of a run that it gets. Raises AgradError where the
    worker has another agrad, or does not see the files, too.
    """
    if work.version != __version__:
        fixes = [Hint(f"in the environment of the worker: pip install agrad=={work.version}")]
        raise AgradError("extra", f"a Dask worker has agrad {__version__}, and not {work.version}", fixes=fixes)
    for seen in (os.path.join(folder, RECORD), part.file):
        if not os.path.exists(seen):
            raise AgradError("file", f"a Dask worker finds no file {seen}", fixes=_SHARED)
    if getattr(_BENCHES, "run", None) != run:
        new = MapBench(work, 1)
        new.run(new.prepare)
        _BENCHES.run, _BENCHES.bench = run, new
    bench: MapBench = _BENCHES.bench
    return bench.run(lambda: bench.compute(part, path))


def _collect(client: Any, tasks: Sequence[Any], todo: Sequence[Part], record: Record, line: Reading | None) -> None:
    """Wait for the tasks, and note what is done.

    When one fails, those of later parts are cancelled, so that the error is that of the first part that has one,
    whatever the order in which they are computed. Raises AgradError.
    """
    from distributed import as_completed  # here, since `connect` says how to install it

    places = {task.key: place for place, task in enumerate(tasks)}
    failed, error = len(tasks), None
    done = as_completed(tasks, loop=client.loop)
    workers, again = 0, 0.0
    while not done.is_empty():
        if line is not None:
            if time.monotonic() >= again:
                workers, again = len(client.nthreads()), time.monotonic() + _COUNT
            line.at(f"on {workers} {'worker' if workers == 1 else 'workers'}", 0, None, 0)
        for task in done.next_batch(block=False):
            place = places[task.key]
            if place > failed:
                continue
            try:
                record.add(todo[place], task.result())
            except Exception as problem:  # whatever a task, or Dask, raises
                client.cancel(tasks[place + 1 : failed])
                failed, error = place, failure(problem, todo[place].file)
        if not done.is_empty():
            time.sleep(_LOOK)
    if error is not None:
        raise error
