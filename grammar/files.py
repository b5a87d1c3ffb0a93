"""Reading and writing files of text: whole or not at all."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO

from agrad.engine.errors import AgradError, Origin
from agrad.engine.ops.data_files import require_files
from agrad.grammar.diagnostics import Span


def read_text(path: str) -> str:
    """The text of a file. Raises AgradError of kind `file`."""
    try:
        with open(path, "rb") as file:
            return decoded(file.read(), path)
    except FileNotFoundError:
        name = path or '""'
        raise AgradError("file", f"there is no file {name}") from None
    except IsADirectoryError:
        raise AgradError("file", f"cannot read {path}: it is a folder") from None
    except OSError as problem:
        raise AgradError("file", f"cannot read {path}: {problem.strerror}") from None
    except ValueError:  # no name at all
        raise AgradError("file", f"cannot read {path}: that is not the name of a file") from None


def beside(path: str, place: Origin | None) -> str:
    """A path as seen from the folder of the script that a place is in; elsewhere from where agrad was started.

    Raises AgradError of kind `file` for a path in someone's home folder while files are switched off: where that is
    stands in a file.
    """
    if path.startswith("~"):
        require_files(f"cannot find {path}")
    source = place.source if isinstance(place, Span) else None
    folder = os.path.dirname(source.name) if source is not None and source.is_file else ""
    return os.path.normpath(os.path.join(folder, os.path.expanduser(path)))


def decoded(data: bytes, name: str) -> str:
    """The text in the bytes of a file. Raises AgradError of kind `file` for what is not UTF-8."""
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as problem:
        line = data.count(b"\n", 0, problem.start) + 1
        raise AgradError("file", f"cannot read {name}: line {line} is not UTF-8 text") from None


def write_text(path: str, text: str) -> None:
    """Put a text into a file, which until then, and if that fails, is as it was.

    Raises AgradError of kind `file`.
    """
    with replacing(path) as file:
        file.write(text.encode(errors="backslashreplace"))


@contextmanager
def replacing(path: str) -> Iterator[BinaryIO]:
    """A file to write to, that takes the place of another when all is written; until then that one is as it was.

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
    except ValueError:  # no name, or one with characters that no file system takes
        why = f"{path}: that is not the name of a file" if path else "to a file without a name"
        raise AgradError("file", f"cannot write {why}") from None
    try:
        with _beside(target, mode) as file:
            yield file
    except OSError as problem:
        raise AgradError("file", f"cannot write {path}: {_reason(problem, target)}") from None


@contextmanager
def _beside(target: str, mode: int | None) -> Iterator[BinaryIO]:
    """A file that is moved in one step at the end. In the same folder, because no step leads to another disk."""
    temporary = os.path.join(os.path.dirname(target), f".{os.urandom(6).hex()}.tmp")
    try:
        with open(temporary, "xb+") as file:
            if mode is not None:
                os.chmod(temporary, mode)
            yield file
        os.replace(temporary, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


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
        return f"there is no folder {folder}"
    if isinstance(problem, NotADirectoryError):
        return f"{folder} is not a folder"
    if isinstance(problem, IsADirectoryError):
        return "it is a folder"
    text = problem.strerror or "the operating system refuses"
    return text[0].lower() + text[1:]
