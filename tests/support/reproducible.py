"""Makes a source distribution the same bytes each time: `python tests/support/reproducible.py dist/agrad-1.tar.gz`.

The time of all its files is SOURCE_DATE_EPOCH, in seconds, which setuptools gives to the files of a wheel.
"""

import gzip
import io
import os
import sys
import tarfile
from pathlib import Path


def repack(path):
    """Write an archive again, its files in order, without times and owners of their own."""
    when = int(os.environ.get("SOURCE_DATE_EPOCH", "315532800"))
    packed = io.BytesIO()
    with tarfile.open(path) as old, tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as new:
        for member in sorted(old.getmembers(), key=lambda one: one.name):
            member.mtime, member.uid, member.gid, member.uname, member.gname = when, 0, 0, "", ""
            member.pax_headers.clear()
            member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
            new.addfile(member, old.extractfile(member) if member.isfile() else None)
    Path(path).write_bytes(gzip.compress(packed.getvalue(), mtime=0))


if __name__ == "__main__":
    for path in sys.argv[1:]:
        repack(path)
