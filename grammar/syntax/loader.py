"""lark's parser of `agrad.lark`, loaded from `agrad.pickle`, where it was saved beforehand.

Building it from the grammar takes lark a quarter of a second, loading it a hundredth. After a change of the grammar
`make table` saves it again. A file that does not belong to the grammar, or to the installed version
of lark, is not used: then the parser is built at each start, which is correct, but slow.
"""

from __future__ import annotations

import io
import os.path
import pickle
import zlib
from typing import Any

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
    """Work the parser out and save it."""
    grammar, file = _grammar(), io.BytesIO()
    build(grammar).save(file)
    content = _resolved(file.getvalue())
    with open(SAVED, "wb") as saved:
        saved.write(_checksum(grammar, content) + content)


def _resolved(content: bytes) -> bytes:
    """What `Lark.save` wrote, with its rules and terminals as objects, each symbol once.

    lark writes them as dictionaries, and makes the objects when it loads them. What is an object already it takes as it
    is, and `pickle` makes one in a quarter of the time.
    """
    from lark.grammar import Rule  # here and below, since only `make table` saves
    from lark.lexer import TerminalDef
    from lark.utils import SerializeMemoizer

    saved = pickle.loads(content)
    namespace = {kind.__name__: kind for kind in (Rule, TerminalDef)}
    saved["memo"] = SerializeMemoizer.deserialize(saved["memo"], namespace, {})
    same: dict[Any, Any] = {}
    for rule in saved["memo"].values():
        if isinstance(rule, Rule):
            symbols = (rule.origin, *rule.expansion)
            rule.origin, *rule.expansion = [same.setdefault((x, getattr(x, "filter_out", None)), x) for x in symbols]
            rule.options = same.setdefault(tuple(vars(rule.options).values()), rule.options)
    file = io.BytesIO()
    _pickler(file).dump(saved)
    return file.getvalue()


def _pickler(file: io.BytesIO) -> pickle.Pickler:
    """A pickler that has rules made by their class: a rule keeps its hash, which is another one in each process."""
    from lark.grammar import Rule

    class Pickler(pickle.Pickler):
        def reducer_override(self, made: Any) -> Any:
            if isinstance(made, Rule):
                return Rule, (made.origin, made.expansion, made.order, made.alias, made.options)
            return NotImplemented

    return Pickler(file, pickle.HIGHEST_PROTOCOL)


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
