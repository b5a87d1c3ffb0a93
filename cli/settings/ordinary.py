"""Which paths are files that can be read to their end."""

from __future__ import annotations

import os
import stat


def require_ordinary(path: str | os.PathLike[str]) -> None:
    """Refuse what is no file, nor a link to one: reading a pipe waits, and a device may never end. Raises OSError."""
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise OSError(0, "it is no ordinary file")
