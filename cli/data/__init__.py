"""Data of the command line: values from files (`at_file`), writers of tables for `agrad map`, and advice on errors.

The readers are in `engine/data`.
"""

from agrad.lazy import lazy

__getattr__ = lazy(__name__)
