"""From text to syntax tree, by lark's LALR parser of `agrad.lark`. Outside it: parser, ast, keywords, errors.

keywords: the words of the language; lexer: a text to tokens, incremental: of a text while it is typed
ast: the nodes of the tree
ast_builder, expression_builder: the nodes for each rule; loader: lark's parser, from the saved file
parser: all of these together, for a statement, for completion, for highlighting
"""
