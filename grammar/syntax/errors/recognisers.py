"""Which message fits an unexpected token: found from the tokens around it.

The recognisers are called in the order of the list at the end, those of foreign.py first, until one returns an error.
A recogniser looks at the unexpected token, those before it and the one after it, and at whether a bracket is
closed further on. What the parser would have accepted tells less, because it has often already reduced a rule for the
wrong token.
"""

from __future__ import annotations

import re

from lark.exceptions import UnexpectedToken

from agrad.engine.core.op import FUNCTIONS
from agrad.engine.errors import AgradError, Hint
from agrad.grammar.diagnostics import Span, suggest
from agrad.grammar.syntax import keywords
from agrad.grammar.syntax.errors import foreign, notation
from agrad.grammar.syntax.errors.context import LINE_STARTS, ErrorContext, Recognisers
from agrad.grammar.syntax.errors.foreign import comprehended
from agrad.grammar.syntax.errors.messages import corrected, multiplied, several_values
from agrad.grammar.syntax.lexer import CLOSING, OPENERS, OPERAND_ENDS, Input, Token

_OPERAND_STARTS = OPERAND_ENDS - {"RPAR", "RSQB", "RBRACE", "FSTRING_END"} | keywords.words(
    "FSTRING_START LPAR _LSQB ROOT"
)
_OPERATORS = keywords.words(
    "SUM PRODUCT POWER ARROW MEMBER COMPARISON _NEAR _TOLERANCE UNCERTAIN AND OR NOT IS _EQUAL AUGMENT"
)
# After these a value must follow.
_WANTS_VALUE = _OPERATORS | OPENERS | {"ROOT", "_COMMA", "_IN", "_RANGE", "SEED"}
_STATEMENT_WORDS = keywords.words("ELIF WHILE WITH RETURN ASSERT DEL DEF") | {
    word.upper() for word in keywords.COMMANDS
}
_NAME_PLACES = keywords.words("VAR SET DEF FOR DEL GRAD RETAIN GRAPH STEP FORWARD INFO WRT AS")
_BLOCKS = keywords.words("IF ELIF ELSE WHILE FOR WITH NO_GRAD FAILS TIME DEF")
_CONDITIONED = keywords.words("IF ELIF ELSE WHILE FOR WITH")  # blocks with something of any length before the colon
_CONDITIONS = keywords.words("IF ELIF WHILE ASSERT")
# Commands whose operands are names, and the options after which others may follow.
_ON_NAMES = keywords.words("retain grad zero_grad step graph forward info")
_BEHIND_NAMES = keywords.words("AS DEPTH TO WITH")


def recognise(text: Input, error: UnexpectedToken) -> AgradError:
    """The syntax error that explains an unexpected token."""
    context = ErrorContext(text, error)
    for recogniser in _RECOGNISERS:
        problem = recogniser(context)
        if problem is not None:
            return problem
    edits = ["/"] if context.bad == ":" else []  # a quotient, as many write it
    return context.wrong("unexpected token", context.place, *edits, text=str(context.bad) or "the end of the line")


def _unclosed_bracket(context: ErrorContext) -> AgradError | None:
    """A bracket that is not closed: the text after it is read as inside it, but is a new line, or a block's colon."""
    if not context.open:
        return None
    opener = context.open[-1]
    colon = context.bad.type == "_COLON" and opener.type == "LPAR" and context.line_head.type in _BLOCKS - {"DEF"}
    same_line = not colon and not context.breaks_between(opener, context.bad)
    if same_line or (context.bad.type in _OPERATORS | CLOSING and context.bad.type not in ("_EQUAL", "AUGMENT")):
        return None
    if context.closes():
        return None
    return context.wrong("unclosed bracket", opener, bracket=opener, closer=keywords.CLOSERS[opener])


def _indentation(context: ErrorContext) -> AgradError | None:
    bad, before = context.bad, context.before
    if bad.type == "_INDENT":
        return context.wrong("indent", bad)
    if len(before) > 1 and before[-1].type == "_NEWLINE" and before[-2].type == "_COLON":
        problem = context.wrong("no block", before[-2])
        problem.unfinished = bad.type == "$END" or bad.start_pos == len(context.source.text)
        return problem
    sign = str(context.previous)
    if sign in (":", ";") and not context.open and bad.type in _BLOCKS - {"ELIF", "ELSE"}:
        where = ", indented" if sign == ":" or context.line_head.type in _BLOCKS else ""
        return context.wrong("block in line", bad, word=bad, sign=sign, where=where)
    return None


