"""Running the language: bytecode, the compiler to it, the virtual machine (`vm`), and what that calls.

`operations`, `builtins` and `attributes` are what values can do; `control_dependence` keeps the guards of names;
`budget` holds the limits of a statement; `leak_warning` watches graphs that grow; `errors` explains what went wrong.
All of it may be imported by `loops`, `commands`, `session`, `lint` and `help`; the machine imports none of them.
"""
