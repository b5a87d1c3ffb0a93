"""Running the language: bytecode, the compiler to it, the virtual machine (`vm`), and what that calls.

`operations`, `builtins` and `attributes` define what can be done with values; `control_dependence` keeps the
guards of names; `budget` holds the limits of a statement; `leak_warning` watches graphs that grow; `errors` makes the
messages and fixes of errors.
All of it may be imported by `loops`, `commands`, `session`, `lint` and `help`; the machine imports none of them.
"""
