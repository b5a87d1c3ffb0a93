"""A session: its names, and the statements that run against them.

`session.Session` runs statements, each of them all or nothing. `log` keeps the statements in effect, what takes them
back and what was shown; `saving` writes scripts and pages of them; `analysis` says which guards a statement runs under,
and what is computed at once. `inputs` are names and scripts from outside, and requests for derivatives; `formulas` and
`rowwise` compute what else the command line asks for. From outside, import `Session`, and from the other modules what
the terminal shows or keeps.
"""

from agrad.lazy import lazy

__getattr__ = lazy(__name__)
