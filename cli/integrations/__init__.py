"""agrad in other programs: each module is loaded by one of them, or by its command, never by another command.

`kinds` says how other programs call the kinds of tokens that the prompt colours, `pygments_lexer` is the lexer of the
entry point `agrad` of Pygments, `textmate` makes the grammar in docs/vscode for editors.
"""

from agrad.lazy import lazy

__getattr__ = lazy(__name__)
