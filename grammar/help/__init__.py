"""Help and completion.

`help` is the text of `help WORD`, with the tables of what is not said elsewhere; `completion` says what may be
typed next, and which names have no value. All of it reads the tables of commands and functions, as
docs/reference.py does for the pages there; nothing else in grammar/ imports it but the command `help`.
"""

from agrad.lazy import lazy

__getattr__ = lazy(__name__)
