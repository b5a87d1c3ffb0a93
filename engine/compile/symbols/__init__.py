"""Symbols: how the operations of a program are written as code, in whichever language.

`symbol` has the symbols and what a language has to write, `ufuncs` numpy's functions of them, and `lowering` writes an
operation by its own array function.
"""
