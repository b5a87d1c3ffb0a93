"""`agrad` as a process without the time of a start: a server has loaded the program, and forks for each call.

The process has its own arguments, environment, folder and streams, as if it had been started. With another locale, and
if the variable AGRAD_TESTS is `start`, it is started. Tests of imports, of signals and of streams that are closed start
it themselves.
"""

import os
import socket
import sys

START = [sys.executable, "-m", "agrad.cli"]
_AT_START = ("PYTHON", "LC_", "LANG")  # variables that Python reads at its start
_UTF8 = {"PYTHONUTF8": "1"}
_SERVERS = {}


def agrad():
    """The words of a command that runs `agrad` with the words that follow."""
    if not hasattr(os, "fork") or os.environ.get("AGRAD_TESTS") == "start":
        return START
    if os.getpid() not in _SERVERS:
        from launch_server import started  # here, because the calls below must be quick

        _SERVERS[os.getpid()] = started(os.environ | _UTF8)
    return [sys.executable, "-I", "-S", __file__, _SERVERS[os.getpid()], _at_start(os.environ)]


def _at_start(environment):
    read = {name: text for name, text in environment.items() if name.startswith(_AT_START)}
    return repr(sorted((_UTF8 | read).items()))


def call(path, at_start, *arguments):
    """Let the server run `agrad ARGUMENTS` on the streams of this process; end as that process ends."""
    if _at_start(os.environ) != at_start:
        os.execv(sys.executable, [*START, *arguments])
    mask = os.umask(0)
    given = repr((arguments, dict(os.environ), os.getcwd(), mask)).encode("utf-8", "surrogateescape")
    server = socket.socket(socket.AF_UNIX)
    server.connect(path)
    socket.send_fds(server, [len(given).to_bytes(8, "little")], [0, 1, 2])
    server.sendall(given)
    status = int.from_bytes(server.recv(4), "little")
    if os.WIFSIGNALED(status):
        os.kill(os.getpid(), os.WTERMSIG(status))
    os._exit(os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    call(*sys.argv[1:])
