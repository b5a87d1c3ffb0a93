"""Which mistake was made, where the parser could not go on: told from the tokens around the place.

The functions below are asked in turn; the first that recognises its mistake has the word. They look at the
token that did not fit, those before it and the one behind it; and whether a bracket is closed further on. What the
parser expected there is less telling, because by then it has often drawn conclusions from the wrong token.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import chain, pairwise

from agrad.engine.errors import AgradError
from agrad.grammar.diagnostics import Source, Span, suggest
from agrad.grammar.syntax.driver import Misfit
from agrad.grammar.syntax.errors.messages import wrong
from agrad.grammar.syntax.keywords import (
    ABSENT,
    CLOSERS,
    COMMAND_WORDS,
    HEADERS,
    PYTHON,
    RESERVED,
    SHAPES,
    SOFT,
    words,
)
from agrad.grammar.syntax.lexer import OPERAND_ENDS, Read
from agrad.grammar.syntax.token import Token

_LINE_STARTS = frozenset({"_NEWLINE", "_INDENT", "_DEDENT", "SEMICOLON", ""})
_OPENERS = frozenset({"LPAR", "_LSQB", "LBRACE"})
_CLOSERS = frozenset({"RPAR", "RSQB", "RBRACE"})
_OPERAND_STARTS = OPERAND_ENDS - {"RPAR", "RSQB", "FSTRING_END"} | {"FSTRING_START", "LPAR", "_LSQB"}
_OPERATORS = words("SUM PRODUCT POWER COMPARISON _NEAR _TOLERANCE AND OR NOT IS _EQUAL AUGMENT")
# After these a value must follow.
_WANTS_VALUE = _OPERATORS | _OPENERS | {"_COMMA", "_IN", "_RANGE", "SEED"}
_STATEMENT_WORDS = words(
    "ELIF WHILE WITH PRINT RETURN ASSERT DEL DEF BACKWARD EXPLAIN PLOT ZERO_GRAD "
    "UNDO RESET HISTORY LOAD SAVE VARS QUIT HELP"
)
_NAME_PLACES = words("VAR SET DEF FOR DEL GRAD RETAIN GRAPH STEP FORWARD INFO WRT AS")
_BLOCKS = words("IF ELIF ELSE WHILE FOR WITH NO_GRAD FAILS TIME DEF")
_CONDITIONED = words("IF ELIF ELSE WHILE FOR WITH")  # blocks with something of any length before the colon
_CONDITIONS = words("IF ELIF WHILE ASSERT")
# Signs of other languages, read as two signs each, and what serves instead, if anything does.
_MISSPELT = {"=<": "<=", "=>": ">=", "<>": "!=", "++": "+= 1", "--": "-= 1", "=!": "!=", "||": "or"}
_MISSPELT |= {"<<": "", ">>": "", "->": "def f(x) = x**2   for a function"}
# Commands whose operands are names, and the words behind which others stand.
_ON_NAMES = words("retain grad zero_grad step graph forward info")
_BEHIND_NAMES = words("AS DEPTH TO WITH")
_NOTHING = Token("")


class Scene:
    """The token that did not fit (`bad`), and what stands around it."""

    def __init__(self, source: Source, error: Misfit, read: list[Token], ahead: Iterator[Read]) -> None:
        self.source = source
        self.error = error
        at_end = error.token.type == "$END"
        self.bad: Token = error.token
        self.before = read if at_end else read[:-1]
        self.previous = self.before[-1] if self.before else _NOTHING
        self.ahead = ahead
        # The statement so far, the brackets open in it, and the first word of its line.
        self.statement: list[Token] = []
        self.open: list[Token] = []
        self.line_head = _NOTHING
        self.look_back()

    def look_back(self) -> None:
        """Finds the beginning of the statement and what is open."""
        for token in self.before:
            if token.type in _OPENERS:
                self.open.append(token)
            elif token.type in _CLOSERS:
                self.open.pop()
            if token.type in _LINE_STARTS or (token.type == "_COLON" and not self.open):
                self.statement = []
            else:
                self.statement.append(token)
            if token.type in _LINE_STARTS - {"SEMICOLON"}:
                self.line_head = _NOTHING
            elif self.line_head is _NOTHING:
                self.line_head = token

    @property
    def head(self) -> Token:
        """The first token of the statement; the bad one if the statement begins with it."""
        return self.statement[0] if self.statement else self.bad

    @property
    def at_line_end(self) -> bool:
        """Whether the bad token is no token, but the end of the line or the text."""
        return self.bad.type in ("_NEWLINE", "$END")

    @property
    def place(self) -> Span:
        """The bad token; at the end of a line the place straight behind what it ends with."""
        if self.bad.type in ("_NEWLINE", "$END", "_DEDENT"):
            return self.behind(self.previous)
        return self.span(self.bad)

    def span(self, token: Token) -> Span:
        """Where a token stands."""
        return Span(self.source, token.start_pos, token.end_pos)

    def behind(self, token: Token) -> Span:
        """The place straight behind a token."""
        return Span(self.source, token.end_pos, token.end_pos)

    @cached_property
    def following(self) -> Read:
        """What comes behind the bad token."""
        return next(self.ahead, _NOTHING)

    @property
    def next_type(self) -> str:
        """The kind of what comes behind the bad token."""
        return self.following.type if isinstance(self.following, Token) else ""

    def closes(self) -> bool:
        """Whether the innermost open bracket is closed from the bad token on. Reads on for it, once."""
        inner: list[str] = [self.open[-1]]
        for token in chain((self.bad, self.following), self.ahead):
            if isinstance(token, AgradError):
                continue
            if token.type in _OPENERS:
                inner.append(token)
            elif token.type in _CLOSERS and CLOSERS[inner.pop()] != token:
                return False
            if not inner:
                return True
        return False

    def text_of(self, first: Token, last: Token) -> str:
        """The source from one token to another, both included."""
        return self.source.text[first.start_pos : last.end_pos]

    def rest_of_line(self, position: int) -> str:
        """What stands on the line from an offset on."""
        number, column = self.source.position(position)
        return self.source.line(number)[column - 1 :]

    def line_before(self, position: int) -> str:
        """What stands before an offset on its line, as far as it is the statement's."""
        _, column = self.source.position(position)
        start = max(self.head.start_pos, position - column + 1)
        return self.source.text[start:position].lstrip()

    def breaks_between(self, first: Token, last: Token) -> bool:
        """Whether two tokens stand on different lines."""
        return any(c in "\r\n" for c in self.text_of(first, last))

    def joined(self) -> str:
        """The token before and the bad one, if nothing stands between them."""
        return self.previous + self.bad if self.previous.end_pos == self.bad.start_pos else ""


