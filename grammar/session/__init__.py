"""A session: its names, and the statements that run against them.

`session.Session` runs statements, each of them all or nothing. `log` keeps the statements in effect, `undo` what takes
them back; `saving` writes scripts and pages, `load` reads scripts. `derivatives`, `bindings` and `rowwise` compute what
the command line asks for. From outside, import `Session`, and from the other modules what the terminal shows or keeps.
"""
