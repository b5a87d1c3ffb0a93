"""The language server, `agrad lsp`: what an editor shows beside a script.

`server` answers the requests of an editor. `document` has the text of a script in pieces, so that after a key only one
is read again, and finds what a name is; `jobs` checks whole scripts, in a process of its own, so that an answer does
not wait for that.
"""

from agrad.lazy import lazy

__getattr__ = lazy(__name__)
