"""From text to syntax tree, by lark's LALR parser of `agrad.lark`. Outside it: parser, ast, keywords, errors.

keywords: the words of the language, and lark's parser, from the saved file, which `table` works out
lexer: a text to tokens
ast: the nodes of the tree; builder: the node for each rule
parser: all of these together, for a statement, for completion, for a text while it is typed
readings: which parts of a text are Python's, and the statements of these; typed: a text that is being typed in either
"""

from agrad.lazy import lazy

__getattr__ = lazy(__name__)