def blame(source: Source, error: Misfit, read: list[Token], ahead: Iterator[Read]) -> AgradError:
    """The mistake behind a token that did not fit: `read` are the tokens up to it, `ahead` those behind."""
    scene = Scene(source, error, read, ahead)
    for recognise in _RECOGNISERS:
        problem = recognise(scene)
        if problem is not None:
            return problem
    return wrong("misfit", scene.place, text=str(scene.bad) or "the end of the line")


def _unclosed_bracket(scene: Scene) -> AgradError | None:
    """What follows is read as going on inside a bracket that nothing closes, but is a new line, or a block's colon."""
    if not scene.open:
        return None
    opener = scene.open[-1]
    colon = scene.bad.type == "_COLON" and opener.type == "LPAR" and scene.line_head.type in _BLOCKS - {"DEF"}
    same_line = not colon and not scene.breaks_between(opener, scene.bad)
    if same_line or (scene.bad.type in _OPERATORS | _CLOSERS and scene.bad.type not in ("_EQUAL", "AUGMENT")):
        return None
    if scene.closes():
        return None
    return wrong("unclosed bracket", scene.span(opener), bracket=str(opener), closer=CLOSERS[opener])


def _indentation(scene: Scene) -> AgradError | None:
    bad, before = scene.bad, scene.before
    if bad.type == "_INDENT":
        return wrong("indent", scene.span(bad))
    if len(before) > 1 and before[-1].type == "_NEWLINE" and before[-2].type == "_COLON":
        problem = wrong("no block", scene.span(before[-2]))
        problem.facts["unfinished"] = bad.type == "$END" or bad.start_pos == len(scene.source.text)
        return problem
    sign = str(scene.previous)
    if sign in (":", ";") and not scene.open and bad.type in _BLOCKS - {"ELIF", "ELSE"}:
        return wrong("block in line", scene.span(bad), word=str(bad), sign=sign)
    return None


def _else(scene: Scene) -> AgradError | None:
    if scene.bad.type in ("ELSE", "ELIF") and scene.previous.type in _LINE_STARTS:
        return wrong("else without if", scene.span(scene.bad), word=str(scene.bad))
    if scene.bad.type == "IF" and scene.previous.type == "ELSE":
        return wrong("else if", scene.span(scene.bad))
    return None