def _else(context: ErrorContext) -> AgradError | None:
    if context.bad.type in ("ELSE", "ELIF") and context.previous.type in LINE_STARTS:
        return context.wrong("else without if", context.bad, word=context.bad)
    if context.bad.type == "IF" and context.previous.type == "ELSE":
        return context.wrong("else if", context.bad)
    return None


def _reserved(context: ErrorContext) -> AgradError | None:
    """A word of the language where a name or a value should be."""
    bad, previous = context.bad, context.previous
    assigned = ("_EQUAL", "AUGMENT")
    if bad.type in assigned and previous in keywords.RESERVED and previous.type != "NAME":
        word = previous
    elif previous.type == "TOPIC" and previous == "=":
        word = context.head
    elif (
        bad in keywords.RESERVED and bad.type != "NAME" and (_stands_for_name(context) or context.next_type in assigned)
    ):
        word = bad
    else:
        return None
    rest = context.rest_of_line(context.head.end_pos or 0)
    if word is not context.head and (fixes := notation.spelled_out(str(context.head), rest)):  # `solve … from=1`
        return context.wrong(
            "shape", context.place, fixes=fixes, word=context.head, usage=keywords.SHAPES[str(context.head)]
        )
    owner = "Python" if word in keywords.PYTHON else "agrad"
    return context.wrong("reserved", word, word=word, owner=owner)


def _stands_for_name(context: ErrorContext) -> bool:
    """Whether the word is where only a name or a value can be. A word that has its own message keeps it."""
    bad = context.bad
    if bad in keywords.PYTHONS or bad in keywords.ABSENT or (bad.type == "FOR" and context.open):
        return False
    if bad.type in ("AND", "OR", "IS", "_IN", "NOT", "ELSE"):
        return False
    return context.previous.type in _WANTS_VALUE | _NAME_PLACES


def _of_python(context: ErrorContext) -> AgradError | None:
    """What Python's reading has."""
    bad = context.bad
    before = context.previous.type
    is_value = (bad.type == "LBRACE" and before not in OPERAND_ENDS) or (bad == "**" and before in ("LPAR", "_COMMA"))
    if not is_value and (bad not in keywords.PYTHONS or not (bad.type == "RESERVED" or context.head is bad)):
        return None
    if before == "POWER":  # x^{2}, as in TeX
        line = corrected(Span(context.source, bad.start_pos, bad.start_pos), "")
        return context.wrong("python", bad, fixes=[re.sub(r"\{([^{}]*)\}", r"(\1)", line)], word=bad)
    where = "on a line of its own" if bad in ("import", "from") else "on the line before"
    return context.wrong("python", bad, fixes=[f"import torch   {where}"], word=bad)


def _python(context: ErrorContext) -> AgradError | None:
    """What Python has and agrad does not have."""
    bad = context.bad
    if bad.type == "RESERVED" and bad in keywords.ABSENT:
        return context.wrong("absent", bad, word=bad, instead=keywords.ABSENT[bad])
    if bad.type == "FOR" and context.open:
        return context.wrong("comprehension", bad, fixes=comprehended(context))
    colon = bad if bad.type == "_COLON" else context.previous
    if colon.type == "_COLON" and context.source.text.startswith(":=", colon.start_pos):
        place = Span(context.source, colon.start_pos, colon.start_pos + 2)
        tokens = context.before[: -1 if colon is context.previous else None]
        return context.wrong("walrus", place, name=str(tokens[-1]) if tokens else "x")
    return None


