"""lark's parser of `agrad.lark`, loaded from `agrad.pickle`, where it was saved beforehand.

Building it from the grammar takes lark a quarter of a second, loading it a hundredth. After a change of the grammar
`make table` saves it again. A file that does not belong to the grammar, or to the installed version
of lark, is not used: then the parser is built at each start, which is correct, but slow.
"""

from __future__ import annotations

import io
import os.path
import zlib

import lark

from agrad.engine.errors import AgradError
from agrad.grammar.syntax.ast_builder import Builder
from agrad.grammar.syntax.lexer import Lexer

# os.path, because importing pathlib would take longer than loading the parser.
_FOLDER = os.path.dirname(os.path.dirname(__file__))
GRAMMAR = os.path.join(_FOLDER, "agrad.lark")
SAVED = os.path.join(_FOLDER, "agrad.pickle")


def load() -> lark.Lark:
    """The parser of this installation. Raises AgradError of kind `file` if there is no grammar."""
    grammar = _grammar()
    try:
        with open(SAVED, "rb") as file:
            checksum, content = file.readline(), file.read()
    except OSError:
        return build(grammar)
    return lark.Lark.load(io.BytesIO(content)) if checksum == _checksum(grammar, content) else build(grammar)


def build(grammar: str) -> lark.Lark:
    """The parser of a grammar, built by lark. It makes the syntax tree while it parses."""
    return lark.Lark(
        grammar, parser="lalr", start="program", lexer=Lexer, transformer=Builder(), maybe_placeholders=False
    )


def save() -> None:
    """Build the parser and save it."""
    grammar, file = _grammar(), io.BytesIO()
    build(grammar).save(file)
    content = file.getvalue()
    with open(SAVED, "wb") as saved:
        saved.write(_checksum(grammar, content) + content)


def _grammar() -> str:
    try:
        with open(GRAMMAR, encoding="utf-8") as file:
            return file.read()
    except OSError as problem:
        message = f"agrad cannot read its own {GRAMMAR}: {problem.strerror}"
        raise AgradError("file", message, notes=["it comes with agrad: install agrad again"]) from None


def _checksum(grammar: str, content: bytes) -> bytes:
    """The first line of the file, which shows that it is whole and belongs to this grammar and this version of lark."""
    made_of = f"{lark.__version__}\n{grammar}".encode()
    return f"lark {lark.__version__} {zlib.crc32(made_of + content):08x}\n".encode()


if __name__ == "__main__":
    save()
