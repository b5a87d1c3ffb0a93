"""The backends that can be used here, and `auto`: a new row of the table is tested like the others."""

from agrad.engine.compile.registry import BACKENDS, CHOICES, load
from agrad.engine.errors import AgradError


def _usable(name):
    try:
        load(name).require()
    except AgradError:
        return False
    return True


USABLE = [name for name in CHOICES if name not in BACKENDS or _usable(name)]
