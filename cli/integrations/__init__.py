"""agrad in other programs: each module is loaded by one of them, or by its command, never by another command.

`pygments_lexer` is the lexer of the entry point `agrad` of Pygments.
"""

from agrad.lazy import lazy

__getattr__ = lazy(__name__)