def _reserved(scene: Scene) -> AgradError | None:
    """A word of the language where a name or a value should be."""
    bad, previous = scene.bad, scene.previous
    assigned = ("_EQUAL", "AUGMENT")
    if bad.type in assigned and previous in RESERVED and previous.type != "NAME":
        word = previous
    elif previous.type == "TOPIC" and previous == "=":
        word = scene.head
    elif bad in RESERVED and bad.type != "NAME" and (_stands_for_name(scene) or scene.next_type in assigned):
        word = bad
    else:
        return None
    owner = "Python" if word in PYTHON else "agrad"
    return wrong("reserved", scene.span(word), word=str(word), owner=owner)


def _stands_for_name(scene: Scene) -> bool:
    """Whether the word is where only a name or a value can be. A word with a message of its own keeps it."""
    bad = scene.bad
    if bad in ABSENT or bad.type in ("AND", "OR", "IS", "_IN", "NOT", "ELSE") or (bad.type == "FOR" and scene.open):
        return False
    return scene.previous.type in _WANTS_VALUE | _NAME_PLACES


def _python(scene: Scene) -> AgradError | None:
    """What Python has and agrad has not."""
    bad = scene.bad
    if bad.type == "RESERVED" and bad in ABSENT:
        return wrong("absent", scene.span(bad), word=str(bad), instead=ABSENT[bad])
    if bad.type == "FOR" and scene.open:
        return wrong("comprehension", scene.span(bad))
    if bad == "@" and bad is scene.head:
        return wrong("decorator", scene.span(bad))
    colon = bad if bad.type == "_COLON" else scene.previous if scene.previous.type == "_COLON" else None
    if colon is not None and scene.source.text.startswith(":=", colon.start_pos):
        place = Span(scene.source, colon.start_pos, colon.start_pos + 2)
        tokens = scene.before[: -1 if colon is scene.previous else None]
        return wrong("walrus", place, name=str(tokens[-1]) if tokens else "x")
    if (bad.type == "_IN" and scene.head.type != "PLOT") or (bad.type == "NOT" and scene.next_type == "_IN"):
        return wrong("in", scene.span(bad))
    if scene.previous.type == "IS" or [token.type for token in scene.before[-2:]] == ["IS", "NOT"]:
        return wrong("is", scene.place)
    return None


def _comparison(scene: Scene) -> AgradError | None:
    """`=` and `==` in each other's place; a `~=` in a chain."""
    bad, head = scene.bad, scene.head
    compared = scene.line_head if scene.line_head.type in _CONDITIONS and not _has_colon(scene) else head
    if bad.type == "_EQUAL" and (compared.type in _CONDITIONS or scene.open) and scene.previous.type in OPERAND_ENDS:
        return wrong("= for ==", scene.span(bad), line=_line_with(scene, "=="))
    if bad == "==" and head.type in ("VAR", "SET", "DEF"):
        return wrong("== for =", scene.span(bad), line=_line_with(scene, "="))
    near = {"_NEAR", "IS", "COMPARISON"}
    if (
        bad.type in near
        and any(token.type in near for token in scene.statement)
        and scene.previous.type in OPERAND_ENDS
    ):
        return wrong("chain", scene.span(bad))
    return None


def _has_colon(scene: Scene) -> bool:
    return any(token.type == "_COLON" for token in scene.statement)


def _line_with(scene: Scene, sign: str) -> str:
    """The statement, or its line, with another sign in the bad token's place."""
    return scene.line_before(scene.bad.start_pos) + sign + scene.rest_of_line(scene.bad.end_pos)


def _missing_colon(scene: Scene) -> AgradError | None:
    head = scene.line_head
    if scene.open or head.type not in _CONDITIONED or "_COLON" not in scene.error.accepts:
        return None
    if scene.at_line_end:
        return wrong("missing colon", scene.place)
    if ":" in scene.rest_of_line(scene.bad.start_pos):
        return None
    return wrong("missing colon", scene.place)


def _missing_value(scene: Scene) -> AgradError | None:
    bad, previous = scene.bad, scene.previous
    for first, second in pairwise([*scene.before[-2:], bad][-3:]):
        sign = first + second
        if sign in _MISSPELT and first.end_pos == second.start_pos:
            place = Span(scene.source, first.start_pos, second.end_pos)
            return wrong("misspelt sign", place, sign=sign, instead=_MISSPELT[sign])
    if previous.type == "_DOT":
        return wrong("missing name", scene.place)
    if bad.type in _OPERAND_STARTS:
        return None
    before = str(previous) if previous.type not in _LINE_STARTS else ""
    after = str(bad) if not scene.at_line_end else ""
    wants = previous.type in _WANTS_VALUE or (
        previous.type in ("IF", "ELIF", "ELSE", "WHILE", "ASSERT", "PRINT")
        or (previous.type == "WITH" and previous is scene.head)  # not that of `forward d with`
    )
    starts = previous.type in _LINE_STARTS | {"RETURN", "_COLON", "PRINT"} and bad.type in _OPERATORS | {"_COMMA"}
    if not (wants or starts):
        return None
    if before in ("(", "[", "{") or not before:
        where = f"before `{after}`"
    else:
        where = f"after `{before}`" if not after or after in ")]}" else f"between `{before}` and `{after}`"
    return wrong("missing operand", scene.place, place=where)


