"""What may be typed next: the words that the grammar accepts at the end of a text, and the names that fit.

Also the names that a text binds, and those without a value: found from its tokens, since the text may be unfinished.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from agrad.engine.core.context import enter
from agrad.engine.core.graph import Node
from agrad.engine.core.op import FUNCTIONS, REQUIRED
from agrad.engine.core.tensor import Tensor
from agrad.engine.ops.tables import Table, Texts, column
from agrad.engine.text import truncate
from agrad.engine.units import unit
from agrad.engine.values import format_shape
from agrad.grammar import help as helping
from agrad.grammar.commands.registry import COMMANDS, NOTHING, Command, Option
from agrad.grammar.elsewhere import MODULES
from agrad.grammar.help import help as texts
from agrad.grammar.results import text_of
from agrad.grammar.runtime.attributes import ATTRIBUTES, METHODS, NODE_ATTRIBUTES
from agrad.grammar.runtime.builtins import CONSTANTS, Closure, is_result
from agrad.grammar.session.session import Session
from agrad.grammar.syntax.builder import KINDS
from agrad.grammar.syntax.keywords import COMMANDS as COMMAND_WORDS
from agrad.grammar.syntax.keywords import OPTIONS, PYTHON, SOFT
from agrad.grammar.syntax.lexer import CLOSING, OPENERS, STARTS, Token
from agrad.grammar.syntax.parser import followers
from agrad.grammar.syntax.typed import last_part
from agrad.lazy import pattern

_WORD = pattern(r"[^\W\d]\w*$")
_COLUMN = pattern(r"""([^\W\d]\w*)\[(?:[^\[\]"']*,)?\s*\[?(?:"[^"]*",\s*)*["']([^"'\n]*)$""")  # t["spe, t[:, "spe
# The words that have their own terminal, which is named after them.
_TERMINALS = {word: word.upper() for word in PYTHON | COMMAND_WORDS | SOFT} | {"in": "_IN", "to": "CONVERT"}
_INSIDE = {"return": "def", "break": "for|while", "continue": "for|while"}
_SCATTERED = 2  # letters of a word that may be scattered in another
_LONGEST = 40  # of a value next to its name


@dataclass(frozen=True, slots=True)
class Candidate:
    """A word that may be typed: how it is used, and what it is."""

    text: str
    usage: str = ""
    meaning: str = ""


_IMPORT = pattern(r"(?:^|[\n;])[ \t]*(?:import|from)[ \t]+$")  # with which Python's reading will begin


def completions(
    text: str, session: Session, others: Mapping[str, str] = MappingProxyType({}), is_python: bool | None = None
) -> tuple[str, list[Candidate]]:
    """The word that a text ends with, perhaps empty, and what it may become: the likeliest first.

    `others`: names that may have any value, such as those of a text around this one, with what is known of them.
    `is_python`: whether it is read as Python, if the session does not say so.
    """
    if is_python is None:
        is_python = last_part(text, session.reads_python).is_python
    if is_python or _IMPORT.search(text):
        made: tuple[str, list[Candidate]] = helping.python_completion.completions(text, session, others)
        return made
    if (inside := _COLUMN.search(text)) and isinstance(table := session.names.get(inside[1]), Table):
        names = dict.fromkeys(table.columns)
        return inside[2], likeliest(inside[2], [Candidate(name, meaning="a column") for name in names])
    found = _WORD.search(text)
    word = found[0] if found else ""
    before = text.removesuffix(word)
    known: dict[str, Candidate] = {}
    for candidate in enter(session.context, lambda: [*_Place(before, session, others).candidates(bool(word))]):
        known.setdefault(candidate.text, candidate)
    return word, likeliest(word, list(known.values()))


def likeliest(word: str, candidates: list[Candidate]) -> list[Candidate]:
    """The candidates that a word may become, in their order: those that begin with it.

    If there are none, those that begin with it in upper or lower case; else those that contain it; else those that have
    its letters in this order, the tightest first.
    """
    if not word:
        return candidates
    lower = word.lower()
    found = [one for one in candidates if one.text.startswith(word)]
    found = found or [one for one in candidates if one.text.lower().startswith(lower)]
    if found := found or [one for one in candidates if lower in one.text.lower()]:
        return found
    if len(word) < _SCATTERED:
        return []
    letters = re.compile(".*?".join(map(re.escape, lower)))
    places = [(letters.search(each.text.lower()), each) for each in candidates]
    scattered = [(place.end() - place.start(), each) for place, each in places if place is not None]
    return [each for _, each in sorted(scattered, key=lambda pair: pair[0])]


class _Place:
    """The end of a text: the statement so far, the brackets open in it, and what the grammar accepts."""

    def __init__(self, text: str, session: Session, others: Mapping[str, str]) -> None:
        self.text, self.session, self.others = text, session, others
        self.read, self.kinds = followers(text)
        self.statement: list[Token] = []
        self.open: list[list[Token]] = []  # for each open bracket, the tokens before it and inside it
        for token in self.read:
            if token.type in OPENERS:
                self.open.append([*self.statement[-3:], token])
            elif token.type in CLOSING and self.open:
                self.open.pop()
            elif self.open:
                self.open[-1].append(token)
            ends = token.type in STARTS or (token.type == "_COLON" and not self.open)
            self.statement = [] if ends else [*self.statement[-200:], token]
        self.types = [token.type for token in self.statement]
        self.head, self.previous = (self.types[0], self.types[-1]) if self.types else ("", "")
        # The command that the statement begins with.
        self.command: Command | None = COMMANDS.get(self.head.lower()) if self.head != "NAME" else None

    @property
    def option(self) -> Option | None:
        """The last option of the command that is followed by something, if one was typed."""
        options = self.command.options if self.command is not None else {}
        typed = [options[token] for token in self.statement[1:] if token in options and token.type != "NAME"]
        valued = [option for option in typed if option.value is not None or option.choices]
        return valued[-1] if valued else None

    def candidates(self, begun: bool) -> Iterator[Candidate]:
        """All words that fit here; `begun`: whether the word has a letter yet, so that a long list helps."""
        if "TOPIC" in self.kinds:
            yield from _listed(texts.topics(COMMANDS))
        elif self.previous == "_DOT":
            yield from self.members()
        elif self.statement == ["fails"]:
            yield from (Candidate(f"{kind}:", kind, "a kind of error") for kind in KINDS)
        else:
            yield from self.options()
            yield from self.tests()
            if not self.statement:
                yield from self.yours() if begun and "NAME" in self.kinds else ()
                yield from self.words()
            elif self.types[0] == "FOR" and "_IN" in self.kinds and "_IN" not in self.types:
                yield Candidate("in")  # the target might continue, but rarely does
                return
            names = list(self.names(begun)) if "NAME" in self.kinds else []
            yield from names
            first = len(self.statement) == 1 and self.command is not None and self.command.operands.expression
            if begun or not names or not first:
                yield from self.words()
            is_free = self.command is None or not self.command.keywords
            if "MEASURE" in self.kinds and is_free and (begun or self.previous == "CONVERT"):
                yield from (Candidate(name, meaning="a unit") for name in unit.offered())

    def options(self) -> Iterator[Candidate]:
        """The options of the command of this statement."""
        if self.open or self.command is None:
            return
        kinds = OPTIONS.get(self.command.word, {})
        for word, option in self.command.options.items():
            kind = kinds.get(word, word.upper())
            if kind in self.kinds and kind not in self.types:
                yield Candidate(word, meaning=option.meaning)

    def tests(self) -> Iterator[Candidate]:
        """The signs that compare what `assert` tests."""
        if self.head == "ASSERT" and "_NEAR" in self.kinds and not self.open:
            yield Candidate("~=", "~= 3 +- 1e-6", "nearly equal")
        elif self.head == "ASSERT" and "_TOLERANCE" in self.kinds and not self.open:
            yield Candidate("+-", "+- 1e-6", "the tolerance")

    def words(self) -> Iterator[Candidate]:
        """The words of the language that the grammar accepts; `import`, from which on Python is read."""
        if not self.statement:
            yield Candidate("import", *texts.statement("import"))
        for word, kind in sorted(_TERMINALS.items(), key=lambda pair: (pair[0][0].isupper(), pair)):
            around = _INSIDE.get(word)
            if kind == "CONVERT" and self.command is not None:
                continue  # of what a command is given, units are rarely converted
            if kind in self.kinds and (around is None or re.search(rf"(?m)^\s*({around})\b", self.text)):
                yield Candidate(word, *self.told(word))

    def told(self, word: str) -> tuple[str, str]:
        """How a statement that begins with a word is written, and what it does; empty for other words."""
        if self.statement:
            return "", ""
        command = COMMANDS.get(word)
        return (command.usage, texts.first_sentence(command.help)) if command else texts.statement(word)

    # Names

    def names(self, begun: bool) -> Iterator[Candidate]:
        """The names and functions that fit where a name is expected."""
        if self.open:
            yield from self.yours() if self.previous == "LPAR" else ()
            yield from self.keywords()
            yield from self.anything()
            return
        if self.command is not None and self.previous != "FOR":
            yield from self.operands(self.command, begun)
        elif self.previous in ("VAR", "FOR", "DEL"):
            yield from self.yours()
        elif self.previous not in ("AS", "DEF"):
            yield from self.anything()

    def operands(self, command: Command, begun: bool) -> Iterator[Candidate]:
        """What follows a command, or the last of its options that takes something."""
        option = self.option
        choices = option.choices if option is not None else command.choices
        first = len(self.statement) == 1 or self.statement[-1] in command.options
        if choices and first:
            yield from _listed(choices)
            return
        after = command.after if option is None else {}
        if len(self.statement) == 2 and self.statement[1] in after and not choices:
            yield from _listed(after[self.statement[1]])
            return
        wanted = command.operands if option is None or option.value is None else option.value
        if option is not None and wanted is NOTHING:
            return
        if wanted.wanted is None or (wanted.expression and not first) or self.previous == "_EQUAL":
            keywords = command.keywords if self.previous != "_EQUAL" else {}
            yield from _listed({example.partition("=")[0] + "=": meaning for example, meaning in keywords.items()})
            yield from self.anything() if not keywords else ()
            return
        names = list(self.yours(wanted.wanted))
        if wanted.given:
            names = [Candidate(f"{one.text}=", f"{one.text}{wanted.given}", one.meaning) for one in names]
        yield from names
        yield from self.yours() if wanted.others else ()
        if option is None:
            yield from self.named_options(command, after)
        if wanted.expression and (begun or not names):
            yield from self.anything()

    def named_options(self, command: Command, after: Mapping[str, Mapping[str, str]]) -> Iterator[Candidate]:
        """What is given as `name=value`, and other words that belong to the first operand; each once."""
        first = str(self.statement[1]) if len(self.statement) > 1 else ""
        if not first and not command.choices:
            yield from (Candidate(word) for word in after)
        if first in after:
            there = set(map(str, self.statement))
            yield from (one for one in _listed(after[first]) if one.text.rstrip("=") not in there)
            return
        for example, meaning in command.keywords.items():
            yield Candidate(example.partition("=")[0] + "=", example, meaning)

    def yours(self, wanted: Callable[[Any], bool] = lambda value: True) -> Iterator[Candidate]:
        """The names of the session whose values fit here, the last first."""
        for name, value in reversed(self.session.names.items()):
            if wanted(value):
                usage = value.usage if isinstance(value, Closure) else name
                yield Candidate(name, usage, described(value, self.session))
        yield from (Candidate(name, name, meaning) for name, meaning in self.others.items())

    def anything(self) -> Iterator[Candidate]:
        """Whatever an expression may begin with: names of this text and of the session, functions, constants."""
        begun = self.statement[0].start_pos if self.statement else len(self.text)
        for name, token in given(self.read).items():
            known = name in self.session.names or name in self.others
            if not known and (self.head == "DEF" or token.start_pos < begun):
                yield Candidate(name, meaning="of this text")
        yield from self.yours()
        yield from _functions()
        yield from _listed(dict.fromkeys(CONSTANTS, "constant"))

    def keywords(self) -> Iterator[Candidate]:
        """The arguments, by name, of the call that is being typed."""
        inside = self.open[-1]
        opener = next(place for place, token in reversed([*enumerate(inside)]) if token.type in OPENERS)
        called, there = inside[:opener], set(inside[opener:])
        if self.previous not in ("LPAR", "_COMMA") or inside[opener].type != "LPAR" or not called:
            return
        method = len(called) > 1 and called[-2].type == "_DOT"
        for name, default in _parameters(called[-1], method, self.session).items():
            if name not in there:
                yield Candidate(f"{name}=", f"{name}={default}", f"argument of {called[-1]}")

    def members(self) -> Iterator[Candidate]:
        """What may follow the point after a value."""
        owner = self.statement[-2:-1]
        if not owner or owner[0].type == "NUMBER":
            return
        name = str(owner[0])
        if name in MODULES and name not in self.session.names:
            return
        direct = len(self.statement) < 3 or self.statement[-3].type != "_DOT"
        value = self.session.names.get(name) if direct else None
        if isinstance(value, Table):
            yield from _columns(value)
        elif isinstance(value, Node) or (name == "grad_fn" and not direct):
            yield from _listed(NODE_ATTRIBUTES)
        elif not isinstance(value, str | tuple | range | Closure):
            yield from _listed({name: one.meaning for name, one in ATTRIBUTES.items()})
            for name, method in METHODS.items():
                yield Candidate(name, method.form.usage, method.meaning)
            yield from _functions(methods=True)


def _listed(meanings: Mapping[str, str]) -> Iterator[Candidate]:
    """Words with their meanings."""
    return (Candidate(word, meaning=meaning) for word, meaning in meanings.items())


def _columns(value: Table) -> Iterator[Candidate]:
    """What may follow the point after a table: its columns, and what arrays have."""
    for name in filter(str.isidentifier, value.columns):
        kind = "texts" if isinstance(column(value, name), Texts) else "numbers"
        yield Candidate(name, meaning=f"column of {kind}")
    others = {name: ATTRIBUTES[name].meaning for name in ("shape", "T")}
    yield from _listed({"columns": "the names of the columns", **others})


def _parameters(name: str, is_method: bool, session: Session) -> dict[str, str]:
    """What can be given by name in a call, with the defaults."""
    value = session.names.get(name)
    if isinstance(value, Closure) and not is_method:
        return dict.fromkeys(value.definition.parameters, "…")
    if is_method and name in METHODS:
        form = METHODS[name].form
    elif name in FUNCTIONS:
        form = FUNCTIONS[name].signature
    else:
        return {}
    defaults = {name: default for name, default in form.attributes.items() if name != form.gathers}
    return {name: "…" if default is REQUIRED else str(default) for name, default in defaults.items()}


def _functions(methods: bool = False) -> Iterator[Candidate]:
    """The functions of the table, or those of them that are methods too."""
    for name, entry in sorted(FUNCTIONS.items(), key=lambda pair: pair[0].lower()):
        if entry.signature.operands or not methods:
            yield Candidate(name, entry.signature.usage, texts.first_sentence(entry.doc))


def described(value: Any, session: Session) -> str:
    """A value in a few words; a large one is not written out."""
    if callable(value):
        return "function"
    is_array = isinstance(value, Tensor) and value.shape
    text = format_shape(value.shape) if is_array else truncate(text_of(value, session.settings), _LONGEST)
    if not isinstance(value, Tensor) or not value.requires_grad:
        return text
    return f"{'leaf' if value.node.op is None else value.node.title} {text}"


# The names that a text binds, and those without a value.

# A name after these is not read as a value: it is defined here, or is not the name of a value.
_DEFINING = frozenset({"DEF", "FOR", "VAR", "RESERVED"})
_OTHERWISE = {"_DOT", "AS", "FAILS", "SET", *(word.upper() for word, made in COMMANDS.items() if made.choices)}
_KNOWN = frozenset({"print", "_", "ans", "no_grad"}).union(FUNCTIONS, CONSTANTS, MODULES)


def given(tokens: Sequence[Token]) -> dict[str, Token]:
    """The names that the tokens bind, each with the place where it is first bound."""
    found: dict[str, Token] = {}
    statement: list[Token] = []
    depth = 0
    for token in tokens:
        depth += (token.type in OPENERS) - (token.type in CLOSING)
        head, before = (statement[0].type, statement[-1].type) if statement else ("", "")
        if token.type in STARTS or (token.type == "_COLON" and not depth):
            statement = []
            continue
        parameter = depth == 1 and head == "DEF" and len(statement) > 2 and before in ("LPAR", "_COMMA")
        binds_all = (token.type == "_EQUAL" and not depth) or (token.type == "_IN" and head == "FOR")
        for name in statement if binds_all else [token] * (before in _DEFINING or parameter):
            if name.type == "NAME":
                found.setdefault(str(name), name)
        statement.append(token)
    return found


def unknown(tokens: Sequence[Token], names: Collection[str]) -> list[tuple[int, int]]:
    """The places of names without a value: neither in the session, nor in the language, nor bound by these tokens."""
    here = given(tokens)
    found, before = [], ""
    for token, following in zip(tokens, [*tokens[1:], Token("")], strict=False):
        if token.type == "NAME" and following.type != "_EQUAL" and before not in _OTHERWISE:
            known = token in _KNOWN or token in names or token in here or is_result(token)
            if not known:
                found.append((token.start_pos, token.end_pos))
        before = "SET" if before == "SET" and following.type == "NAME" else token.type  # `set echo off`
    return found
