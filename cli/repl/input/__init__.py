"""Where the statements of a session come from: a prompt with an editor, a dumb terminal, or a pipe.

Each of `prompt`, `dumb` and `pipe` has a function that yields texts; `commands/repl` chooses one of them. `keys`,
`paste` and `question_mark` are parts of the first two.
"""