def _shape(scene: Scene) -> AgradError | None:
    """A command, or a statement of a shape of its own, that is written otherwise."""
    head = scene.head
    if head.type == "DEF" and not _header_done(scene):
        return wrong("def", scene.place)
    word = str(head)
    soft = head.type == "NAME" and word in SOFT and len(scene.statement) == 1
    if word not in SHAPES or (head.type == "NAME" and not soft) or head is scene.bad:
        return None
    if soft and scene.bad.type not in _OPERAND_STARTS and word != "fails":
        return None
    if head.type == "FOR" and any(token.type == "_IN" for token in scene.statement):
        return None
    problem = wrong("shape", scene.place, word=word, usage=SHAPES[word])
    behind = any(token.type in _BEHIND_NAMES for token in scene.statement)
    if word in _ON_NAMES and not behind and not scene.at_line_end:
        problem.notes.append("it acts on names, such as a, a.grad or w[0]")
    return problem


def _header_done(scene: Scene) -> bool:
    """Whether the `=` of a one-line function has been read."""
    depth = 0
    for token in scene.statement:
        depth += (token.type in _OPENERS) - (token.type in _CLOSERS)
        if token.type == "_EQUAL" and not depth:
            return True
    return False


def _command(scene: Scene) -> AgradError | None:
    """A first word that is followed as a command would be, but is none."""
    head, bad = scene.head, scene.bad
    word = str(head)
    candidates = HEADERS if bad.type == "_COLON" else COMMAND_WORDS - HEADERS
    likely = len(word) > 2 and word not in SOFT
    shaped = bad.type in _OPERAND_STARTS - {"LPAR", "_LSQB"} or (bad.type == "_COLON" and suggest(word, HEADERS))
    prefix = scene.joined() and bad.type in ("STRING", "FSTRING_START")
    if head is bad or head.type != "NAME" or len(scene.statement) > 1 or prefix or not (likely and shaped):
        return None
    near = suggest(word, candidates)
    behind = scene.rest_of_line(head.end_pos)
    instead = " or ".join(name + behind for name in near)
    if not instead and bad.type == "NAME":
        instead = f"{word}*{bad} or {word}({bad})"
    problem = wrong("no command", scene.span(head), word=word, instead=instead)
    if not near:
        problem.notes.append("the commands are " + ", ".join(sorted(COMMAND_WORDS)))
    return problem


def _missing_operator(scene: Scene) -> AgradError | None:
    bad, previous = scene.bad, scene.previous
    if previous.type not in OPERAND_ENDS:
        return None
    second = scene.next_type == "_EQUAL" and any(token.type == "_EQUAL" for token in scene.statement)
    if bad.type in _STATEMENT_WORDS or (second and not scene.open):
        return wrong("new statement", scene.span(bad), word=str(bad))
    if bad.type not in _OPERAND_STARTS:
        if scene.at_line_end and "ELSE" in scene.error.accepts and any(t.type == "IF" for t in scene.statement):
            return wrong("if without else", scene.place)
        return None
    if previous.type == "NAME" and bad.type in ("STRING", "FSTRING_START") and scene.joined():
        return wrong("string prefix", Span(scene.source, previous.start_pos, bad.end_pos), name=str(previous))
    left, right = str(previous), str(bad)
    instead = []
    plain = {previous.type, bad.type} <= {"NAME", "NUMBER"}
    listed = bool(scene.open) or scene.head.type == "PRINT"
    if plain:
        instead.append(f"{left}*{right}")
    if plain and previous.type == "NAME":
        instead.append(f"{left}({right})")
    if listed:
        instead.append(f"{left}, {right}")
    what = "an operator or a comma" if listed else "an operator"
    return wrong("missing operator", scene.span(bad), what=what, left=left, right=right, instead=" or ".join(instead))


_RECOGNISERS: tuple[Callable[[Scene], AgradError | None], ...] = (
    _unclosed_bracket,
    _indentation,
    _else,
    _reserved,
    _python,
    _comparison,
    _missing_colon,
    _missing_value,
    _command,
    _shape,
    _missing_operator,
)
