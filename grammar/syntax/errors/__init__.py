"""Syntax errors: the table of messages, and the functions that recognise which message applies.

messages: the table, `syntax_error`, which the lexer and the builder raise, and the lines that errors propose
recognisers: a function for each error that the parser meets, in the order in which they are called
foreign: recognisers for the words and signs of other languages
notation: recognisers for the notation of school mathematics, and for what other programs write of plots and fits
context: the tokens around the error, which recognisers look at
"""

from agrad.lazy import lazy

__getattr__ = lazy(__name__)
