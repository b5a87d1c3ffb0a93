"""Help and completion, and the documents that are made from the same tables.

`help` is the text of `help WORD`; `completion` what may be typed next; `used_names` the names without a value;
`descriptions` and `kinks` are tables; `functions_doc` and `pytorch_doc` make pages of docs/. All of it reads the tables
of commands and functions, and nothing else in grammar/ imports it but the command `help`.
"""

from agrad.lazy import lazy

__getattr__ = lazy(__name__)
