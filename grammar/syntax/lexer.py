"""The lexer that lark's parser reads from: a text becomes the terminals of `agrad.lark`.

The patterns of the terminals are those of the grammar. The lexer adds what depends on more than the characters at hand:
lines and indentation, brackets (a line does not end inside them), f-strings, words that are commands in one place and
names in another, and the `+-` of a tolerance. A lexical error does not stop it: it yields an `AgradError` among the
tokens, which the parser raises and the highlighter colours.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any, Self, TypeAlias

import lark.lexer

from agrad.engine.errors import AgradError, Label
from agrad.engine.text import as_name, is_balanced
from agrad.grammar import syntax
from agrad.grammar.diagnostics import Source, Span
from agrad.grammar.syntax import keywords
from agrad.grammar.syntax.errors.messages import corrected, syntax_error

# What an operand may end with: after it a minus is a difference, a further operand is a mistake.
OPERAND_ENDS = keywords.words(
    "NAME NUMBER STRING FSTRING_END RPAR RSQB RBRACE NONE TRUE FALSE ELLIPSIS RESERVED TOPIC MEASURED PERCENT BANG"
    " DEGREES PERCENTAGE PRIME BAR_END DISTRIBUTION SCALE MEASURE FORM PARTIAL"
)

_STARTS = keywords.words("NAME NUMBER ROOT BAR")  # of an operand

# A line, and so a statement, begins after these; brackets.
STARTS = frozenset({"_NEWLINE", "_INDENT", "_DEDENT", "SEMICOLON"})
OPENERS = frozenset({"LPAR", "_LSQB", "LBRACE"})
CLOSING = frozenset({"RPAR", "RSQB", "RBRACE"})
_QUOTES = frozenset("\"'")  # of f-strings

_OPTION_FOLLOWS = OPERAND_ENDS | keywords.FLAGS | {"WITH"}

# Behind these a unit may stand; a bracket is one that is no call and no index. `d/dx` is none.
_BEFORE_UNITS = keywords.words("NUMBER MEASURED RPAR RSQB CONVERT")
_MAY_BE_UNIT = r"[ \t]*(?!d[²³^\d]*/d)(?:1/\(?)?(°[A-Za-z]|[A-Za-zµμΩ\u2126Åℓ])"
_RAISED = rf"(?<!\w)([^\W\d]+\d*)[ \t]*(?:[⁻{''.join(keywords.SUPERSCRIPTS)}]+|(?:\^|\*\*)[ \t]*\(?-?\d+\)?)[ \t]*\Z"
_DIGITS = r"[ \t]?(\d+(?:\.\d+)?)"
MINUTES = rf"°{_DIGITS}['′](?:{_DIGITS}(?:[\"″]|''))?"  # with seconds
_FORM = r"[ \t]+([^\W\d]\w*)(?![ \t]*[\w(=.'\[])"
# After these a `~=` further left in the same brackets has found its right-hand side.
_NEAR_ENDS = keywords.words("_COMMA _COLON SEMICOLON COMPARISON AND OR IF ELSE _EQUAL")
# What may stand behind an uncertainty; the name of a variable cannot.
_DISTRIBUTIONS = frozenset({"normal", "uniform", "triangular", "trapezoid", "arcsine", "t"})
_SCALE = r"[eE][-+]?\d+(?!\w)"
# A line of these alone is blank.
_BLANK = frozenset({"SPACE", "COMMENT", "LINE_BREAK"})
# Words that continue an expression: `grad if c else x` is one, `grad a` a command.
_CONTINUES = frozenset({"if", "and", "or", "in", "is", "else", "for"})

# Compiled where they are used (`re` keeps what it has compiled), so that a start that needs none does not compile them.
_FOLLOWING_WORD = rf"[ \t]+(?!(?:{'|'.join(sorted(_CONTINUES))})\b)[^\W\d]\w*"
# What begins an expression and, with this spacing, does not continue one.
_FOLLOWING_VALUE = r"""[ \t]+(?:[-+](?![\s=])|[\d.("'\[]|\|[^|]+\|)"""
_NOTHING_FOLLOWS = r"[ \t]*(?![^\r\n;#])"
_NOTHING_BUT_BRACKETS = r"[ \t]*(\([ \t]*\)[ \t]*)?(?![^\r\n;#])"
_ALONE = r"[ \t]+[\d.]|[ \t]*(?![^\r\n;#])"
_FAILS_KIND = r"[ \t]+(\w+)[ \t]*:"
_SPACE_COLON = r"[ \t]*:"
TOPIC = r"[ \t]*(\([^()\s]*\)|[^\s;#]+)"
_REST_OF_LINE = r"[^\r\n]*"
_POWER = rf"[ \t]*(?:\^|\*\*|[{''.join(keywords.SUPERSCRIPTS)}⁻])"
# `d/dx x^2`, and `d²/dx² x^2`, `d^2/dx^2 x^2`, `d2/dx2 x^2`, `∂/∂x`: what is differentiated follows.
LEIBNIZ = (
    r"[d∂](?:/[d∂](?P<by>[^\W\d]\w*)"
    r"|(?P<order>(?:\^|\*\*)?[23]|[²³])[ \t]*/[ \t]*[d∂](?P<by_again>[^\W\d]\w*?)(?P=order))"
    r"(?=[ \t]+[\w.√|]|[ \t]*[(\[])(?![ \t]+(?:if|for|and|or|in|is|else|not)\b)"
)
# `∂f/∂x`, and `∂²f/∂x²`: of a function, or of a value that was computed from x.
PARTIAL = r"∂(?P<order>[²³]?)(?P<of>[^\W\d]\w*)/∂(?P<by>[^\W\d]\w*?)(?P=order)(?!\w)"
_LET = r"[ \t]+[^\W\d]\w*[ \t]*(?:\([\w, \t]*\)[ \t]*)?:?=(?!=)"
# A `%` behind which no operand follows, and the `of` behind one.
_PERCENT = r"%(?=[ \t]*(?:[\r\n;#),\]]|\Z|[*/](?!%)|of[ \t]+[\w.(]|(?:as|to)\b))"
_MAGIC = r"(%{1,2}[a-z]\w*)([^\r\n]*)"
FSTRING_TEXT = {quote: rf"(?:[^{{}}{quote}\\\r\n]|\\[^\r\n]|\{{\{{|\}}\}})+" for quote in ("'", '"')}
# What may follow the expression in the braces of an f-string.
IN_FIELD = {"DEBUG": r"=[ \t]*(?=[:}])", "CONVERSION": r"![rsa](?=[ \t]*[:}])", "SPEC": r""":[^{}"'\r\n]*"""}


class Token(lark.lexer.Token):
    """A terminal of the grammar in a text: its type, its text (which it is equal to) and its position."""

    __slots__ = ()
    start_pos: int
    end_pos: int
    # Lines and columns are worked out where a message needs them, from the positions.
    line = column = end_line = end_column = None

    def __new__(cls, type: str, text: str = "", start_pos: int = 0, end_pos: int = 0) -> Self:
        """A token of a type. lark's own constructor takes twice as long, which a long script shows."""
        token = str.__new__(cls, text)
        token.type = type
        token.value = text
        token.start_pos = start_pos
        token.end_pos = end_pos
        return token


Item: TypeAlias = Token | AgradError


class Input:
    """A text that lark's parser reads: the tokens that it has taken, and those that are still to come."""

    _Token = lark.lexer.Token  # of which that parser makes the kinds that it tries

    def __init__(self, source: Source, text: str | None = None) -> None:
        self.source = source
        self.taken: list[Token] = []
        self.ahead = read(source, text)

    def lex(self, parser: Any, reduce: Callable[[Any, str], None] = keywords.reduce) -> Iterator[Token]:
        """The tokens of a text for lark's parser, with the signs that are left out, up to the first lexical error.

        That is raised. `reduce`: what applies the rules that end before a token.
        """
        for item in self.ahead:
            if isinstance(item, AgradError):
                raise item
            is_odd = self._may_lack_sign(item, parser)
            if is_odd and (sign := syntax.implied.left_out(self.source.text, self.taken, item, parser)):
                reduce(parser, sign)
                yield Token(sign, "", item.start_pos, item.start_pos)
            reduce(parser, item.type)
            self.taken.append(item)
            yield item

    def _may_lack_sign(self, item: Token, parser: Any) -> bool:
        """Whether a sign may be left out before a token: the parser would not take it, or what it calls is no name."""
        if item.type == "LPAR":
            return bool(self.taken) and self.taken[-1].type != "NAME"
        return item.type in _STARTS and not keywords.takes(parser, item.type)


@cache
def terminals() -> tuple[dict[str, str], re.Pattern[str]]:
    """The terminals of the words of the grammar, and the pattern of its signs, in the order in which they are tried."""
    signs = "|".join(f"(?P<{name}>{sign})" for name, sign in keywords.saved()["signs"].items())
    return dict.fromkeys(keywords.RESERVED, "RESERVED") | keywords.saved()["keywords"], re.compile(signs)


def read(source: Source, text: str | None = None, *, comments: bool = False) -> Iterator[Item]:
    """The tokens of a text, one at a time, and its lexical errors where they occur.

    `text`: what is read in its place, of the same length.
    """
    return _Scanner(source, source.text if text is None else text, comments).items()


_PROMPT = r"[ \t]*(?:>>>|agrad(?: \d+)?>)"
_MORE = r"[ \t]*\.\.\.>?"


def typed_in(text: str) -> str:
    r"""A transcript of Python or of agrad, with `\f` in the place of its prompts, and its output as comments.

    Any other text is as it was. The length is the same, so that a place in one is a place in the other. The margin of a
    line begins after the last `\f`, as in Python, since the prompts may have different widths.
    """
    if not re.match(rf"\s*{_PROMPT}( |$)", text, re.MULTILINE):
        return text
    return "".join(map(_typed, text.splitlines(keepends=True)))


def _typed(line: str) -> str:
    if found := re.match(rf"(?:{_PROMPT}|{_MORE})( |(?=[\r\n]|$))", line):
        return "\f" * found.end() + line[found.end() :]
    return line if not line.strip() else f"#{line[1:]}"


@cache
def after_command(word: str) -> str:
    """What follows a word at the start of a statement if it is a command there, as a regular expression.

    Of the words that may be names too: soft keywords, `history` and the like, and `exit`.
    """
    if word in keywords.HEADERS:
        return _SPACE_COLON
    if word == "fails":
        return _FAILS_KIND
    if word == "exit":
        return _NOTHING_BUT_BRACKETS
    ways = [_FOLLOWING_WORD]
    if word in keywords.NAMES_TOO:
        ways.append(_ALONE)
    elif word in keywords.ALONE:
        ways.append(_NOTHING_FOLLOWS)
    elif word in keywords.BEFORE_VALUES:
        ways.append(_FOLLOWING_VALUE)
    return "|".join(ways)


class _Open:
    """A bracket or an f-string that is open, or the statement around all of them: what is known of the text in it."""

    __slots__ = ("counts", "fors", "is_near", "is_uncertain", "sign", "start", "text")

    def __init__(self, sign: str, start: int, around: _Open | None = None) -> None:
        self.sign, self.start = sign, start
        # The innermost f-string.
        self.text: _Open | None = self if sign in _QUOTES else around and around.text
        self.is_near = False  # whether a `~=` waits for its `+-`
        self.is_uncertain = False  # whether a `±` was met in this entry
        self.fors = 0  # how many `for` wait for their `in`
        self.counts = False  # whether a `for` was met, behind which `..` may stand


class _Scanner:
    """One pass over one text."""

    def __init__(self, source: Source, text: str, comments: bool) -> None:
        self.source = source
        self.text = typed_in(text) if ">>>" in text or "agrad" in text else text
        self.words, self.pattern = terminals()
        self.comments = comments
        # A file may begin with a byte order mark.
        self.position = self.line_start = 1 if source.text.startswith("\ufeff") else 0
        self.blank = True
        self.previous = self.before = "_NEWLINE"
        self.margins: list[str] = []
        self.first = (0, 0)  # the indentation of the first line
        self.options: dict[str, str] = {}
        self.ruling = ""  # the command of the statement
        self.open = [_Open("", 0)]
        self.postfixed = False  # whether the last bracket was that of a call or an index
        self.own = set[str]()  # the units that the text defines

    @property
    def inside(self) -> bool:
        """Whether a bracket is open."""
        return len(self.open) > 1

    def items(self) -> Iterator[Item]:
        """The loop over the text. A terminal that needs more than its pattern has its own method."""
        special = {
            "COMMENT": self.comment,
            "LINE_BREAK": self.line_break,
            "NAME": self.word,
            "NUMBER": self.number,
            "STRING": self.string,
            "FSTRING_START": self.fstring,
            **dict.fromkeys(("_TOLERANCE", "UNCERTAIN"), self.tolerance),
            "PRODUCT": self.product,
            "_RANGE": self.dots,
            **dict.fromkeys(OPENERS, self.opened),
            **dict.fromkeys(CLOSING, self.closed),
            "": self.unreadable,
        }
        text, match, size = self.text, self.pattern.match, len(self.text)
        while self.position < size:
            if (string := self.open[-1].text) and (token := self.inside_fstring(string)):
                yield token
                continue
            if self.previous in _BEFORE_UNITS and (measured := self.unit()):
                yield measured
                continue
            found = match(text, self.position)
            kind, end = (found.lastgroup or "", found.end()) if found else ("", self.position + 1)
            if self.blank and kind not in _BLANK:
                yield from self.indentation()
            if kind == "SPACE":
                self.position = end
            elif kind == "_COLON" and self.text[end : end + 1] == "=" and self.assigns:
                yield self.token("_EQUAL", end + 1)
            elif kind in special:
                yield from special[kind](kind, end)
            else:
                if kind == "SEMICOLON":
                    self.options, self.ruling = {}, ""
                yield self.token(kind, end)
        yield from self.finish()

    def token(self, kind: str, end: int) -> Token:
        """The next token, which ends at `end`."""
        start = self.position
        self.position = end
        self.before, self.previous = self.previous, kind
        if kind in _NEAR_ENDS:
            self.open[-1].is_near = self.open[-1].is_uncertain = False
        elif kind == "UNCERTAIN":
            self.open[-1].is_uncertain = True
        elif kind == "_NEAR":
            self.open[-1].is_near = True
        elif kind == "FOR":
            self.open[-1].fors += 1
            self.open[-1].counts = True
        return Token(kind, self.text[start:end], start, end)

    def virtual(self, kind: str, at: int) -> Token:
        """A token without text: the end of a line, a change of indentation."""
        self.previous = kind
        return Token(kind, "", at, at)

    def wrong(self, message: str, start: int, end: int, **words: Any) -> AgradError:
        """The syntax error with a message of the table, at a place."""
        return syntax_error(message, Span(self.source, start, end), **words)

    # Lines

    def comment(self, kind: str, end: int) -> Iterable[Item]:
        start = self.position
        self.position = end
        return (Token(kind, self.text[start:end], start, end),) if self.comments else ()

    def line_break(self, kind: str, end: int) -> Iterator[Item]:
        if not self.blank and not self.inside:
            yield self.end_line()
        self.position = end
        if not self.inside:
            self.line_start = end

    def end_line(self) -> Token:
        self.blank = True
        self.open[0] = _Open("", 0)
        self.options, self.ruling = {}, ""
        return self.virtual("_NEWLINE", self.position)

    def indentation(self) -> Iterator[Item]:
        """Compare the indentation of a line with that of the open blocks; the first line's is the outermost."""
        self.blank = False
        margin = self.text[self.line_start : self.position].rpartition("\f")[2]
        if not self.margins:
            self.margins.append(margin)
            self.first = self.line_start, self.position
            return
        if margin == self.margins[-1]:
            return
        if margin.startswith(self.margins[-1]):
            self.margins.append(margin)
            yield self.virtual("_INDENT", self.position)
            return
        if not self.margins[-1].startswith(margin):
            yield self.wrong("tabs and spaces", self.line_start, self.position)
        while len(self.margins) > 1 and len(self.margins[-1]) > len(margin):
            self.margins.pop()
            yield self.virtual("_DEDENT", self.position)
        if self.margins[-1] == margin:
            return
        problem = self.wrong("dedent", self.line_start, self.position)
        if len(margin) < len(self.margins[0]):
            problem = self.wrong("first indent", *self.first)
            problem.labels.append(Label(Span(self.source, self.line_start, self.position), "and this one"))
        yield problem

    def finish(self) -> Iterator[Item]:
        """The tokens that close the text, and the error of a string or a bracket that is still open."""
        if self.open[-1].text:
            first = next(one for one in self.open if one.text)
            yield self.open_fstring(first.start, len(self.text))
        elif self.inside:
            problem = self.unclosed(self.open[-1])
            problem.unfinished = True
            yield problem
        if not self.blank:
            yield self.end_line()
        for _ in self.margins[1:]:
            yield self.virtual("_DEDENT", self.position)

    # Words and numbers

    def word(self, kind: str, end: int) -> Iterator[Item]:
        """A name or a keyword."""
        while (
            (sign := self.text[end : end + 1]) > "\x7f"
            and sign not in keywords.MATHEMATICS
            and f"a{sign}".isidentifier()
        ):
            end += 1  # a mark on the letter before, which is no character of a word by itself; not the `·` of x·y
        word = self.text[self.position : end]
        if word[0] == "d" and (found := self.leibniz()):
            yield found
            return
        if word == "of" and self.previous == "PERCENTAGE":
            yield self.token("_OF", end)
            return
        if word == "let" and self.starting and re.compile(_LET).match(self.text, end):
            self.position = end
            return
        if not word.isascii():
            if word == "π" or (word[0] == "π" and self.previous == "NUMBER" and self.text[self.position - 1].isdigit()):
                yield self.read_as(self.position + 1)  # 2πr
                return
            yield from self.foreign_word(word, end)
            return
        starting = self.starting
        if self.previous == "_DOT" and word not in keywords.PYTHON:
            kind = "NAME"
        elif starting and word in keywords.SOFT and self.is_command(word, end):
            kind = word.upper()
        elif word in ("to", "as") and self.previous in OPERAND_ENDS and self.is_converted(word, end):
            kind, self.postfixed = "CONVERT", False
        elif word in self.words:
            # `print(` is an ordinary call, and in brackets `print` is the function.
            called = word == "print" and self.previous != "DEF" and (self.inside or self.text.startswith("(", end))
            kind = "NAME" if called else self.words[word]
            if kind == "_IN" and not self.takes_in():
                kind = "MEMBER"
            elif word in keywords.NAMES_TOO and not (starting and self.is_command(word, end)):
                kind = "NAME"
        elif word in _DISTRIBUTIONS and self.open[-1].is_uncertain and self.previous in OPERAND_ENDS:
            kind = "DISTRIBUTION"
        elif word in self.options and self.previous in _OPTION_FOLLOWS and not self.inside:
            kind = self.options[word]
        if self.previous == "UNIT":
            self.own.add(word)
        if starting and word == "exit" and self.is_command(word, end):
            start = self.token("QUIT", end).start_pos
            yield Token("QUIT", "quit", start, end)  # unless something follows, in which case it is a name
            return
        yield self.token(kind, end)
        if kind == "CONVERT" and (form := re.compile(_FORM).match(self.text, end)) and self.end_of_unit(end) == end:
            yield self.token("FORM", form.end())
        if starting and kind != "NAME":
            yield from self.command(word)

    @property
    def assigns(self) -> bool:
        """Whether `:=` may give a name a value here."""
        is_target = self.previous in ("NAME", "RPAR", "RSQB")
        return is_target and not self.inside and self.ruling in ("", "set", "var")

    def string(self, kind: str, end: int) -> Iterator[Item]:
        """A text; behind a name, its `'` is that of a derivative."""
        at = self.position
        if self.previous == "NAME" and self.text[at] == "'" and self.text[at - 1] not in " \t":
            yield self.prime()
        else:
            yield self.token(kind, end)

    def prime(self) -> Token:
        """`'` and `''` behind a function."""
        found = re.compile("'+").match(self.text, self.position)
        assert found is not None
        return self.token("PRIME", found.end())

    def leibniz(self) -> Token | None:
        """`d/dx`, if what is differentiated follows."""
        if self.previous in OPERAND_ENDS or self.previous == "_DOT":
            return None
        found = re.compile(LEIBNIZ).match(self.text, self.position)
        return self.token("LEIBNIZ", found.end()) if found is not None else None

    def is_converted(self, word: str, end: int) -> bool:
        """Whether a unit or a form follows a `to` or an `as`; any word, behind one that belongs to no command."""
        if word == "as" and not self.inside and self.ruling not in ("", "print"):
            return False
        form = re.compile(_FORM).match(self.text, end)
        known = form is not None and (word not in self.options and self.ruling != "for")
        return known or self.end_of_unit(end) > end

    def end_of_unit(self, start: int) -> int:
        """The place behind the unit that begins at a place, which no option is; that place if there is none."""
        if not re.match(_MAY_BE_UNIT, self.text[start : start + 20]):
            return start
        reserved = {*keywords.RESERVED, *self.options}
        return int(syntax.units.end_of_unit(self.text, start, reserved, self.own))

    def takes_in(self) -> bool:
        """Whether `in` belongs to a `for`, or gives a range; else it tests whether a value is in another."""
        around = self.open[-1]
        if around.fors:
            around.fors -= 1
            return True
        return not self.inside and self.ruling in keywords.RANGING

    @property
    def starting(self) -> bool:
        """Whether a statement begins here."""
        return self.previous in STARTS or (self.previous == "_COLON" and not self.inside)

    def is_command(self, word: str, end: int) -> bool:
        """Whether a word at the start of a statement, which may also be a name, is the command."""
        return re.compile(after_command(word)).match(self.text, end) is not None

    def command(self, word: str) -> Iterator[Item]:
        """Set what the first word of a statement changes for the words after it."""
        self.options = keywords.OPTIONS.get(word, {})
        self.ruling = word
        if word == "fails" and (found := re.compile(_FAILS_KIND).match(self.text, self.position)):
            # A kind of error may be a reserved word: `fails assert: ...`.
            self.position = found.start(1)
            yield self.token("NAME", found.end(1))
        elif word == "help" and (found := re.compile(TOPIC).match(self.text, self.position)):
            self.position = found.start(1)
            yield self.token("TOPIC", found.end(1))

    def foreign_word(self, word: str, end: int) -> Iterator[Item]:
        r"""A name with other letters than ASCII's. `\w` takes more than a name may have, such as `²`."""
        if word.isidentifier():
            token = self.token("NAME", end)
            yield Token("NAME", as_name(word), token.start_pos, end)
            return
        from unicodedata import normalize  # here, since most texts are ASCII

        if (plain := normalize("NFKC", word)) in ("log2", "log10") and word[:3] == "log":  # log₂
            token = self.token("NAME", end)
            yield Token("NAME", plain, token.start_pos, end)
            return
        good = next(size for size in range(len(word)) if not word[: size + 1].isidentifier())
        if good:
            yield from self.word("NAME", self.position + good)
        else:
            yield from self.unreadable("", self.position + 1)

    def number(self, kind: str, end: int) -> Iterator[Item]:
        """A number; an error if a dot or a digit follows at once, or what is no name."""
        start = self.position
        yield self.token(kind, end)
        self.postfixed = False
        follower = self.text[end : end + 1]
        is_letter = follower.isalnum() or follower in ("_", ".")
        if not is_letter or follower in keywords.LOOK_ALIKES or follower in keywords.SUPERSCRIPTS:
            return
        if follower.isalpha() and self.end_of_unit(end) > end:
            return
        if self.ranging and re.match(r"\.\.(?!\.)", self.text[end : end + 3]):
            return
        run = re.compile(r"[\w.]*").match(self.text, end)
        rest = run.group() if run else ""
        number = self.text[start:end]
        is_exponent = rest in ("e", "E") and not re.compile(_POWER).match(self.text, end + 1)
        is_based = number == "0" and re.fullmatch(r"[xXbBoO]\w*", rest)
        if not re.match(r"[^\W\d_]", rest) or is_exponent or is_based:
            problem = self.wrong("bad number", start, end + len(rest), number=number + rest)
            if ends := re.fullmatch(r"(\d{1,99})\.+(\d{1,99})", number + rest):
                problem.fixes = self.counted(start, end + len(rest), *map(int, ends.groups())) or problem.fixes
            yield problem
        elif rest in ("i", "j"):
            product = corrected(Span(self.source, start, end + 1), f"{number}*{rest}")
            yield self.wrong("imaginary", end, end + 1, number=number + rest, name=rest, instead=product)
        else:
            return
        self.position = end + len(rest)

    def counted(self, start: int, end: int, low: int, high: int) -> list[str]:
        """`for i in 1..3` and `x = 1..3`, the whole numbers of other languages, as they are written here."""
        place = Span(self.source, start, end)
        if re.search(r"\bfor\s+\w+\s+in\s+$", self.text[self.line_start : start]):
            return [corrected(place, f"range({low}, {high + 1})")]
        over = re.search(r",[ \t]*(\w+)[ \t]*=[ \t]*$", self.text[self.line_start : start])
        if over is not None and self.open[-1].sign == "(" and self.text[end : end + 1] == ")":  # sum(k, k=1..9)
            place = Span(self.source, self.line_start + over.start(), end)
            return [corrected(place, f" for {over[1]} in {low}..{high}")]
        return [corrected(place, f"arange({low}, {high + 1})")] if ".." in self.text[start:end] else []

    def unreadable(self, kind: str, end: int) -> Iterator[Item]:
        """A character that begins no token."""
        start = self.position
        character = self.text[start]
        if character == "'" and self.previous in ("NAME", "RPAR") and self.text[start - 1] not in " \t":
            yield self.prime()
            return
        if sign := self.on_paper(character):
            yield sign
            return
        if character in "\"'":
            line = re.compile(_REST_OF_LINE).match(self.text, start)
            self.position = line.end() if line else end
            yield self.wrong("unterminated string", start, self.position)
            return
        if character in keywords.MATHEMATICS:
            yield self.read_as(end)
            return
        is_inverse = character == "⁻" and self.text[start - 1 : start] not in keywords.SUPERSCRIPTS
        if character in keywords.SUPERSCRIPTS or (is_inverse and self.text[end : end + 1] in keywords.SUPERSCRIPTS):
            yield from self.superscript()
            return
        self.position = end
        if character == "?":
            yield self.asked()
            return
        if digits := re.compile(r"\d+").match(self.text, start):
            self.position = end = digits.end()
        character = self.text[start:end]
        if meant := self.sign_for(character):
            shown = character.isprintable() and not character.isascii()
            code = f"U+{ord(character[0]):04X}" if shown else ""
            problem = self.wrong("look-alike", start, end, character=character, sign=meant, code=code)
            problem.fixes = [self.in_ascii(start), *problem.fixes]  # the first one if it can be read
            yield problem
        else:
            yield self.wrong("unknown character", start, end, character=character)

    def read_as(self, end: int) -> Token:
        """A mathematical character, as the operator of agrad that it means."""
        sign = keywords.MATHEMATICS[self.text[self.position]]
        found = self.pattern.match(sign)
        assert found is not None
        token = self.token(found.lastgroup or "", end)
        return Token(token.type, sign, token.start_pos, end)

    def superscript(self) -> Iterator[Item]:
        """`x²` and `x¹⁰`: a power."""
        start = self.position
        first = end = start + 1 if self.text[start] == "⁻" else start
        while self.text[end : end + 1] in keywords.SUPERSCRIPTS and end < len(self.text):
            end += 1
        if self.previous not in OPERAND_ENDS:
            self.position = end
            yield self.wrong("missing operand", start, start, place=f"before `{self.text[start:end]}`")
            return
        self.previous, self.position = "NUMBER", end
        yield Token("POWER", "**", start, start)
        if first > start:
            yield Token("SUM", "-", start, first)
        yield Token("NUMBER", "".join(map(keywords.SUPERSCRIPTS.__getitem__, self.text[first:end])), first, end)

    def on_paper(self, character: str) -> Token | None:
        """`n!`, `30°`, `|x|`, `∂/∂x`; None for any other character."""
        start, follows = self.position, self.previous in OPERAND_ENDS
        behind = self.text[start + 1 : start + 2]
        if character == "!" and follows and behind not in ("=", "!") and self.previous != "BANG":
            return self.token("BANG", start + 1)
        if character == "°" and follows and behind not in ("C", "F"):
            found = re.compile(MINUTES).match(self.text, start)
            return self.token("DEGREES", found.end() if found is not None else start + 1)
        if character == "∂":
            whole = None if follows else re.compile(PARTIAL).match(self.text, start)
            return self.leibniz() if whole is None else self.token("PARTIAL", whole.end())
        if character != "|":
            return None
        if self.open[-1].sign == "|" and follows:
            self.open.pop()
            return self.token("BAR_END", start + 1)
        is_operand = self.previous == "NUMBER" or not follows or self.is_applied(start)
        is_near = not follows or behind not in (" ", "|", "")
        if is_operand and is_near and re.compile(r"\|[^\r\n;#\"']*\|").match(self.text, start):
            return self.opener("BAR", start + 1)
        return None

    def is_applied(self, start: int) -> bool:
        """Whether what stands before a place is the name of a function, as in `sin |x|`."""
        word = re.search(r"\w+(?=[ \t]*$)", self.text[self.line_start : start])
        return self.previous == "NAME" and word is not None and syntax.implied.is_function(word[0])

    def asked(self) -> AgradError:
        """`sin(x)?` and `?sin`, as in other consoles: help on the name."""
        from agrad.engine.core.op import FUNCTIONS  # here, since few texts ask

        before = self.text[self.line_start : self.position - 1].rpartition(";")[2]
        if chosen := re.compile(r"([^?:;#\n]+):([^?:;#\n]+)").match(self.text, self.position):
            return self.chosen(before, *chosen.groups())
        name = r"\s*(\w+)(\(.*\))?\s*"
        found = re.fullmatch(name, before) or re.fullmatch(rf"\?*{name}", self.text[self.position :].partition("\n")[0])
        fixes = [f"help {found[1]}" if found and found[1] in FUNCTIONS else "help"]
        return self.wrong("help", self.position - 1, self.position, fixes=fixes)

    def chosen(self, before: str, one: str, other: str) -> AgradError:
        """`y = c ? a : b`, a condition as in C."""
        problem = self.wrong("conditional", self.position - 1, self.position)
        found = re.fullmatch(r"(\s*\w+\s*=(?!=)|\s*(?:return|print)\s)?(.+)", before)
        if found is not None and all(map(is_balanced, (found[2], one, other))):
            start = self.position - 1 - len(found[2])
            whole = Span(self.source, start, self.position + len(one) + 1 + len(other))
            blank = " " if found[1] else ""
            problem.fixes = [corrected(whole, f"{blank}{one.strip()} if {found[2].strip()} else {other.strip()}")]
        return problem

    def in_ascii(self, start: int) -> str:
        """The line of a place with what to type in place of such characters."""
        line = self.source.line_at(start)
        typed = line.replace("&&", " and ").replace("||", " or ").replace("&", "*")
        return re.sub(" {2,}", " ", "".join(map(_in_ascii, typed))).strip()

    def sign_for(self, text: str) -> str:
        """What to type instead of a character, or of digits of another script; empty if nothing looks like it."""
        if text in keywords.LOOK_ALIKES or text.isdecimal():
            return keywords.LOOK_ALIKES.get(text) or "".join(str(int(digit)) for digit in text)
        from unicodedata import normalize  # here, since most texts are ASCII

        plain = normalize("NFKC", text)  # such as `＝`, as wide as the letters of Chinese are
        known = len(plain) == 1 and plain != text and self.pattern.match(plain)
        return keywords.LOOK_ALIKES.get(plain) or (plain if known else "")

    def unit(self) -> Token | None:
        """The unit that begins here, if there is one."""
        end = self.position if self.postfixed else self.end_of_unit(self.position)
        if end == self.position:
            return None
        raised = re.search(_RAISED, self.text[max(0, self.position - 40) : self.position])
        is_inch = self.text[self.position : end].strip() == "in"
        if is_inch and self.inside and re.match(r"[ \t]*(?:#|\r?\n)", self.text[end : end + 80]):
            return None  # what it may be in follows on the next line
        is_of_function = raised is not None and syntax.implied.is_function(raised[1])  # `sin⁻¹ t`
        return None if is_of_function else self.token("MEASURE", end)

    # Brackets and signs

    def opened(self, kind: str, end: int) -> Iterator[Item]:
        start = self.position
        if kind == "LBRACE" and self.previous == "SPEC":
            yield self.wrong("nested format", start, end)
        yield self.opener(kind, end)

    def opener(self, kind: str, end: int) -> Token:
        """The token that opens a bracket or an f-string, whose last character says how it is closed."""
        start = self.position
        token = self.token(kind, end)
        self.open.append(_Open(self.text[end - 1], start, self.open[-1]))
        return token

    def closed(self, kind: str, end: int) -> Iterator[Item]:
        start = self.position
        closer = self.text[start]
        is_uncertain = closer == ")" and self.open[-1].is_uncertain
        if not self.inside:
            yield self.wrong("stray bracket", start, end, bracket=closer)
        else:
            opened = self.open.pop()
            self.postfixed = re.match(r"[\w)\]'\"]", self.text[max(opened.start - 1, 0) : opened.start]) is not None
            right = keywords.CLOSERS[opened.sign]
            if right != closer:
                problem = self.wrong("mismatched bracket", start, end, bracket=closer, opener=opened.sign, closer=right)
                problem.labels.insert(0, Label(Span(self.source, opened.start, opened.start + 1), "opened here"))
                yield problem
        yield self.token(kind, end)
        if is_uncertain and (scale := re.compile(_SCALE).match(self.text, end)):
            yield self.token("SCALE", scale.end())

    def unclosed(self, opened: _Open) -> AgradError:
        """The error of a bracket that is not closed."""
        sign, start = opened.sign, opened.start
        return self.wrong("unclosed bracket", start, start + 1, bracket=sign, closer=keywords.CLOSERS[sign])

    def tolerance(self, kind: str, end: int) -> Iterator[Item]:
        """`±` and `+-` give the tolerance of a `~=`, or an uncertainty; a `+-` not between spaces is two operators."""
        start = self.position
        if self.open[-1].is_near:
            self.open[-1].is_near = False
            yield self.token("_TOLERANCE", end)
            return
        around = self.text[start - 1 : start] + self.text[end : end + 1]
        if kind == "UNCERTAIN" or (around.isspace() and len(around) == 2 and self.previous in OPERAND_ENDS):
            yield self.token("UNCERTAIN", end)
            return
        yield self.token("SUM", start + 1)
        yield self.token("SUM", end)

    def product(self, kind: str, end: int) -> Iterator[Item]:
        """`*` and the like; a `%` that begins a statement is that of a command of IPython.

        A `%` behind the number of an uncertainty means so many per cent, if nothing follows.
        """
        if self.starting and (found := re.compile(_MAGIC).match(self.text, self.position)):
            yield self.magic(found)
            return
        is_percent = self.text[self.position] == "%" and self.previous == "NUMBER" and self.before == "UNCERTAIN"
        if is_percent and not re.match(r"[ \t]*[\w.(\[\"']", self.text[end : end + 80]):
            kind = "PERCENT"
        elif self.previous in OPERAND_ENDS and re.compile(_PERCENT).match(self.text, self.position):
            kind = "PERCENTAGE"
        yield self.token(kind, end)

    def magic(self, found: re.Match[str]) -> AgradError:
        """`%time f(x)`, as in a notebook of Python: what times a statement here."""
        start = self.position
        self.position = found.end()
        timed = found[1].lstrip("%") in ("time", "timeit") and found[2].strip()
        return self.wrong("magic", start, found.end(1), fixes=[f"time: {timed}"] if timed else [], word=found[1])

    @property
    def ranging(self) -> bool:
        """Whether two dots may separate the ends of a range here: in `plot`, and behind a `for` in brackets."""
        if self.inside:
            around = self.open[-1]
            return around.counts or self.text.endswith("root", 0, around.start)  # root(f, 0..2)
        return self.ruling in keywords.RANGING

    def dots(self, kind: str, end: int) -> Iterator[Item]:
        """`..` is an operator in a range, and an error elsewhere."""
        if self.ranging:
            yield self.token(kind, end)
        else:
            yield self.token("_DOT", end - 1)
            yield self.token("_DOT", end)

    # f-strings

    def fstring(self, kind: str, end: int) -> Iterator[Item]:
        """An f-string, or `f'(x)`: what would be called, or does not end, is no text."""
        if re.compile(r"f'(?!')[^'\r\n]*(?:'+[ \t]*\(|(?=[\r\n]|\Z))|f''[ \t]*\(").match(self.text, self.position):
            yield self.token("NAME", end - 1)
            yield self.prime()
        else:
            yield self.opener(kind, end)

    def inside_fstring(self, text: _Open) -> Item | None:
        """The next token if it is one that only an f-string has; None inside an expression in braces."""
        quote, character, around = text.sign, self.text[self.position], self.open[-1]
        if character in "\r\n" or (character == quote and around is not text):
            return self.broken_fstring(text)
        if around is not text:
            return self.inside_field() if self.open[-2] is text else None
        if found := re.compile(FSTRING_TEXT[quote]).match(self.text, self.position):
            return self.token("FSTRING_TEXT", found.end())
        if character == quote:
            self.open.pop()
            return self.token("FSTRING_END", self.position + 1)
        if character == "{":
            return self.opener("LBRACE", self.position + 1)
        if character == "}":
            self.position += 1
            return self.wrong("single brace", self.position - 1, self.position)
        return self.broken_fstring(text)

    def inside_field(self) -> Token | None:
        """What may follow the expression in braces: `=`, `:` and a format, `}`."""
        for kind, pattern in IN_FIELD.items():
            if found := re.compile(pattern).match(self.text, self.position):
                return self.token(kind, found.end())
        if self.text[self.position] == "}":
            self.open.pop()
            return self.token("RBRACE", self.position + 1)
        return None

    def broken_fstring(self, text: _Open) -> AgradError:
        """The error of an f-string ended by its line, or by its own quote inside braces. Reading goes on after it."""
        around = self.open[-1]
        line = re.compile(_REST_OF_LINE).match(self.text, self.position)
        end = line.end() if line else self.position
        while self.open[-1].text:
            self.open.pop()
        self.position = self.position + 1 if self.text.startswith(text.sign, self.position) else end
        return self.open_fstring(text.start, end) if around is text else self.unclosed(around)

    def open_fstring(self, start: int, end: int) -> AgradError:
        """The error of an f-string that does not end."""
        return self.wrong("unterminated string", start, end)


def _in_ascii(sign: str) -> str:
    """What to type in place of a character, where that is no other character by itself."""
    instead = keywords.LOOK_ALIKES.get(sign, sign)
    if sign.isdecimal():
        return str(int(sign))
    return instead if " " not in instead else " " if sign.isspace() else "" if not sign.isprintable() else sign