def _comparison(context: ErrorContext) -> AgradError | None:
    """`=` for `==`, `==` for `=`, and a `~=` in a chain."""
    bad, head = context.bad, context.head
    kinds = {token.type for token in context.statement}
    compared = context.line_head if context.line_head.type in _CONDITIONS and "_COLON" not in kinds else head
    follows = context.previous.type in OPERAND_ENDS
    if bad.type == "_EQUAL" and (compared.type in _CONDITIONS or context.open) and follows:
        if "solve" in context.statement[: context.statement.index(context.open[-1])] if context.open else ():
            return _equation(context)
        solved = notation.rewritten(Span(context.source, bad.start_pos, bad.end_pos))
        return context.wrong("= for ==", bad, fixes=solved) if solved else context.wrong("= for ==", bad, "==")
    if bad == "==" and head.type in ("VAR", "SET", "DEF"):
        return context.wrong("== for =", bad, "=")
    near = {"_NEAR", "IS", "MEMBER", "COMPARISON"}
    if bad.type in near and kinds & near and follows:
        return context.wrong("chain", bad)
    return None


_SOLVED = re.compile(r"solve\(([^=#]+?)=([^,#]+?)(?:,[ \t]*([^\W\d]\w*)[ \t]*)?\)[ \t]*(?:#.*)?")


def _equation(context: ErrorContext) -> AgradError:
    """`solve(x^2 = 4, x)`, as in a calculator."""
    found = _SOLVED.fullmatch(context.rest_of_line(context.head.start_pos)) if context.head == "solve" else None
    if found is None:
        return context.wrong("equation", context.bad)
    left, right = multiplied(found[1].strip()), multiplied(found[2].strip())
    unknown = found[3] or next((name for name in re.findall(r"[^\W\d]\w*", left) if name not in FUNCTIONS), "x")
    fixes = [f"solve {left} = {right} for {unknown}"]
    return context.wrong("equation", context.bad, fixes=fixes)


def _missing_colon(context: ErrorContext) -> AgradError | None:
    head = context.line_head
    if context.open or head.type not in _CONDITIONED or "_COLON" not in keywords.accepted(context.error.state):
        return None
    if not context.at_line_end and ":" in context.rest_of_line(context.bad.start_pos):
        return None
    then = Span(context.source, context.previous.end_pos, context.bad.end_pos)
    return context.wrong("missing colon", context.place, fixes=[corrected(then, ":")] if context.bad == "then" else [])


def _missing_value(context: ErrorContext) -> AgradError | None:
    bad, previous = context.bad, context.previous
    if previous.type == "_DOT":
        return context.wrong("missing name", context.place)
    begun = context.statement[1:2] if context.head.type == "RETURN" else context.statement[:1]
    if begun and begun[0].type == "PRODUCT" and context.at_line_end:  # `* 3`, where `*a, b = x` could stand
        return context.wrong("missing operand", begun[0], place=f"before `{begun[0]}`")
    if bad.type in _OPERAND_STARTS:
        return None
    if bad.type == "_TILDE" and not context.at_line_end and previous.type not in ("NAME", "NUMBER", "RPAR", "RSQB"):
        return context.wrong("no complement", bad)
    before = str(previous) if previous.type not in LINE_STARTS else ""
    after = str(bad) if not context.at_line_end else ""
    wants = previous.type in _WANTS_VALUE or (
        previous.type in ("IF", "ELIF", "ELSE", "WHILE", "ASSERT", "PRINT")
        or (previous.type == "WITH" and previous is context.head)  # not that of `forward d with`
    )
    starts = previous.type in LINE_STARTS | {"RETURN", "_COLON", "PRINT"} and bad.type in _OPERATORS | {"_COMMA"}
    if not (wants or starts):
        return None
    if before in ("(", "[", "{") or not before:
        where = f"before `{after}`"
    else:
        where = f"after `{before}`" if not after or after in ")]}" else f"between `{before}` and `{after}`"
    uncertain = previous.type == "UNCERTAIN" and context.at_line_end
    fixes = [corrected(context.span(previous), f"{previous} 0.1")] if uncertain else []
    return context.wrong("missing operand", context.place, fixes=fixes, place=where)


