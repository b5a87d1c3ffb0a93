"""The graph and what is done to it: operations, nodes, handles, versions, guards, limits, and their errors.

`dispatch` calls operations and words what they refuse, `arguments` checks their arguments, `graph` has nodes and walks,
`context` what would be global.
"""

from agrad.lazy import lazy

__getattr__ = lazy(__name__)
