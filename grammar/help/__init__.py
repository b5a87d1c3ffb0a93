"""Help and completion, and the documents that are made from the same tables.

`help` is the text of `help WORD`; `words` the tables of what is not said elsewhere; `completion` what may be typed next;
`used_names` the names without a value; `documents` makes pages of docs/. All of it reads the tables
of commands and functions, and nothing else in grammar/ imports it but the command `help`.
"""

from agrad.lazy import lazy

__getattr__ = lazy(__name__)
