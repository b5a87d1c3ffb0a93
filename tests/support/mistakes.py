"""The examples of all syntax errors: what `grammar/syntax/errors/messages.txt` lists below the message of each."""

import ast
from pathlib import Path

from agrad.grammar.syntax.errors import messages

CARET = "‸"  # where the caret of the message is
# (the name of the mistake, an example)
EXAMPLES: list[tuple[str, str]] = []
_mistake = ""
for _line in Path(messages.__file__).with_name("messages.txt").read_text("utf-8").splitlines():
    if _line.startswith(("  '", '  "')):
        EXAMPLES.append((_mistake, ast.literal_eval(_line.strip())))
    elif not _line.startswith((" ", "#")):
        _mistake = _line.partition(": ")[0]
TEXTS = [example.replace(CARET, "") for _, example in EXAMPLES]
