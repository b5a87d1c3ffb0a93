"""The check that a path is a file that can be read to its end."""

from __future__ import annotations

import os
import stat


def require_ordinary(path: str | os.PathLike[str]) -> None:
    """Refuse anything but a file or a link to one: reading a pipe waits, and a device may not end. Raises OSError."""
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise OSError(0, "it is not a regular file")
