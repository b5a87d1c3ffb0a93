"""The server that runs `agrad` for launch.py: one for each process of the tests."""

import atexit
import os
import shutil
import signal
import socket
import sys
import traceback
from ast import literal_eval
from importlib import import_module
from select import select
from subprocess import PIPE, Popen
from tempfile import mkdtemp


def started(environment):
    """Start a server that ends with this process. Returns the path of its socket."""
    folder = mkdtemp()
    path = os.path.join(folder, "socket")
    server = Popen([sys.executable, __file__, path], stdin=PIPE, stdout=PIPE, env=environment)
    server.stdout.readline()
    for tidy_up in (shutil.rmtree, folder), (server.wait,), (server.kill,):  # the last is called first
        atexit.register(*tidy_up)
    return path


def serve(path):
    """Fork for each call, until the process that started this one has ended."""
    del sys.path[0]  # this folder
    _load()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those that answer calls
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        sys.stdout.write("it listens\n")
        sys.stdout.flush()
        while sys.stdin.buffer not in select([listener, sys.stdin.buffer], [], [])[0]:
            caller = listener.accept()[0]
            if os.fork() == 0:
                _answer(caller)
            caller.close()


def _load():
    """Import all that a command may need, and the parser."""
    from agrad.cli.main import COMMANDS
    from agrad.engine.errors import Source
    from agrad.grammar.syntax.parser import parse

    for module, _ in COMMANDS.values():
        import_module(f"agrad.cli.commands.{module}")
    parse(Source("start", "1"))


def _answer(caller):
    """Run what is called for in a process, and send how it ended."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    length, streams, _, _ = socket.recv_fds(caller, 8, 3)
    given = caller.recv(int.from_bytes(length, "little"), socket.MSG_WAITALL)
    child = os.fork()
    if child == 0:
        caller.close()
        _become(streams, *literal_eval(given.decode("utf-8", "surrogateescape")))
    caller.sendall(os.waitpid(child, 0)[1].to_bytes(4, "little"))
    os._exit(0)


def _become(streams, arguments, environment, folder, mask):
    """Be the process that was called for."""
    from agrad.cli.__main__ import process

    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    os.umask(mask)
    sys.argv = ["agrad", *arguments]
    escaped = {"encoding": "utf-8", "errors": "surrogateescape"}
    sys.stdin = open(0, closefd=False, **escaped)  # noqa: SIM115 - the streams live as long as the process
    sys.stdout = open(1, "w", closefd=False, **escaped)  # noqa: SIM115
    sys.stderr = open(2, "w", 1, "utf-8", "backslashreplace", closefd=False)  # noqa: SIM115
    try:
        process()
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)


if __name__ == "__main__":
    serve(sys.argv[1])
