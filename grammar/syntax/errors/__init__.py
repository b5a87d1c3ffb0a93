"""Syntax errors: the table of messages, and the functions that recognise which message applies.

messages: the table, and `syntax_error`, which the lexer and the builders raise
fixes: the lines that errors propose, as they can be typed
recognisers: a function for each error that the parser meets, in the order in which they are called
foreign: recognisers for the words of other languages; signs: for their signs; calculus: for the notation of school
mathematics; operands: for what other programs write of plots and fits
context: the tokens around the error, which recognisers look at
aliases: the names that an import defines
"""

from typing import TYPE_CHECKING

from agrad.engine.lazy import lazy

if TYPE_CHECKING:
    from agrad.grammar.syntax.errors import aliases as aliases
    from agrad.grammar.syntax.errors import calculus as calculus
    from agrad.grammar.syntax.errors import operands as operands
    from agrad.grammar.syntax.errors import recognisers as recognisers
else:
    __getattr__ = lazy(__name__, "aliases", "calculus", "operands", "recognisers")
