"""The terminal itself: colour and width, Ctrl-C, the pager, and the progress line of a loop.

All of cli may import from here; these modules do not depend on commands.
"""

from agrad.lazy import lazy

__getattr__ = lazy(__name__)
