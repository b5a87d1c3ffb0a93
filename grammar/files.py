"""Reading and writing files of text: completely or not at all."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO

import agrad
from agrad.engine.core.context import require_files
from agrad.engine.errors import AgradError, MissingFile, Origin
from agrad.grammar.diagnostics import Span
from agrad.lazy import pattern

_UNDER_WAY: set[str] = set()  # the temporary files
_MARK = ".agrad-"  # what follows, in the name of such a file, on that of the target
_LONGEST = 200  # bytes of a name at the beginning of another, which may have 255
_LEFT = pattern(r"[0-9a-f]{12}\.tmp")  # and on this


def read_text(path: str, of_script: bool = False) -> str:
    """The text of a file. `of_script`: a script names it. Raises AgradError of kind `file`."""
    try:
        if of_script and (why := agrad.engine.ops.data_files.unreadable(path)):
            raise AgradError("file", f"cannot read {path}: {why}")
        if os.path.realpath(path).startswith(("/proc/", "/sys/", "/dev/")):  # rare: what reads data is not loaded
            agrad.engine.data.formats.refuse_system(path)
        with open(path, "rb") as file:
            return decoded(file.read(), path)
    except FileNotFoundError:
        name = path or '""'
        raise AgradError("file", f"there is no file {name}", facts=MissingFile(path)) from None
    except IsADirectoryError:
        raise AgradError("file", f"cannot read {path}: it is a folder") from None
    except OSError as problem:
        raise AgradError("file", f"cannot read {path}: {problem.strerror}") from None
    except ValueError:  # no name at all
        raise AgradError("file", f"cannot read {path}: that is not the name of a file") from None


def require_ordinary(path: str | os.PathLike[str]) -> None:
    """Refuse anything but a file or a link to one: reading a pipe waits, and a device may not end. Raises OSError."""
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise OSError(0, "it is not a regular file")


def beside(path: str, place: Origin | None) -> str:
    """A path as seen from the folder of the script that a place is in; elsewhere from where agrad was started.

    Raises AgradError of kind `file` for a path in someone's home folder while access to files is off: finding it
    would read a file.
    """
    if path.startswith("~"):
        require_files(f"cannot find {path}")
    source = place.source if isinstance(place, Span) else None
    folder = os.path.dirname(source.name) if source is not None and source.is_file else ""
    return os.path.normpath(os.path.join(folder, os.path.expanduser(path)))


def decoded(data: bytes, name: str) -> str:
    """The text in the bytes of a file. Raises AgradError of kind `file` for what is not UTF-8."""
    try:
        wide = data.startswith((b"\xff\xfe", b"\xfe\xff"))  # as PowerShell writes
        return data.decode("utf-16" if wide else "utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as problem:
        line = data.count(b"\n", 0, problem.start) + 1
        raise AgradError("file", f"cannot read {name}: line {line} is not UTF-8 text") from None


def write_text(path: str, text: str) -> None:
    """Write a text to a file. If that fails, the file is as it was.

    Raises AgradError of kind `file`.
    """
    with replacing(path) as file:
        file.write(text.encode(errors="backslashreplace"))


def require_folder(path: str) -> None:
    """Refuse a file in a folder that is not there, before what it will hold is computed."""
    folder = os.path.dirname(os.path.realpath(os.path.expanduser(path)))
    if not os.path.isdir(folder):
        raise AgradError("file", f"cannot write {path}: there is no folder {folder}")


@contextmanager
def replacing(path: str, durable: bool = False) -> Iterator[BinaryIO]:
    """A file to write to, which replaces another when everything is written; until then that one is as it was.

    `durable`: it is on the disk before it replaces that one, so that a machine that fails leaves one of the two.
    A link is followed, `~` is the home folder, and a file that was there keeps its permissions. Raises AgradError of
    kind `file`; what cannot be written inside, as on a full disk, is one too.
    """
    require_files(f"cannot write {path}")
    target = ""
    try:
        if not os.path.basename(path):
            raise ValueError
        target = os.path.realpath(os.path.expanduser(path))
        mode = _mode(target)
    except OSError as problem:
        raise AgradError("file", f"cannot write {path}: {_reason(problem, target)}") from None
    except ValueError:  # an empty name, or one with characters that no file system accepts
        why = f"{path}: that is not the name of a file" if path else "to a file without a name"
        raise AgradError("file", f"cannot write {why}") from None
    try:
        with _beside(target, mode, durable) as file:
            yield file
    except OSError as problem:
        raise AgradError("file", f"cannot write {path}: {_reason(problem, target)}") from None


@contextmanager
def _beside(target: str, mode: int | None, durable: bool) -> Iterator[BinaryIO]:
    """A file that is moved in one step at the end: so it is in the same folder, not on another disk.

    Its name begins with that of the target, and it is locked: one without a lock was left by a process that was
    killed, and is removed by the next that writes to the target.
    """
    folder, name = os.path.split(target)
    start = f".{os.fsdecode(os.fsencode(name)[:_LONGEST])}"
    remove_left(folder, start)
    with _new(os.path.join(folder, start + _MARK)) as temporary:
        _UNDER_WAY.add(temporary)
        try:
            with open(temporary, "rb+") as file:
                if mode is not None:
                    os.chmod(temporary, mode)
                yield file
                if durable:
                    file.flush()
                    os.fsync(file.fileno())
            os.replace(temporary, target)
            if durable:
                sync_folder(folder)
        except BaseException:  # also Ctrl-C: no half of a file is left behind
            with suppress(OSError):
                os.unlink(temporary)
            raise
        finally:
            _UNDER_WAY.discard(temporary)


def discard() -> None:
    """Remove the files that are being written: the process is about to end in the middle of something."""
    for temporary in tuple(_UNDER_WAY):
        with suppress(OSError):
            os.unlink(temporary)


@contextmanager
def _new(start: str) -> Iterator[str]:
    """The path of a new, empty file, which is locked inside, where the system has such locks."""
    while True:
        path = f"{start}{os.urandom(6).hex()}.tmp"
        with open(path, "xb+"):
            pass
        lock = _lock(path)
        if os.path.exists(path):  # no other process has removed it as one that was left
            break
        if lock is not None:
            os.close(lock)
    try:
        yield path
    finally:
        if lock is not None:
            os.close(lock)


def remove_left(folder: str, target: str = "") -> None:
    """Remove the temporary files that killed processes have left in a folder, whatever they were to replace.

    `target`: the beginning of the names of those that were to replace one file.
    """
    with suppress(OSError):
        for left in os.listdir(folder):
            beginning, _, end = left.rpartition(_MARK)
            of_target = beginning == target if target else beginning.startswith(".")
            if of_target and _LEFT.fullmatch(end):
                path = os.path.join(folder, left)
                lock = _lock(path)
                if lock is not None:
                    os.unlink(path)
                    os.close(lock)


def sync_folder(folder: str) -> None:
    """Have the names of the files in a folder written to the disk, where the system can."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def locked(descriptor: int) -> bool | None:
    """Lock an open file until it is closed: False if another process has locked it, None where there are no locks."""
    try:
        from fcntl import LOCK_EX, LOCK_NB, flock

        flock(descriptor, LOCK_EX | LOCK_NB)
    except BlockingIOError:
        return False
    except (ImportError, OSError):  # a system, or a file system, without locks
        return None
    return True


def _lock(path: str) -> int | None:
    """Lock a file; a descriptor that keeps the lock until it is closed, or None if it cannot be locked."""
    with suppress(OSError, AttributeError):  # of a system without such files
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
        if locked(descriptor):
            return descriptor
        os.close(descriptor)
    return None


def _mode(target: str) -> int | None:
    """The permissions of a file; None if there is none. Raises OSError for what is not a regular file."""
    try:
        found = os.stat(target).st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(found):
        raise IsADirectoryError
    if not stat.S_ISREG(found):
        raise OSError(0, "it is not a regular file")
    return stat.S_IMODE(found)


def _reason(problem: OSError, target: str) -> str:
    """Why a file cannot be written, in words."""
    folder = os.path.dirname(target)
    if isinstance(problem, FileNotFoundError):
        if os.path.isdir(folder):
            return f"the system does not allow files in {folder}"
        return f"there is no folder {folder}"
    if isinstance(problem, NotADirectoryError):
        return f"{folder} is not a folder"
    if isinstance(problem, IsADirectoryError):
        return "it is a folder"
    text = problem.strerror or "the operating system does not allow it"
    return text[0].lower() + text[1:]