def _shape(context: ErrorContext) -> AgradError | None:
    """A command, or another statement with a fixed form, that is written differently."""
    head = context.head
    if head.type == "DEF" and not _header_done(context):
        return context.wrong("def", context.place)
    word = str(head)
    soft = head.type == "NAME" and word in keywords.SOFT and len(context.statement) == 1
    if word not in keywords.SHAPES or (head.type == "NAME" and not soft) or head is context.bad:
        return None
    if soft and context.bad.type not in _OPERAND_STARTS and word != "fails":
        return None
    if head.type == "FOR" and any(token.type == "_IN" for token in context.statement):
        return None
    named = re.match(r"[\w./~-]*\.(ag|md|html|csv)\b(?=[ \t]*([;#]|$))", context.rest_of_line(context.bad.start_pos))
    if named and word in ("save", "load"):
        place = Span(context.source, context.bad.start_pos, context.bad.start_pos + named.end())
        return context.wrong("file name", place, f'"{named[0]}"', word=word)
    problem = context.wrong("shape", context.place, word=word, usage=keywords.SHAPES[word])
    behind = any(token.type in _BEHIND_NAMES for token in context.statement)
    if word in _ON_NAMES and not behind and not context.at_line_end:
        problem.notes.append("it acts on names, such as a, a.grad or w[0]")
    if word == "var" and (leaves := several_values(context.span(head))):
        problem.fixes = leaves
    if word in ("graph", "info") and not behind and not context.at_line_end:
        rest = context.rest_of_line(head.start_pos + len(word)).partition(";")[0]
        whole = re.fullmatch(r"\s*(\S.*?)((?: (?:as|vs|depth|from|to)\b.*)?)", rest)
        if whole is not None and re.search(r"[\w)\]]$", whole[1]) and re.search(r"[(*/+@-]", whole[1]):
            problem.fixes = [f"value = {whole[1]}; {word} value{whole[2]}"]
    problem.fixes = problem.fixes or notation.spelled_out(word, context.rest_of_line(head.start_pos + len(word)))
    return problem


def _header_done(context: ErrorContext) -> bool:
    """Whether the `=` of a one-line function has been read."""
    depth = 0
    for token in context.statement:
        depth += (token.type in OPENERS) - (token.type in CLOSING)
        if token.type == "_EQUAL" and not depth:
            return True
    return False


def _command(context: ErrorContext) -> AgradError | None:
    """A first word that is followed by what follows a command, but is not a command."""
    head, bad = context.head, context.bad
    word = str(head)
    candidates = keywords.HEADERS if bad.type == "_COLON" else keywords.COMMAND_WORDS - keywords.HEADERS
    likely = len(word) > 2 and word not in keywords.SOFT
    shaped = bad.type in _OPERAND_STARTS - {"LPAR", "_LSQB"} or (
        bad.type == "_COLON" and suggest(word, keywords.HEADERS)
    )
    prefix = context.joined() and bad.type in ("STRING", "FSTRING_START")
    if head is bad or head.type != "NAME" or len(context.statement) > 1 or prefix or not (likely and shaped):
        return None
    if word == "agrad":
        text = context.rest_of_line(head.start_pos).partition(";")[0].strip()
        return context.wrong("shell command", head, text=text)
    near = [keywords.COMMANDS_ELSEWHERE[word]] if word in keywords.COMMANDS_ELSEWHERE else suggest(word, candidates)
    problem = context.wrong("no command", head, *near, word=word)
    if word in keywords.NO_COMMANDS:
        problem.fixes = [Hint(keywords.NO_COMMANDS[word])]
    elif not near:
        problem.notes.append("the commands are " + ", ".join(sorted(keywords.COMMAND_WORDS)))
    return problem


_SCRIPT = re.compile(r"""["'][^"']*\.(?:ag|md|html|py)["']""")


