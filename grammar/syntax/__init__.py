"""From text to syntax tree: keywords, lexer, parser, tree, and the messages of what cannot be read."""