def _assigned_command(context: ErrorContext) -> AgradError | None:
    """`b = budget y`, `v = var 3`, `data = load "a.csv"`: a command, which has no value, where a value is assigned."""
    tokens, bad = context.statement, context.bad
    if [token.type for token in tokens[:2]] != ["NAME", "_EQUAL"] or context.open:
        return None
    word = bad if len(tokens) == 2 else tokens[2]
    if len(tokens) == 2 and (
        bad.type == "NAME" or bad not in keywords.COMMANDS or context.next_type in ("_EQUAL", "AUGMENT")
    ):
        return None
    follows = bad.type in _OPERAND_STARTS - {"LPAR", "_LSQB", "ROOT"} and not context.breaks_between(word, bad)
    if len(tokens) > 3 or (
        len(tokens) == 3 and (word.type != "NAME" or word not in keywords.COMMAND_WORDS or not follows)
    ):
        return None
    name, operand = tokens[0], context.following if word is bad else bad
    fixes = [corrected(context.until(name, word.start_pos), "")]
    if word == "var":
        fixes = [corrected(context.across(name, word), f"var {name} =")]
    elif word == "grad" and bad.type == "NAME":
        fixes = [corrected(context.across(word, bad), f"{bad}.grad")]
    elif word == "load" and isinstance(operand, Token) and not _SCRIPT.fullmatch(operand):
        fixes = [corrected(context.across(word, operand), f"load_csv({operand})")]
    elif word is not bad:  # such a word may be the name of a value, too
        fixes.append(corrected(context.across(word, bad), f"{word}*{bad}"))
    return context.wrong("command value", word, fixes=fixes, word=word)


_THOUSANDS = re.compile(r"(?<![\w.])[1-9]\d{0,2}(?: \d{3})+(?:\.\d+)?(?![\w.(])(?! \d)")  # 1 000 000


def _missing_operator(context: ErrorContext) -> AgradError | None:
    bad, previous = context.bad, context.previous
    if previous.type not in OPERAND_ENDS:
        return None
    second = context.next_type == "_EQUAL" and any(token.type == "_EQUAL" for token in context.statement)
    if bad.type in _STATEMENT_WORDS or (second and not context.open):
        return context.wrong("new statement", bad, word=bad)
    if bad.type not in _OPERAND_STARTS:
        may_go_on = context.at_line_end and "ELSE" in keywords.accepted(context.error.state)
        if may_go_on and any(token.type == "IF" for token in context.statement):
            return context.wrong("if without else", context.place)
        return None
    if previous.type == "NAME" and bad.type in ("STRING", "FSTRING_START") and context.joined():
        return context.wrong("string prefix", context.across(previous, bad), name=previous)
    left, right = context.span(previous).text, context.span(bad).text
    plain = {previous.type, bad.type} <= {"NAME", "NUMBER"}
    listed = bool(context.open) or context.head.type == "PRINT"
    ways = {
        f"{left}{right}'": previous.type == "DEGREES",
        f"{left}*{right}": plain,
        f"{left}({right})": plain and previous.type == "NAME",
        f"{left}, {right}": listed,
    }
    between = [way for way, fits in ways.items() if fits]
    what = "an operator or a comma" if listed else "an operator"
    if not listed and (whole := _THOUSANDS.match(context.source.text, previous.start_pos)):
        fixes = [corrected(Span(context.source, *whole.span()), re.sub("[^0-9.]", "", whole[0]))]
    elif (mixed := re.match(r"\d+ +\d+/\d+(?![\w.])", context.rest_of_line(previous.start_pos))) and not listed:
        ones, part = mixed[0].split(maxsplit=1)  # 2 1/2
        place = Span(context.source, previous.start_pos, previous.start_pos + mixed.end())
        return context.wrong("two readings", place, f"({ones} + {part})", f"{ones}*{part}", text=mixed[0])
    elif context.breaks_between(previous, bad):
        fixes = [Hint(" or ".join(between))] if between else []
    else:
        place = context.across(previous, bad)
        fixes = [corrected(place, text) for text in between]
        if bad.type == "NAME" and context.next_type in _OPERAND_STARTS:  # `x sni y`
            fixes = [corrected(context.span(bad), one) for one in suggest(right, FUNCTIONS)[:2]] or fixes
        if context.open and context.open[-1].type == "_LSQB":
            fixes = [*foreign.matrix(context), *fixes]
    return context.wrong("missing operator", bad, fixes=fixes, what=what, left=left, right=right)


_RECOGNISERS: Recognisers = (
    _of_python,
    _assigned_command,
    *notation.RECOGNISERS,
    *foreign.RECOGNISERS,
    *notation.OF_PROGRAMS,
    _unclosed_bracket,
    _indentation,
    _else,
    *foreign.SIGNS,
    _reserved,
    _python,
    _comparison,
    _missing_colon,
    _missing_value,
    _command,
    _shape,
    _missing_operator,
)
